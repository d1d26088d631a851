#include "devices/block_pool.h"

#include <algorithm>
#include <bit>

namespace goss {

namespace {

constexpr std::size_t kMinBytes = 4096;

} // namespace

Result<BlockPool::Lease> BlockPool::lease(std::size_t bytes) {
  const std::size_t size = std::bit_ceil(std::max(bytes, kMinBytes));
  {
    const std::lock_guard lock(mutex_);
    auto& idle = idle_[static_cast<std::size_t>(std::countr_zero(size))];
    if (!idle.empty()) {
      std::unique_ptr<DeviceBlock> block = std::move(idle.back());
      idle.pop_back();
      return Lease(this, std::move(block));
    }
  }
  Result<std::unique_ptr<DeviceBlock>> made = device_.allocate(kind_, size);
  if (!made.isOk()) return made.status();
  return Lease(this, made.take());
}

void BlockPool::giveBack(std::unique_ptr<DeviceBlock> block) {
  const std::lock_guard lock(mutex_);
  idle_[static_cast<std::size_t>(std::bit_width(block->bytes()) - 1)].push_back(std::move(block));
}

} // namespace goss
