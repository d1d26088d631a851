/// Contents of cells and messages in a symbolic run: sets of contributions instead of numbers.
#ifndef GOSS_LIB_SCHEDULE_SYMBOLS_H_
#define GOSS_LIB_SCHEDULE_SYMBOLS_H_

#include <bitset>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "schedule/contract.h"

namespace goss::schedule {

inline constexpr int kMaxCheckedRanks = 256;

using Contributions = std::bitset<kMaxCheckedRanks>;

/// The set of the ranks first..last-1.
Contributions setOf(RankRange ranks);

struct Symbol {
  std::uint32_t chunk = 0; ///< Which part of the vector; all_to_all: the rank that it is meant for.
  Contributions from;
  /// neighbor_all_reduce: the weight of each contribution; empty: one contribution, unweighted.
  std::map<int, double> weights;
  std::uint64_t expression = 0;       ///< Hash of the expression that computed it; commutative.
  std::uint64_t lossy_expression = 0; ///< As `expression`, with every encoding as a step of the computation.
  int finishes = 0;
  int lossy_depth = 0;
  bool encoded = false;
  bool payload = false; ///< It is a payload, to be decoded before use.
};

/// The hash of a symbol's encoded form, whether or not it has been encoded already.
std::uint64_t encodedExpression(const Symbol& symbol);

/// The weights that neighbor_all_reduce promises a rank: a row of the mixing matrix. neighborhoods[r]: rank r's.
std::map<int, double> promisedWeights(int rank, std::span<const Neighborhood* const> neighborhoods);

/// All symbols of one run, by number. Operations that break a rule set `fault` to a text, if it is empty, and go on.
class SymbolStore {
 public:
  [[nodiscard]] const Symbol& operator[](std::uint32_t id) const { return symbols_[id]; }

  std::uint32_t contribution(int rank, std::uint32_t chunk);
  /// Faults: different chunks, a contribution that is in both, an operand that was finished, a collective without sums.
  std::uint32_t sum(const Role& role, std::uint32_t a, std::uint32_t b, std::string& fault);
  /// The sum of the operands times their weights. Faults: different chunks, a rank's contribution twice, a payload, a
  /// collective without weights.
  std::uint32_t combined(const Role& role, std::span<const std::uint32_t> operands, std::span<const double> weights,
                         std::string& fault);
  /// Faults: an incomplete sum, a second finish, a collective without sums.
  std::uint32_t finished(const Role& role, std::uint32_t id, std::string& fault);
  /// The symbol that is sent for `id`: encoded bytes are forwarded unchanged.
  std::uint32_t encoded(std::uint32_t id);
  /// The payload of a value in a compressed schedule; valueOf() is the inverse.
  std::uint32_t payloadOf(std::uint32_t id);
  /// Faults: it is no payload, or its slot was meant for a part of a sum and it is a result, or the reverse.
  std::uint32_t valueOf(const Role& role, std::uint32_t id, bool finished, std::string& fault);

 private:
  std::uint32_t add(const Symbol& symbol);
  std::vector<Symbol> symbols_;
};

} // namespace goss::schedule

#endif // GOSS_LIB_SCHEDULE_SYMBOLS_H_
