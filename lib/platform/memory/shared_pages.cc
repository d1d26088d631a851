#include "platform/memory/shared_pages.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <utility>

#include "platform/memory/pages.h"

namespace goss::platform {

namespace {

constexpr std::size_t kMaxBytes = std::size_t{1} << 46;
constexpr int kSizeSeals = F_SEAL_SHRINK | F_SEAL_GROW;

Status failure(std::size_t bytes) {
  return Status::error(GOSS_ERR_RESOURCE,
                       fmt::format("cannot make {} bytes of shared memory: {}", bytes, errnoText(errno)));
}

} // namespace

Result<SharedPages> SharedPages::create(std::size_t bytes) {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  if (bytes == 0) bytes = 1;
  if (bytes > kMaxBytes) {
    return Status::error(GOSS_ERR_RESOURCE, fmt::format("cannot make {} bytes of shared memory", bytes));
  }
  SharedPages pages;
  pages.bytes_ = (bytes + page - 1) / page * page;
  pages.fd_.reset(::memfd_create("gossamer-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (!pages.fd_.valid() || ::ftruncate(pages.fd_.get(), static_cast<off_t>(pages.bytes_)) != 0) return failure(bytes);
  if (Status mapped = pages.map(); !mapped.isOk()) return mapped;
  // Allocates through the file, so that a lack of memory is an error here and not a signal at the first store.
  if (::fallocate(pages.fd_.get(), 0, 0, static_cast<off_t>(pages.bytes_)) != 0 && errno != EOPNOTSUPP) {
    return failure(bytes);
  }
  std::memset(pages.data_, 0, pages.bytes_);
  if (::fcntl(pages.fd_.get(), F_ADD_SEALS, kSizeSeals | F_SEAL_SEAL) != 0) return failure(bytes);
  return pages;
}

Result<SharedPages> SharedPages::attach(UniqueFd fd, std::uint64_t bytes) {
  struct stat file {};
  const int seals = ::fcntl(fd.get(), F_GET_SEALS);
  const bool fits = seals >= 0 && (seals & kSizeSeals) == kSizeSeals && ::fstat(fd.get(), &file) == 0 && bytes > 0 &&
                    bytes <= kMaxBytes && static_cast<std::uint64_t>(file.st_size) >= bytes;
  if (!fits) return Status::error(GOSS_ERR_PROTOCOL, "a descriptor that is not sealed shared memory of that size");
  SharedPages pages;
  pages.bytes_ = static_cast<std::size_t>(bytes);
  pages.fd_ = std::move(fd);
  if (Status mapped = pages.map(); !mapped.isOk()) return mapped;
  pages.fd_.reset();
  return pages;
}

Status SharedPages::map() {
  const std::size_t alignment = bytes_ >= kHugePage ? kHugePage : 0;
  const std::size_t reserve = bytes_ + alignment;
  void* all = ::mmap(nullptr, reserve, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (all == MAP_FAILED) return failure(bytes_);
  reserved_ = static_cast<std::byte*>(all);
  reserved_bytes_ = reserve;
  const auto address = reinterpret_cast<std::uintptr_t>(all);
  std::byte* at = reserved_ + (alignment == 0 ? 0 : (alignment - address % alignment) % alignment);
  if (::mmap(at, bytes_, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd_.get(), 0) == MAP_FAILED)
    return failure(bytes_);
  data_ = at;
  // Only advice: without huge pages the memory works as well, but is slower to touch.
  if (alignment != 0) (void)::madvise(at, bytes_, MADV_HUGEPAGE);
  return Status::ok();
}

SharedPages::~SharedPages() {
  if (reserved_ != nullptr) ::munmap(reserved_, reserved_bytes_);
}

SharedPages::SharedPages(SharedPages&& other) noexcept
    : fd_(std::move(other.fd_)),
      reserved_(std::exchange(other.reserved_, nullptr)),
      reserved_bytes_(std::exchange(other.reserved_bytes_, 0)),
      data_(std::exchange(other.data_, nullptr)),
      bytes_(std::exchange(other.bytes_, 0)) {}

bool replacePages(std::span<std::byte> memory) {
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  const std::uintptr_t first = address / page * page;
  const std::size_t bytes = (address + memory.size() + page - 1) / page * page - first;
  void* at = memory.data() - (address - first);
  void* pages = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return false;
  std::memcpy(pages, at, bytes);
  if (::mremap(pages, bytes, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, at) != MAP_FAILED) return true;
  ::munmap(pages, bytes);
  return false;
}

SharedPages& SharedPages::operator=(SharedPages&& other) noexcept {
  std::swap(fd_, other.fd_);
  std::swap(reserved_, other.reserved_);
  std::swap(reserved_bytes_, other.reserved_bytes_);
  std::swap(data_, other.data_);
  std::swap(bytes_, other.bytes_);
  return *this;
}

} // namespace goss::platform
