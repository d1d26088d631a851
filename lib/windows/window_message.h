/// The messages of windows: 24 bytes in the envelope of a message, whose bytes are the elements. docs/formats.md is the
/// written form of this file.
#ifndef GOSS_LIB_WINDOWS_WINDOW_MESSAGE_H_
#define GOSS_LIB_WINDOWS_WINDOW_MESSAGE_H_

#include <cstdint>

#include "gossamer/message.h"
#include "gossamer/types.h"

namespace goss {

struct WindowMessage {
  enum class Type : std::uint8_t {
    put = 1,         ///< Elements for the target's memory.
    accumulate = 2,  ///< Elements that the target combines with its memory by `op`.
    get = 3,         ///< The target answers with `data`.
    flush = 4,       ///< The target answers with `flushed` when it has served all before.
    lock = 5,        ///< The target answers with `granted` when the lock is the sender's.
    unlock = 6,      ///< The lock is free again.
    data = 7,        ///< The elements that `get` asked for.
    flushed = 8,     ///< Answer to `flush`.
    granted = 9,     ///< Answer to `lock`.
    request = 10,    ///< The sender wants to average with the target, which answers with `offer` when it may.
    offer = 11,      ///< The elements of the rank that answers; it changes them by no other average until `difference`.
    difference = 12, ///< What the target adds to its elements; no bytes: the average does not take place.
    leave = 13       ///< The sender destroys its communicator: it serves no more.
  };

  Type type = Type::put;
  ReduceOp op = GOSS_SUM;   ///< accumulate.
  std::uint32_t serial = 0; ///< Number of the operation that asks; an answer has that of the question.
  /// First element. difference: of the second range, to which it is added with the factor `shadow_factor`.
  std::uint64_t offset = 0;
  std::uint64_t count = 0;  ///< Elements; not of a difference, where the factor has its place.
  double shadow_factor = 0; ///< difference alone; 0: there is no second range.

  [[nodiscard]] Envelope encode() const;
  /// False: the envelope is malformed.
  static bool decode(const Envelope& envelope, WindowMessage& message);
  /// Whether a message of this type brings elements.
  [[nodiscard]] bool bringsElements() const {
    return type == Type::put || type == Type::accumulate || type == Type::data || type == Type::offer;
  }
};

} // namespace goss

#endif // GOSS_LIB_WINDOWS_WINDOW_MESSAGE_H_
