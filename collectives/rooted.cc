#include "collectives/rooted.h"

#include <algorithm>
#include <bit>
#include <string>
#include <vector>

namespace goss::collectives {

namespace {

/// Gather or scatter; chunk r is the block of rank r, position v is rank root + v.
class Rooted final : public Algorithm {
 public:
  Rooted(Collective collective, std::unique_ptr<const RootedScheme> scheme)
      : collective_(collective), scheme_(std::move(scheme)) {}

  [[nodiscard]] std::string_view name() const override { return scheme_->name(); }
  [[nodiscard]] AlgorithmTraits traits() const override { return {}; }

  [[nodiscard]] bool supports(const PlanRequest& request) const override {
    return request.collective == collective_ && request.partition == Partition::byRank;
  }

  [[nodiscard]] Schedule plan(const PlanRequest& request) const override {
    ScheduleBuilder builder({collective_, request.size, request.rank, request.root, Partition::byRank,
                             static_cast<std::uint32_t>(request.size)});
    const Group group = Group::rotated(request.size, request.rank, request.root);
    const BlockMap blocks = BlockMap::ofRanks(group);
    const GroupPhase phase(builder, group, blocks);
    if (collective_ == Collective::gather) {
      scheme_->emitGather(phase);
    } else {
      scheme_->emitScatter(phase);
    }
    return builder.build(std::string(name()));
  }

  [[nodiscard]] std::vector<CostRound> rounds(const PlanRequest& request) const override {
    std::vector<CostRound> scatter = scheme_->rounds(request.size);
    return collective_ == Collective::scatter ? std::move(scatter) : enteringRounds(std::move(scatter));
  }

  [[nodiscard]] std::uint64_t wireElements(const PlanRequest& request,
                                           std::span<const std::uint64_t> chunk_elems) const override {
    std::vector<std::uint64_t> by_position(chunk_elems.begin(), chunk_elems.end());
    std::rotate(by_position.begin(), by_position.begin() + request.root, by_position.end());
    return scheme_->wireElements(by_position);
  }

 private:
  Collective collective_;
  std::unique_ptr<const RootedScheme> scheme_;
};

} // namespace

void BinomialRooted::emitGather(const GroupPhase& phase) const {
  const int n = phase.group().size();
  const int self = phase.group().index();
  for (int distance = 1; distance < n; distance *= 2) {
    if ((self & distance) != 0) {
      phase.send(self - distance, self, std::min(distance, n - self));
      return;
    }
    const int child = self + distance;
    if (child < n) phase.receive(child, child, std::min(distance, n - child));
  }
}

void BinomialRooted::emitScatter(const GroupPhase& phase) const {
  const int n = phase.group().size();
  const int self = phase.group().index();
  const int subtree = self == 0 ? static_cast<int>(std::bit_ceil(static_cast<unsigned>(n))) : self & -self;
  if (self > 0) phase.receive(self - subtree, self, std::min(subtree, n - self));
  for (int distance = subtree / 2; distance >= 1; distance /= 2) {
    const int child = self + distance;
    if (child < n) phase.send(child, child, std::min(distance, n - child));
  }
}

std::vector<CostRound> BinomialRooted::rounds(int group_size) const {
  std::vector<CostRound> rounds;
  for (int left = group_size; left > 1;) {
    const int distance = static_cast<int>(std::bit_ceil(static_cast<unsigned>(left)) / 2);
    rounds.push_back({.part = static_cast<double>(left - distance), .hops = Hops::tree, .distance = distance});
    left = distance;
  }
  // The longest path is that to a position with the most bits set.
  if (group_size > 2 && !std::has_single_bit(static_cast<unsigned>(group_size))) rounds[1].waits = false;
  return rounds;
}

std::vector<CostRound> LinearRooted::rounds(int group_size) const {
  if (group_size < 2) return {};
  return {{.messages = group_size - 1, .hops = Hops::tree}};
}

std::vector<CostRound> enteringRounds(std::vector<CostRound> scatter) {
  std::vector<CostRound> rounds = reversedRounds(std::move(scatter));
  for (CostRound& round : rounds)
    round.enters = true;
  return rounds;
}

std::uint64_t BinomialRooted::wireElements(std::span<const std::uint64_t> block_elems) const {
  std::uint64_t sum = 0;
  for (std::size_t v = 0; v < block_elems.size(); ++v)
    sum += static_cast<std::uint64_t>(std::popcount(v)) * block_elems[v];
  return sum;
}

void LinearRooted::emitGather(const GroupPhase& phase) const {
  const int self = phase.group().index();
  if (self > 0) return phase.send(0, self, 1);
  for (int v = 1; v < phase.group().size(); ++v)
    phase.receive(v, v, 1);
}

void LinearRooted::emitScatter(const GroupPhase& phase) const {
  const int self = phase.group().index();
  if (self > 0) return phase.receive(0, self, 1);
  for (int v = 1; v < phase.group().size(); ++v)
    phase.send(v, v, 1);
}

std::uint64_t LinearRooted::wireElements(std::span<const std::uint64_t> block_elems) const {
  return sumOf(block_elems) - block_elems[0];
}

std::unique_ptr<Algorithm> makeGather(std::unique_ptr<const RootedScheme> scheme) {
  return std::make_unique<Rooted>(Collective::gather, std::move(scheme));
}

std::unique_ptr<Algorithm> makeScatter(std::unique_ptr<const RootedScheme> scheme) {
  return std::make_unique<Rooted>(Collective::scatter, std::move(scheme));
}

} // namespace goss::collectives
