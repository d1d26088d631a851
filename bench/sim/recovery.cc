#include "bench/sim/recovery.h"

#include <algorithm>
#include <memory>
#include <queue>

#include "health/agreement.h"

namespace goss::bench::sim {

namespace {

struct Message {
  double at_s;
  std::uint64_t number;
  int from, to;
  std::shared_ptr<const AgreementOutcome> outcome; ///< Where the sender has not decided: its view alone.
  bool decides;
  bool operator>(const Message& other) const { return at_s != other.at_s ? at_s > other.at_s : number > other.number; }
};

bool contains(const std::vector<int>& ranks, int rank) {
  return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

/// The members whose messages are simulated, kAgreeing at most: the gone ones, up to a quarter, and of the others some
/// at even distances.
std::vector<int> chosen(const std::vector<int>& members, const std::vector<int>& gone) {
  if (members.size() <= kAgreeing) return members;
  std::vector<int> some(gone.begin(),
                        gone.begin() + std::min<std::ptrdiff_t>(gone.end() - gone.begin(), kAgreeing / 4));
  std::vector<int> living;
  for (const int rank : members)
    if (!contains(gone, rank)) living.push_back(rank);
  const std::size_t wanted = std::min(kAgreeing - some.size(), living.size());
  for (std::size_t i = 0; i < wanted; ++i)
    some.push_back(living[i * living.size() / wanted]);
  std::sort(some.begin(), some.end());
  return some;
}

class Meeting {
 public:
  /// Each rank but the coordinator stands for `each_stands_for` ranks.
  Meeting(const Network& network, const std::vector<int>& ranks, const std::vector<int>& gone, Agreement::Manner manner,
          double each_stands_for)
      : network_(network),
        ranks_(ranks),
        manner_(manner),
        each_(each_stands_for),
        port_free_s_(ranks.size()),
        untold_(ranks.size()),
        told_(ranks.size()),
        over_(ranks.size()) {
    const int size = static_cast<int>(ranks.size());
    for (int rank = 0; rank < size; ++rank) {
      gone_.push_back(contains(gone, ranks[static_cast<std::size_t>(rank)]));
      parts_.push_back(std::make_unique<Agreement>(
          rank, size, [](std::uint32_t wanted) { return wanted; }, manner));
    }
  }

  AgreementCost run() {
    const int size = static_cast<int>(ranks_.size());
    for (int rank = 0; rank < size; ++rank) {
      if (isGone(rank)) continue;
      for (int other = 0; other < size; ++other)
        if (isGone(other)) part(rank).accuse(other, false);
      settle(rank);
    }
    while (!messages_.empty()) {
      const Message message = messages_.top();
      messages_.pop();
      if (isComplete()) break;
      now_s_ = message.at_s;
      Agreement& to = part(message.to);
      message.decides ? to.receiveDecision(message.from, *message.outcome)
                      : to.receiveView(message.from, message.outcome->view);
      settle(message.to);
      if (!message.decides && to.owesView(message.outcome->view)) tell(message.to, {message.from}, false);
    }
    cost_.time_s = now_s_;
    cost_.goes_on = allLiving([](const Agreement& agreement) { return agreement.isComplete() && agreement.goesOn(); });
    return cost_;
  }

 private:
  Agreement& part(int rank) { return *parts_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool isGone(int rank) const { return gone_[static_cast<std::size_t>(rank)]; }
  template <typename Holds>
  [[nodiscard]] bool allLiving(Holds holds) const {
    for (std::size_t rank = 0; rank < parts_.size(); ++rank)
      if (!gone_[rank] && !holds(*parts_[rank])) return false;
    return true;
  }
  [[nodiscard]] bool isComplete() const {
    return allLiving([](const Agreement& agreement) { return agreement.isComplete(); });
  }

  /// As Shrink::settle (lib/health/shrink.cc).
  void settle(int rank) {
    const auto index = static_cast<std::size_t>(rank);
    Agreement& agreement = part(rank);
    if (agreement.takeChanged()) untold_[index] = true;
    const bool decided = agreement.decision().has_value();
    const bool decides = decided && !told_[index];
    if (decides && untold_[index] && manner_ == Agreement::Manner::all) tell(rank, agreement.audience(), false);
    if (decides) told_[index] = untold_[index] = true;
    if (const std::vector<int> audience = agreement.audience(); untold_[index] && !audience.empty()) {
      untold_[index] = false;
      tell(rank, audience, decided);
    }
    if (!decided || !agreement.isComplete() || over_[index]) return;
    over_[index] = true;
    if (agreement.isCoordinator()) tell(rank, agreement.audience(), true);
  }

  void tell(int from, const std::vector<int>& audience, bool decides) {
    const Agreement& agreement = part(from);
    const auto outcome = std::make_shared<const AgreementOutcome>(
        decides ? AgreementOutcome{*agreement.decision(), agreement.agreed(), agreement.isComplete()}
                : AgreementOutcome{agreement.view(), {}, false});
    double& free_s = port_free_s_[static_cast<std::size_t>(from)];
    free_s = std::max(free_s, now_s_);
    for (const int to : audience) {
      const auto link =
          network_.link(ranks_[static_cast<std::size_t>(from)], ranks_[static_cast<std::size_t>(to)], 1).price;
      free_s += (audience.size() > 1 ? each_ : 1) * link.overhead_s;
      cost_.messages += each_;
      if (!isGone(to)) messages_.push({free_s + link.latency_s, number_++, from, to, outcome, decides});
    }
  }

  const Network& network_;
  const std::vector<int>& ranks_;
  const Agreement::Manner manner_;
  const double each_;
  std::vector<bool> gone_;
  std::vector<std::unique_ptr<Agreement>> parts_;
  std::vector<double> port_free_s_;
  std::vector<bool> untold_; ///< By rank: it has something to tell.
  std::vector<bool> told_;   ///< By rank: it has told its decision.
  std::vector<bool> over_;   ///< By rank: it awaits no other rank any more.
  std::priority_queue<Message, std::vector<Message>, std::greater<>> messages_;
  std::uint64_t number_ = 0;
  double now_s_ = 0;
  AgreementCost cost_;
};

} // namespace

AgreementCost agree(const Network& network, const std::vector<int>& members, const std::vector<int>& gone) {
  const std::vector<int> ranks = chosen(members, gone);
  const double peers = static_cast<double>(members.size()) - 1;
  const double each = ranks.size() < 2 ? 1 : peers / (static_cast<double>(ranks.size()) - 1);
  const Agreement::Manner manner = Agreement::mannerOf(static_cast<int>(members.size()));
  AgreementCost cost = Meeting(network, ranks, gone, manner, each).run();
  // With a coordinator, `each` has counted the messages of all members already.
  if (manner == Agreement::Manner::all)
    cost.messages *= static_cast<double>(members.size()) / static_cast<double>(ranks.size());
  return cost;
}

} // namespace goss::bench::sim
