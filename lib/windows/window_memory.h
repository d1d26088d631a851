/// The memory of a window on one rank, and how often each origin has changed it.
#ifndef GOSS_LIB_WINDOWS_WINDOW_MEMORY_H_
#define GOSS_LIB_WINDOWS_WINDOW_MEMORY_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "gossamer/types.h"
#include "platform/thread_safety.h"
#include "windows/window_message.h"

namespace goss {

/// Elements of a window, from `offset` on.
struct WindowRange {
  std::uint64_t offset = 0;
  std::uint64_t count = 0;
};

/// Used under the engine's lock, which makes every change atomic for other changes of the same elements. Callers check
/// ranges by holds() first.
class WindowMemory {
 public:
  WindowMemory(void* data, std::uint64_t count, DType dtype, int origins)
      : data_(static_cast<std::byte*>(data)),
        count_(count),
        dtype_(dtype),
        versions_(static_cast<std::size_t>(origins)) {}

  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] DType dtype() const { return dtype_; }
  [[nodiscard]] std::size_t bytesOf(std::uint64_t count) const;
  [[nodiscard]] bool holds(const WindowRange& range) const {
    return range.offset <= count_ && range.count <= count_ - range.offset;
  }

  /// Changes what a put or an accumulate says, beginning at byte `at` of its range.
  void change(const WindowMessage& message, std::size_t at, std::span<const std::byte> bytes) GOSS_ON_LOOP;
  void read(const WindowRange& range, std::byte* to) const GOSS_ON_LOOP;
  /// Adds factor * bytes, beginning at byte `at` of the elements from `offset` on; of a floating type.
  void add(std::uint64_t offset, double factor, std::size_t at, std::span<const std::byte> bytes) GOSS_ON_LOOP;
  /// theirs = (own elements - theirs) / 2; of a floating type.
  void halveDifference(const WindowRange& range, std::byte* theirs) const GOSS_ON_LOOP;

  /// A put or an accumulate of `origin` is complete.
  void countChange(int origin) GOSS_ON_LOOP { ++versions_[static_cast<std::size_t>(origin)]; }
  [[nodiscard]] std::uint64_t version(int origin) const GOSS_ON_LOOP {
    return versions_[static_cast<std::size_t>(origin)];
  }

 private:
  [[nodiscard]] std::byte* place(std::uint64_t offset) const { return data_ + bytesOf(offset); }

  std::byte* const data_;
  const std::uint64_t count_;
  const DType dtype_;
  std::vector<std::uint64_t> versions_ GOSS_GUARDED; ///< By origin.
};

} // namespace goss

#endif // GOSS_LIB_WINDOWS_WINDOW_MEMORY_H_
