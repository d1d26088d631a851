#include "collectives/hierarchical.h"

namespace goss::collectives {

Hierarchical::Hierarchical(std::unique_ptr<const ShardScheme> inner, std::unique_ptr<const AllReduceScheme> outer)
    : inner_(std::move(inner)),
      outer_(std::move(outer)),
      name_("hier-" + std::string(inner_->name()) + "-" + std::string(outer_->name())) {}

bool Hierarchical::supports(const PlanRequest& request) const {
  const int local = request.group_size;
  if (request.collective != Collective::allReduce || request.partition != Partition::even || request.blocks < 1)
    return false;
  if (local < 2 || local >= request.size || request.size % local != 0) return false;
  return inner_->supports(local) && outer_->supports(request.size / local);
}

Schedule Hierarchical::plan(const PlanRequest& request) const {
  const int local = request.group_size;
  const int groups = request.size / local;
  const int local_rank = request.rank % local;
  const std::uint32_t width = outer_->blockCount(groups, request.blocks);
  const std::uint32_t shards = static_cast<std::uint32_t>(local);
  ScheduleBuilder builder({Collective::allReduce, request.size, request.rank, -1, Partition::even, shards * width});

  const Group inside = Group::strided(request.rank - local_rank, 1, local, request.rank);
  const BlockMap shard_map = BlockMap::packed(0, shards, width);
  const Group across = Group::strided(local_rank, local, groups, request.rank);
  const BlockMap own_shard = BlockMap::packed(static_cast<std::uint32_t>(local_rank) * width, width, 1);

  const GroupPhase inner_phase(builder, inside, shard_map);
  inner_->emitReduceScatter(inner_phase);
  outer_->emit(GroupPhase(builder, across, own_shard));
  inner_->emitAllGather(inner_phase);
  return builder.build(name_);
}

Symmetry Hierarchical::symmetry(const PlanRequest& request) const {
  const int count = request.size / request.group_size;
  const Symmetry groups = outer_->symmetry(count);
  const bool alike = inner_->symmetry(request.group_size).period == 1;
  if (groups.period == 0 && !alike) return {};
  const int blocks_groups = groups.period > 0 ? groups.period : count;
  return {blocks_groups * request.group_size, groups.exclusive_or, alike ? request.group_size : 1};
}

std::vector<CostRound> Hierarchical::rounds(const PlanRequest& request) const {
  const int local = request.group_size;
  std::vector<CostRound> half;
  append(half, inner_->rounds(local), 1.0 / local);
  for (CostRound& round : half)
    round.among = local;
  std::vector<CostRound> rounds = half;
  std::vector<CostRound> across = outer_->rounds(request.size / local, request.blocks);
  for (CostRound& round : across) {
    round.distance *= local;
    round.lanes = local;
  }
  append(rounds, across, 1.0 / local);
  append(rounds, gatherRounds(std::move(half)));
  return rounds;
}

std::uint64_t Hierarchical::wireElements(const PlanRequest& request, std::span<const std::uint64_t> chunk_elems) const {
  const auto local = static_cast<std::size_t>(request.group_size);
  const auto groups = static_cast<std::size_t>(request.size) / local;
  const std::size_t width = chunk_elems.size() / local;
  std::uint64_t sum = 2 * groups * (local - 1) * sumOf(chunk_elems);
  for (std::size_t l = 0; l < local; ++l) {
    sum += outer_->wireElements(static_cast<int>(groups), chunk_elems.subspan(l * width, width));
  }
  return sum;
}

} // namespace goss::collectives
