#include "topology/topology.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "base/invalid.h"
#include "base/spec.h"
#include "topology/base_graph.h"
#include "topology/graphs.h"
#include "topology/weights.h"

namespace goss::topology {

namespace {

using base::ParameterInfo;
using base::SpecReader;

constexpr base::SpecGrammar kGrammar = {"topology", "torus:4x4", ",;", "", "dims"}; // ';': inside of another spec
constexpr std::string_view kFile = "matrix:";
constexpr ParameterInfo kDims = {"dims", "", "lengths such as 4x4"};
constexpr ParameterInfo kWeights = {"weights", "", "uniform, metropolis or push-sum"};
constexpr std::array kOfAll = {kWeights};
constexpr std::array kOfGrids = {kDims, kWeights};
constexpr std::array kOfRandom = {ParameterInfo{"d", "4", "neighbours of each rank"},
                                  ParameterInfo{"seed", "1", "of the choice"}, kWeights};
constexpr std::array kOfBase = {ParameterInfo{"k", "1", "most neighbours of a rank in a round"}};

constexpr std::string_view kNames =
    "ring, torus, hypercube, star, full, exponential, one-peer-exponential, base, random-regular, shift-one, grid, "
    "matrix:FILE";
/// The neighbours of more ranks than this would fill memory.
constexpr int kMaxRanks = 1 << 14;

std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

using base::invalid;

/// The graphs of a spec, and the weights that suit them unless the spec names others.
struct Family {
  std::vector<Graph> rounds;
  Rule rule = Rule::uniform;
};

void wantPowerOfTwo(SpecReader& spec, int ranks) {
  if ((ranks & (ranks - 1)) != 0) spec.refuse(fmt::format("{} ranks are no power of two", ranks));
}

std::span<const ParameterInfo> parametersOf(std::string_view name) {
  if (name == "torus" || name == "grid") return kOfGrids;
  if (name == "random-regular") return kOfRandom;
  if (name == "base") return kOfBase;
  return kOfAll;
}

/// The lengths of "4x4". Empty: there are none.
std::vector<int> lengthsOf(SpecReader& spec) {
  const std::string text = spec.text("dims");
  std::vector<int> dims;
  for (std::string_view left = text; !left.empty();) {
    const std::string_view part = left.substr(0, left.find('x'));
    int length = 0;
    const auto [end, error] = std::from_chars(part.data(), part.data() + part.size(), length);
    if (error != std::errc() || end != part.data() + part.size() || length < 1 || part.size() + 1 == left.size()) {
      spec.refuse(fmt::format("'{}' is no list of lengths such as 4x4", text));
      return {1};
    }
    dims.push_back(length);
    left.remove_prefix(std::min(left.size(), part.size() + 1));
  }
  return dims;
}

std::vector<int> readDims(SpecReader& spec, int ranks, bool may_lack) {
  std::vector<int> dims = lengthsOf(spec);
  if (dims.empty() && may_lack) { // as square as has room for all
    const int side = static_cast<int>(std::ceil(std::sqrt(ranks)));
    return {side, (ranks + side - 1) / side};
  }
  if (dims.empty()) spec.refuse(fmt::format("it wants lengths, such as {}:4x4", spec.name()));
  double product = 1;
  for (const int dim : dims)
    product *= dim;
  if (product == ranks || (may_lack && product > ranks && product <= kMaxRanks)) return dims;
  spec.refuse(fmt::format("its lengths multiply to {:.0f}, not to {} ranks", product, ranks));
  return {ranks};
}

Graph readRandomRegular(SpecReader& spec, int ranks) {
  const std::uint64_t degree = spec.integer("d", {2, kMaxRanks});
  const std::uint64_t seed = spec.integer("seed", {0, 1e18});
  const auto size = static_cast<std::uint64_t>(ranks);
  if (degree < 2 || degree >= size || size * degree % 2 != 0) {
    spec.refuse(fmt::format("no connected graph of {} ranks has {} neighbours at each", ranks, degree));
    return full(1);
  }
  return randomRegular(ranks, static_cast<int>(degree), seed);
}

Family familyOf(SpecReader& spec, int ranks) {
  const std::string& name = spec.name();
  if (name == "ring") return {{torus(std::vector{ranks})}};
  if (name == "torus") return {{torus(readDims(spec, ranks, false))}};
  if (name == "star") return {{star(ranks)}, Rule::metropolis};
  if (name == "full") return {{full(ranks)}};
  if (name == "exponential") return {{exponential(ranks)}};
  if (name == "one-peer-exponential") return {onePeerExponential(ranks)};
  if (name == "random-regular") return {{readRandomRegular(spec, ranks)}};
  if (name == "grid") return {grid(readDims(spec, ranks, true), ranks)};
  if (name == "hypercube") {
    wantPowerOfTwo(spec, ranks);
    return {{hypercube((ranks & (ranks - 1)) == 0 ? ranks : 1)}};
  }
  if (name == "shift-one") {
    if (ranks % 2 != 0) spec.refuse(fmt::format("{} ranks are not even", ranks));
    return {shiftOne(ranks)};
  }
  spec.refuse(fmt::format("there is no topology '{}'; there are: {}", name, kNames));
  return {};
}

Result<std::vector<Mixing>> weightedRounds(SpecReader& spec, int ranks) {
  Family family = familyOf(spec, ranks);
  const std::string rule = spec.text("weights");
  if (rule == "uniform") family.rule = Rule::uniform;
  if (rule == "metropolis") family.rule = Rule::metropolis;
  if (rule == "push-sum") family.rule = Rule::pushSum;
  if (!rule.empty() && rule != "uniform" && rule != "metropolis" && rule != "push-sum")
    spec.refuse(fmt::format("weights={} is none of uniform, metropolis and push-sum", rule));
  if (Status status = spec.finish(); !status.isOk()) return status;
  std::vector<Mixing> rounds;
  for (const Graph& graph : family.rounds) {
    Result<Mixing> matrix = weighted(graph, family.rule);
    if (!matrix.isOk()) return matrix.status();
    rounds.push_back(matrix.take());
  }
  return rounds;
}

Result<std::vector<Mixing>> baseRounds(SpecReader& spec, int ranks) {
  const std::uint64_t k = spec.integer("k", {1, kMaxRanks});
  if (Status status = spec.finish(); !status.isOk()) return status;
  return baseGraph(ranks, std::min(static_cast<int>(k), std::max(1, ranks - 1)));
}

Result<double> readWeight(std::string_view word, std::size_t row, std::size_t column) {
  double weight = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), weight);
  if (error == std::errc() && end == word.data() + word.size() && std::isfinite(weight)) return weight;
  return invalid(fmt::format("matrix row {} column {}: '{}' is no number", row, column, word));
}

