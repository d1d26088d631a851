/// The collectives of a communicator so far, which must be the same on all of its ranks.
#ifndef GOSS_LIB_CALL_HISTORY_H_
#define GOSS_LIB_CALL_HISTORY_H_

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "call/signature.h"

namespace goss {

/// Numbers the calls from 0. The envelope of each carries a hash of all calls before it, so the first message that a
/// rank reads from another one after a mismatch differs, whatever either calls by then. The last kKept envelopes are
/// kept, to find out which call it was and to name it. Not thread-safe.
class History {
 public:
  static constexpr std::uint64_t kKept = 64;

  /// Number of the next call.
  [[nodiscard]] std::uint64_t next() const { return next_; }
  /// The value of Signature::history in the next call's envelope.
  [[nodiscard]] std::uint32_t hash() const { return hash_; }
  /// Appends `call`.
  void add(const Envelope& call) {
    kept_[next_++ % kKept] = call;
    hash_ = historyAfter(call);
  }
  [[nodiscard]] bool holds(std::uint64_t number) const { return number >= first() && number < next_; }
  /// The envelope of a call that this history holds.
  [[nodiscard]] const Envelope& at(std::uint64_t number) const { return kept_[number % kKept]; }
  /// Replaces the kept envelope of a call, if it is still held. The hashes that later envelopes carry stay as they are.
  void replace(std::uint64_t number, const Envelope& call) {
    if (holds(number)) kept_[number % kKept] = call;
  }

  /// The number of the first call that differs between the two histories. If the hashes before the calls that both hold
  /// differ already, it is the number of the last call before these. nullopt: all calls that both hold are equal.
  [[nodiscard]] std::optional<std::uint64_t> firstDifference(const History& theirs) const;

  /// Number of the first call that this history holds.
  [[nodiscard]] std::uint64_t first() const { return std::max(begin_, next_ - std::min(next_, kKept)); }
  /// The envelopes that this history holds, in order, as bytes for another rank.
  [[nodiscard]] std::string encode() const;
  /// Decodes what encode() returned on a rank where first() was `first`. nullopt: the bytes are malformed.
  static std::optional<History> decode(std::uint64_t first, std::string_view bytes);

 private:
  [[nodiscard]] std::uint32_t hashBefore(std::uint64_t number) const;

  std::uint64_t begin_ = 0; ///< The calls before this number are unknown.
  std::uint64_t next_ = 0;
  std::uint32_t hash_ = 0;
  std::array<Envelope, kKept> kept_{}; ///< By number modulo kKept.
};

} // namespace goss

#endif // GOSS_LIB_CALL_HISTORY_H_
