#include "windows/window_message.h"

#include <bit>

#include "base/wire.h"
#include "call/signature.h"

namespace goss {

Envelope WindowMessage::encode() const {
  Envelope envelope{};
  std::byte* to = envelope.data();
  to[0] = static_cast<std::byte>(Signature::Kind::window);
  to[1] = static_cast<std::byte>(type);
  to[2] = static_cast<std::byte>(op);
  base::storeLittleEndian(to + 4, serial);
  base::storeLittleEndian(to + 8, offset);
  base::storeLittleEndian(to + 16, type == Type::difference ? std::bit_cast<std::uint64_t>(shadow_factor) : count);
  return envelope;
}

bool WindowMessage::decode(const Envelope& envelope, WindowMessage& message) {
  const std::byte* from = envelope.data();
  message.type = static_cast<Type>(from[1]);
  message.op = static_cast<ReduceOp>(from[2]);
  message.serial = base::loadLittleEndian<std::uint32_t>(from + 4);
  message.offset = base::loadLittleEndian<std::uint64_t>(from + 8);
  const auto last = base::loadLittleEndian<std::uint64_t>(from + 16);
  message.count = message.type == Type::difference ? 0 : last;
  message.shadow_factor = message.type == Type::difference ? std::bit_cast<double>(last) : 0;
  return from[0] == static_cast<std::byte>(Signature::Kind::window) && from[3] == std::byte{0} &&
         message.type >= Type::put && message.type <= Type::leave && message.op < GOSS_OP_COUNT;
}

} // namespace goss
