/// How one lane waits at a gate, apart from the machine that it runs on: a GPU, or a test's.
#ifndef GOSS_COMPRESSORS_CUDA_LIBRARY_GATE_WAIT_H_
#define GOSS_COMPRESSORS_CUDA_LIBRARY_GATE_WAIT_H_

#include <cstdint>

#include "compressors/cuda/kernels/warp.h"

namespace goss::compressors::cuda {

// A look at the host's memory goes over the bus and back, about a microsecond: pauses of a few more add little to it,
// and leave the bus to copies.
inline constexpr unsigned kFirstPauseNs = 64;
inline constexpr unsigned kLongestPauseNs = 4096;

/// Returns when the flag has risen to `value`, counted modulo 2^32. False: it has not within `longest_ns`. Machine:
/// look() reads the flag, and what the host wrote before it is seen afterwards; now() counts nanoseconds, and may be
/// set back, as a GPU's clock is that follows the host's; pause(ns).
template <typename Machine>
GOSS_DEVICE bool waitAtGate(Machine& machine, std::uint32_t value, std::uint64_t longest_ns) {
  const std::uint64_t begin = machine.now();
  unsigned pause_ns = kFirstPauseNs;
  while (static_cast<std::int32_t>(machine.look() - value) < 0) {
    const auto waited_ns = static_cast<std::int64_t>(machine.now() - begin);
    if (waited_ns >= static_cast<std::int64_t>(longest_ns)) return false;
    machine.pause(pause_ns);
    if (pause_ns < kLongestPauseNs) pause_ns *= 2;
  }
  return true;
}

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_LIBRARY_GATE_WAIT_H_
