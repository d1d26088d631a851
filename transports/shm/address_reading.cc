#include "transports/shm/address_reading.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <memory>

#include "platform/memory/cross_memory.h"

namespace goss::transports::shm {

namespace {

constexpr std::size_t kTrialBytes = Segment::kTrialBytes;
constexpr int kTrials = 4; ///< The first trial also touches the memory's pages.

template <typename Move>
double fastest_s(Move move) {
  double best_s = 1;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto start = std::chrono::steady_clock::now();
    move();
    best_s = std::min(best_s, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best_s;
}

} // namespace

AddressReading testCrossMemory(const Segment& segment, int process, CrossMemory policy) {
  const std::uint64_t theirs = segment.theirSide().segment_at.load(std::memory_order_acquire);
  if (policy == CrossMemory::never || process <= 0 || theirs == 0) return AddressReading::none;
  // The other side wrote the segment's address into the segment itself: memory read at that address must say the same.
  std::uint64_t seen = 0;
  const auto offset = reinterpret_cast<const std::byte*>(&segment.theirSide().segment_at) -
                      reinterpret_cast<const std::byte*>(&segment.control());
  const iovec word{&seen, sizeof seen};
  if (platform::readProcess(process, theirs + static_cast<std::uint64_t>(offset), sizeof seen, {&word, 1}) !=
          static_cast<std::ptrdiff_t>(sizeof seen) ||
      seen != theirs) {
    return AddressReading::none;
  }
  if (policy == CrossMemory::always) return AddressReading::all;
  auto buffer = std::make_unique<std::byte[]>(kTrialBytes);
  const iovec to{buffer.get(), kTrialBytes};
  bool works = true;
  const double read_s = fastest_s([&] {
    works = works && platform::readProcess(process, theirs + Segment::kTrialOffset, kTrialBytes, {&to, 1}) ==
                         static_cast<std::ptrdiff_t>(kTrialBytes);
  });
  const auto* mapped = reinterpret_cast<const std::byte*>(&segment.control()) + Segment::kTrialOffset;
  const double copy_s = fastest_s([&] { std::memcpy(buffer.get(), mapped, kTrialBytes); });
  if (!works) return AddressReading::none;
  // The timed copy had its source in this core's cache. Bytes in the ring come from another core's cache, and a message
  // that is only stored is copied twice when it goes through the ring.
  if (read_s < 2 * copy_s) return AddressReading::all;
  return read_s < 8 * copy_s ? AddressReading::stored : AddressReading::none;
}

} // namespace goss::transports::shm
