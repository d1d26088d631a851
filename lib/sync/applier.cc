#include "sync/applier.h"

namespace goss::sync {

void OuterSgd::apply(const Round& round, std::span<std::vector<float>> state) const {
  applyTo(round.reference, round.mean, state.empty() ? std::span<float>() : std::span<float>(state[0]));
}

void OuterSgd::applyTo(std::span<float> reference, std::span<const float> difference, std::span<float> velocity) const {
  if (velocity.empty()) {
    for (std::size_t i = 0; i < reference.size(); ++i) {
      reference[i] -= lr_ * difference[i];
    }
    return;
  }
  for (std::size_t i = 0; i < reference.size(); ++i) {
    velocity[i] = momentum_ * velocity[i] + difference[i];
    reference[i] -= lr_ * (difference[i] + momentum_ * velocity[i]);
  }
}

} // namespace goss::sync
