#include "schedule/shares.h"

#include <algorithm>
#include <cstddef>

namespace goss::schedule {

namespace {

constexpr int kMaxRanks = 16;
/// Coefficients nearer to zero are rounding errors; rates are given in units of the fastest.
constexpr double kZero = 1e-9;
/// Shares that differ by less are equal: the links say no more.
constexpr double kAlike = 0.02;
/// With exact numbers Bland's rule ends; rounding errors could let it return to where it was.
constexpr int kMaxPivots = 1000;

/// max 1 x, A x <= b, x >= 0, for b >= 0. Every row of the tableau is one of the constraints, with its bound at the
/// end; the last row is the objective.
class LinearProgram {
 public:
  explicit LinearProgram(int variables) : variables_(static_cast<std::size_t>(variables)) {}

  /// `coefficients` x <= `bound`.
  void constrain(const std::vector<double>& coefficients, double bound) {
    rows_.push_back(coefficients);
    bounds_.push_back(bound);
  }

  std::vector<double> solve() {
    makeTableau();
    for (int pivots = 0; pivots < kMaxPivots; ++pivots) { // The last solution is feasible, too.
      const std::size_t column = entering();
      if (column == columns_) break;
      const std::size_t row = leaving(column);
      if (row == rows_.size()) break; // Unbounded: no constraint holds that variable.
      pivot(row, column);
    }
    std::vector<double> solution(variables_);
    for (std::size_t row = 0; row < rows_.size(); ++row)
      if (basis_[row] < variables_) solution[basis_[row]] = tableau_[row].back();
    return solution;
  }

 private:
  void makeTableau() {
    columns_ = variables_ + rows_.size();
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      std::vector<double> line = rows_[row];
      line.resize(columns_ + 1);
      line[variables_ + row] = 1;
      line.back() = bounds_[row];
      tableau_.push_back(std::move(line));
      basis_.push_back(variables_ + row);
    }
    tableau_.emplace_back(columns_ + 1);
    std::fill_n(tableau_.back().begin(), variables_, -1.0);
  }

  /// The first column that improves the objective; columns_: none does.
  [[nodiscard]] std::size_t entering() const {
    const std::vector<double>& objective = tableau_.back();
    const auto end = objective.begin() + static_cast<std::ptrdiff_t>(columns_);
    return static_cast<std::size_t>(std::find_if(objective.begin(), end, [](double one) { return one < -kZero; }) -
                                    objective.begin());
  }

  /// The row that bounds the column most, of several the one whose variable comes first; rows_.size(): none does.
  [[nodiscard]] std::size_t leaving(std::size_t column) const {
    std::size_t best = rows_.size();
    double least = 0;
    for (std::size_t row = 0; row < rows_.size(); ++row) {
      if (tableau_[row][column] <= kZero) continue;
      const double ratio = tableau_[row].back() / tableau_[row][column];
      const bool ties = best < rows_.size() && ratio == least && basis_[row] < basis_[best];
      if (best < rows_.size() && ratio >= least && !ties) continue;
      best = row;
      least = ratio;
    }
    return best;
  }

  void pivot(std::size_t row, std::size_t column) {
    const double by = tableau_[row][column];
    for (double& value : tableau_[row])
      value /= by;
    for (std::size_t other = 0; other < tableau_.size(); ++other) {
      const double factor = tableau_[other][column];
      if (other == row || factor == 0) continue;
      for (std::size_t i = 0; i <= columns_; ++i)
        tableau_[other][i] -= factor * tableau_[row][i];
    }
    basis_[row] = column;
  }

  const std::size_t variables_;
  std::size_t columns_ = 0;
  std::vector<std::vector<double>> rows_;
  std::vector<double> bounds_;
  std::vector<std::vector<double>> tableau_;
  std::vector<std::size_t> basis_; ///< By row: the column of its variable.
};

double fastestPair(const Links& links) {
  double fastest = 0;
  for (int i = 0; i < links.size(); ++i)
    for (int j = 0; j < links.size(); ++j)
      if (i != j) fastest = std::max(fastest, links.price(i, j).bandwidth_bytes_per_s);
  return fastest;
}

bool shareNodes(const Links& links) {
  std::vector<int> nodes;
  for (int rank = 0; rank < links.size(); ++rank)
    nodes.push_back(links.nodeOf(rank));
  std::sort(nodes.begin(), nodes.end());
  return std::adjacent_find(nodes.begin(), nodes.end()) != nodes.end();
}

} // namespace

std::vector<double> overlappedShares(const Links& links) {
  const int p = links.size();
  if (p < 3 || p > kMaxRanks || shareNodes(links)) return {};
  const double unit = fastestPair(links);
  LinearProgram program(p);
  for (int i = 0; i < p; ++i) {
    const auto self = static_cast<std::size_t>(i);
    for (int j = 0; j < i; ++j) {
      std::vector<double> pair(static_cast<std::size_t>(p));
      pair[self] = pair[static_cast<std::size_t>(j)] = 1;
      program.constrain(
          pair, std::min(links.price(i, j).bandwidth_bytes_per_s, links.price(j, i).bandwidth_bytes_per_s) / unit);
    }
    const NodePrice& node = links.node(links.nodeOf(i));
    for (const double rate : {node.up_bytes_per_s, node.down_bytes_per_s}) {
      if (rate <= 0) continue;
      std::vector<double> port(static_cast<std::size_t>(p), 1.0);
      port[self] = p - 1;
      program.constrain(port, rate / unit);
    }
  }
  std::vector<double> shares = program.solve();
  double sum = 0;
  for (const double share : shares)
    sum += share;
  if (sum <= kZero) return {};
  for (double& share : shares)
    share /= sum;
  const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
  return *most - *least < kAlike ? std::vector<double>() : shares;
}

} // namespace goss::schedule
