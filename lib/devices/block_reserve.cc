#include "devices/block_reserve.h"

#include <utility>

namespace goss {

void BlockReserve::want(BlockPool& pool, std::size_t bytes, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i)
    blocks_.push_back({&pool, bytes, {}});
}

bool BlockReserve::takeIdle() {
  bool all = true;
  for (Block& block : blocks_) {
    if (block.lease.bytes() == 0) block.lease = block.pool->leaseIdle(block.bytes);
    all = all && block.lease.bytes() > 0;
  }
  return all;
}

Status BlockReserve::allocate() {
  for (Block& block : blocks_) {
    if (block.lease.bytes() > 0) continue;
    Result<BlockPool::Lease> leased = block.pool->lease(block.bytes);
    if (!leased.isOk()) return failure_ = leased.status();
    block.lease = leased.take();
  }
  return Status::ok();
}

void BlockReserve::allocateBy(DeviceWatch& thread, const std::shared_ptr<BlockReserve>& reserve) {
  reserve->allocating_.store(true, std::memory_order_relaxed);
  thread.run([reserve] {
    (void)reserve->allocate(); // lease() says why.
    reserve->allocating_.store(false, std::memory_order_release);
  });
}

Result<BlockPool::Lease> BlockReserve::lease(BlockPool& pool, std::size_t bytes) {
  Block* found = nullptr;
  for (Block& block : blocks_) {
    if (block.pool != &pool || block.lease.bytes() < bytes || block.lease.bytes() == 0) continue;
    if (found == nullptr || block.lease.bytes() < found->lease.bytes()) found = &block;
  }
  if (found != nullptr) return std::move(found->lease);
  if (!failure_.isOk()) return failure_;
  return pool.lease(bytes);
}

void BlockReserve::clear() {
  blocks_.clear();
  failure_ = {};
}

} // namespace goss
