#include "transports/shm/bulk_stores.h"

#include <atomic>
#include <bit>
#include <chrono>

namespace goss::transports::shm {

namespace {

/// Each way. As much as a processor keeps in its store queue, so the time is taken behind a fence.
constexpr std::size_t kTrialBytes = 4096;
/// Between two trials: they cost less than a hundredth of these.
constexpr std::size_t kBetweenTrials = 512 * 1024;
/// Who reads what was stored past the caches reads it from memory. Where the caches are shared that takes as long as
/// is gained, so the gain must be one that only distance explains.
constexpr double kGain = 2.5;
/// Of the last eight trials.
constexpr int kEnoughGains = 3;
constexpr int kStrayGains = 1;

template <typename Store>
double timeOf_s(Store store) {
  const auto start = std::chrono::steady_clock::now();
  store();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

} // namespace

void BulkStores::gather(PieceCursor& from, std::span<std::byte> to) {
  if (to.size() >= 2 * kTrialBytes && (untried_bytes_ += to.size()) >= kBetweenTrials) {
    untried_bytes_ = 0;
    tryBoth(from, to.first(2 * kTrialBytes));
    to = to.subspan(2 * kTrialBytes);
  }
  if (past_ && to.size() >= kLeastBytes) {
    from.gatherStreaming(to);
  } else {
    from.gather(to);
  }
}

void BulkStores::tryBoth(PieceCursor& from, std::span<std::byte> to) {
  double through_s = 0;
  double past_s = 0;
  const auto tryOne = [&](bool past, std::span<std::byte> run) {
    (past ? past_s : through_s) = timeOf_s([&] { past ? from.gatherStreaming(run) : from.gather(run); });
  };
  std::atomic_thread_fence(std::memory_order_seq_cst); // What was stored before is not part of it.
  tryOne(past_first_, to.first(kTrialBytes));
  tryOne(!past_first_, to.subspan(kTrialBytes));
  past_first_ = !past_first_;
  saw(through_s, past_s);
}

void BulkStores::saw(double through_s, double past_s) {
  const bool gain = past_s * kGain < through_s;
  gains_ = static_cast<std::uint8_t>(gains_ << 1 | (gain ? 1 : 0));
  const int gains = std::popcount(gains_);
  if (gains >= kEnoughGains) past_ = true;
  if (gains <= kStrayGains) past_ = false;
}

} // namespace goss::transports::shm
