#include "health/shrink.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "call/tag.h"

namespace goss {

namespace {

/// Shrink::remind() sends in at least every so many-th of its calls.
constexpr unsigned kMaxPause = 4;

std::vector<int> ranksOf(const std::vector<bool>& flags) {
  std::vector<int> ranks;
  for (std::size_t rank = 0; rank < flags.size(); ++rank)
    if (flags[rank]) ranks.push_back(static_cast<int>(rank));
  return ranks;
}

} // namespace

Shrink::Shrink(const Peers& peers, const base::Log& log, Hooks hooks)
    : peers_(peers), log_(log), hooks_(std::move(hooks)), manner_(Agreement::mannerOf(peers.group.size())) {}

bool Shrink::isBound() const {
  const auto last = decisions_.find(attempt_ - 1);
  return last != decisions_.end() && (!last->second.goes_on || !last->second.delivered);
}

void Shrink::makeAgreement() {
  const auto reserve = [this, raised = 0U](std::uint32_t wanted) mutable {
    const std::uint32_t number = hooks_.reserve(wanted, raised);
    // A number that was free does not count: many ranks name many numbers, and there are only kMaxContext.
    if (number != wanted) ++raised;
    return number;
  };
  agreement_ = std::make_unique<Agreement>(peers_.group.rank(), peers_.group.size(), reserve, manner_);
  for (const auto& [rank, view] : early_views_)
    agreement_->hear(rank, view);
  for (const auto& [rank, decision] : early_decisions_)
    agreement_->hearDecision(rank, decision);
  early_views_.clear();
  early_decisions_.clear();
}

void Shrink::begin() {
  if (agreement_ == nullptr) makeAgreement();
  reminders_ = 0;
  for (const int rank : peers_.group.others())
    if (peers_.isLost(rank)) agreement_->accuse(rank, peers_.hasEnded(rank));
  settle();
}

/// Sends news to the others, and ends the attempt when it is settled which ranks go on. Messages that have come
/// together change the view many times, so that the others are told once, behind the last of them.
void Shrink::settle() {
  untold_ = agreement_->takeChanged() || untold_;
  const bool decides =
      agreement_->decision().has_value() && decisions_.try_emplace(attempt_, Decision{*agreement_->decision()}).second;
  const bool ends = agreement_->isComplete();
  // Sends the last view too, because ranks that have not decided need it, unless they only wait for the decision.
  if (decides && untold_ && manner_ == Agreement::Manner::all) tellView(peers_.group.others());
  untold_ = untold_ || decides;
  if (decides || ends || ((untold_ || !owed_.empty()) && !hooks_.defer())) flush();
  if (ends) endAttempt();
}

void Shrink::flush() {
  if (agreement_ == nullptr) return;
  std::set<int> owed = std::exchange(owed_, {});
  const std::vector<int> audience = untold_ ? agreement_->audience() : std::vector<int>();
  untold_ = untold_ && audience.empty();
  owed.insert(audience.begin(), audience.end());
  const std::vector<int> ranks(owed.begin(), owed.end());
  // Where all tell all, nobody has to ask.
  const Answer answer = manner_ == Agreement::Manner::speaker ? Answer::ifAwaited : Answer::none;
  decisions_.contains(attempt_) ? tellDecision(ranks, attempt_, answer) : tellView(ranks);
}

void Shrink::endAttempt() {
  const auto [at, is_undecided] = decisions_.try_emplace(attempt_, Decision{agreement_->view()});
  Decision& decision = at->second;
  decision.is_made = !is_undecided;
  if (is_undecided) tellDecision(peers_.group.others(), attempt_);
  ++attempt_;
  owed_.clear();
  untold_ = false;
  decision.goes_on = agreement_->goesOn();
  decision.agreed = agreement_->agreed();
  // Those for whom this rank speaks learn who has agreed.
  const bool last_word = !is_undecided && agreement_->speaksForOthers();
  agreement_.reset();
  if (last_word) tellDecision(peers_.group.others(), attempt_ - 1);
  hooks_.end_call(Status::ok());
}

std::vector<int> Shrink::awaited() const { return agreement_ != nullptr ? agreement_->asked() : std::vector<int>(); }

void Shrink::remind() {
  ++reminders_;
  if (reminders_ % kMaxPause != 0 && !std::has_single_bit(reminders_)) return;
  if (decisions_.contains(attempt_)) {
    tellDecision(awaited(), attempt_, Answer::wanted);
  } else {
    tellView(awaited());
  }
}

void Shrink::tellView(const std::vector<int>& ranks) {
  if (agreement_ == nullptr || ranks.empty()) return;
  ControlMessage message = peers_.message(ControlMessage::Type::view);
  message.operation = attempt_;
  message.text = agreement_->view().encode();
  if (message.text.size() + AgreementOutcome::overhead(peers_.group.size()) <= ControlMessage::kMaxTextBytes)
    return peers_.send(ranks, message);
  hooks_.end_call(Status::error(
      GOSS_ERR_UNSUPPORTED,
      fmt::format("goss_comm_shrink: {} of {} ranks were lost, more than this version can agree on; start anew",
                  agreement_->view().accused.size(), peers_.group.size()),
      ErrorScope::communicator));
}

/// Does nothing when `attempt` goes on and this rank has not decided in it. `answer`: whether each rank is to tell its
/// own decision, although it may have told it before.
void Shrink::tellDecision(const std::vector<int>& ranks, std::uint64_t attempt, Answer answer) {
  if (!decisions_.contains(attempt) || ranks.empty()) return;
  ControlMessage message = decisionMessage(attempt);
  for (const int rank : ranks) {
    const bool awaits = answer == Answer::ifAwaited && attempt == attempt_ && agreement_ && agreement_->isAwaited(rank);
    message.culprit = awaits || answer == Answer::wanted ? peers_.group.worldRank(rank) : -1;
    peers_.send(rank, message);
  }
}

ControlMessage Shrink::decisionMessage(std::uint64_t attempt) const {
  const Decision& decision = decisions_.at(attempt);
  ControlMessage message = peers_.message(decision.is_made ? ControlMessage::Type::agreed : ControlMessage::Type::view);
  message.operation = attempt;
  // Without a decision the message has no view; its type, view, tells that this rank does not go on.
  if (!decision.is_made) return message;
  const bool over = attempt != attempt_ || agreement_ == nullptr;
  message.text = AgreementOutcome{decision.view, over ? decision.agreed : agreement_->agreed(), over}.encode();
  return message;
}

ControlMessage Shrink::lastWords() const {
  const auto last =
      std::find_if(decisions_.rbegin(), decisions_.rend(), [](const auto& one) { return one.second.is_made; });
  return last == decisions_.rend() ? peers_.message(ControlMessage::Type::view) : decisionMessage(last->first);
}

void Shrink::handle(int rank, const ControlMessage& message) {
  const bool left = message.text.empty();
  const bool decided = !left && message.type == ControlMessage::Type::agreed;
  const bool asks = !left && (!decided || message.culprit == peers_.group.worldRank(peers_.group.rank()));
  // A rank that is ahead repeats its decision; a rank that is behind needs this rank's decision, unless it has left.
  if (asks && message.operation <= attempt_) tellDecision({rank}, message.operation);
  if (message.operation != attempt_) return;
  hear(rank, message);
  if (agreement_ != nullptr) settle();
}

/// Takes in a message of the current attempt.
void Shrink::hear(int rank, const ControlMessage& message) {
  // No view: the sender has destroyed its communicator, after it went on (agreed) or not, or knows that it is left out.
  const bool left = message.text.empty();
  const bool decided = !left && message.type == ControlMessage::Type::agreed;
  const int size = peers_.group.size();
  const auto refuse = [&](const Status& why) {
    log_.warn(fmt::format("{} sent {}", peers_.group.nameOf(rank), why.text()));
  };
  if (decided) {
    Result<AgreementOutcome> read = AgreementOutcome::decode(message.text, size);
    if (!read.isOk()) return refuse(read.status());
    if (agreement_ != nullptr) return agreement_->hearDecision(rank, read.value());
    early_decisions_[rank] = read.take();
    return;
  }
  AgreementView view;
  if (left) {
    view.accuse(rank, rank, message.type != ControlMessage::Type::agreed, size);
  } else {
    Result<AgreementView> read = AgreementView::decode(message.text, size);
    if (!read.isOk()) return refuse(read.status());
    view = read.take();
  }
  if (agreement_ == nullptr) {
    early_views_[rank] = view;
    return;
  }
  agreement_->hear(rank, view);
  if (!left && agreement_->owesView(view)) owed_.insert(rank);
}

void Shrink::accuse(int rank) {
  if (agreement_ == nullptr) return;
  agreement_->accuse(rank, peers_.hasEnded(rank));
  settle();
}

bool Shrink::goesOn() const {
  return std::ranges::any_of(decisions_, [](const auto& one) { return one.second.goes_on; });
}

// Every rank with this decision gets the same result, except the ranks that are left out.
Result<Shrink::Survivors> Shrink::outcome() {
  const Group& group = peers_.group;
  Decision& decision = decisions_.at(attempt_ - 1);
  decision.delivered = true;
  const std::vector<int> members = remainingRanks(decision.view, group.size());
  if (!std::binary_search(members.begin(), members.end(), group.rank())) {
    const std::string_view fate = decision.is_made ? "went on without it" : "are out of reach";
    return Status::error(GOSS_ERR_PEER_LOST,
                         fmt::format("goss_comm_shrink: the others ({}) had lost {} and {}", fmt::join(members, ", "),
                                     group.nameOf(group.rank()), fate),
                         ErrorScope::communicator, group.worldRank(group.rank()));
  }
  if (!decision.goes_on) {
    return Status::error(
        GOSS_ERR_PEER_LOST,
        fmt::format("goss_comm_shrink: only ranks {} are in reach, and those that are silent may go on "
                    "elsewhere; more than half of {} must be in reach",
                    fmt::join(ranksOf(decision.agreed), ", "), group.size()),
        ErrorScope::communicator);
  }
  if (decision.view.context > kMaxContext) {
    return Status::error(GOSS_ERR_RESOURCE,
                         fmt::format("goss_comm_shrink: more than {} communicators were made", kMaxContext));
  }
  Survivors survivors{decision.view.context, {}};
  for (const int member : members)
    survivors.world_ranks.push_back(group.worldRank(member));
  return survivors;
}

} // namespace goss
