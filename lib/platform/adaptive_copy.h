/// How long runs of bytes are stored into a ring: through the caches of this processor, or past them.
#ifndef GOSS_TRANSPORTS_SHM_BULK_STORES_H_
#define GOSS_TRANSPORTS_SHM_BULK_STORES_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "transports/common/piece_cursor.h"

namespace goss::transports::shm {

/// Stores that go through the caches first fetch each line of the ring from the processor that read it last. Where the
/// two share a cache that is soon done, and the reader then finds the bytes in it. Where they do not (two dies of a
/// package, two packages) it takes a quarter of a microsecond a line and few lines at a time: 2 GB/s on a Zen 4 whose
/// cores were 250 ns apart, 39 past the caches, while the reader takes 13 to 15 either way. Which of the two it is can
/// change: processes move, and so do the processors of a virtual machine. So both are tried now and then, on the
/// bytes at hand. One thread.
class BulkStores {
 public:
  /// Shorter runs always go through the caches.
  static constexpr std::size_t kLeastBytes = 4096;

  /// Moves the next bytes of `from`, which has at least as many, to `to` in the ring.
  void gather(PieceCursor& from, std::span<std::byte> to);

  [[nodiscard]] bool pastCaches() const { return past_; }
  /// What equal runs took each way. Of the last eight trials three must show a gain before stores go past the caches,
  /// and all but one must show none before they go through them again: another program may take the processor in the
  /// middle of a trial, and half of the lines come soon enough even where the others do not, if they were last stored
  /// through the caches.
  void saw(double through_s, double past_s);

 private:
  void tryBoth(PieceCursor& from, std::span<std::byte> to);

  bool past_ = false;
  std::uint8_t gains_ = 0;  ///< A bit for each of the last trials: it was better past the caches.
  bool past_first_ = false; ///< Of the next trial: the first run waits for its source longer.
  std::size_t untried_bytes_ = 0;
};

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_BULK_STORES_H_
