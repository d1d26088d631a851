#include "devices/peer_memory.h"

#include <algorithm>

namespace goss {

PeerMemory::~PeerMemory() {
  if (may_wait_()) return;
  // A gate is still closed, and unmapping would wait for its stream: the memory leaks until the process ends.
  for (auto& [key, mapped] : mapped_)
    unwanted_.push_back(std::move(mapped.block));
  new std::vector<Block>(std::move(unwanted_));
}

Result<PeerMemory::Block> PeerMemory::map(const PeerAllocation& allocation) {
  is_used_ = true;
  sweep();
  const auto key = std::pair(allocation.rank, allocation.id);
  if (const auto found = mapped_.find(key); found != mapped_.end()) {
    found->second.used = ++clock_;
    return found->second.block;
  }
  // The owner has freed the memory that it had at these addresses before.
  unmapIf([&](const Mapped& other) {
    return other.allocation.rank == allocation.rank && other.allocation.base < allocation.base + allocation.bytes &&
           allocation.base < other.allocation.base + other.allocation.bytes;
  });
  if (mapped_.size() >= kMaxMapped) {
    const auto earlier = [](const auto& a, const auto& b) { return a.second.used < b.second.used; };
    const auto oldest = std::min_element(mapped_.begin(), mapped_.end(), earlier);
    unwanted_.push_back(std::move(oldest->second.block));
    mapped_.erase(oldest);
  }
  sweep();
  Result<std::unique_ptr<DeviceBlock>> block = device_.importMemory(allocation.handle, allocation.bytes);
  if (!block.isOk()) {
    if (unwanted_.empty()) succeeds_ = false;
    return block.status();
  }
  return mapped_.emplace(key, Mapped{allocation, block.take(), ++clock_}).first->second.block;
}

void PeerMemory::forget(int rank) {
  unmapIf([rank](const Mapped& mapped) { return mapped.allocation.rank == rank; });
  sweep();
}

void PeerMemory::unmapIf(const std::function<bool(const Mapped&)>& unwanted) {
  std::erase_if(mapped_, [&](auto& entry) {
    if (!unwanted(entry.second)) return false;
    unwanted_.push_back(std::move(entry.second.block));
    return true;
  });
}

void PeerMemory::sweep() {
  if (!unwanted_.empty() && may_wait_())
    std::erase_if(unwanted_, [](const Block& block) { return block.use_count() == 1; });
}

} // namespace goss
