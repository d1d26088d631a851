/// Gather to one rank and scatter from it, alone or as one phase of a broadcast or a reduce.
#ifndef GOSS_COLLECTIVES_ROOTED_H_
#define GOSS_COLLECTIVES_ROOTED_H_

#include <memory>

#include "collectives/scheme.h"
#include "gossamer/algorithm.h"

namespace goss::collectives {

/// A scatter from position 0 and the gather that undoes it; block v belongs to position v. Stateless, safe for
/// concurrent use.
class RootedScheme {
 public:
  virtual ~RootedScheme() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  /// Position v holds block v; afterwards position 0 holds all.
  virtual void emitGather(const GroupPhase& phase) const = 0;
  /// Position 0 holds all blocks; afterwards position v holds block v.
  virtual void emitScatter(const GroupPhase& phase) const = 0;
  /// The longest path of the scatter, as Algorithm::rounds() says; messages are counted in blocks.
  [[nodiscard]] virtual std::vector<CostRound> rounds(int group_size) const = 0;
  /// Elements that all positions together send, in either; block_elems[v] belongs to position v.
  [[nodiscard]] virtual std::uint64_t wireElements(std::span<const std::uint64_t> block_elems) const = 0;
};

/// Binomial tree (R. Thakur, R. Rabenseifner, W. Gropp, IJHPCA 19, 2005, section 4.2): for d = 1, 2, 4, ..: position v
/// with bit d set sends the blocks of its subtree, v .. v+d-1, to v-d. The scatter runs the steps in reverse, with the
/// directions turned. Latency ceil(log2 n) messages. Wire: the sum over v of (number of one bits in v) * m_v.
class BinomialRooted final : public RootedScheme {
 public:
  [[nodiscard]] std::string_view name() const override { return "binomial"; }
  void emitGather(const GroupPhase& phase) const override;
  void emitScatter(const GroupPhase& phase) const override;
  [[nodiscard]] std::vector<CostRound> rounds(int group_size) const override;
  [[nodiscard]] std::uint64_t wireElements(std::span<const std::uint64_t> block_elems) const override;
};

/// Every position exchanges its block with position 0 directly. Latency 1 message. Wire: the sum over v > 0 of m_v.
class LinearRooted final : public RootedScheme {
 public:
  [[nodiscard]] std::string_view name() const override { return "linear"; }
  void emitGather(const GroupPhase& phase) const override;
  void emitScatter(const GroupPhase& phase) const override;
  [[nodiscard]] std::vector<CostRound> rounds(int group_size) const override;
  [[nodiscard]] std::uint64_t wireElements(std::span<const std::uint64_t> block_elems) const override;
};

/// The rounds of the gather that undoes a scatter of these rounds.
std::vector<CostRound> enteringRounds(std::vector<CostRound> scatter);

std::unique_ptr<Algorithm> makeGather(std::unique_ptr<const RootedScheme> scheme);
std::unique_ptr<Algorithm> makeScatter(std::unique_ptr<const RootedScheme> scheme);

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_ROOTED_H_
