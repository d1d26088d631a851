#include "health/agreement.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/wire.h"

namespace goss {

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
    if (theirs.ended && !ours.ended) grown = ours.ended = true;
    for (std::size_t word = 0; word < ours.from.size(); ++word) {
      grown = grown || (theirs.from[word] & ~ours.from[word]) != 0;
      ours.from[word] |= theirs.from[word];
    }
  }
  return grown;
}

void AgreementView::accuse(int accuser, int rank, bool ended, int size) {
  Accused& entry = accused[rank];
  entry.from.resize(wordsFor(size));
  entry.ended = entry.ended || ended;
  entry.from[static_cast<std::size_t>(accuser / kBits)] |= std::uint64_t{1} << (accuser % kBits);
}

std::string AgreementView::encode() const {
  base::WireWriter writer;
  writer.integer(context).integer(static_cast<std::uint32_t>(accused.size()));
  for (const auto& [rank, entry] : accused) {
    writer.integer(static_cast<std::uint32_t>(rank)).integer(static_cast<std::uint8_t>(entry.ended ? 1 : 0));
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
    const auto ended = reader.integer<std::uint8_t>();
    sound = rank < static_cast<std::uint32_t>(size) && ended <= 1;
    if (!sound) break;
    Accused& entry = view.accused[static_cast<int>(rank)];
    entry.ended = ended == 1;
    entry.from.resize(wordsFor(size));
    for (std::uint64_t& word : entry.from)
      word = reader.integer<std::uint64_t>();
    // Clears bits beyond the last rank.
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
  for (const auto& [rank, entry] : view.accused) { // A rank that accuses itself has left.
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

bool hasQuorum(const std::vector<bool>& agreed, const std::vector<bool>& ended) {
  std::size_t here = 0;
  std::size_t elsewhere = 0;
  for (std::size_t rank = 0; rank < agreed.size(); ++rank) {
    if (agreed[rank]) ++here;
    if (!agreed[rank] && !ended[rank]) ++elsewhere;
  }
  return elsewhere == 0 || 2 * here > agreed.size() || (2 * here == agreed.size() && agreed[0]);
}

Agreement::Agreement(int self, int size, Reserve reserve)
    : self_(self),
      size_(size),
      reserve_(std::move(reserve)),
      left_out_(static_cast<std::size_t>(size), false),
      lost_(left_out_),
      ended_(left_out_) {
  view_.context = reserved_ = reserve_(0);
  settle();
}

void Agreement::accuse(int rank, bool ended) {
  if (rank == self_) return;
  lose(rank, ended);
  AgreementView found;
  found.context = view_.context;
  found.accuse(self_, rank, ended, size_);
  learn(found);
}

void Agreement::lose(int rank, bool ended) {
  lost_[static_cast<std::size_t>(rank)] = true;
  if (ended) ended_[static_cast<std::size_t>(rank)] = true;
}

void Agreement::learn(const AgreementView& view) {
  if (decision_.has_value()) return;
  changed_ = view_.merge(view) || changed_;
  settle();
}

void Agreement::hear(int from, const AgreementView& theirs) {
  const auto accused = theirs.accused.find(from);
  if (accused != theirs.accused.end() && has(accused->second.from, from)) lose(from, accused->second.ended);
  if (decision_.has_value()) return;
  told_[from] = theirs;
  learn(theirs);
}

void Agreement::hearDecision(int from, const AgreementView& decision) {
  told_decisions_[from] = decision;
  if (!decision_.has_value() && !left_out_[static_cast<std::size_t>(from)]) decision_ = decision;
}

bool Agreement::takeChanged() { return std::exchange(changed_, false); }

bool Agreement::remains(int rank, const AgreementView& view) const {
  const std::vector<int> remaining = remainingRanks(view, size_);
  return std::binary_search(remaining.begin(), remaining.end(), rank);
}

std::vector<int> Agreement::awaited() const {
  const std::vector<int> remaining = remainingRanks(decision_.value_or(view_), size_);
  const auto stays = [&](int rank) { return std::binary_search(remaining.begin(), remaining.end(), rank); };
  const auto hasToldView = [&](int rank) {
    const auto told = told_.find(rank);
    return told != told_.end() && told->second == view_;
  };
  const auto mayTellDecision = [&](int rank) {
    return !told_decisions_.contains(rank) && !lost_[static_cast<std::size_t>(rank)];
  };
  std::vector<int> ranks;
  for (int rank = 0; rank < size_; ++rank) {
    if (rank == self_) continue;
    const bool is_awaited = decision_.has_value() ? stays(self_) && stays(rank) && mayTellDecision(rank)
                            : stays(self_)        ? stays(rank) && !hasToldView(rank)
                                                  : mayTellDecision(rank) && (stays(rank) || !hasToldView(rank));
    if (is_awaited) ranks.push_back(rank);
  }
  return ranks;
}

bool Agreement::isComplete() const { return (decision_.has_value() || !remains(self_, view_)) && awaited().empty(); }

std::vector<bool> Agreement::agreed() const {
  std::vector<bool> ranks(static_cast<std::size_t>(size_), false);
  ranks[static_cast<std::size_t>(self_)] = true;
  for (const auto& [rank, decision] : told_decisions_)
    if (decision == decision_) ranks[static_cast<std::size_t>(rank)] = true;
  return ranks;
}

bool Agreement::goesOn() const {
  if (!decision_.has_value() || !isComplete() || !remains(self_, *decision_)) return false;
  std::vector<bool> ended = ended_;
  for (const AgreementView* view : {&view_, &*decision_})
    for (const auto& [rank, entry] : view->accused)
      if (entry.ended) ended[static_cast<std::size_t>(rank)] = true;
  return hasQuorum(agreed(), ended);
}

// Whatever this rank sends, it has reserved. A rank that its own view leaves out decides nothing: the others send it
// their decision.
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

} // namespace goss
