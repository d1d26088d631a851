/// Memory that a call gets before it starts, because to allocate asks the driver.
#ifndef GOSS_LIB_DEVICES_BLOCK_RESERVE_H_
#define GOSS_LIB_DEVICES_BLOCK_RESERVE_H_

#include <atomic>
#include <cstddef>
#include <memory>
#include <vector>

#include "devices/block_pool.h"
#include "devices/device_watch.h"

namespace goss {

/// Blocks of pools, wanted one by one and then taken together. One thread at a time.
class BlockReserve {
 public:
  /// Adds `count` blocks of `bytes` bytes to those that are wanted.
  void want(BlockPool& pool, std::size_t bytes, std::size_t count = 1);
  /// Takes idle blocks. False: some are missing, and allocate() must follow. Asks the driver nothing.
  bool takeIdle();
  /// Allocates the blocks that are missing. Error: the first of BlockPool::lease(), which lease() will return in place
  /// of a missing block.
  Status allocate();
  /// Lets the device's thread allocate them; until isAllocating() is false, nothing else may be called.
  static void allocateBy(DeviceWatch& thread, const std::shared_ptr<BlockReserve>& reserve);
  [[nodiscard]] bool isAllocating() const { return allocating_.load(std::memory_order_acquire); }
  /// A block for `bytes` bytes of the reserve's; where nobody has wanted one, of the pool, which asks the driver if no
  /// block is idle. Errors: as allocate() and BlockPool::lease().
  Result<BlockPool::Lease> lease(BlockPool& pool, std::size_t bytes);
  /// Gives back what nobody has leased, and wants nothing.
  void clear();

 private:
  struct Block {
    BlockPool* pool;
    std::size_t bytes;
    BlockPool::Lease lease; ///< Without bytes: it is missing.
  };

  std::vector<Block> blocks_;
  Status failure_; ///< The error of allocate().
  std::atomic<bool> allocating_{false};
};

} // namespace goss

#endif // GOSS_LIB_DEVICES_BLOCK_RESERVE_H_
