/// What UCX peers tell each other: addresses and the header of every active message. docs/formats.md describes the
/// bytes.
#ifndef GOSS_TRANSPORTS_UCX_WIRE_H_
#define GOSS_TRANSPORTS_UCX_WIRE_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "gossamer/message.h"

namespace goss::transports::ucx {

/// What open() returns.
struct Address {
  std::string process;   ///< processIdentity().
  std::uint64_t key = 0; ///< Random; every message to this rank shows it.
  std::string worker;    ///< As ucp_worker_query gives it.
};

std::string encodeAddress(const Address& address);
/// Nothing when `bytes` are no UCX address of this version.
std::optional<Address> decodeAddress(std::string_view bytes);

struct Header {
  enum class Kind : std::uint8_t {
    hello = 1,    ///< First, once per direction; the envelope starts with the job's secret.
    message = 2,  ///< Numbered.
    goodbye = 3,  ///< Numbered, so that it comes after all messages.
    farewell = 4, ///< The goodbye was read.
    credit = 5,   ///< Only for its `returned`.
    revoke = 6,   ///< Message `number` is no longer wanted by its sender.
    broken = 7,   ///< The sender has given the link up.
    first = 8,    ///< Numbered, as the next two. Begins a message of `total` bytes, with the first of them.
    part = 9,     ///< The next bytes of one.
    cut = 10,     ///< No more of them come: its sender has taken the message back.
    grant = 11,   ///< To the sender of a message that goes in parts: send all of it.
    skip = 12,    ///< To the same: nobody wants more of it than was to come without a grant.
  };
  static constexpr std::size_t kBytes = 80;

  Kind kind = Kind::message;
  std::uint32_t from = 0;     ///< Rank.
  std::uint64_t key = 0;      ///< Of the receiver's address.
  std::uint64_t number = 0;   ///< From 0 on, counting what is numbered in this direction.
  std::uint64_t returned = 0; ///< Credit that the receiver of this header has again in the flow of `tag`.
  Tag tag = 0;
  Envelope envelope{};
  std::uint64_t total = 0; ///< Bytes of a message that comes in parts.
  /// Of `first`: its bytes that come without a grant. Of `part`, `cut`, `grant` and `skip`: which message, of those
  /// that began with `first`, counted from 1.
  std::uint64_t extra = 0;
  /// Of `first` and `part`: there is padding around the bytes that count.
  bool padded = false;
};

/// UCX's TCP reads what comes into a buffer, where 13 bytes of its own stand before the payload and the header stands
/// behind it. So much padding makes the bytes of parts that follow one another begin at multiples of 16 there, as long
/// as each has a multiple of 64 of them.
inline constexpr std::size_t kPaddingBefore = 3;
inline constexpr std::size_t kPaddingBehind = 32;
static_assert((13 + kPaddingBefore) % 16 == 0);
static_assert((13 + kPaddingBefore + kPaddingBehind + Header::kBytes) % 64 == 0);

/// Whether such come in the order of their numbers.
constexpr bool isNumbered(Header::Kind kind) {
  return kind == Header::Kind::message || kind == Header::Kind::goodbye ||
         (kind >= Header::Kind::first && kind <= Header::Kind::cut);
}

using HeaderBytes = std::array<std::byte, Header::kBytes>;
void encodeHeader(const Header& header, HeaderBytes& bytes);
/// Nothing when `bytes` are no header of this version.
std::optional<Header> decodeHeader(std::span<const std::byte> bytes);

} // namespace goss::transports::ucx

#endif // GOSS_TRANSPORTS_UCX_WIRE_H_
