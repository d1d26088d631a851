/// Losses of single samples, added up over ranks.
#ifndef GOSS_TRAINER_RANKS_LOSSES_H_
#define GOSS_TRAINER_RANKS_LOSSES_H_

#include <cstddef>
#include <numeric>
#include <span>

namespace goss::trainer {

/// The mean loss over all tokens of samples of `context` tokens; added in the order of the samples, for equal bits.
inline double lossPerToken(std::span<const double> losses, std::size_t context) {
  return std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(losses.size() * context);
}

} // namespace goss::trainer

#endif // GOSS_TRAINER_RANKS_LOSSES_H_
