#include "transports/common/offer.h"

#include <algorithm>

namespace goss::transports {

bool Offer::copyTo(MessageSink& sink) {
  std::byte last{};
  {
    std::lock_guard lock(mutex_);
    if (operation_ == nullptr) return false;
    if (operation_->bytes == 0) return true;
    // The last byte completes the receive. That callback may cancel operations, which locks the mutexes of other
    // offers, so it must not run while this offer's mutex is locked.
    std::uint64_t left = operation_->bytes - 1;
    for (const iovec& piece : operation_->pieces) {
      const auto* bytes = static_cast<const std::byte*>(piece.iov_base);
      const auto step = static_cast<std::size_t>(std::min<std::uint64_t>(piece.iov_len, left));
      sink.deliver({bytes, step});
      left -= step;
      if (piece.iov_len > 0) last = bytes[piece.iov_len - 1];
    }
  }
  sink.deliver({&last, 1});
  return true;
}

} // namespace goss::transports
