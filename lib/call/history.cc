#include "call/history.h"

#include <cstring>

namespace goss {

std::uint32_t History::hashBefore(std::uint64_t number) const {
  return number == next_ ? hash_ : Signature::decode(at(number)).history;
}

std::optional<std::uint64_t> History::firstDifference(const History& theirs) const {
  const std::uint64_t begin = std::max(first(), theirs.first());
  const std::uint64_t end = std::min(next_, theirs.next_);
  if (begin > 0 && begin < end && hashBefore(begin) != theirs.hashBefore(begin)) return begin - 1;
  // Compares the hashes that follow each call, not the envelopes, because two ranks may keep different envelopes of one
  // multi-phase operation.
  for (std::uint64_t number = begin; number < end; ++number) {
    if (hashBefore(number + 1) != theirs.hashBefore(number + 1)) return number;
  }
  return std::nullopt;
}

std::string History::encode() const {
  std::string bytes;
  for (std::uint64_t number = first(); number < next_; ++number)
    bytes.append(reinterpret_cast<const char*>(at(number).data()), sizeof(Envelope));
  return bytes;
}

std::optional<History> History::decode(std::uint64_t first, std::string_view bytes) {
  const std::size_t calls = bytes.size() / sizeof(Envelope);
  if (bytes.size() % sizeof(Envelope) != 0 || calls > kKept || first > ~std::uint64_t{0} - kKept) return std::nullopt;
  History history;
  history.begin_ = history.next_ = first;
  for (; !bytes.empty(); bytes.remove_prefix(sizeof(Envelope))) {
    Envelope call;
    std::memcpy(call.data(), bytes.data(), sizeof call);
    history.add(call);
  }
  return history;
}

} // namespace goss
