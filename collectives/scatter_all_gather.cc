#include "collectives/scatter_all_gather.h"

namespace goss::collectives {

ScatterAllGather::ScatterAllGather(Collective collective, std::unique_ptr<const RootedScheme> rooted,
                                   std::unique_ptr<const ShardScheme> sharded)
    : collective_(collective),
      rooted_(std::move(rooted)),
      sharded_(std::move(sharded)),
      name_(collective == Collective::broadcast ? "scatter-" + std::string(sharded_->name())
                                                : std::string(sharded_->name()) + "-gather") {}

bool ScatterAllGather::supports(const PlanRequest& request) const {
  return request.collective == collective_ && request.partition == Partition::even && sharded_->supports(request.size);
}

Schedule ScatterAllGather::plan(const PlanRequest& request) const {
  const auto chunks = static_cast<std::uint32_t>(request.size);
  ScheduleBuilder builder({collective_, request.size, request.rank, request.root, Partition::even, chunks});
  const Group group = Group::rotated(request.size, request.rank, request.root);
  const BlockMap map = BlockMap::identity(chunks);
  const GroupPhase phase(builder, group, map);
  if (collective_ == Collective::broadcast) {
    rooted_->emitScatter(phase);
    sharded_->emitAllGather(phase);
  } else {
    sharded_->emitReduceScatter(phase);
    phase.finish(group.index(), 1);
    rooted_->emitGather(phase);
  }
  return builder.build(name_);
}

std::vector<CostRound> ScatterAllGather::rounds(const PlanRequest& request) const {
  const std::vector<CostRound> rooted = rooted_->rounds(request.size);
  const std::vector<CostRound> sharded = sharded_->rounds(request.size);
  const double part = 1.0 / request.size;
  std::vector<CostRound> rounds;
  if (collective_ == Collective::broadcast) {
    append(rounds, rooted, part);
    append(rounds, gatherRounds(sharded), part);
  } else {
    append(rounds, sharded, part);
    append(rounds, enteringRounds(rooted), part);
  }
  return rounds;
}

std::uint64_t ScatterAllGather::wireElements(const PlanRequest& request,
                                             std::span<const std::uint64_t> chunk_elems) const {
  return static_cast<std::uint64_t>(request.size - 1) * sumOf(chunk_elems) + rooted_->wireElements(chunk_elems);
}

} // namespace goss::collectives
