#include "collectives/sharded.h"

#include <algorithm>
#include <string>

namespace goss::collectives {

namespace {

/// reduce_scatter or all_gather; chunk r is the block of rank r.
class ShardedHalf final : public Algorithm {
 public:
  ShardedHalf(Collective collective, std::unique_ptr<const ShardScheme> scheme)
      : collective_(collective), scheme_(std::move(scheme)) {}

  [[nodiscard]] Collective collective() const { return collective_; }
  [[nodiscard]] std::string_view name() const override { return scheme_->name(); }
  [[nodiscard]] AlgorithmTraits traits() const override { return {.takes_order = scheme_->takesOrder()}; }

  [[nodiscard]] bool supports(const PlanRequest& request) const override {
    return request.collective == collective_ && request.partition == Partition::byRank &&
           isOrder(request.order, request.size) && scheme_->supports(request.size);
  }

  [[nodiscard]] Symmetry symmetry(const PlanRequest& request) const override {
    return request.order.empty() ? scheme_->symmetry(request.size) : Symmetry();
  }

  [[nodiscard]] Schedule plan(const PlanRequest& request) const override {
    ScheduleBuilder builder(
        {collective_, request.size, request.rank, -1, Partition::byRank, static_cast<std::uint32_t>(request.size)});
    const Group group = Group::ordered(request.size, request.rank, request.order);
    const BlockMap blocks = BlockMap::ofRanks(group);
    const GroupPhase phase(builder, group, blocks);
    if (collective_ == Collective::reduceScatter) {
      scheme_->emitReduceScatter(phase);
      phase.finish(group.index(), 1);
    } else {
      scheme_->emitAllGather(phase);
    }
    return builder.build(std::string(name()));
  }

  [[nodiscard]] std::vector<CostRound> rounds(const PlanRequest& request) const override {
    if (!request.order.empty()) return {};
    std::vector<CostRound> half = scheme_->rounds(request.size);
    return collective_ == Collective::reduceScatter ? std::move(half) : gatherRounds(std::move(half));
  }

  [[nodiscard]] std::uint64_t wireElements(const PlanRequest& request,
                                           std::span<const std::uint64_t> chunk_elems) const override {
    return static_cast<std::uint64_t>(request.size - 1) * sumOf(chunk_elems);
  }

 private:
  Collective collective_;
  std::unique_ptr<const ShardScheme> scheme_;
};

class AllReduce final : public Algorithm {
 public:
  explicit AllReduce(std::unique_ptr<const AllReduceScheme> scheme) : scheme_(std::move(scheme)) {}

  [[nodiscard]] std::string_view name() const override { return scheme_->name(); }
  [[nodiscard]] AlgorithmTraits traits() const override {
    return {.pipelined = scheme_->pipelined(), .takes_order = scheme_->takesOrder()};
  }

  [[nodiscard]] bool supports(const PlanRequest& request) const override {
    return request.collective == Collective::allReduce && request.partition == Partition::even && request.blocks >= 1 &&
           isOrder(request.order, request.size) && scheme_->supports(request.size);
  }

  [[nodiscard]] Symmetry symmetry(const PlanRequest& request) const override {
    return request.order.empty() ? scheme_->symmetry(request.size) : Symmetry();
  }

  [[nodiscard]] Schedule plan(const PlanRequest& request) const override {
    const std::uint32_t blocks = scheme_->blockCount(request.size, request.blocks);
    ScheduleBuilder builder({Collective::allReduce, request.size, request.rank, -1, Partition::even, blocks});
    const Group group = Group::ordered(request.size, request.rank, request.order);
    // In a ring of any order chunk r is still rank r's shard, so that shares given by rank mean what they say.
    const BlockMap map = scheme_->takesOrder() ? BlockMap::ofRanks(group) : BlockMap::identity(blocks);
    scheme_->emit(GroupPhase(builder, group, map));
    return builder.build(std::string(name()));
  }

  [[nodiscard]] std::vector<CostRound> rounds(const PlanRequest& request) const override {
    return request.order.empty() ? scheme_->rounds(request.size, request.blocks) : std::vector<CostRound>();
  }

  [[nodiscard]] std::uint64_t wireElements(const PlanRequest& request,
                                           std::span<const std::uint64_t> chunk_elems) const override {
    return scheme_->wireElements(request.size, chunk_elems);
  }

 private:
  std::unique_ptr<const AllReduceScheme> scheme_;
};

} // namespace

std::vector<CostRound> reversedRounds(std::vector<CostRound> rounds) {
  std::reverse(rounds.begin(), rounds.end());
  // Whether two rounds wait for each other is said by the second of them.
  for (std::size_t i = rounds.size(); i-- > 1;)
    rounds[i].waits = rounds[i - 1].waits;
  if (!rounds.empty()) rounds[0].waits = true;
  return rounds;
}

std::vector<CostRound> gatherRounds(std::vector<CostRound> reduce_scatter) {
  std::vector<CostRound> rounds = reversedRounds(std::move(reduce_scatter));
  for (CostRound& round : rounds)
    round.sums = 0;
  return rounds;
}

void append(std::vector<CostRound>& rounds, const std::vector<CostRound>& more, double scale) {
  for (const CostRound& round : more) {
    rounds.push_back(round);
    rounds.back().part *= scale;
  }
}

std::vector<CostRound> ShardedAllReduce::rounds(int group_size, std::uint32_t) const {
  std::vector<CostRound> rounds;
  const std::vector<CostRound> half = scheme_->rounds(group_size);
  append(rounds, half, 1.0 / group_size);
  append(rounds, gatherRounds(half), 1.0 / group_size);
  return rounds;
}

void ShardedAllReduce::emit(const GroupPhase& phase) const {
  scheme_->emitReduceScatter(phase);
  phase.finish(phase.group().index(), 1);
  scheme_->emitAllGather(phase);
}

std::uint64_t ShardedAllReduce::wireElements(int group_size, std::span<const std::uint64_t> block_elems) const {
  return 2 * static_cast<std::uint64_t>(group_size - 1) * sumOf(block_elems);
}

std::unique_ptr<Algorithm> makeReduceScatter(std::unique_ptr<const ShardScheme> scheme) {
  return std::make_unique<ShardedHalf>(Collective::reduceScatter, std::move(scheme));
}

std::unique_ptr<Algorithm> makeAllGather(std::unique_ptr<const ShardScheme> scheme) {
  return std::make_unique<ShardedHalf>(Collective::allGather, std::move(scheme));
}

std::unique_ptr<Algorithm> makeAllReduce(std::unique_ptr<const AllReduceScheme> scheme) {
  return std::make_unique<AllReduce>(std::move(scheme));
}

} // namespace goss::collectives
