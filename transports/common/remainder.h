/// The rest of a message that was cancelled half way: a copy that is sent in its place.
#ifndef GOSS_TRANSPORTS_COMMON_REMAINDER_H_
#define GOSS_TRANSPORTS_COMMON_REMAINDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "gossamer/message.h"
#include "transports/common/piece_cursor.h"

namespace goss::transports {

/// The bytes of a stream cannot be taken back, and without the rest of this message the receiver could not find the
/// next one. So the rest is sent out of a copy: the sender gets its buffer back immediately, and the receiver gets a
/// whole message. One thread.
class Remainder final : public SendOperation {
 public:
  /// Longer rests are not copied: the link breaks instead.
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 20;

  /// Copies the rest from `cursor` on; null when it is too long or memory is short.
  static std::unique_ptr<Remainder> of(const SendOperation& cancelled, PieceCursor cursor, std::uint64_t left) {
    if (left > kMaxBytes) return nullptr;
    std::unique_ptr<Remainder> rest(new (std::nothrow) Remainder);
    if (!rest) return nullptr;
    rest->bytes_.reset(new (std::nothrow) std::byte[static_cast<std::size_t>(left)]);
    if (!rest->bytes_) return nullptr;
    cursor.gather({rest->bytes_.get(), static_cast<std::size_t>(left)});
    rest->piece_ = {rest->bytes_.get(), static_cast<std::size_t>(left)};
    rest->pieces = std::span<const iovec>(&rest->piece_, 1);
    rest->peer = cancelled.peer;
    rest->tag = cancelled.tag;
    rest->envelope = cancelled.envelope;
    rest->bytes = cancelled.bytes;
    return rest;
  }

  void onSent(const Status& status) override { (void)status; }

 private:
  Remainder() = default;
  std::unique_ptr<std::byte[]> bytes_;
  iovec piece_{};
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_REMAINDER_H_
