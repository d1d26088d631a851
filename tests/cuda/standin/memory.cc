#include "tests/cuda/standin/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>

#include "tests/cuda/standin/settings.h"

namespace standin {

namespace {

constexpr std::size_t kPage = 4096;

std::size_t pages(std::size_t bytes) { return std::max(kPage, (bytes + kPage - 1) / kPage * kPage); }

/// Maps `fd` twice: for the caller without any access, for the stand-in with all.
bool mapTwice(Range& range) {
  void* alias = ::mmap(nullptr, range.mapped_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, range.fd, 0);
  if (alias == MAP_FAILED) return false;
  void* base = ::mmap(nullptr, range.mapped_bytes, PROT_NONE, MAP_SHARED, range.fd, 0);
  if (base == MAP_FAILED) {
    ::munmap(alias, range.mapped_bytes);
    return false;
  }
  range.alias = static_cast<char*>(alias);
  range.base = reinterpret_cast<std::uintptr_t>(base);
  return true;
}

bool mapOnce(Range& range) {
  void* base = ::mmap(nullptr, range.mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  range.base = reinterpret_cast<std::uintptr_t>(base);
  return base != MAP_FAILED;
}

} // namespace

std::uintptr_t Memory::insert(const Range& range) {
  const std::lock_guard lock(mutex_);
  Range& added = ranges_[range.base] = range;
  added.id = next_id_++;
  return added.base;
}

std::uintptr_t Memory::allocate(Kind kind, std::size_t bytes, int device) {
  if (kind == Kind::device && usedBytes(device) + bytes > settings().memory_bytes) return 0;
  Range range{.bytes = std::max<std::size_t>(bytes, 1), .mapped_bytes = pages(bytes), .kind = kind, .device = device};
  if (kind != Kind::device) return mapOnce(range) ? insert(range) : 0;
  range.fd = ::memfd_create("cuda stand-in", MFD_CLOEXEC);
  if (range.fd < 0) return 0;
  if (::ftruncate(range.fd, static_cast<off_t>(range.mapped_bytes)) == 0 && mapTwice(range)) return insert(range);
  ::close(range.fd);
  return 0;
}

bool Memory::add(void* memory, std::size_t bytes, int device) {
  const auto base = reinterpret_cast<std::uintptr_t>(memory);
  {
    const std::lock_guard lock(mutex_);
    if (rangeOf(base) != nullptr || rangeOf(base + bytes - 1) != nullptr) return false;
  }
  insert({.base = base, .bytes = bytes, .mapped_bytes = bytes, .kind = Kind::registered, .device = device});
  return true;
}

std::uintptr_t Memory::import(const char* path, std::size_t bytes, int device) {
  Range range{.bytes = bytes, .mapped_bytes = pages(bytes), .device = device, .imported = true};
  range.fd = ::open(path, O_RDWR | O_CLOEXEC);
  if (range.fd < 0) return 0;
  if (mapTwice(range)) return insert(range);
  ::close(range.fd);
  return 0;
}

bool Memory::release(std::uintptr_t memory, Kind kind) {
  const std::lock_guard lock(mutex_);
  const auto found = ranges_.find(memory);
  if (found == ranges_.end() || found->second.kind != kind || found->second.freed) return false;
  Range& range = found->second;
  if (kind == Kind::device) {
    ::munmap(range.alias, range.mapped_bytes);
    // The pages go back, the addresses stay taken.
    ::mmap(reinterpret_cast<void*>(range.base), range.mapped_bytes, PROT_NONE,
           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
    ::close(range.fd);
    range.freed = true;
    return true;
  }
  if (kind != Kind::registered) ::munmap(reinterpret_cast<void*>(range.base), range.mapped_bytes);
  ranges_.erase(found);
  return true;
}

const Range* Memory::rangeOf(std::uintptr_t memory) const {
  auto after = ranges_.upper_bound(memory);
  if (after == ranges_.begin()) return nullptr;
  const Range& range = std::prev(after)->second;
  return memory < range.base + range.mapped_bytes ? &range : nullptr;
}

std::optional<Range> Memory::find(std::uintptr_t memory) const {
  const std::lock_guard lock(mutex_);
  const Range* range = rangeOf(memory);
  if (range == nullptr || range->freed) return std::nullopt;
  return *range;
}

char* Memory::reach(std::uintptr_t memory, std::size_t bytes) const {
  const std::lock_guard lock(mutex_);
  const Range* range = rangeOf(memory);
  if (range == nullptr) return reinterpret_cast<char*>(memory);
  if (range->freed || memory + bytes > range->base + range->bytes) return nullptr;
  return range->alias != nullptr ? range->alias + (memory - range->base) : reinterpret_cast<char*>(memory);
}

std::size_t Memory::usedBytes(int device) const {
  const std::lock_guard lock(mutex_);
  std::size_t used = 0;
  for (const auto& [base, range] : ranges_)
    if (range.kind == Kind::device && !range.freed && !range.imported && range.device == device) used += range.bytes;
  return used;
}

Memory& memory() {
  static Memory& only = *new Memory; // outlives the threads of streams, which nobody may have joined
  return only;
}

} // namespace standin
