/// Keeps bytes that were sent until the peer acknowledges them, to send them again over the next connection.
#ifndef GOSS_TRANSPORTS_TCP_STREAM_BYTE_RING_H_
#define GOSS_TRANSPORTS_TCP_STREAM_BYTE_RING_H_

#include <sys/uio.h>

#include <array>
#include <cstddef>
#include <memory>

namespace goss::transports::tcp {

/// A FIFO buffer whose memory doubles when it is full. One thread.
class ByteRing {
 public:
  [[nodiscard]] std::size_t size() const { return size_; }
  void append(const void* bytes, std::size_t count);
  /// Forgets the oldest `count` bytes; there are at least as many.
  void discard(std::size_t count);
  /// `count` bytes from `offset` on, in place; there are as many. The second piece is empty where one is enough. Valid
  /// until the next append().
  [[nodiscard]] std::array<iovec, 2> view(std::size_t offset, std::size_t count) const;

 private:
  void grow(std::size_t needed);

  static constexpr std::size_t kMinCapacity = std::size_t{64} * 1024;
  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0; ///< 0 or a power of two.
  std::size_t begin_ = 0;
  std::size_t size_ = 0;
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_STREAM_BYTE_RING_H_