/// Adds a line of a matrix file.
Status readRow(std::string_view line, int ranks, Mixing& matrix) {
  const std::size_t row = matrix.rows.size();
  std::vector<Neighbor>& entries = matrix.rows.emplace_back();
  std::size_t column = 0;
  while (true) {
    line.remove_prefix(std::min(line.find_first_not_of(" \t\r,"), line.size()));
    if (line.empty()) break;
    const std::string_view word = line.substr(0, line.find_first_of(" \t\r,"));
    line.remove_prefix(word.size());
    const Result<double> weight = readWeight(word, row, column);
    if (!weight.isOk()) return weight.status();
    if (weight.value() != 0 || column == row) entries.push_back({static_cast<int>(column), weight.value()});
    ++column;
  }
  if (column == at(ranks)) return Status::ok();
  return invalid(fmt::format("matrix row {}: {} columns for {} ranks", row, column, ranks));
}

/// One round after the other, with empty lines between; lines that begin with '#' are comments.
Result<std::vector<Mixing>> parseMatrices(std::string_view text, int ranks) {
  std::vector<Mixing> rounds;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(text.size(), line.size() + 1));
    if (line.starts_with('#') || line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    if (rounds.empty() || rounds.back().rows.size() == at(ranks)) rounds.emplace_back();
    if (Status status = readRow(line, ranks, rounds.back()); !status.isOk()) return status;
  }
  if (!rounds.empty() && rounds.back().rows.size() == at(ranks)) return rounds;
  return invalid(
      fmt::format("the matrix has {} rows for {} ranks", rounds.empty() ? 0 : rounds.back().rows.size(), ranks));
}

