#include "topology/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "topology/graphs.h"

namespace goss::topology {

namespace {

constexpr double kExact = 1e-12;
/// After so many squarings the largest eigenvalue alone is left, to about 1e-10.
constexpr int kSquarings = 36;

std::size_t at(int rank) { return static_cast<std::size_t>(rank); }

/// A square matrix, row by row.
class Dense {
 public:
  explicit Dense(std::size_t size) : size_(size), values_(size * size, 0.0) {}
  static Dense identity(std::size_t size) {
    Dense result(size);
    for (std::size_t i = 0; i < size; ++i)
      result(i, i) = 1;
    return result;
  }

  double& operator()(std::size_t row, std::size_t column) { return values_[row * size_ + column]; }
  double operator()(std::size_t row, std::size_t column) const { return values_[row * size_ + column]; }

  /// mixing * this.
  [[nodiscard]] Dense mixedBy(const Mixing& mixing) const {
    Dense result(size_);
    for (std::size_t i = 0; i < size_; ++i) {
      for (const Neighbor& entry : mixing.rows[i])
        result.addRow(i, entry.weight, *this, at(entry.rank));
    }
    return result;
  }
  [[nodiscard]] Dense squared() const {
    Dense result(size_);
    for (std::size_t i = 0; i < size_; ++i) {
      for (std::size_t k = 0; k < size_; ++k) {
        if (const double factor = (*this)(i, k); factor != 0) result.addRow(i, factor, *this, k);
      }
    }
    return result;
  }
  [[nodiscard]] double norm() const {
    double sum = 0;
    for (const double value : values_)
      sum += value * value;
    return std::sqrt(sum);
  }
  void divideBy(double divisor) {
    for (double& value : values_)
      value /= divisor;
  }
  /// Removes what all rows (by columns) or all columns (by rows) have in common.
  void centre(bool by_rows) {
    for (std::size_t i = 0; i < size_; ++i) {
      double mean = 0;
      for (std::size_t j = 0; j < size_; ++j)
        mean += by_rows ? (*this)(i, j) : (*this)(j, i);
      mean /= static_cast<double>(size_);
      for (std::size_t j = 0; j < size_; ++j)
        (by_rows ? (*this)(i, j) : (*this)(j, i)) -= mean;
    }
  }
  [[nodiscard]] double largestDifferenceFrom(double value) const {
    double largest = 0;
    for (const double mine : values_)
      largest = std::max(largest, std::abs(mine - value));
    return largest;
  }

 private:
  void addRow(std::size_t to, double factor, const Dense& other, std::size_t from) {
    for (std::size_t j = 0; j < size_; ++j)
      values_[to * size_ + j] += factor * other.values_[from * size_ + j];
  }

  std::size_t size_;
  std::vector<double> values_;
};

/// The largest modulus of an eigenvalue, by squaring: |A^m|^(1/m).
double spectralRadius(Dense matrix) {
  double log_radius = 0;
  double exponent = 1;
  for (int i = 0; i <= kSquarings; ++i) {
    const double norm = matrix.norm();
    if (norm < kExact && i == 0) return 0;
    log_radius += std::log(norm) / exponent;
    if (log_radius < std::log(kExact)) return 0; // nilpotent, but for rounding
    matrix.divideBy(norm);
    if (i < kSquarings) matrix = matrix.squared();
    exponent *= 2;
  }
  return std::exp(log_radius);
}

/// The second largest eigenvalue: without its part along the vector of ones, which belongs to the largest.
double secondEigenvalue(const Dense& period, bool rows_sum_to_one) {
  Dense rest = period;
  rest.centre(!rows_sum_to_one);
  return spectralRadius(std::move(rest));
}

std::vector<Graph> graphsOf(const Topology& topology) {
  std::vector<Graph> rounds;
  for (std::uint64_t t = 0; t < topology.period(); ++t) {
    Graph& graph = rounds.emplace_back();
    for (const std::vector<Neighbor>& row : topology.mixing(t).rows) {
      std::vector<int>& sources = graph.sources.emplace_back();
      for (const Neighbor& entry : row) {
        if (at(entry.rank) + 1 != graph.sources.size()) sources.push_back(entry.rank);
      }
    }
  }
  return rounds;
}

void findEigenvalues(const Topology& topology, Analysis& analysis) {
  const std::size_t size = at(topology.size());
  Dense product = Dense::identity(size);
  for (std::uint64_t t = 0; t < topology.period(); ++t) {
    product = product.mixedBy(topology.mixing(t));
    const double mean = 1 / static_cast<double>(size);
    if (!analysis.exact_after && product.largestDifferenceFrom(mean) < kExact) analysis.exact_after = t + 1;
  }
  if (!analysis.row_stochastic && !analysis.column_stochastic) return;
  const double second = secondEigenvalue(product, analysis.row_stochastic);
  analysis.spectral_gap = 1 - std::pow(second, 1 / static_cast<double>(topology.period()));
}

const char* jsonOf(bool value) { return value ? "true" : "false"; }

std::string escaped(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (static_cast<unsigned char>(c) >= 0x20) result += c;
  }
  return result;
}

} // namespace

