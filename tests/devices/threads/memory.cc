#include "tests/devices/threads/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace goss::test {

namespace {

struct Allocation {
  MemoryInfo info;
  std::byte* alias = nullptr;
};

struct Table {
  std::mutex mutex;
  std::map<std::uintptr_t, Allocation> by_base;
  std::uint64_t count = 0;
};

Table& table() {
  static Table table;
  return table;
}

/// Expects the table's lock.
const Allocation* find(const void* pointer) {
  const auto address = reinterpret_cast<std::uintptr_t>(pointer);
  const auto after = table().by_base.upper_bound(address);
  if (after == table().by_base.begin()) return nullptr;
  const Allocation& allocation = std::prev(after)->second;
  return address - std::prev(after)->first < allocation.info.bytes ? &allocation : nullptr;
}

class Block final : public DeviceBlock {
 public:
  explicit Block(const Allocation& allocation) : allocation_(allocation) {}
  ~Block() override {
    {
      const std::lock_guard lock(table().mutex);
      table().by_base.erase(reinterpret_cast<std::uintptr_t>(data()));
    }
    ::munmap(data(), allocation_.info.bytes);
    if (allocation_.alias != data()) ::munmap(allocation_.alias, allocation_.info.bytes);
  }
  [[nodiscard]] std::byte* data() const override { return const_cast<std::byte*>(allocation_.info.base); }
  [[nodiscard]] std::size_t bytes() const override { return allocation_.info.bytes; }

 private:
  const Allocation allocation_;
};

} // namespace

Result<std::unique_ptr<DeviceBlock>> allocateBlock(MemoryKind kind, int device, std::size_t bytes) {
  Status full = Status::error(GOSS_ERR_RESOURCE, "the provider 'threads' got no memory");
  const std::size_t size = std::max<std::size_t>(bytes, 1);
  const int fd = ::memfd_create("threads device", MFD_CLOEXEC);
  if (fd < 0) return full;
  void* memory = MAP_FAILED;
  void* alias = MAP_FAILED;
  if (::ftruncate(fd, static_cast<off_t>(size)) == 0) {
    alias = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    memory = kind == MemoryKind::device ? ::mmap(nullptr, size, PROT_NONE, MAP_SHARED, fd, 0) : alias;
  }
  ::close(fd);
  if (memory == MAP_FAILED || alias == MAP_FAILED) return full;
  const std::lock_guard lock(table().mutex);
  Allocation allocation{{kind, device, ++table().count, static_cast<std::byte*>(memory), size},
                        static_cast<std::byte*>(alias)};
  table().by_base[reinterpret_cast<std::uintptr_t>(memory)] = allocation;
  return std::unique_ptr<DeviceBlock>(std::make_unique<Block>(allocation));
}

MemoryInfo classifyAddress(const void* pointer) {
  const std::lock_guard lock(table().mutex);
  const Allocation* allocation = find(pointer);
  return allocation == nullptr ? MemoryInfo{} : allocation->info;
}

void* reach(const void* pointer, std::size_t bytes) {
  const std::lock_guard lock(table().mutex);
  const Allocation* allocation = find(pointer);
  if (allocation == nullptr) return nullptr;
  const auto offset = static_cast<std::size_t>(static_cast<const std::byte*>(pointer) - allocation->info.base);
  return bytes <= allocation->info.bytes - offset ? allocation->alias + offset : nullptr;
}

void* reachOnDevice(const void* pointer, std::size_t bytes) {
  return classifyAddress(pointer).kind == MemoryKind::device ? reach(pointer, bytes) : nullptr;
}

} // namespace goss::test
