#include "platform/memory/adaptive_copy.h"

#include <atomic>
#include <bit>
#include <chrono>
#include <cstring>

#include "platform/memory/streaming_copy.h"

namespace goss::platform {

namespace {

/// Bytes copied each way. No more than a processor keeps in its store queue, so the time is taken behind a fence.
constexpr std::size_t kTrialBytes = AdaptiveCopy::kMinBytes / 2;
/// Bytes copied between two trials: a trial takes about a microsecond, these bytes fifteen or more.
constexpr std::size_t kBetweenTrials = 512 * 1024;
/// Required gain. Bytes that bypassed the caches are read from memory; where the processors share caches that takes as
/// long as the store gained, so only a gain that distance explains counts.
constexpr double kGain = 2.5;
/// Number of the last eight trials that must show a gain.
constexpr int kEnoughGains = 3;
constexpr int kStrayGains = 1;

void copyEither(bool past, void* to, const void* from, std::size_t bytes) {
  if (past) {
    copyStreaming(to, from, bytes);
  } else {
    std::memcpy(to, from, bytes);
  }
}

/// Waits until all stores of this thread have left the processor's queue. It uses no fence, because ThreadSanitizer
/// does not understand fences.
void drainStores() {
  std::atomic<int> any{0};
  any.exchange(1, std::memory_order_seq_cst);
}

} // namespace

void AdaptiveCopy::copyLong(std::byte* to, const std::byte* from, std::size_t bytes) {
  if ((untried_bytes_ += bytes) >= kBetweenTrials) {
    untried_bytes_ = 0;
    tryBoth(to, from);
    to += 2 * kTrialBytes;
    from += 2 * kTrialBytes;
    bytes -= 2 * kTrialBytes;
  }
  copyEither(past_, to, from, bytes);
}

void AdaptiveCopy::tryBoth(std::byte* to, const std::byte* from) {
  double took_s[2]; // [0]: through the caches; [1]: past them.
  drainStores();    // Keeps earlier stores out of the measurement.
  for (const bool past : {past_first_, !past_first_}) {
    const auto start = std::chrono::steady_clock::now();
    copyEither(past, to, from, kTrialBytes);
    drainStores();
    took_s[past ? 1 : 0] = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    to += kTrialBytes;
    from += kTrialBytes;
  }
  past_first_ = !past_first_;
  saw(took_s[0], took_s[1]);
}

void AdaptiveCopy::saw(double through_s, double past_s) {
  const bool gain = past_s * kGain < through_s;
  gains_ = static_cast<std::uint8_t>(gains_ << 1 | (gain ? 1 : 0));
  const int gains = std::popcount(gains_);
  if (gains >= kEnoughGains) past_ = true;
  if (gains <= kStrayGains) past_ = false;
}

} // namespace goss::platform
