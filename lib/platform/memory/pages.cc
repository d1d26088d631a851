#include "platform/memory/pages.h"

#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>

#include "base/invalid.h"
#include "platform/fd.h"

namespace goss::platform {

namespace {

constexpr std::uint64_t kMagic = 0x676f73732d6d656dULL;

/// Lies in a page of its own before the memory, so that freeing needs no table.
struct Header {
  std::uint64_t magic;
  std::size_t mapped_bytes;
  std::byte* mapping;
};

std::size_t pageBytes() { return static_cast<std::size_t>(::sysconf(_SC_PAGESIZE)); }

} // namespace

Result<void*> allocatePages(std::size_t bytes) {
  const std::size_t page = pageBytes();
  const std::size_t alignment = bytes >= kHugePage ? kHugePage : page;
  if (bytes > SIZE_MAX / 2) return Status::error(GOSS_ERR_RESOURCE, fmt::format("cannot allocate {} bytes", bytes));
  const std::size_t mapped = (bytes + page - 1) / page * page + alignment + page;
  void* mapping = ::mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) {
    return Status::error(GOSS_ERR_RESOURCE, fmt::format("cannot allocate {} bytes: {}", bytes, errnoText(errno)));
  }
  auto* start = static_cast<std::byte*>(mapping);
  const auto first = reinterpret_cast<std::uintptr_t>(start) + page;
  auto* memory = start + page + (alignment - first % alignment) % alignment;
  // Only advice: without huge pages the memory works as well, but is slower to touch.
  if (alignment == kHugePage) (void)::madvise(memory, bytes, MADV_HUGEPAGE);
  std::memset(memory, 0, bytes);
  const Header header{kMagic, mapped, start};
  std::memcpy(memory - page, &header, sizeof header);
  return static_cast<void*>(memory);
}

void touchPages(const std::byte* memory, std::size_t bytes, bool writes) {
#if defined(MADV_POPULATE_READ) && defined(MADV_POPULATE_WRITE)
  const std::size_t page = pageBytes();
  const std::size_t skipped = (page - reinterpret_cast<std::uintptr_t>(memory) % page) % page;
  if (bytes < skipped + page) return;
  // The system changes no bytes.
  (void)::madvise(const_cast<std::byte*>(memory) + skipped, (bytes - skipped) / page * page,
                  writes ? MADV_POPULATE_WRITE : MADV_POPULATE_READ);
#else
  (void)memory, (void)bytes, (void)writes;
#endif
}

Status freePages(void* memory) {
  const std::size_t page = pageBytes();
  Header header{};
  if (reinterpret_cast<std::uintptr_t>(memory) % page == 0) {
    std::memcpy(&header, static_cast<std::byte*>(memory) - page, sizeof header);
  }
  if (header.magic != kMagic) {
    return base::invalid("goss_mem_free: the address is not from goss_mem_alloc");
  }
  ::munmap(header.mapping, header.mapped_bytes);
  return Status::ok();
}

} // namespace goss::platform
