/// How long ranks that average in pairs take to come together.
#ifndef GOSS_LIB_SYNC_GOSSIP_CONTACT_RATES_H_
#define GOSS_LIB_SYNC_GOSSIP_CONTACT_RATES_H_

#include <cstddef>
#include <optional>
#include <vector>

namespace goss::sync {

/// How often pairs of ranks average, in averages a unit of time. A pure function of what add() was given.
class ContactRates {
 public:
  explicit ContactRates(int ranks);

  void add(int a, int b, double rate);

  /// What the method computes of L, the Laplacian matrix of the rates (Nabli et al., definitions 3.1 and 3.2).
  struct Times {
    double slowest = 0;          ///< chi1: the largest eigenvalue of L's pseudo-inverse.
    double between_partners = 0; ///< chi2: half the largest resistance between ranks that average.
  };
  /// Null: the pairs do not connect the ranks, or there is one rank. Takes ranks^3 operations.
  [[nodiscard]] std::optional<Times> times() const;

 private:
  [[nodiscard]] double at(const std::vector<double>& matrix, std::size_t row, std::size_t column) const {
    return matrix[row * ranks_ + column];
  }
  [[nodiscard]] bool invert(std::vector<double>& matrix) const;

  std::size_t ranks_;
  std::vector<double> laplacian_; ///< Row by row.
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_GOSSIP_CONTACT_RATES_H_
