/// The stand-in's memory: device memory that the host cannot touch, pinned and managed memory that it can.
#ifndef GOSS_TESTS_CUDA_STANDIN_MEMORY_H_
#define GOSS_TESTS_CUDA_STANDIN_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace standin {

enum class Kind : std::uint8_t { device, pinned, managed, registered };

/// An allocation, by the addresses that the caller knows.
struct Range {
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
  std::size_t mapped_bytes = 0; ///< Whole pages.
  Kind kind = Kind::device;
  int device = 0;
  std::uint64_t id = 0;
  int fd = -1;           ///< The memory itself, where the caller's addresses fault.
  char* alias = nullptr; ///< Where the stand-in reaches it.
  bool freed = false;    ///< Device memory keeps its addresses when it is freed, so that later uses are found.
  bool imported = false; ///< Another process owns it.
};

/// Thread-safe.
class Memory {
 public:
  /// Memory of `bytes` bytes (at least one); 0 where there is none left.
  std::uintptr_t allocate(Kind kind, std::size_t bytes, int device);
  /// Makes memory of the program known as pinned. False: a part of it is known already.
  bool add(void* memory, std::size_t bytes, int device);
  /// False: not the beginning of an allocation of one of these kinds.
  bool release(std::uintptr_t memory, Kind kind);
  /// Maps device memory of another process: its /proc/PID/fd/N.
  std::uintptr_t import(const char* path, std::size_t bytes, int device);

  /// The allocation in which `memory` lies, if it lives.
  std::optional<Range> find(std::uintptr_t memory) const;
  /// Where the stand-in reaches `bytes` bytes at `memory`: memory that is not the stand-in's is reached where it is.
  /// nullptr: they were freed, or reach beyond their allocation.
  char* reach(std::uintptr_t memory, std::size_t bytes) const;
  std::size_t usedBytes(int device) const;

 private:
  const Range* rangeOf(std::uintptr_t memory) const;
  std::uintptr_t insert(const Range& range);

  mutable std::mutex mutex_;
  std::map<std::uintptr_t, Range> ranges_; ///< By base.
  std::uint64_t next_id_ = 1;
};

Memory& memory();

} // namespace standin

#endif // GOSS_TESTS_CUDA_STANDIN_MEMORY_H_
