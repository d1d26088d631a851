/// A position inside a gather or scatter list.
#ifndef GOSS_TRANSPORTS_COMMON_PIECE_CURSOR_H_
#define GOSS_TRANSPORTS_COMMON_PIECE_CURSOR_H_

#include <sys/uio.h>

#include <cstddef>
#include <span>

namespace goss::platform {
class AdaptiveCopy;
}

namespace goss::transports {

/// Walks the bytes of a list of pieces in order. The list must outlive the walk. Pieces of no bytes are skipped.
class PieceCursor {
 public:
  PieceCursor() = default;
  explicit PieceCursor(std::span<const iovec> pieces) : pieces_(pieces) { skipEmpty(); }

  /// The contiguous bytes at the cursor; empty at the end of the list.
  [[nodiscard]] std::span<std::byte> current() const;
  /// Moves forward; `bytes` must not pass the end of the list.
  void advance(std::size_t bytes);

  /// Copies the next bytes of the list to `to`; returns how many there were, at most to.size(). Advances.
  std::size_t gather(std::span<std::byte> to);
  /// As above, by `copy`.
  std::size_t gather(std::span<std::byte> to, platform::AdaptiveCopy& copy);
  /// Copies `from` into the list; returns how many bytes fitted. Advances.
  std::size_t scatter(std::span<const std::byte> from);
  /// As scatter(), with stores that bypass the caches.
  std::size_t scatterStreaming(std::span<const std::byte> from);
  /// Fills `out` with the next pieces, together at most `max_bytes`; returns how many entries. Does not advance.
  std::size_t list(std::span<iovec> out, std::size_t max_bytes) const;

 private:
  template <typename Copy>
  std::size_t gatherWith(std::span<std::byte> to, Copy copy);
  template <typename Copy>
  std::size_t scatterWith(std::span<const std::byte> from, Copy copy);
  void skipEmpty() {
    while (index_ < pieces_.size() && offset_ == pieces_[index_].iov_len)
      ++index_, offset_ = 0;
  }

  std::span<const iovec> pieces_;
  std::size_t index_ = 0;
  std::size_t offset_ = 0; ///< Into pieces_[index_]; less than its length unless index_ is at the end.
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_PIECE_CURSOR_H_
