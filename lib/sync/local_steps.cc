#include "sync/local_steps.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace goss::sync {

LocalSteps::LocalSteps(std::uint64_t period, std::size_t workers, std::size_t worker, std::size_t fragments)
    : period_(period),
      worker_(worker),
      planned_(workers, period),
      window_(fragments, std::vector<std::uint64_t>(workers)) {}

/// Whether the worker computes the step: it computes n of the period's steps, at equal distances.
bool LocalSteps::isPlanned(std::uint64_t done, std::size_t worker) const {
  const std::uint64_t place = done % period_, n = planned_[worker];
  return (place + 1) * n / period_ > place * n / period_;
}

void LocalSteps::advance(std::uint64_t done) {
  for (std::size_t worker = 0; worker < planned_.size(); ++worker) {
    if (!isPlanned(done, worker)) {
      continue;
    }
    for (std::vector<std::uint64_t>& steps : window_) {
      ++steps[worker];
    }
  }
}

void LocalSteps::plan(std::span<const double> seconds) {
  const double fastest = *std::min_element(seconds.begin(), seconds.end());
  for (std::size_t worker = 0; worker < planned_.size(); ++worker) {
    const double steps = std::floor(fastest / seconds[worker] * static_cast<double>(period_));
    planned_[worker] = std::clamp<std::uint64_t>(static_cast<std::uint64_t>(steps), 1, period_);
  }
}

float LocalSteps::takeWeight(std::size_t fragment) {
  std::vector<std::uint64_t>& steps = window_[fragment];
  const auto sum = static_cast<double>(std::accumulate(steps.begin(), steps.end(), std::uint64_t{0}));
  const double weight = sum == 0 ? 1 : static_cast<double>(steps[worker_]) * static_cast<double>(steps.size()) / sum;
  std::fill(steps.begin(), steps.end(), 0);
  return static_cast<float>(weight);
}

void LocalSteps::save(base::WireWriter& writer) const {
  writer.integer(static_cast<std::uint64_t>(planned_.size()));
  for (const std::uint64_t steps : planned_) {
    writer.integer(steps);
  }
  for (const std::vector<std::uint64_t>& window : window_) {
    for (const std::uint64_t steps : window) {
      writer.integer(steps);
    }
  }
}

bool LocalSteps::load(base::WireReader& reader) {
  if (reader.integer<std::uint64_t>() != planned_.size()) {
    return false;
  }
  bool is_valid = true;
  for (std::uint64_t& steps : planned_) {
    steps = reader.integer<std::uint64_t>();
    is_valid = is_valid && steps >= 1 && steps <= period_;
  }
  for (std::vector<std::uint64_t>& window : window_) {
    for (std::uint64_t& steps : window) {
      steps = reader.integer<std::uint64_t>();
    }
  }
  return is_valid && reader.ok();
}

} // namespace goss::sync
