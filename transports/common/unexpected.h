/// A message whose receive is not posted yet, and the bytes of it that are kept.
#ifndef GOSS_TRANSPORTS_COMMON_UNEXPECTED_H_
#define GOSS_TRANSPORTS_COMMON_UNEXPECTED_H_

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>

#include "transports/common/message_header.h"

namespace goss::transports {

class Delivery;

/// A message that arrived, or began to, before its receive was posted.
struct Unexpected {
  struct Free {
    void operator()(std::byte* bytes) const;
  };
  using Payload = std::unique_ptr<std::byte, Free>;
  /// Memory aligned to 64; null: it is short, or `bytes` is 0.
  static Payload allocate(std::uint64_t bytes);

  MessageHeader header;
  /// Bytes that may come before the receive is posted; the others stay with the sender.
  std::uint64_t held = 0;
  std::uint64_t arrived = 0;    ///< Bytes of `payload` that have arrived.
  Delivery* delivery = nullptr; ///< Delivers the rest; null when all bytes have arrived.
  Payload payload;              ///< Memory for `held` bytes, aligned to 64; null when there are none.
  std::uint64_t ticket = 0;     ///< The transport's number of the message; 0: none.
  bool absent = false;          ///< Its bytes are with the sender, which may cancel it until a receive claims it.
  std::list<Unexpected>::iterator self{}; ///< Its place in the Matcher's list, which may be long.
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_UNEXPECTED_H_
