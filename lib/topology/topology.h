/// Who averages with whom in which round of gossip, as a value.
#ifndef GOSS_LIB_TOPOLOGY_TOPOLOGY_H_
#define GOSS_LIB_TOPOLOGY_TOPOLOGY_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "gossamer/neighborhood.h"
#include "gossamer/status.h"
#include "topology/mixing.h"

namespace goss::topology {

/// What a method may need of the matrices.
enum class Property : std::uint8_t {
  rowStochastic,    ///< No negative weight, and each row's sum is 1: equal vectors stay equal.
  columnStochastic, ///< No negative weight, and each column's sum is 1: the sum over the ranks is kept (push-sum).
  doublyStochastic, ///< Both: repeated rounds tend to the mean.
  symmetric,        ///< W(i, j) == W(j, i).
  constant,         ///< All rounds have one matrix.
};

/// Immutable; safe for concurrent use. Rounds repeat with the period.
class Topology {
 public:
  /// The text of the file that "matrix:FILE" names.
  using ReadFile = std::function<Result<std::string>(const std::string& path)>;

  /// Makes the topology that include/gossamer/gossip.h describes. Errors: invalidArgument that says what is wrong with
  /// the spec, or which row and column of a matrix; those of `read`.
  static Result<Topology> make(std::string_view spec, int ranks, const ReadFile& read);

  [[nodiscard]] const std::string& spec() const { return spec_; }
  [[nodiscard]] int size() const { return static_cast<int>(rounds_[0].rows.size()); }
  [[nodiscard]] std::uint64_t period() const { return rounds_.size(); }
  [[nodiscard]] const Mixing& mixing(std::uint64_t round) const { return rounds_[round % rounds_.size()]; }
  /// The neighbours of `rank` in `round`. Sources have the weights of the rank's row, destinations weight 1.
  [[nodiscard]] Neighborhood neighborhood(std::uint64_t round, int rank) const;
  /// Ok when every round has the property, else an error (invalidArgument) that names round, row and column.
  [[nodiscard]] Status require(Property property) const;

 private:
  Topology(std::string spec, std::vector<Mixing> rounds) : spec_(std::move(spec)), rounds_(std::move(rounds)) {}

  std::string spec_;
  std::vector<Mixing> rounds_;
};

/// Weights may differ from a sum of 1 by this much.
inline constexpr double kStochasticTolerance = 1e-9;

} // namespace goss::topology

#endif // GOSS_LIB_TOPOLOGY_TOPOLOGY_H_
