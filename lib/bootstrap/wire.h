/// The bytes between a rank and rank 0 during bootstrap; docs/formats.md describes them. Pure.
#ifndef GOSS_LIB_BOOTSTRAP_WIRE_H_
#define GOSS_LIB_BOOTSTRAP_WIRE_H_

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "gossamer/status.h"

namespace goss {

inline constexpr std::uint16_t kBootstrapVersion = 6; ///< Also the version of the cards.
inline constexpr std::size_t kHelloBytes = 48;
inline constexpr std::size_t kBootstrapHeaderBytes = 16;
inline constexpr std::size_t kMaxReasonBytes = 4096;
/// Keeps sums of lengths far from overflow; a star topology is unsuitable long before.
inline constexpr int kMaxRanks = 1 << 16;

/// How often each rank takes a turn (Rendezvous::whileWaiting) while it waits. Ranks that share a host, as threads do
/// in tests, would otherwise use up its processors by their turns, and those that are still connecting would be late.
constexpr std::chrono::milliseconds turnSpan(int ranks, int least_ms) {
  return std::chrono::milliseconds(std::max(least_ms, ranks / 16));
}

/// The first bytes that a caller sends.
struct Hello {
  int rank = 0;
  int ranks = 0;
  std::uint64_t caller = 0; ///< Random per process: a rank that calls again replaces its older call.
  std::array<std::byte, 16> job{};
};

std::string encodeHello(const Hello& hello);
/// Decodes kHelloBytes; checks neither the rank nor the job. Errors: protocol saying what the bytes look like instead.
Result<Hello> decodeHello(std::string_view bytes);
/// Whether a hello can begin with these bytes: so a stranger is recognised before it has sent kHelloBytes.
bool helloMayBegin(std::string_view bytes);

enum class BootstrapFrame : std::uint8_t {
  welcome = 1, ///< To the caller: it is accepted; the payload is a Welcome.
  refused = 2, ///< To the caller: it is refused; the payload is the reason.
  card = 3,    ///< To rank 0: milliseconds until the caller gives up (u32), then its card.
  cards = 4,   ///< From rank 0: encodeCards().
  failed = 5,  ///< From rank 0: the meeting is over; the payload is the reason.
};

/// The two ends of a connection, as rank 0 sees them: 4 or 16 bytes in network order. An end whose own address is
/// another one is behind a router that translates it.
struct Welcome {
  std::string caller;
  std::string root;
};
std::string encodeWelcome(const Welcome& welcome);
/// Errors: protocol.
Result<Welcome> decodeWelcome(std::string_view payload);

struct BootstrapHeader {
  BootstrapFrame kind = BootstrapFrame::welcome;
  std::uint32_t round = 0;
  std::uint32_t bytes = 0; ///< Bytes that follow: the payload and, except in a refusal, a checksum.
};
inline constexpr std::size_t kBootstrapChecksumBytes = 4;

std::string encodeFrame(BootstrapFrame kind, std::uint32_t round, std::string_view payload);
/// Decodes kBootstrapHeaderBytes. Errors: protocol (magic, kind, or a payload above `limit`).
Result<BootstrapHeader> decodeHeader(std::string_view bytes, std::size_t limit);
/// The payload in the bytes that followed `header`. Errors: protocol, when bytes were corrupted on the network.
Result<std::string_view> decodePayload(const BootstrapHeader& header, std::string_view bytes);

/// All cards, compressed: what ranks of a host have in common then takes space once, and cards that are all equal take
/// hardly more than one.
std::string encodeCards(const std::vector<std::string>& cards);
/// Errors: protocol.
Result<std::vector<std::string>> decodeCards(std::string_view payload, int ranks);
/// Upper bound of the bytes that encodeCards() makes of `ranks` cards.
std::size_t maxCardsBytes(int ranks);

} // namespace goss

#endif // GOSS_LIB_BOOTSTRAP_WIRE_H_
