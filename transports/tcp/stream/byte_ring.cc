#include "transports/tcp/stream/byte_ring.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace goss::transports::tcp {

void ByteRing::append(const void* bytes, std::size_t count) {
  if (count == 0) return;
  if (size_ + count > capacity_) grow(size_ + count);
  const auto* from = static_cast<const char*>(bytes);
  const std::size_t at = (begin_ + size_) & (capacity_ - 1);
  const std::size_t first = std::min(count, capacity_ - at);
  std::memcpy(bytes_.get() + at, from, first);
  std::memcpy(bytes_.get(), from + first, count - first);
  size_ += count;
}

void ByteRing::discard(std::size_t count) {
  size_ -= count;
  // An empty ring begins at its front again, where one piece is more often enough.
  begin_ = size_ == 0 ? 0 : (begin_ + count) & (capacity_ - 1);
}

std::array<iovec, 2> ByteRing::view(std::size_t offset, std::size_t count) const {
  if (count == 0) return {};
  const std::size_t at = (begin_ + offset) & (capacity_ - 1);
  const std::size_t first = std::min(count, capacity_ - at);
  return {iovec{bytes_.get() + at, first}, iovec{bytes_.get(), count - first}};
}

void ByteRing::grow(std::size_t needed) {
  const std::size_t capacity = std::bit_ceil(std::max(needed, kMinCapacity));
  auto larger = std::make_unique_for_overwrite<char[]>(capacity);
  std::size_t at = 0;
  for (const iovec& piece : view(0, size_)) {
    if (piece.iov_len > 0) std::memcpy(larger.get() + at, piece.iov_base, piece.iov_len);
    at += piece.iov_len;
  }
  bytes_ = std::move(larger);
  capacity_ = capacity;
  begin_ = 0;
}

} // namespace goss::transports::tcp