Analysis analyse(const Topology& topology) {
  Analysis analysis;
  analysis.row_stochastic = topology.require(Property::rowStochastic).isOk();
  analysis.column_stochastic = topology.require(Property::columnStochastic).isOk();
  analysis.symmetric = topology.require(Property::symmetric).isOk();
  const std::vector<Graph> rounds = graphsOf(topology);
  analysis.connected = isConnected(rounds);
  analysis.min_degree = topology.size();
  for (const Graph& graph : rounds) {
    for (const std::vector<int>& destinations : graph.destinations()) {
      analysis.min_degree = std::min(analysis.min_degree, static_cast<int>(destinations.size()));
      analysis.max_degree = std::max(analysis.max_degree, static_cast<int>(destinations.size()));
    }
  }
  if (topology.size() <= kMaxAnalysed) findEigenvalues(topology, analysis);
  return analysis;
}

std::string describe(const Topology& topology) {
  const Analysis analysis = analyse(topology);
  const std::string gap = analysis.spectral_gap ? fmt::format("{:.12g}", *analysis.spectral_gap) : "null";
  const std::string exact = analysis.exact_after ? fmt::format("{}", *analysis.exact_after) : "null";
  return fmt::format(R"({{"spec":"{}","ranks":{},"period":{},"min_degree":{},"max_degree":{},"row_stochastic":{},)"
                     R"("column_stochastic":{},"doubly_stochastic":{},"symmetric":{},"connected":{},"spectral_gap":{},)"
                     R"("exact_after":{}}})",
                     escaped(topology.spec()), topology.size(), topology.period(), analysis.min_degree,
                     analysis.max_degree, jsonOf(analysis.row_stochastic), jsonOf(analysis.column_stochastic),
                     jsonOf(analysis.row_stochastic && analysis.column_stochastic), jsonOf(analysis.symmetric),
                     jsonOf(analysis.connected), gap, exact);
}

std::string draw(const Topology& topology, std::int64_t round) {
  constexpr double kRadius = 220, kCentre = 270, kDot = 12;
  static constexpr const char* kColours[] = {"#3b75af", "#e08535", "#519e3e", "#c53a32", "#8d69b8", "#84584e"};
  const double turn = 2 * std::numbers::pi / topology.size();
  const auto x = [&](int rank, double radius) { return kCentre + radius * std::sin(turn * rank); };
  const auto y = [&](int rank, double radius) { return kCentre - radius * std::cos(turn * rank); };
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{0}\" font-family=\"sans-serif\" "
      "font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
      2 * kCentre);
  const std::uint64_t first = round < 0 ? 0 : static_cast<std::uint64_t>(round) % topology.period();
  const std::uint64_t last = round < 0 ? topology.period() : first + 1;
  for (std::uint64_t t = first; t < last; ++t) {
    for (int to = 0; to < topology.size(); ++to) {
      for (const Neighbor& entry : topology.mixing(t).rows[at(to)]) {
        if (entry.rank == to) continue;
        svg += fmt::format(
            "<path d=\"M{:.1f} {:.1f}L{:.1f} {:.1f}\" stroke=\"{}\" stroke-opacity=\"0.6\">"
            "<title>round {}: {} to {}, weight {:.4g}</title></path>\n",
            x(entry.rank, kRadius), y(entry.rank, kRadius), x(to, kRadius), y(to, kRadius),
            kColours[t % std::size(kColours)], t, entry.rank, to, entry.weight);
      }
    }
  }
  for (int rank = 0; rank < topology.size(); ++rank) {
    svg += fmt::format(
        "<circle cx=\"{0:.1f}\" cy=\"{1:.1f}\" r=\"{2}\" fill=\"#ffffff\" stroke=\"#444444\"/>"
        "<text x=\"{0:.1f}\" y=\"{3:.1f}\" text-anchor=\"middle\">{4}</text>\n",
        x(rank, kRadius), y(rank, kRadius), kDot, y(rank, kRadius) + 4, rank);
  }
  return svg + "</svg>\n";
}

} // namespace goss::topology
