/// The building blocks that algorithms are composed of: a sharding scheme (reduce-scatter with its all-gather) and an
/// all-reduce. Both work in any group and on any blocks, so that they run alone or inside a hierarchy.
#ifndef GOSS_COLLECTIVES_SCHEME_H_
#define GOSS_COLLECTIVES_SCHEME_H_

#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <vector>

#include "collectives/group.h"
#include "gossamer/algorithm.h"

namespace goss::collectives {

/// A reduce-scatter and the all-gather that undoes it. With n blocks of sizes m_v, each position sends every block but
/// its own in each of the two: (n - 1) * sum(m_v) elements over all positions. Stateless, safe for concurrent use.
class ShardScheme {
 public:
  virtual ~ShardScheme() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual bool supports(int group_size) const { return group_size >= 1; }
  /// Whether the order of the group's ranks is worth choosing (a ring's is).
  [[nodiscard]] virtual bool takesOrder() const { return false; }
  /// How the positions follow from one another, as Algorithm::symmetry() says of ranks.
  [[nodiscard]] virtual Symmetry symmetry(int /*group_size*/) const { return {.period = 1}; }
  /// The longest path of the reduce-scatter, as Algorithm::rounds() says; messages are counted in blocks.
  [[nodiscard]] virtual std::vector<CostRound> rounds(int group_size) const = 0;
  /// Every position holds all blocks; afterwards position v holds the sum of block v. No finish.
  virtual void emitReduceScatter(const GroupPhase& phase) const = 0;
  /// Position v holds block v; afterwards every position holds all blocks.
  virtual void emitAllGather(const GroupPhase& phase) const = 0;
};

/// An all-reduce of blocks that every position holds, with exactly one finish of every block. Stateless, safe for
/// concurrent use.
class AllReduceScheme {
 public:
  virtual ~AllReduceScheme() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  [[nodiscard]] virtual bool supports(int group_size) const { return group_size >= 1; }
  /// As ShardScheme::takesOrder(); then blockCount() is the group's size.
  [[nodiscard]] virtual bool takesOrder() const { return false; }
  [[nodiscard]] virtual bool pipelined() const { return false; }
  /// How the positions follow from one another, as Algorithm::symmetry() says of ranks.
  [[nodiscard]] virtual Symmetry symmetry(int /*group_size*/) const { return {}; }
  /// How many blocks emit() wants. `pipeline_blocks` is PlanRequest::blocks.
  [[nodiscard]] virtual std::uint32_t blockCount(int group_size, std::uint32_t pipeline_blocks) const = 0;
  virtual void emit(const GroupPhase& phase) const = 0;
  /// The longest path of emit(), as Algorithm::rounds() says; `pipeline_blocks` as for blockCount().
  [[nodiscard]] virtual std::vector<CostRound> rounds(int group_size, std::uint32_t pipeline_blocks) const = 0;
  /// Elements that all positions together send.
  [[nodiscard]] virtual std::uint64_t wireElements(int group_size,
                                                   std::span<const std::uint64_t> block_elems) const = 0;
};

/// The rounds in the reverse order.
std::vector<CostRound> reversedRounds(std::vector<CostRound> rounds);
/// The rounds of the all-gather that undoes a reduce-scatter of these rounds.
std::vector<CostRound> gatherRounds(std::vector<CostRound> reduce_scatter);
/// Appends `more`, each message of which is `scale` times as large.
void append(std::vector<CostRound>& rounds, const std::vector<CostRound>& more, double scale = 1);

inline std::uint64_t sumOf(std::span<const std::uint64_t> elems) {
  return std::accumulate(elems.begin(), elems.end(), std::uint64_t{0});
}

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_SCHEME_H_
