/// The bytes that UCX peers exchange: addresses and the header of every active message.
///
/// Integers are little-endian. An address is "GUX4", the process (text: length in 4 bytes, bytes), the key (8 bytes)
/// and the worker (text). A header, which a payload follows in `message`, `first` and `part`:
///
///     0    3   "G", "U", 4
///     3    1   kind; plus 128: padded
///     4    4   from
///     8    8   key; a message without that of the receiver's address is dropped
///     16   8   number
///     24   8   returned (message, first, credit)
///     32   8   tag
///     40   24  envelope
///     64   8   total (first, part)
///     72   8   extra
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

/// The address that open() returns.
struct Address {
  std::string process;   ///< platform::ownProcessName().
  std::uint64_t key = 0; ///< Random; every message to this rank shows it.
  std::string worker;    ///< As ucp_worker_query gives it.
};

std::string encodeAddress(const Address& address);
/// Decodes an address; nullopt when `bytes` are no UCX address of this version.
std::optional<Address> decodeAddress(std::string_view bytes);

struct Header {
  enum class Kind : std::uint8_t {
    /// First, once per direction; the envelope starts with the job's secret. Up to 128 meaningless bytes follow.
    hello = 1,
    message = 2,     ///< Numbered, as are goodbye, first, part and cut.
    goodbye = 3,     ///< Numbered, so that it comes after all messages.
    goodbyeRead = 4, ///< The sender has read the goodbye.
    credit = 5,      ///< Only returns credit.
    revoke = 6,      ///< The sender has cancelled message `number`: if not fetched yet, it counts as never sent.
    broken = 7,      ///< The sender has given the link up.
    first = 8,       ///< Begins a message of `total` bytes, with the first of them. Numbered.
    part = 9,        ///< The next bytes of a message in parts. Numbered.
    cut = 10,        ///< The sender has cancelled a message in parts: no more of it comes. Numbered.
    grant = 11,      ///< To the sender of a message in parts: send all of it.
    skip = 12,       ///< To the sender of a message in parts: drop the bytes that were to wait for a grant.
  };
  static constexpr std::size_t kBytes = 80;

  Kind kind = Kind::message;
  std::uint32_t from = 0;     ///< Rank of the sender.
  std::uint64_t key = 0;      ///< Key in the receiver's address.
  std::uint64_t number = 0;   ///< Number, from 0, of this message among the numbered ones of this direction.
  std::uint64_t returned = 0; ///< Credit that the receiver of this header has again in the flow of `tag`.
  Tag tag = 0;
  Envelope envelope{};
  std::uint64_t total = 0; ///< Bytes of a message in parts.
  /// In `first`: bytes that come without a grant. In `part`, `cut`, `grant` and `skip`: the number, from 1, of the
  /// message among those that began with `first`.
  std::uint64_t extra = 0;
  /// In `first` and `part`: there is padding around the payload.
  bool padded = false;
};

/// UCX's TCP reads into a buffer in which 13 bytes of its own precede the payload, and the header follows the payload.
/// With this padding the payloads of consecutive parts begin at multiples of 16 there, as long as each has a multiple
/// of 64 bytes.
inline constexpr std::size_t kPaddingBefore = 3;
inline constexpr std::size_t kPaddingBehind = 32;
static_assert((13 + kPaddingBefore) % 16 == 0);
static_assert((13 + kPaddingBefore + kPaddingBehind + Header::kBytes) % 64 == 0);

/// Whether messages of this kind are taken in the order of their numbers.
constexpr bool isNumbered(Header::Kind kind) {
  return kind == Header::Kind::message || kind == Header::Kind::goodbye ||
         (kind >= Header::Kind::first && kind <= Header::Kind::cut);
}

using HeaderBytes = std::array<std::byte, Header::kBytes>;
void encodeHeader(const Header& header, HeaderBytes& bytes);
/// Decodes a header; nullopt when `bytes` are no header of this version.
std::optional<Header> decodeHeader(std::span<const std::byte> bytes);

} // namespace goss::transports::ucx

#endif // GOSS_TRANSPORTS_UCX_WIRE_H_
