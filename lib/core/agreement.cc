#include "core/agreement.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/wire.h"

namespace goss::core {

namespace {

constexpr int kBits = 64;

std::size_t wordsFor(int size) { return static_cast<std::size_t>((size + kBits - 1) / kBits); }

bool has(const std::vector<std::uint64_t>& bits, int rank) {
  return ((bits[static_cast<std::size_t>(rank / kBits)] >> (rank % kBits)) & 1u) != 0;
}

void clear(std::vector<std::uint64_t>& bits, int rank) {
  bits[static_cast<std::size_t>(rank / kBits)] &= ~(std::uint64_t{1} << (rank % kBits));
}

int countOf(const std::vector<std::uint64_t>& bits) {
  int count = 0;
  for (const std::uint64_t word : bits)
    count += std::popcount(word);
  return count;
}

} // namespace

bool AgreementView::merge(const AgreementView& other) {
  bool grown = other.context > context;
  context = std::max(context, other.context);
  for (const auto& [rank, theirs] : other.accused) {
    const auto [at, added] = accused.try_emplace(rank, theirs);
    grown = grown || added;
    Accused& ours = at->second;
    if (theirs.closed && !ours.closed) grown = ours.closed = true;
    for (std::size_t word = 0; word < ours.from.size(); ++word) {
      grown = grown || (theirs.from[word] & ~ours.from[word]) != 0;
      ours.from[word] |= theirs.from[word];
    }
  }
  return grown;
}

void AgreementView::accuse(int accuser, int rank, bool closed, int size) {
  Accused& entry = accused[rank];
  entry.from.resize(wordsFor(size));
  entry.closed = entry.closed || closed;
  entry.from[static_cast<std::size_t>(accuser / kBits)] |= std::uint64_t{1} << (accuser % kBits);
}

std::string AgreementView::encode() const {
  base::WireWriter writer;
  writer.integer(context).integer(static_cast<std::uint32_t>(accused.size()));
  for (const auto& [rank, entry] : accused) {
    writer.integer(static_cast<std::uint32_t>(rank)).integer(static_cast<std::uint8_t>(entry.closed ? 1 : 0));
    for (const std::uint64_t word : entry.from)
      writer.integer(word);
  }
  return writer.take();
}

Result<AgreementView> AgreementView::decode(std::string_view bytes, int size) {
  base::WireReader reader(bytes);
  AgreementView view;
  view.context = reader.integer<std::uint32_t>();
  const auto count = reader.integer<std::uint32_t>();
  bool sound = count <= static_cast<std::uint32_t>(size);
  for (std::uint32_t i = 0; sound && i < count; ++i) {
    const auto rank = reader.integer<std::uint32_t>();
    const auto closed = reader.integer<std::uint8_t>();
    sound = rank < static_cast<std::uint32_t>(size) && closed <= 1;
    if (!sound) break;
    Accused& entry = view.accused[static_cast<int>(rank)];
    entry.closed = closed == 1;
    entry.from.resize(wordsFor(size));
    for (std::uint64_t& word : entry.from)
      word = reader.integer<std::uint64_t>();
    // No accuser beyond the last rank.
    const int rest = size % kBits;
    sound = rest == 0 || (entry.from.back() >> rest) == 0;
  }
  if (!sound || !reader.complete() || view.accused.size() != count) {
    return Status::error(GOSS_ERR_PROTOCOL, "a malformed view of who is gone");
  }
  return view;
}

std::vector<int> remainingRanks(const AgreementView& view, int size) {
  std::map<int, AgreementView::Accused> accused = view.accused;
  std::vector<bool> out(static_cast<std::size_t>(size), false);
  const auto leaveOut = [&](int rank) {
    out[static_cast<std::size_t>(rank)] = true;
    accused.erase(rank);
    for (auto& [other, entry] : accused)
      clear(entry.from, rank);
  };
  for (const auto& [rank, entry] : view.accused) { // Who accuses itself has left.
    if (has(entry.from, rank)) leaveOut(rank);
  }
  for (;;) {
    int worst = -1;
    int most = 0;
    for (const auto& [rank, entry] : accused) { // Ascending: of equals the highest wins.
      const int count = countOf(entry.from);
      if (count > 0 && count >= most) {
        worst = rank;
        most = count;
      }
    }
    if (worst < 0) break;
    leaveOut(worst);
  }
  std::vector<int> remaining;
  for (int rank = 0; rank < size; ++rank)
    if (!out[static_cast<std::size_t>(rank)]) remaining.push_back(rank);
  return remaining;
}

bool hasQuorum(const AgreementView& view, const std::vector<int>& remaining) {
  std::vector<int> silent;
  for (const auto& [rank, entry] : view.accused) {
    const bool remains = std::binary_search(remaining.begin(), remaining.end(), rank);
    if (!remains && !entry.closed) silent.push_back(rank);
  }
  if (remaining.size() != silent.size()) return remaining.size() > silent.size();
  return !remaining.empty() && remaining.front() < silent.front();
}

Agreement::Agreement(int self, int size, Reserve reserve)
    : self_(self), size_(size), reserve_(std::move(reserve)), left_out_(static_cast<std::size_t>(size), false) {
  view_.context = reserved_ = reserve_(0);
  settle();
}

void Agreement::accuse(int rank, bool closed) {
  if (rank == self_) return;
  AgreementView found;
  found.context = view_.context;
  found.accuse(self_, rank, closed, size_);
  learn(found);
}

void Agreement::learn(const AgreementView& view) {
  if (decision_.has_value()) return;
  changed_ = view_.merge(view) || changed_;
  settle();
}

void Agreement::hear(int from, const AgreementView& theirs) {
  if (decision_.has_value()) return;
  told_[from] = theirs;
  learn(theirs);
}

void Agreement::hearDecision(int from, const AgreementView& decision) {
  if (!decision_.has_value() && !left_out_[static_cast<std::size_t>(from)]) decision_ = decision;
}

bool Agreement::takeChanged() { return std::exchange(changed_, false); }

std::vector<int> Agreement::awaited() const {
  std::vector<int> ranks;
  for (const int rank : remainingRanks(view_, size_)) {
    if (rank == self_) continue;
    const auto told = told_.find(rank);
    if (told == told_.end() || !(told->second == view_)) ranks.push_back(rank);
  }
  return ranks;
}

// What this rank tells, it has reserved. A rank that its own view leaves out decides nothing: the others tell it.
void Agreement::settle() {
  if (view_.context != reserved_) {
    const std::uint32_t free = reserve_(view_.context);
    changed_ = changed_ || free != view_.context;
    view_.context = reserved_ = free;
  }
  const std::vector<int> remaining = remainingRanks(view_, size_);
  for (int rank = 0; rank < size_; ++rank)
    if (!std::binary_search(remaining.begin(), remaining.end(), rank)) left_out_[static_cast<std::size_t>(rank)] = true;
  if (std::binary_search(remaining.begin(), remaining.end(), self_) && awaited().empty()) decision_ = view_;
}

} // namespace goss::core
