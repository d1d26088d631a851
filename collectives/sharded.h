/// What a sharding scheme gives by itself: reduce_scatter, all_gather, and all_reduce as the one followed by the other.
///
/// The owner finishes its shard between the two halves, so that every rank gets the same bytes. Wire over all ranks, m
/// elements in p shards: reduce_scatter and all_gather (p - 1) * m each, all_reduce 2 (p - 1) * m.
#ifndef GOSS_COLLECTIVES_SHARDED_H_
#define GOSS_COLLECTIVES_SHARDED_H_

#include <memory>

#include "collectives/scheme.h"
#include "gossamer/algorithm.h"

namespace goss::collectives {

/// All-reduce scheme of a sharding scheme, one block a position.
class ShardedAllReduce final : public AllReduceScheme {
 public:
  explicit ShardedAllReduce(std::unique_ptr<const ShardScheme> scheme) : scheme_(std::move(scheme)) {}
  [[nodiscard]] std::string_view name() const override { return scheme_->name(); }
  [[nodiscard]] bool supports(int group_size) const override { return scheme_->supports(group_size); }
  [[nodiscard]] bool takesOrder() const override { return scheme_->takesOrder(); }
  [[nodiscard]] std::uint32_t blockCount(int group_size, std::uint32_t) const override {
    return static_cast<std::uint32_t>(group_size);
  }
  [[nodiscard]] Symmetry symmetry(int group_size) const override { return scheme_->symmetry(group_size); }
  void emit(const GroupPhase& phase) const override;
  [[nodiscard]] std::vector<CostRound> rounds(int group_size, std::uint32_t pipeline_blocks) const override;
  [[nodiscard]] std::uint64_t wireElements(int group_size, std::span<const std::uint64_t> block_elems) const override;

 private:
  std::unique_ptr<const ShardScheme> scheme_;
};

std::unique_ptr<Algorithm> makeReduceScatter(std::unique_ptr<const ShardScheme> scheme);
std::unique_ptr<Algorithm> makeAllGather(std::unique_ptr<const ShardScheme> scheme);
/// all_reduce over all ranks by any all-reduce scheme.
std::unique_ptr<Algorithm> makeAllReduce(std::unique_ptr<const AllReduceScheme> scheme);

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_SHARDED_H_
