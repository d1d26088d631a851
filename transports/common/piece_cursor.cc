#include "transports/common/piece_cursor.h"

#include <algorithm>
#include <cstring>

#include "platform/memory/adaptive_copy.h"
#include "platform/memory/streaming_copy.h"

namespace goss::transports {

namespace {

void copyThroughCaches(void* to, const void* from, std::size_t bytes) { std::memcpy(to, from, bytes); }

} // namespace

std::span<std::byte> PieceCursor::current() const {
  if (index_ == pieces_.size()) return {};
  const iovec& piece = pieces_[index_];
  return {static_cast<std::byte*>(piece.iov_base) + offset_, piece.iov_len - offset_};
}

void PieceCursor::advance(std::size_t bytes) {
  while (bytes > 0 && index_ < pieces_.size()) {
    std::size_t step = std::min(bytes, pieces_[index_].iov_len - offset_);
    offset_ += step;
    bytes -= step;
    skipEmpty();
  }
}

template <typename Copy>
std::size_t PieceCursor::gatherWith(std::span<std::byte> to, Copy copy) {
  std::size_t done = 0;
  while (done < to.size()) {
    std::span<std::byte> from = current();
    if (from.empty()) break;
    std::size_t step = std::min(from.size(), to.size() - done);
    copy(to.data() + done, from.data(), step);
    advance(step);
    done += step;
  }
  return done;
}

std::size_t PieceCursor::gather(std::span<std::byte> to) { return gatherWith(to, copyThroughCaches); }

std::size_t PieceCursor::gather(std::span<std::byte> to, platform::AdaptiveCopy& copy) {
  return gatherWith(to, [&copy](void* out, const void* in, std::size_t bytes) { copy.copy(out, in, bytes); });
}

template <typename Copy>
std::size_t PieceCursor::scatterWith(std::span<const std::byte> from, Copy copy) {
  std::size_t done = 0;
  while (done < from.size()) {
    std::span<std::byte> to = current();
    if (to.empty()) break;
    std::size_t step = std::min(to.size(), from.size() - done);
    copy(to.data(), from.data() + done, step);
    advance(step);
    done += step;
  }
  return done;
}

std::size_t PieceCursor::scatter(std::span<const std::byte> from) { return scatterWith(from, copyThroughCaches); }

std::size_t PieceCursor::scatterStreaming(std::span<const std::byte> from) {
  return scatterWith(from, platform::copyStreaming);
}

std::size_t PieceCursor::list(std::span<iovec> out, std::size_t max_bytes) const {
  PieceCursor at = *this;
  std::size_t count = 0;
  while (count < out.size() && max_bytes > 0) {
    std::span<std::byte> piece = at.current();
    if (piece.empty()) break;
    std::size_t step = std::min(piece.size(), max_bytes);
    out[count++] = {piece.data(), step};
    max_bytes -= step;
    at.advance(step);
  }
  return count;
}

} // namespace goss::transports
