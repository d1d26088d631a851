/// The stand-in's memory: device memory that the host cannot touch, pinned and managed memory that it can.
#ifndef GOSS_TESTS_CUDA_STANDIN_MEMORY_H_
#define GOSS_TESTS_CUDA_STANDIN_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace standin {

enum class Kind : std::uint8_t { device, pinned, managed, registered };

/// What the owner of device memory tells the processes that map it.
struct Life {
  std::atomic<std::uint64_t> id;    ///< Names the allocation among those of its owner.
  std::atomic<std::uint64_t> owner; ///< Its process.
  std::atomic<std::uint32_t> freed;
};

/// An allocation, by the addresses that the caller knows.
struct Range {
  std::uintptr_t base = 0;
  std::size_t bytes = 0;
  std::size_t mapped_bytes = 0; ///< Whole pages.
  Kind kind = Kind::device;
  int device = 0;
  std::uint64_t id = 0;
  int fd = -1;            ///< The memory itself, where the caller's addresses fault.
  char* alias = nullptr;  ///< Where the stand-in reaches it.
  bool freed = false;     ///< Device memory keeps its addresses when it is freed, so that later uses are found.
  bool imported = false;  ///< Another process owns it.
  std::int64_t owner = 0; ///< That process, and the address there.
  std::uintptr_t owner_base = 0;
  bool exportable = true;
  Life* life = nullptr; ///< Device memory's, in a page of its own behind the memory, which all processes see.
  int opens = 0;        ///< How often imported memory was opened.
};

/// Thread-safe.
class Memory {
 public:
  /// Memory of `bytes` bytes (at least one), which other processes may map if it is `exportable`; 0 where there is none
  /// left.
  std::uintptr_t allocate(Kind kind, std::size_t bytes, int device, bool exportable = true);
  /// Makes memory of the program known as pinned. False: a part of it is known already.
  bool add(void* memory, std::size_t bytes, int device);
  /// False: not the beginning of an allocation of one of these kinds.
  bool release(std::uintptr_t memory, Kind kind);
  /// Memory of another process, as an IPC handle names it.
  struct Exported {
    std::int64_t owner; ///< The process.
    std::int64_t fd;    ///< Its descriptor.
    std::uint64_t id;   ///< Its allocation.
    std::uint64_t base; ///< Its address there.
    std::uint64_t bytes;
  };
  /// Maps device memory of another process. Memory that is mapped already is opened once more, at its address. 0: there
  /// is no such memory, or it was freed.
  std::uintptr_t import(const Exported& exported, int device);
  /// Whether other memory is mapped that its owner had at these addresses before.
  bool isStale(const Exported& exported) const;
  /// Closes what import() has opened. False: it has not.
  bool close(std::uintptr_t memory);

  /// The allocation in which `memory` lies, if it lives.
  std::optional<Range> find(std::uintptr_t memory) const;
  /// Where the stand-in reaches `bytes` bytes at `memory`: memory that is not the stand-in's is reached where it is.
  /// nullptr: they were freed, or reach beyond their allocation.
  char* reach(std::uintptr_t memory, std::size_t bytes) const;
  std::size_t usedBytes(int device) const;

 private:
  const Range* rangeOf(std::uintptr_t memory) const;
  std::uintptr_t insert(Range range);
  /// Where memory of so many mapped bytes was freed, if the settings say that its address is used again; else 0.
  std::uintptr_t addressToReuse(std::size_t mapped_bytes) const;

  mutable std::mutex mutex_;
  std::map<std::uintptr_t, Range> ranges_; ///< By base.
  std::uint64_t next_id_ = 1;
};

Memory& memory();

} // namespace standin

#endif // GOSS_TESTS_CUDA_STANDIN_MEMORY_H_
