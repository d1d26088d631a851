#include "health/agreement.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "base/wire.h"

namespace goss {

namespace {

constexpr int kBits = 64;
/// For each silent rank that would coordinate, Agreement::watched() has so many ranks more, but not many more than
/// kMaxWatched that are not silent.
constexpr std::size_t kWatchedForEachSilent = 4;
constexpr std::size_t kMaxWatched = 16;

std::size_t wordsFor(int size) { return static_cast<std::size_t>((size + kBits - 1) / kBits); }

bool has(const std::vector<std::uint64_t>& bits, int rank) {
  return ((bits[static_cast<std::size_t>(rank / kBits)] >> (rank % kBits)) & 1u) != 0;
}

void set(std::vector<std::uint64_t>& bits, int rank) {
  bits[static_cast<std::size_t>(rank / kBits)] |= std::uint64_t{1} << (rank % kBits);
}

/// Whether no bit beyond the last rank is set.
bool isWithin(const std::vector<std::uint64_t>& bits, int size) {
  const int rest = size % kBits;
  return rest == 0 || (bits.back() >> rest) == 0;
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
  set(entry.from, accuser);
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
    sound = isWithin(entry.from, size);
  }
  if (!sound || !reader.complete() || view.accused.size() != count) {
    return Status::error(GOSS_ERR_PROTOCOL, "a malformed view of who is gone");
  }
  return view;
}

std::string AgreementOutcome::encode() const {
  std::vector<std::uint64_t> words(wordsFor(static_cast<int>(agreed.size())));
  for (std::size_t rank = 0; rank < agreed.size(); ++rank)
    if (agreed[rank]) set(words, static_cast<int>(rank));
  base::WireWriter writer;
  writer.integer(static_cast<std::uint8_t>(over ? 1 : 0));
  for (const std::uint64_t word : words)
    writer.integer(word);
  return writer.take() + view.encode();
}

std::size_t AgreementOutcome::overhead(int size) { return 1 + sizeof(std::uint64_t) * wordsFor(size); }

Result<AgreementOutcome> AgreementOutcome::decode(std::string_view bytes, int size) {
  const std::size_t head = std::min(overhead(size), bytes.size());
  base::WireReader reader(bytes.substr(0, head));
  AgreementOutcome outcome;
  const auto over = reader.integer<std::uint8_t>();
  outcome.over = over == 1;
  std::vector<std::uint64_t> words(wordsFor(size));
  for (std::uint64_t& word : words)
    word = reader.integer<std::uint64_t>();
  if (over > 1 || !isWithin(words, size) || !reader.complete())
    return Status::error(GOSS_ERR_PROTOCOL, "a malformed decision on who is gone");
  for (int rank = 0; rank < size; ++rank)
    outcome.agreed.push_back(has(words, rank));
  Result<AgreementView> view = AgreementView::decode(bytes.substr(head), size);
  if (!view.isOk()) return view.status();
  outcome.view = view.take();
  return outcome;
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
  for (const auto& [rank, entry] : view.accused) { // A rank that accuses itself has departed.
    if (has(entry.from, rank)) leaveOut(rank);
  }
  for (;;) {
    int worst = -1;
    int most = 0;
    for (const auto& [rank, entry] : accused) { // In ascending order: of equals it takes the highest.
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

Agreement::Agreement(int self, int size, Reserve reserve, Manner manner)
    : self_(self),
      size_(size),
      reserve_(std::move(reserve)),
      manner_(manner),
      has_told_(static_cast<std::size_t>(size), false),
      remains_(has_told_),
      left_out_(has_told_),
      lost_(has_told_),
      ended_(has_told_),
      over_(has_told_) {
  view_.context = reserved_ = reserve_(0);
  settle();
  decideIfAgreed();
}

void Agreement::accuse(int rank, bool ended) {
  if (rank == self_) return;
  lose(rank, ended);
  // One accuser is enough for a rank that has ended, because a rank that has ended accuses nobody. If hundreds of ranks
  // added their accusations to the view one by one, every rank would have to send its view hundreds of times.
  const auto known = view_.accused.find(rank);
  if (ended && !remains_[static_cast<std::size_t>(rank)] && known != view_.accused.end() && known->second.ended) return;
  AgreementView found;
  found.context = view_.context;
  found.accuse(self_, rank, ended, size_);
  learn(found);
}

void Agreement::lose(int rank, bool ended) {
  changed_ =
      changed_ || (decision_.has_value() && coordinator() == rank); // The next coordinator is to be told the decision.
  lost_[static_cast<std::size_t>(rank)] = true;
  if (ended) ended_[static_cast<std::size_t>(rank)] = true;
}

void Agreement::learn(const AgreementView& view) {
  if (decision_.has_value()) return;
  if (view_.merge(view)) {
    changed_ = true;
    settle();
  }
  decideIfAgreed();
}

void Agreement::receiveView(int from, const AgreementView& theirs) {
  const auto accused = theirs.accused.find(from);
  if (accused != theirs.accused.end() && has(accused->second.from, from)) lose(from, accused->second.ended);
  if (decision_.has_value()) return;
  told_[from] = theirs;
  has_told_[static_cast<std::size_t>(from)] = theirs == view_;
  learn(theirs);
}

void Agreement::receiveDecision(int from, const AgreementOutcome& outcome) {
  const bool was_spoken_for = reportsToCoordinator();
  told_decisions_[from] = outcome.view;
  for (int rank = 0; rank < static_cast<int>(outcome.agreed.size()); ++rank)
    if (rank != self_ && outcome.agreed[static_cast<std::size_t>(rank)])
      told_decisions_.try_emplace(rank, outcome.view);
  if (outcome.over) over_[static_cast<std::size_t>(from)] = true;
  if (decision_.has_value()) return;
  if (left_out_[static_cast<std::size_t>(from)]) {
    // The decision counts as the view of `from`: `from` sends no view after it, and may never have sent this one.
    told_[from] = outcome.view;
    has_told_[static_cast<std::size_t>(from)] = outcome.view == view_;
    decideIfAgreed();
    changed_ = changed_ || was_spoken_for != reportsToCoordinator();
    return;
  }
  decision_ = outcome.view;
  noteRemaining(outcome.view);
}

bool Agreement::takeChanged() { return std::exchange(changed_, false); }

void Agreement::noteRemaining(const AgreementView& view) {
  remains_.assign(remains_.size(), false);
  for (const int rank : remainingRanks(view, size_))
    remains_[static_cast<std::size_t>(rank)] = true;
}

/// The lowest rank that remains and that this rank has not lost: with Manner::coordinator it collects the views of the
/// others.
int Agreement::coordinator() const {
  for (int rank = 0; rank < size_; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    if (remains_[index] && (rank == self_ || !lost_[index])) return rank;
  }
  return -1;
}

/// Whether this rank sends its view to the coordinator alone. A rank that is not among the remaining ranks of its own
/// view sends it to all other ranks, because the remaining ranks may not have the same information; so does a rank that
/// cannot adopt the coordinator's decision.
bool Agreement::reportsToCoordinator() const {
  if (manner_ != Manner::coordinator || !remains_[static_cast<std::size_t>(self_)]) return false;
  const int first = coordinator();
  return first != self_ && (decision_.has_value() || !told_decisions_.contains(first));
}

bool Agreement::hasReceivedAll() const {
  for (int rank = 0; rank < size_; ++rank)
    if (rank != self_ && remains_[static_cast<std::size_t>(rank)] && !told_.contains(rank)) return false;
  return true;
}

std::vector<int> Agreement::others() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size_; ++rank)
    if (rank != self_) ranks.push_back(rank);
  return ranks;
}

bool Agreement::isCoordinator() const {
  return manner_ == Manner::coordinator && remains_[static_cast<std::size_t>(self_)] && coordinator() == self_;
}

std::vector<int> Agreement::audience() const {
  if (reportsToCoordinator()) return {coordinator()};
  const bool waits = isCoordinator() && !decision_.has_value() && !hasReceivedAll();
  return waits ? std::vector<int>() : others();
}

bool Agreement::owesView(const AgreementView& theirs) const {
  return manner_ == Manner::coordinator && !decision_.has_value() && theirs != view_ && !audience().empty();
}

/// The coordinator's last message has said all that the coordinator knows of the ranks that this rank still waits for.
bool Agreement::waitsForCoordinator() const {
  return reportsToCoordinator() && !(decision_.has_value() && over_[static_cast<std::size_t>(coordinator())]);
}

std::vector<int> Agreement::asked() const {
  return waitsForCoordinator() ? std::vector<int>{coordinator()} : awaited();
}

std::vector<int> Agreement::watched(const std::function<bool(int rank)>& is_silent) const {
  if (!waitsForCoordinator()) return awaited();
  std::vector<int> ranks;
  std::size_t silent = 0;
  // This rank remains, and is higher than the coordinator.
  for (int rank = coordinator(); rank < self_; ++rank) {
    if (!remains_[static_cast<std::size_t>(rank)] || lost_[static_cast<std::size_t>(rank)]) continue;
    if (ranks.size() > std::min(kWatchedForEachSilent * silent, silent + kMaxWatched)) return ranks;
    ranks.push_back(rank);
    if (is_silent(rank)) ++silent;
  }
  if (silent < ranks.size()) return ranks;
  for (const int rank : awaited()) // This rank would coordinate.
    if (std::find(ranks.begin(), ranks.end(), rank) == ranks.end()) ranks.push_back(rank);
  return ranks;
}

bool Agreement::isAwaited(int rank) const {
  if (rank == self_) return false;
  const auto index = static_cast<std::size_t>(rank);
  const bool self_remains = remains_[static_cast<std::size_t>(self_)];
  if (!decision_.has_value() && self_remains) return remains_[index] && !has_told_[index];
  const bool may_tell_decision = !lost_[index] && !told_decisions_.contains(rank);
  if (decision_.has_value()) return self_remains && remains_[index] && may_tell_decision;
  return may_tell_decision && (remains_[index] || !has_told_[index]);
}

std::vector<int> Agreement::awaited() const {
  std::vector<int> ranks;
  for (int rank = 0; rank < size_; ++rank)
    if (isAwaited(rank)) ranks.push_back(rank);
  return ranks;
}

bool Agreement::isComplete() const {
  if (!decision_.has_value() && remains_[static_cast<std::size_t>(self_)]) return false;
  for (int rank = 0; rank < size_; ++rank)
    if (isAwaited(rank)) return false;
  return true;
}

std::vector<bool> Agreement::agreed() const {
  std::vector<bool> ranks(static_cast<std::size_t>(size_), false);
  ranks[static_cast<std::size_t>(self_)] = true;
  for (const auto& [rank, decision] : told_decisions_)
    if (decision == decision_) ranks[static_cast<std::size_t>(rank)] = true;
  return ranks;
}

bool Agreement::goesOn() const {
  if (!decision_.has_value() || !isComplete() || !remains_[static_cast<std::size_t>(self_)]) return false;
  std::vector<bool> ended = ended_;
  for (const AgreementView* view : {&view_, &*decision_})
    for (const auto& [rank, entry] : view->accused)
      if (entry.ended) ended[static_cast<std::size_t>(rank)] = true;
  return hasQuorum(agreed(), ended);
}

/// Accuses the lost ranks that remain by the view: an accusation that accuse() found needless may be needed now.
void Agreement::accuseTheLost() {
  for (bool more = true; more;) {
    more = false;
    noteRemaining(view_);
    for (int rank = 0; rank < size_; ++rank) {
      const auto index = static_cast<std::size_t>(rank);
      if (rank == self_ || !lost_[index] || !remains_[index]) continue;
      const auto known = view_.accused.find(rank);
      if (known != view_.accused.end() && has(known->second.from, self_)) continue;
      view_.accuse(self_, rank, ended_[index], size_);
      more = changed_ = true;
    }
  }
}

/// Follows a view that is new or has grown. This rank sends no context number that it has not reserved.
void Agreement::settle() {
  if (view_.context != reserved_) {
    const std::uint32_t free = reserve_(view_.context);
    changed_ = changed_ || free != view_.context;
    view_.context = reserved_ = free;
  }
  accuseTheLost();
  for (std::size_t rank = 0; rank < remains_.size(); ++rank)
    if (!remains_[rank]) left_out_[rank] = true;
  for (const auto& [rank, told] : told_)
    has_told_[static_cast<std::size_t>(rank)] = told == view_;
}

/// Decides the view if no rank is awaited. A rank that its own view leaves out decides nothing: it waits for the
/// decision of the others.
void Agreement::decideIfAgreed() {
  if (!remains_[static_cast<std::size_t>(self_)]) return;
  for (int rank = 0; rank < size_; ++rank)
    if (isAwaited(rank)) return;
  decision_ = view_;
}

} // namespace goss
