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
  std::shared_ptr<const AgreementView> view;
  bool decides;
  bool operator>(const Message& other) const { return at_s != other.at_s ? at_s > other.at_s : number > other.number; }
};

/// As many of the members as may take part: those that are gone, up to a quarter, and others evenly among the rest.
std::vector<int> chosen(const std::vector<int>& members, const std::vector<int>& gone) {
  if (members.size() <= kAgreeing) return members;
  std::vector<int> some(gone.begin(),
                        gone.begin() + std::min<std::ptrdiff_t>(gone.end() - gone.begin(), kAgreeing / 4));
  std::vector<int> living;
  for (const int rank : members)
    if (std::find(gone.begin(), gone.end(), rank) == gone.end()) living.push_back(rank);
  const std::size_t wanted = std::min(kAgreeing - some.size(), living.size());
  for (std::size_t i = 0; i < wanted; ++i)
    some.push_back(living[i * living.size() / wanted]);
  std::sort(some.begin(), some.end());
  return some;
}

class Meeting {
 public:
  Meeting(const Network& network, const std::vector<int>& ranks, const std::vector<int>& gone, double each_stands_for)
      : network_(network), ranks_(ranks), each_(each_stands_for), port_free_s_(ranks.size()), told_(ranks.size()) {
    const int size = static_cast<int>(ranks.size());
    for (int rank = 0; rank < size; ++rank) {
      gone_.push_back(std::find(gone.begin(), gone.end(), ranks[static_cast<std::size_t>(rank)]) != gone.end());
      parts_.push_back(std::make_unique<Agreement>(rank, size, [](std::uint32_t wanted) { return wanted; }));
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
      message.decides ? part(message.to).hearDecision(message.from, *message.view)
                      : part(message.to).hear(message.from, *message.view);
      settle(message.to);
    }
    cost_.time_s = now_s_;
    for (int rank = 0; rank < size; ++rank)
      cost_.goes_on = cost_.goes_on && (isGone(rank) || (part(rank).isComplete() && part(rank).goesOn()));
    return cost_;
  }

 private:
  Agreement& part(int rank) { return *parts_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool isGone(int rank) const { return gone_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] bool isComplete() const {
    for (std::size_t rank = 0; rank < parts_.size(); ++rank)
      if (!gone_[rank] && !parts_[rank]->isComplete()) return false;
    return true;
  }

  /// As Shrink::settle (lib/health/shrink.cc).
  void settle(int rank) {
    if (part(rank).takeChanged()) tell(rank, part(rank).view(), false);
    if (!part(rank).decision().has_value() || told_[static_cast<std::size_t>(rank)]) return;
    told_[static_cast<std::size_t>(rank)] = true;
    tell(rank, *part(rank).decision(), true);
  }

  void tell(int from, const AgreementView& view, bool decides) {
    const auto copy = std::make_shared<const AgreementView>(view);
    double& free_s = port_free_s_[static_cast<std::size_t>(from)];
    free_s = std::max(free_s, now_s_);
    for (int to = 0; to < static_cast<int>(ranks_.size()); ++to) {
      if (to == from) continue;
      const auto link =
          network_.link(ranks_[static_cast<std::size_t>(from)], ranks_[static_cast<std::size_t>(to)], 1).price;
      free_s += each_ * link.overhead_s;
      cost_.messages += each_;
      if (!isGone(to)) messages_.push({free_s + link.latency_s, number_++, from, to, copy, decides});
    }
  }

  const Network& network_;
  const std::vector<int>& ranks_;
  const double each_;
  std::vector<bool> gone_;
  std::vector<std::unique_ptr<Agreement>> parts_;
  std::vector<double> port_free_s_;
  std::vector<bool> told_; ///< By rank: it has told the others its decision.
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
  AgreementCost cost = Meeting(network, ranks, gone, each).run();
  cost.messages *= static_cast<double>(members.size()) / static_cast<double>(ranks.size());
  return cost;
}

} // namespace goss::bench::sim
