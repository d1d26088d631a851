/// Pinned or device memory of one device, which is used again and again: to get it takes the driver up to milliseconds,
/// and to free it waits for streams.
#ifndef GOSS_LIB_DEVICES_BLOCK_POOL_H_
#define GOSS_LIB_DEVICES_BLOCK_POOL_H_

#include <array>
#include <memory>
#include <mutex>
#include <vector>

#include "gossamer/device.h"

namespace goss {

/// Thread-safe. Outlives its leases.
class BlockPool {
 public:
  /// A block on loan; gives it back when it is destroyed.
  class Lease {
   public:
    Lease() = default;
    Lease(BlockPool* pool, std::unique_ptr<DeviceBlock> block) : pool_(pool), block_(std::move(block)) {}
    Lease(Lease&& other) noexcept = default;
    Lease& operator=(Lease&& other) noexcept {
      giveBack();
      pool_ = other.pool_;
      block_ = std::move(other.block_);
      return *this;
    }
    ~Lease() { giveBack(); }

    [[nodiscard]] std::byte* data() const { return block_ == nullptr ? nullptr : block_->data(); }
    [[nodiscard]] std::size_t bytes() const { return block_ == nullptr ? 0 : block_->bytes(); }

   private:
    void giveBack() {
      if (block_ != nullptr) pool_->giveBack(std::move(block_));
    }

    BlockPool* pool_ = nullptr;
    std::unique_ptr<DeviceBlock> block_;
  };

  BlockPool(Device& device, MemoryKind kind) : device_(device), kind_(kind) {}

  /// At least `bytes` bytes, aligned to 256. Allocates only where no idle block is large enough. Errors: as
  /// Device::allocate().
  Result<Lease> lease(std::size_t bytes);
  /// As lease(), but of the idle blocks alone; none: a lease of no bytes. Asks the driver nothing.
  Lease leaseIdle(std::size_t bytes);

 private:
  void giveBack(std::unique_ptr<DeviceBlock> block);

  Device& device_;
  const MemoryKind kind_;
  std::mutex mutex_;
  /// Idle blocks by the binary logarithm of their sizes, which are powers of two.
  std::array<std::vector<std::unique_ptr<DeviceBlock>>, 64> idle_;
};

} // namespace goss

#endif // GOSS_LIB_DEVICES_BLOCK_POOL_H_
