#include "transports/tcp/stream/wire.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "base/wire.h"
#include "platform/crc32c.h"

namespace goss::transports::tcp {

namespace {

constexpr std::string_view kAddressMagic("GTA1");
constexpr std::string_view kHelloMagic("GOSSTCP1");
constexpr std::string_view kAnswerMagic("GTH1");
constexpr std::uint32_t kFrameMagic = 0x465447;    // "GTF", and the kind of frame.
constexpr std::uint32_t kRecordMagic = 0x32525447; // "GTR2"
constexpr std::uint16_t kAddressVersion = 3;
constexpr std::size_t kMaxHostBytes = 1024;
constexpr std::size_t kMaxSockets = 64;

constexpr std::size_t kHelloChecksumAt = kHelloBytes - sizeof(std::uint32_t);
constexpr std::size_t kAnswerChecksumAt = kAnswerBytes - sizeof(std::uint16_t);
constexpr std::size_t kRecordChecksumAt = kRecordHeaderBytes - sizeof(std::uint32_t);

Status wrong(std::string text) { return Status::error(GOSS_ERR_PROTOCOL, std::move(text)); }

std::uint32_t checksum(std::string_view bytes) { return platform::crc32c(bytes.data(), bytes.size()); }
/// A refusal has no checksum, so that libraries of all versions understand each other's refusals.
std::uint16_t answerChecksum(Answer answer, std::string_view bytes) {
  return answer == Answer::refused ? std::uint16_t{0} : static_cast<std::uint16_t>(checksum(bytes));
}

} // namespace

std::string encodeAddress(const Address& address) {
  base::WireWriter out;
  const std::size_t count = std::min(address.sockets.size(), kMaxSockets);
  out.raw(kAddressMagic).integer(kAddressVersion).text(address.host_identity.substr(0, kMaxHostBytes));
  out.integer(static_cast<std::uint8_t>(address.checks)).integer(static_cast<std::uint8_t>(count));
  out.integer(static_cast<std::uint8_t>(std::min(address.advertised, count)));
  for (std::size_t i = 0; i < count; ++i) {
    const std::string bytes = address.sockets[i].bytes();
    out.integer(static_cast<std::uint8_t>(bytes.size())).raw(bytes).integer(address.sockets[i].port());
  }
  return out.take();
}

Result<Address> decodeAddress(std::string_view bytes) {
  base::WireReader in(bytes);
  if (in.raw(kAddressMagic.size()) != kAddressMagic || in.integer<std::uint16_t>() != kAddressVersion)
    return wrong("an address that is not one of the TCP transport, or of another version");
  Address address;
  address.host_identity = in.text(kMaxHostBytes);
  const auto checks = in.integer<std::uint8_t>();
  const auto count = in.integer<std::uint8_t>();
  address.advertised = in.integer<std::uint8_t>();
  for (int i = 0; i < count && in.ok(); ++i) {
    const std::string_view raw = in.raw(in.integer<std::uint8_t>());
    const auto port = in.integer<std::uint16_t>();
    const auto socket = platform::SocketAddress::fromBytes(raw, port);
    if (!socket || port == 0) return wrong("a malformed TCP address");
    address.sockets.push_back(*socket);
  }
  if (!in.complete() || count > kMaxSockets || address.advertised > count ||
      checks > static_cast<std::uint8_t>(Checks::all))
    return wrong("a malformed TCP address");
  address.checks = static_cast<Checks>(checks);
  return address;
}

bool isChecked(const Address& one, const Address& other) {
  const Checks stricter = std::max(one.checks, other.checks);
  return stricter == Checks::all || (stricter == Checks::betweenHosts && one.host_identity != other.host_identity);
}

std::string encodeHello(const Hello& hello) {
  base::WireWriter out;
  out.raw(kHelloMagic).integer(kVersion).integer(static_cast<std::uint8_t>(hello.purpose));
  out.integer(static_cast<std::uint8_t>(hello.checked));
  out.integer(hello.from).integer(hello.to).integer(hello.size);
  out.integer(hello.connection).integer(hello.connections).integer(hello.relayed_to);
  out.raw({reinterpret_cast<const char*>(hello.job.data()), hello.job.size()});
  out.raw({reinterpret_cast<const char*>(hello.token.data()), hello.token.size()});
  out.integer(hello.epoch);
  std::string bytes = out.take();
  return bytes + base::WireWriter().integer(checksum(bytes)).take();
}

bool helloMayBegin(std::string_view bytes) {
  return kHelloMagic.substr(0, bytes.size()) == bytes.substr(0, kHelloMagic.size());
}

Result<Hello> decodeHello(std::string_view bytes) {
  base::WireReader in(bytes);
  if (in.raw(kHelloMagic.size()) != kHelloMagic) return wrong("it does not speak Gossamer's TCP protocol");
  const auto version = in.integer<std::uint16_t>();
  if (version != kVersion)
    return wrong(
        fmt::format("it speaks version {} of the TCP protocol, this process version {}; use one version of "
                    "Gossamer on all ranks",
                    version, kVersion));
  if (bytes.size() == kHelloBytes && base::loadLittleEndian<std::uint32_t>(bytes.data() + kHelloChecksumAt) !=
                                         checksum(bytes.substr(0, kHelloChecksumAt)))
    return Status::error(GOSS_ERR_PEER_LOST, "its greeting was changed on its way");
  Hello hello;
  const auto purpose = in.integer<std::uint8_t>();
  const auto checked = in.integer<std::uint8_t>();
  hello.from = in.integer<std::uint32_t>();
  hello.to = in.integer<std::uint32_t>();
  hello.size = in.integer<std::uint32_t>();
  hello.connection = in.integer<std::uint16_t>();
  hello.connections = in.integer<std::uint16_t>();
  hello.relayed_to = in.integer<std::uint32_t>();
  const std::string_view job = in.raw(hello.job.size());
  const std::string_view token = in.raw(hello.token.size());
  hello.epoch = in.integer<std::uint32_t>();
  in.integer<std::uint32_t>(); // Skips the checksum.
  const bool counts = hello.from < hello.size && hello.to < hello.size && hello.from != hello.to &&
                      hello.connections >= 1 && hello.connections <= 1 + kMaxPayloadConnections &&
                      hello.connection < hello.connections;
  const bool relays = purpose == static_cast<std::uint8_t>(Purpose::relay)
                          ? hello.connections == 1 && checked == 0 && hello.relayed_to < hello.size &&
                                hello.relayed_to != hello.from && hello.relayed_to != hello.to
                          : hello.relayed_to == 0;
  if (!in.complete() || checked > 1 || purpose > static_cast<std::uint8_t>(Purpose::recall) || !counts || !relays)
    return wrong("its greeting is malformed");
  std::memcpy(hello.job.data(), job.data(), job.size());
  std::memcpy(hello.token.data(), token.data(), token.size());
  hello.purpose = static_cast<Purpose>(purpose);
  hello.checked = checked != 0;
  const bool has_token = hello.token != LinkToken{};
  const bool secret = hello.purpose >= Purpose::resumable;
  const bool first = hello.purpose <= Purpose::resumable;
  // The first call of a connection has no epoch, and a call that resumes one has.
  if (has_token != secret || (first && hello.epoch != 0) || (hello.purpose == Purpose::resume && hello.epoch == 0))
    return wrong("its greeting is malformed");
  return hello;
}

std::string encodeAnswer(Answer answer, std::string_view reason) {
  reason = reason.substr(0, kMaxReasonBytes);
  base::WireWriter out;
  out.raw(kAnswerMagic).integer(static_cast<std::uint8_t>(answer)).integer(static_cast<std::uint8_t>(reason.size()));
  std::string bytes = out.take();
  return bytes + base::WireWriter().integer(answerChecksum(answer, bytes)).raw(reason).take();
}

Result<DecodedAnswer> decodeAnswer(std::string_view bytes) {
  base::WireReader in(bytes);
  const bool magic = in.raw(kAnswerMagic.size()) == kAnswerMagic;
  const auto answer = in.integer<std::uint8_t>();
  const auto reason = in.integer<std::uint8_t>();
  const auto check = in.integer<std::uint16_t>();
  if (!magic || !in.complete()) return wrong("it does not speak Gossamer's TCP protocol");
  const DecodedAnswer decoded{static_cast<Answer>(answer), reason};
  if (answer < 1 || answer > 4 || check != answerChecksum(decoded.answer, bytes.substr(0, kAnswerChecksumAt)))
    return wrong("its answer was changed on its way");
  return decoded;
}

RecordHeaderBytes encodeRecordHeader(const RecordHeader& header, bool checked) {
  RecordHeaderBytes bytes;
  base::storeLittleEndian(bytes.data(), kRecordMagic);
  base::storeLittleEndian(bytes.data() + 4, header.bytes);
  base::storeLittleEndian(bytes.data() + 8, header.used);
  base::storeLittleEndian(bytes.data() + 16, header.checksum);
  base::storeLittleEndian(bytes.data() + kRecordChecksumAt, checked ? checksum({bytes.data(), kRecordChecksumAt}) : 0u);
  return bytes;
}

HeaderVerdict decodeRecordHeader(std::string_view bytes, bool checked, RecordHeader& header) {
  if (bytes.size() != kRecordHeaderBytes) return HeaderVerdict::malformed;
  const auto own = base::loadLittleEndian<std::uint32_t>(bytes.data() + kRecordChecksumAt);
  if (checked && own != checksum(bytes.substr(0, kRecordChecksumAt))) return HeaderVerdict::changed;
  header.bytes = base::loadLittleEndian<std::uint32_t>(bytes.data() + 4);
  header.used = base::loadLittleEndian<std::uint64_t>(bytes.data() + 8);
  header.checksum = base::loadLittleEndian<std::uint32_t>(bytes.data() + 16);
  const bool sensible = base::loadLittleEndian<std::uint32_t>(bytes.data()) == kRecordMagic &&
                        header.bytes <= kMaxRecordBytes && (checked || (own == 0 && header.checksum == 0));
  return sensible ? HeaderVerdict::valid : HeaderVerdict::malformed;
}

FrameBytes encodeFrame(const Frame& frame) {
  FrameBytes bytes;
  base::storeLittleEndian(bytes.data(), kFrameMagic | static_cast<std::uint32_t>(frame.kind) << 24);
  base::storeLittleEndian(bytes.data() + 4, frame.eager);
  base::storeLittleEndian(bytes.data() + 8, frame.header.tag);
  base::storeLittleEndian(bytes.data() + 16, frame.header.bytes);
  std::memcpy(bytes.data() + 24, frame.header.envelope.data(), frame.header.envelope.size());
  return bytes;
}

namespace {

bool lengthMakesSense(const Frame& frame) {
  const std::uint64_t bytes = frame.header.bytes;
  switch (frame.kind) {
    case FrameKind::message:
      return bytes <= kMaxChunkBytes;
    case FrameKind::announce:
      return bytes <= kMaxMessageBytes && frame.eager <= bytes;
    case FrameKind::chunk:
      return bytes > 0 && bytes <= kMaxChunkBytes;
    case FrameKind::stripe:
      return bytes > 0 && bytes <= kStripeBytes;
    case FrameKind::credit:
      return bytes > 0;
    case FrameKind::advance:
      return bytes > 0 && bytes <= ~std::uint32_t{0};
    case FrameKind::room:
      return true;
    case FrameKind::goodbye:
    case FrameKind::grant:
    case FrameKind::drop:
    case FrameKind::withdraw:
      return bytes == 0;
  }
  return false;
}

} // namespace

bool decodeFrame(std::string_view bytes, Frame& frame) {
  if (bytes.size() != kFrameBytes) return false;
  const auto head = base::loadLittleEndian<std::uint32_t>(bytes.data());
  const std::uint32_t kind = head >> 24;
  if ((head & 0xffffff) != kFrameMagic || kind < 1 || kind > static_cast<std::uint32_t>(kLastFrameKind)) return false;
  frame.kind = static_cast<FrameKind>(kind);
  frame.eager = base::loadLittleEndian<std::uint32_t>(bytes.data() + 4);
  frame.header.tag = base::loadLittleEndian<std::uint64_t>(bytes.data() + 8);
  frame.header.bytes = base::loadLittleEndian<std::uint64_t>(bytes.data() + 16);
  std::memcpy(frame.header.envelope.data(), bytes.data() + 24, frame.header.envelope.size());
  const bool carries = frame.kind == FrameKind::message || frame.kind == FrameKind::announce;
  if (!carries && frame.header.envelope != Envelope{}) return false;
  if (frame.kind != FrameKind::announce && frame.eager != 0) return false;
  return lengthMakesSense(frame);
}

} // namespace goss::transports::tcp
