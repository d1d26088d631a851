#include "transports/mpi/frame.h"

#include <algorithm>
#include <array>

#include "base/wire.h"

namespace goss::transports::mpi {

namespace {

constexpr std::array<std::byte, 3> kMagic{std::byte{'G'}, std::byte{'M'}, std::byte{2}};
constexpr std::size_t kKindAt = 3;
constexpr std::size_t kTagAt = 8;
constexpr std::size_t kBytesAt = 16;
constexpr std::size_t kEnvelopeAt = 24;
constexpr std::size_t kExtraAt = 48;
constexpr std::size_t kReturnedAt = 56;

} // namespace

void encodeFrame(const FrameHeader& header, std::span<std::byte, FrameHeader::kBytes> bytes) {
  std::fill(bytes.begin(), bytes.end(), std::byte{0});
  std::copy(kMagic.begin(), kMagic.end(), bytes.begin());
  bytes[kKindAt] = static_cast<std::byte>(header.kind);
  base::storeLittleEndian(&bytes[kTagAt], header.message.tag);
  base::storeLittleEndian(&bytes[kBytesAt], header.message.bytes);
  std::copy(header.message.envelope.begin(), header.message.envelope.end(), bytes.begin() + kEnvelopeAt);
  base::storeLittleEndian(&bytes[kExtraAt], header.extra);
  base::storeLittleEndian(&bytes[kReturnedAt], header.returned);
}

std::optional<FrameHeader> decodeFrame(std::span<const std::byte> bytes) {
  if (bytes.size() < FrameHeader::kBytes || !std::equal(kMagic.begin(), kMagic.end(), bytes.begin()))
    return std::nullopt;
  FrameHeader header;
  header.kind = static_cast<FrameHeader::Kind>(bytes[kKindAt]);
  if (header.kind < FrameHeader::Kind::hello || header.kind > FrameHeader::Kind::credit) return std::nullopt;
  header.message.tag = base::loadLittleEndian<std::uint64_t>(&bytes[kTagAt]);
  header.message.bytes = base::loadLittleEndian<std::uint64_t>(&bytes[kBytesAt]);
  const auto envelope = bytes.subspan(kEnvelopeAt, sizeof(Envelope));
  std::copy(envelope.begin(), envelope.end(), header.message.envelope.begin());
  header.extra = base::loadLittleEndian<std::uint64_t>(&bytes[kExtraAt]);
  header.returned = base::loadLittleEndian<std::uint64_t>(&bytes[kReturnedAt]);
  return header;
}

} // namespace goss::transports::mpi
