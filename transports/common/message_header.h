/// The fields of every message's header.
#ifndef GOSS_TRANSPORTS_COMMON_MESSAGE_HEADER_H_
#define GOSS_TRANSPORTS_COMMON_MESSAGE_HEADER_H_

#include <cstdint>

#include "gossamer/message.h"

namespace goss::transports {

/// The fields that every transport encodes, each in its own format.
struct MessageHeader {
  Tag tag = 0;
  std::uint64_t bytes = 0;
  Envelope envelope{};
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_MESSAGE_HEADER_H_
