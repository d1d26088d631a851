#include "tests/cuda/standin/memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "tests/cuda/standin/settings.h"

namespace standin {

namespace {

constexpr std::size_t kPage = 4096;

std::size_t pages(std::size_t bytes) { return std::max(kPage, (bytes + kPage - 1) / kPage * kPage); }

/// Maps `fd` twice: for the caller without any access, at `place` if that is not 0, for the stand-in with all, and its
/// Life behind.
bool mapTwice(Range& range, std::uintptr_t place = 0) {
  void* alias = ::mmap(nullptr, range.mapped_bytes + kPage, PROT_READ | PROT_WRITE, MAP_SHARED, range.fd, 0);
  if (alias == MAP_FAILED) return false;
  void* base = ::mmap(reinterpret_cast<void*>(place), range.mapped_bytes, PROT_NONE,
                      MAP_SHARED | (place != 0 ? MAP_FIXED : 0), range.fd, 0);
  if (base == MAP_FAILED) {
    ::munmap(alias, range.mapped_bytes + kPage);
    return false;
  }
  range.alias = static_cast<char*>(alias);
  range.life = reinterpret_cast<Life*>(range.alias + range.mapped_bytes);
  range.base = reinterpret_cast<std::uintptr_t>(base);
  return true;
}

/// The pages go back, the addresses stay taken.
void unmapTwice(Range& range) {
  ::munmap(range.alias, range.mapped_bytes + kPage);
  ::mmap(reinterpret_cast<void*>(range.base), range.mapped_bytes, PROT_NONE,
         MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
  ::close(range.fd);
  range.life = nullptr;
  range.freed = true;
}

/// Whether the memory was freed, here or by the process that owns it.
bool isFreed(const Range& range) { return range.freed || (range.life != nullptr && range.life->freed != 0); }

bool mapOnce(Range& range) {
  void* base = ::mmap(nullptr, range.mapped_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  range.base = reinterpret_cast<std::uintptr_t>(base);
  return base != MAP_FAILED;
}

} // namespace

std::uintptr_t Memory::insert(Range range) {
  const std::lock_guard lock(mutex_);
  range.id = next_id_++;
  if (range.life != nullptr && !range.imported) {
    range.life->id = range.id;
    range.life->owner = static_cast<std::uint64_t>(::getpid());
  }
  ranges_[range.base] = range;
  return range.base;
}

std::uintptr_t Memory::addressToReuse(std::size_t mapped_bytes) const {
  const std::lock_guard lock(mutex_);
  for (const auto& [base, range] : ranges_)
    if (settings().reuse && range.kind == Kind::device && range.freed && !range.imported &&
        range.mapped_bytes == mapped_bytes)
      return base;
  return 0;
}

std::uintptr_t Memory::allocate(Kind kind, std::size_t bytes, int device, bool exportable) {
  if (kind == Kind::device && usedBytes(device) + bytes > settings().memory_bytes) return 0;
  Range range{.bytes = std::max<std::size_t>(bytes, 1), .mapped_bytes = pages(bytes), .kind = kind, .device = device};
  if (kind != Kind::device) return mapOnce(range) ? insert(range) : 0;
  range.fd = ::memfd_create("cuda stand-in", MFD_CLOEXEC);
  if (range.fd < 0) return 0;
  range.exportable = exportable;
  if (::ftruncate(range.fd, static_cast<off_t>(range.mapped_bytes + kPage)) == 0 &&
      mapTwice(range, addressToReuse(range.mapped_bytes)))
    return insert(range);
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

bool Memory::isStale(const Exported& exported) const {
  const std::lock_guard lock(mutex_);
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const auto& entry) {
    const Range& range = entry.second;
    return range.imported && !range.freed && range.owner == exported.owner && range.life != nullptr &&
           range.life->id != exported.id && range.owner_base < exported.base + exported.bytes &&
           exported.base < range.owner_base + range.bytes;
  });
}

std::uintptr_t Memory::import(const Exported& exported, int device) {
  const auto is_it = [&](const Range& range) {
    return range.life != nullptr && range.life->id == exported.id &&
           range.life->owner == static_cast<std::uint64_t>(exported.owner) && range.life->freed == 0;
  };
  {
    const std::lock_guard lock(mutex_);
    for (auto& [base, range] : ranges_) {
      if (!range.imported || range.freed || !is_it(range)) continue;
      ++range.opens;
      return base;
    }
  }
  Range range{.bytes = exported.bytes,
              .mapped_bytes = pages(exported.bytes),
              .device = device,
              .imported = true,
              .owner = exported.owner,
              .owner_base = exported.base,
              .opens = 1};
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%ld/fd/%ld", static_cast<long>(exported.owner),
                static_cast<long>(exported.fd));
  range.fd = ::open(path, O_RDWR | O_CLOEXEC);
  if (range.fd < 0) return 0;
  // The descriptor may name another file by now: only a file of the right size can have a Life at its end.
  if (::lseek(range.fd, 0, SEEK_END) == static_cast<off_t>(range.mapped_bytes + kPage) && mapTwice(range)) {
    if (is_it(range)) return insert(range);
    unmapTwice(range);
    return 0;
  }
  ::close(range.fd);
  return 0;
}

bool Memory::close(std::uintptr_t memory) {
  const std::lock_guard lock(mutex_);
  const auto found = ranges_.find(memory);
  if (found == ranges_.end() || !found->second.imported || found->second.freed) return false;
  if (--found->second.opens == 0) unmapTwice(found->second);
  return true;
}

bool Memory::release(std::uintptr_t memory, Kind kind) {
  const std::lock_guard lock(mutex_);
  const auto found = ranges_.find(memory);
  if (found == ranges_.end() || found->second.kind != kind || found->second.freed || found->second.imported)
    return false;
  Range& range = found->second;
  if (kind == Kind::device) {
    range.life->freed = 1;
    unmapTwice(range);
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
  if (isFreed(*range) || memory + bytes > range->base + range->bytes) return nullptr;
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
