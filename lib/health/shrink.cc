#include "health/shrink.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <utility>

#include "call/tag.h"

namespace goss {

namespace {

/// Shrink::remind() sends at least once in so many calls in a row.
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
    // Only numbers that were taken count: hundreds of ranks want as many numbers, and there are only kMaxContext.
    if (number != wanted) ++raised;
    return number;
  };
  agreement_ = std::make_unique<Agreement>(peers_.group.rank(), peers_.group.size(), reserve, manner_);
  for (const auto& [rank, view] : early_views_)
    agreement_->receiveView(rank, view);
  for (const auto& [rank, decision] : early_decisions_)
    agreement_->receiveDecision(rank, decision);
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

/// Takes note of what the agreement has become, and ends the attempt when no rank is awaited any more. Messages that
/// have come together change the view many times; where Hooks::defer says so, the other ranks are told after the last
/// of them.
void Shrink::settle() {
  untold_ = agreement_->takeChanged() || untold_;
  const bool decides =
      agreement_->decision().has_value() && decisions_.try_emplace(attempt_, Decision{*agreement_->decision()}).second;
  const bool ends = agreement_->isComplete();
  // With Manner::all, ranks that have not decided need the view that this rank has decided, too. With
  // Manner::coordinator they wait for the coordinator's decision alone.
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
  // With Manner::all every rank sends its decision to all others anyway, so that this message requests none.
  tell({owed.begin(), owed.end()}, manner_ == Agreement::Manner::coordinator ? Request::ofAwaited : Request::none);
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
  const bool coordinates = agreement_->isCoordinator();
  agreement_.reset();
  // The coordinator's last message tells all others which ranks have the decision, so that they need not ask each
  // other.
  if (coordinates) tellDecision(peers_.group.others(), attempt_ - 1);
  hooks_.end_call(Status::ok());
}

std::vector<int> Shrink::watched(const std::function<bool(int rank)>& is_silent) const {
  return agreement_ != nullptr ? agreement_->watched(is_silent) : std::vector<int>();
}

void Shrink::remind() {
  if (agreement_ == nullptr) return;
  ++reminders_;
  if (reminders_ % kMaxPause != 0 && !std::has_single_bit(reminders_)) return;
  tell(agreement_->asked(), Request::ofAll);
}

/// Sends `ranks` this rank's decision in the current attempt, or as long as there is none its view.
void Shrink::tell(const std::vector<int>& ranks, Request request) {
  if (ranks.empty()) return;
  decisions_.contains(attempt_) ? tellDecision(ranks, attempt_, request) : tellView(ranks);
}

void Shrink::tellView(const std::vector<int>& ranks) {
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

/// Sends `ranks` this rank's decision in `attempt`; nothing if this rank has none. A rank of which `request` requests
/// its decision sends it even if it has sent it before. Only in the current attempt ranks are awaited.
void Shrink::tellDecision(const std::vector<int>& ranks, std::uint64_t attempt, Request request) {
  if (!decisions_.contains(attempt)) return;
  ControlMessage message = decisionMessage(attempt);
  for (const int rank : ranks) {
    const bool requests = request == Request::ofAll || (request == Request::ofAwaited && agreement_->isAwaited(rank));
    message.culprit = requests ? peers_.group.worldRank(rank) : -1;
    peers_.send(rank, message);
  }
}

ControlMessage Shrink::decisionMessage(std::uint64_t attempt) const {
  const Decision& decision = decisions_.at(attempt);
  ControlMessage message = peers_.message(decision.is_made ? ControlMessage::Type::agreed : ControlMessage::Type::view);
  message.operation = attempt;
  // Where this rank has no decision, the message says that it has departed and does not go on.
  if (!decision.is_made) return message;
  const bool over = attempt != attempt_;
  message.text = AgreementOutcome{decision.view, over ? decision.agreed : agreement_->agreed(), over}.encode();
  return message;
}

std::optional<ControlMessage> Shrink::lastDecision() const {
  const auto last =
      std::find_if(decisions_.rbegin(), decisions_.rend(), [](const auto& one) { return one.second.is_made; });
  return last == decisions_.rend() ? std::nullopt : std::optional(decisionMessage(last->first));
}

void Shrink::handle(int rank, const ControlMessage& message) {
  // The sender may still be in an attempt that has ended here.
  if (message.wantsDecision(peers_.group.worldRank(peers_.group.rank()))) tellDecision({rank}, message.operation);
  if (message.operation != attempt_) return;
  receive(rank, message);
  if (agreement_ != nullptr) settle();
}

/// Takes in a message of the current attempt.
void Shrink::receive(int rank, const ControlMessage& message) {
  const bool agreed = message.type == ControlMessage::Type::agreed;
  const int size = peers_.group.size();
  const auto refuse = [&](const Status& why) {
    log_.warn(fmt::format("{} sent {}", peers_.group.nameOf(rank), why.text()));
  };
  if (agreed && !message.hasDeparted()) {
    Result<AgreementOutcome> read = AgreementOutcome::decode(message.text, size);
    if (!read.isOk()) return refuse(read.status());
    if (agreement_ != nullptr) return agreement_->receiveDecision(rank, read.value());
    early_decisions_[rank] = read.take();
    return;
  }
  AgreementView view;
  if (message.hasDeparted()) {
    view.accuse(rank, rank, !agreed, size); // A rank that goes on elsewhere has not ended.
  } else {
    Result<AgreementView> read = AgreementView::decode(message.text, size);
    if (!read.isOk()) return refuse(read.status());
    view = read.take();
  }
  if (agreement_ == nullptr) {
    early_views_[rank] = view;
    return;
  }
  agreement_->receiveView(rank, view);
  if (!message.hasDeparted() && agreement_->owesView(view)) owed_.insert(rank);
}

void Shrink::accuse(int rank) {
  if (agreement_ == nullptr) return;
  agreement_->accuse(rank, peers_.hasEnded(rank));
  settle();
}

bool Shrink::goesOn() const {
  return std::ranges::any_of(decisions_, [](const auto& one) { return one.second.goes_on; });
}

// All ranks with one decision get the same result, except those that the decision leaves out.
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