Result<std::vector<Mixing>> readMatrices(std::string_view path, int ranks, const Topology::ReadFile& read) {
  const Result<std::string> file = read(std::string(path));
  return file.isOk() ? parseMatrices(file.value(), ranks) : file.status();
}

Result<std::vector<Mixing>> roundsOf(std::string_view text, int ranks) {
  const Result<base::Spec> spec = base::parseSpec(text, kGrammar);
  if (!spec.isOk()) return spec.status();
  SpecReader reader(spec.value(), parametersOf(spec.value().name));
  return reader.name() == "base" ? baseRounds(reader, ranks) : weightedRounds(reader, ranks);
}

/// The sum of a row, or of a column, that is farthest from 1.
Status checkSums(const Mixing& matrix, std::uint64_t round, bool rows) {
  std::vector<double> sums(matrix.rows.size(), 0.0);
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    for (const Neighbor& entry : matrix.rows[i]) {
      if (entry.weight < 0)
        return invalid(fmt::format("round {}: row {} column {} is {}, below 0", round, i, entry.rank, entry.weight));
      sums[rows ? i : at(entry.rank)] += entry.weight;
    }
  }
  const auto worst = std::ranges::max_element(sums, {}, [](double sum) { return std::abs(sum - 1); });
  if (std::abs(*worst - 1) <= kStochasticTolerance) return Status::ok();
  return invalid(fmt::format("round {}: {} {} sums to {:.9g}, not to 1", round, rows ? "row" : "column",
                             worst - sums.begin(), *worst));
}

Status checkSymmetry(const Mixing& matrix, std::uint64_t round) {
  for (std::size_t i = 0; i < matrix.rows.size(); ++i) {
    for (const Neighbor& entry : matrix.rows[i]) {
      const double mirrored = matrix.at(entry.rank, static_cast<int>(i));
      if (std::abs(entry.weight - mirrored) <= kStochasticTolerance) continue;
      return invalid(fmt::format("round {}: row {} column {} is {}, but row {} column {} is {}", round, i, entry.rank,
                                 entry.weight, entry.rank, i, mirrored));
    }
  }
  return Status::ok();
}

} // namespace

Result<Topology> Topology::make(std::string_view text, int ranks, const ReadFile& read) {
  if (ranks < 1 || ranks > kMaxRanks)
    return invalid(fmt::format("topology '{}': {} ranks; 1 to {} are possible", text, ranks, kMaxRanks));
  Result<std::vector<Mixing>> rounds =
      text.starts_with(kFile) ? readMatrices(text.substr(kFile.size()), ranks, read) : roundsOf(text, ranks);
  if (!rounds.isOk()) return rounds.status();
  return Topology(std::string(text), rounds.take());
}

Neighborhood Topology::neighborhood(std::uint64_t round, int rank) const {
  Neighborhood result;
  const Mixing& matrix = mixing(round);
  for (const Neighbor& entry : matrix.rows[at(rank)]) {
    if (entry.rank == rank) {
      result.self_weight = entry.weight;
    } else {
      result.sources.push_back(entry);
    }
  }
  for (int other = 0; other < size(); ++other) {
    if (other != rank && matrix.at(other, rank) != 0) result.destinations.push_back({other, 1.0});
  }
  return result;
}

Status Topology::require(Property property) const {
  Status status;
  for (std::uint64_t round = 0; status.isOk() && round < period(); ++round) {
    const Mixing& matrix = rounds_[round];
    if (property == Property::rowStochastic || property == Property::doublyStochastic)
      status = checkSums(matrix, round, true);
    if (status.isOk() && (property == Property::columnStochastic || property == Property::doublyStochastic))
      status = checkSums(matrix, round, false);
    if (property == Property::symmetric) status = checkSymmetry(matrix, round);
    if (property == Property::constant && round > 0 && !(matrix.rows == rounds_[0].rows))
      status = invalid(fmt::format("round {} has other weights than round 0", round));
  }
  if (status.isOk()) return status;
  return invalid(fmt::format("topology '{}' of {} ranks: {}", spec_, size(), status.text()));
}

} // namespace goss::topology
