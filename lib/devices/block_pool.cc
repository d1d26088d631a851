#include "devices/block_pool.h"

#include <algorithm>
#include <bit>

namespace goss {

namespace {

constexpr std::size_t kMinBytes = 4096;

std::size_t sizeOf(std::size_t bytes) { return std::bit_ceil(std::max(bytes, kMinBytes)); }

} // namespace

BlockPool::Lease BlockPool::leaseIdle(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  auto& idle = idle_[static_cast<std::size_t>(std::countr_zero(sizeOf(bytes)))];
  if (idle.empty()) return {};
  std::unique_ptr<DeviceBlock> block = std::move(idle.back());
  idle.pop_back();
  return {this, std::move(block)};
}

Result<BlockPool::Lease> BlockPool::lease(std::size_t bytes) {
  if (Lease idle = leaseIdle(bytes); idle.bytes() > 0) return idle;
  Result<std::unique_ptr<DeviceBlock>> made = device_.allocate(kind_, sizeOf(bytes));
  if (!made.isOk()) return made.status();
  return Lease(this, made.take());
}

void BlockPool::giveBack(std::unique_ptr<DeviceBlock> block) {
  const std::lock_guard lock(mutex_);
  idle_[static_cast<std::size_t>(std::bit_width(block->bytes()) - 1)].push_back(std::move(block));
}

} // namespace goss
