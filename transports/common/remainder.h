/// What is left of a message that was cancelled half way: a copy that goes on in its place.
#ifndef GOSS_TRANSPORTS_COMMON_REMAINDER_H_
#define GOSS_TRANSPORTS_COMMON_REMAINDER_H_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>

#include "gossamer/message.h"
#include "transports/common/piece_cursor.h"

namespace goss::transports {

/// The bytes of a stream cannot be taken back, and without the rest of them the next message could not be told from
/// this one. So they are sent all the same, out of memory of our own: the sender has its buffer back immediately, and
/// the receiver gets a message that is whole. One thread.
class Remainder final : public SendOperation {
 public:
  /// Longer ones are not worth it: the link breaks.
  static constexpr std::uint64_t kMaxBytes = std::uint64_t{64} << 20;

  /// Takes the rest from `cursor` on; null when it is too long or memory is short.
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
