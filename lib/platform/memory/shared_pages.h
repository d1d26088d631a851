/// Memory that this process may lend to others of its host.
#ifndef GOSS_LIB_PLATFORM_MEMORY_SHARED_PAGES_H_
#define GOSS_LIB_PLATFORM_MEMORY_SHARED_PAGES_H_

#include <cstddef>
#include <cstdint>
#include <span>

#include "gossamer/status.h"
#include "platform/fd.h"

namespace goss::platform {

/// A sealed memfd and this process's mapping of it. It has no name, so nothing stays behind however a process ends. No
/// process can truncate it; every process that gets the descriptor can read and write it. A forked child shares the
/// memory itself, not a copy. Movable; not thread-safe itself.
class SharedPages {
 public:
  /// Page-aligned (large ones: aligned to 2 MiB), zeroed and touched, on huge pages where the system allows them for
  /// shared memory. Errors: resource.
  static Result<SharedPages> create(std::size_t bytes);
  /// Maps another process's pages. Errors: resource; protocol when the descriptor is not what create() makes, or
  /// shorter than `bytes`: touching it could kill this process.
  static Result<SharedPages> attach(UniqueFd fd, std::uint64_t bytes);

  SharedPages() = default;
  ~SharedPages();
  SharedPages(SharedPages&& other) noexcept;
  SharedPages& operator=(SharedPages&& other) noexcept;
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;

  [[nodiscard]] bool valid() const { return data_ != nullptr; }
  [[nodiscard]] std::byte* data() const { return data_; }
  /// Size in whole pages, at least the size that was asked for.
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  /// The memfd; invalid after attach().
  [[nodiscard]] int fd() const { return fd_.get(); }
  /// Leaves the memory mapped for good.
  void abandon() { reserved_ = nullptr; }

 private:
  Status map();

  UniqueFd fd_;
  std::byte* reserved_ = nullptr; ///< Reserved address space around data_, for its alignment.
  std::size_t reserved_bytes_ = 0;
  std::byte* data_ = nullptr;
  std::size_t bytes_ = 0;
};

/// From now on only this process has the pages around `memory`, with their contents; other processes that mapped them
/// keep the old pages. No thread may write to these pages meanwhile. False: there is no memory for that, and nothing
/// has changed.
bool replacePages(std::span<std::byte> memory);

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_MEMORY_SHARED_PAGES_H_
