#include "schedule/symbols.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "gossamer/random.h"

namespace goss::schedule {

namespace {

using goss::detail::mix64;

std::uint64_t sumExpression(std::uint64_t a, std::uint64_t b) { return mix64(std::min(a, b) * 3 + std::max(a, b)); }
std::uint64_t weightedExpression(std::uint64_t sum, std::uint64_t a, double weight) {
  return mix64(sum * 7 + mix64(a ^ std::bit_cast<std::uint64_t>(weight)));
}
std::uint64_t finishedExpression(std::uint64_t a) { return mix64(a + 1); }

void note(std::string& fault, std::string text) {
  if (fault.empty()) fault = std::move(text);
}

} // namespace

Contributions setOf(RankRange ranks) {
  Contributions set;
  for (int r = ranks.first; r < ranks.last; ++r)
    set.set(static_cast<std::size_t>(r));
  return set;
}

std::uint64_t encodedExpression(const Symbol& symbol) {
  return symbol.encoded ? symbol.lossy_expression : mix64(symbol.lossy_expression + 2);
}

std::map<int, double> promisedWeights(int rank, std::span<const Neighborhood* const> neighborhoods) {
  const Neighborhood& mine = *neighborhoods[static_cast<std::size_t>(rank)];
  std::map<int, double> row = {{rank, mine.self_weight}};
  for (const Neighbor& source : mine.sources) {
    for (const Neighbor& destination : neighborhoods[static_cast<std::size_t>(source.rank)]->destinations) {
      if (destination.rank == rank) row[source.rank] = source.weight * destination.weight;
    }
  }
  return row;
}

std::uint32_t SymbolStore::add(const Symbol& symbol) {
  symbols_.push_back(symbol);
  return static_cast<std::uint32_t>(symbols_.size() - 1);
}

std::uint32_t SymbolStore::contribution(int rank, std::uint32_t chunk) {
  Symbol symbol;
  symbol.chunk = chunk;
  symbol.from.set(static_cast<std::size_t>(rank));
  symbol.expression = mix64((static_cast<std::uint64_t>(rank) << 32 | chunk) + 1);
  symbol.lossy_expression = symbol.expression;
  return add(symbol);
}

std::uint32_t SymbolStore::sum(const Role& role, std::uint32_t a, std::uint32_t b, std::string& fault) {
  const Symbol& first = symbols_[a];
  const Symbol& second = symbols_[b];
  // A barrier's tokens may meet twice, because hearing of a rank is not a sum.
  const bool barrier = role.collective == Collective::barrier;
  const Contributions both = first.from & second.from;
  if (first.chunk != second.chunk) {
    note(fault, fmt::format("reduces chunk {} with chunk {}", first.chunk, second.chunk));
  } else if (!reduces(role.collective) && !barrier) {
    note(fault, fmt::format("reduces in a {}", nameOf(role.collective)));
  } else if (first.finishes + second.finishes > 0) {
    note(fault, fmt::format("reduces chunk {} after its finish", first.chunk));
  } else if (first.payload != second.payload) {
    note(fault, fmt::format("adds a payload of chunk {} to a value", first.chunk));
  } else if (first.payload && first.finishes > 0) {
    note(fault, fmt::format("adds to the encoded result of chunk {}", first.chunk));
  } else if (both.any() && !barrier) {
    note(fault, fmt::format("counts rank {}'s contribution to chunk {} twice", both._Find_first(), first.chunk));
  }
  Symbol sum;
  sum.chunk = first.chunk;
  sum.from = first.from | second.from;
  sum.expression = sumExpression(first.expression, second.expression);
  sum.lossy_expression = sumExpression(first.lossy_expression, second.lossy_expression);
  sum.lossy_depth = std::max(first.lossy_depth, second.lossy_depth);
  sum.payload = sum.encoded = first.payload;
  return add(sum);
}

std::uint32_t SymbolStore::combined(const Role& role, std::span<const std::uint32_t> operands,
                                    std::span<const double> weights, std::string& fault) {
  Symbol sum;
  sum.chunk = symbols_[operands[0]].chunk;
  if (role.collective != Collective::neighborAllReduce)
    note(fault, fmt::format("combines with weights in a {}", nameOf(role.collective)));
  for (std::size_t i = 0; i < operands.size(); ++i) {
    const Symbol& operand = symbols_[operands[i]];
    const Contributions both = sum.from & operand.from;
    if (operand.chunk != sum.chunk)
      note(fault, fmt::format("combines chunk {} with chunk {}", sum.chunk, operand.chunk));
    if (operand.payload) note(fault, fmt::format("combines a payload of chunk {}", operand.chunk));
    if (both.any())
      note(fault, fmt::format("counts rank {}'s contribution to chunk {} twice", both._Find_first(), sum.chunk));
    if (operand.weights.empty()) sum.weights[static_cast<int>(operand.from._Find_first())] = weights[i];
    for (const auto& [rank, weight] : operand.weights)
      sum.weights[rank] = weights[i] * weight;
    sum.from |= operand.from;
    sum.expression = weightedExpression(sum.expression, operand.expression, weights[i]);
    sum.lossy_expression = weightedExpression(sum.lossy_expression, operand.lossy_expression, weights[i]);
    sum.lossy_depth = std::max(sum.lossy_depth, operand.lossy_depth);
  }
  return add(sum);
}

std::uint32_t SymbolStore::finished(const Role& role, std::uint32_t id, std::string& fault) {
  Symbol symbol = symbols_[id];
  if (!reduces(role.collective)) {
    note(fault, fmt::format("finish in a {}", nameOf(role.collective)));
  } else if (symbol.finishes > 0) {
    note(fault, fmt::format("second finish of chunk {}", symbol.chunk));
  } else if (symbol.from != setOf(contributors(role, symbol.chunk))) {
    note(fault, fmt::format("finish of chunk {} with {} contributions", symbol.chunk, symbol.from.count()));
  }
  ++symbol.finishes;
  symbol.expression = finishedExpression(symbol.expression);
  symbol.lossy_expression = finishedExpression(symbol.lossy_expression);
  symbol.encoded = false;
  return add(symbol);
}

std::uint32_t SymbolStore::encoded(std::uint32_t id) {
  if (symbols_[id].encoded) return id;
  Symbol symbol = symbols_[id];
  symbol.lossy_expression = encodedExpression(symbol);
  symbol.encoded = true;
  ++symbol.lossy_depth;
  return add(symbol);
}

std::uint32_t SymbolStore::payloadOf(std::uint32_t id) {
  Symbol symbol = symbols_[id];
  symbol.expression = mix64(symbol.expression + 5); // A copy that was not encoded has other bits.
  symbol.lossy_expression = mix64(symbol.lossy_expression + 5);
  symbol.encoded = true;
  symbol.payload = true;
  ++symbol.lossy_depth;
  return add(symbol);
}

std::uint32_t SymbolStore::valueOf(const Role& role, std::uint32_t id, bool finished, std::string& fault) {
  Symbol symbol = symbols_[id];
  if (!symbol.payload) note(fault, fmt::format("decodes chunk {}, which is not encoded", symbol.chunk));
  if (reduces(role.collective) && finished != (symbol.finishes > 0)) {
    note(fault, fmt::format("takes {} of chunk {} for {}", finished ? "a part" : "the result", symbol.chunk,
                            finished ? "the result" : "a part"));
  }
  symbol.payload = false;
  return add(symbol);
}

} // namespace goss::schedule
