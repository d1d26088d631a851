#include "bindings/nccl/pinned_memory.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

namespace goss::nccl {

namespace {

/// A caller gets no idle block that is larger than kMaxWaste times what it needs. A need below kSmall counts as kSmall.
constexpr std::size_t kMaxWaste = 4;
constexpr std::size_t kSmall = std::size_t{64} << 10;

/// The blocks that no caller uses.
struct Idle {
  std::mutex mutex;
  std::map<Device*, std::multimap<std::size_t, std::unique_ptr<DeviceBlock>>> blocks; ///< By size.
};

/// Threads that serve graphs may still run while static objects are destroyed.
Idle& idle() {
  static Idle& only = *new Idle;
  return only;
}

class Borrowed final : public DeviceBlock {
 public:
  Borrowed(Device& device, std::unique_ptr<DeviceBlock> block) : device_(device), block_(std::move(block)) {}
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  ~Borrowed() override {
    const std::lock_guard lock(idle().mutex);
    const std::size_t size = block_->bytes();
    idle().blocks[&device_].emplace(size, std::move(block_));
  }
  [[nodiscard]] std::byte* data() const override { return block_->data(); }
  [[nodiscard]] std::size_t bytes() const override { return block_->bytes(); }

 private:
  Device& device_;
  std::unique_ptr<DeviceBlock> block_;
};

std::unique_ptr<DeviceBlock> takeIdle(Device& device, std::size_t bytes) {
  const std::lock_guard lock(idle().mutex);
  auto& blocks = idle().blocks[&device];
  const auto smallest = blocks.lower_bound(bytes);
  if (smallest == blocks.end() || smallest->first > kMaxWaste * std::max(bytes, kSmall)) return nullptr;
  return std::move(blocks.extract(smallest).mapped());
}

} // namespace

Result<std::unique_ptr<DeviceBlock>> pinnedMemory(Device& device, std::size_t bytes) {
  std::unique_ptr<DeviceBlock> block = takeIdle(device, bytes);
  if (block == nullptr) {
    auto made = device.allocate(MemoryKind::pinned, bytes);
    if (!made.isOk()) return made.status();
    block = made.take();
  }
  return std::unique_ptr<DeviceBlock>(std::make_unique<Borrowed>(device, std::move(block)));
}

} // namespace goss::nccl
