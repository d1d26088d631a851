#include "transports/ucx/wire.h"

#include <algorithm>

#include "base/wire.h"

namespace goss::transports::ucx {

namespace {

constexpr std::string_view kAddressMagic = "GUX4";
constexpr std::array<std::byte, 3> kHeaderMagic{std::byte{'G'}, std::byte{'U'}, std::byte{4}};
constexpr std::uint8_t kPaddedBit = 0x80;
constexpr std::size_t kMaxProcessBytes = 1024;
constexpr std::size_t kMaxWorkerBytes = 4096;

} // namespace

std::string encodeAddress(const Address& address) {
  base::WireWriter writer;
  writer.raw(kAddressMagic).text(address.process).integer(address.key).text(address.worker);
  return writer.take();
}

std::optional<Address> decodeAddress(std::string_view bytes) {
  base::WireReader reader(bytes);
  if (reader.raw(kAddressMagic.size()) != kAddressMagic) return std::nullopt;
  Address address;
  address.process = reader.text(kMaxProcessBytes);
  address.key = reader.integer<std::uint64_t>();
  address.worker = reader.text(kMaxWorkerBytes);
  if (!reader.complete() || address.worker.empty()) return std::nullopt;
  return address;
}

void encodeHeader(const Header& header, HeaderBytes& bytes) {
  std::byte* at = std::copy(kHeaderMagic.begin(), kHeaderMagic.end(), bytes.data());
  const auto put = [&at](auto value) {
    base::storeLittleEndian(at, value);
    at += sizeof value;
  };
  put(static_cast<std::uint8_t>(static_cast<std::uint8_t>(header.kind) | (header.padded ? kPaddedBit : 0)));
  put(header.from);
  put(header.key);
  put(header.number);
  put(header.returned);
  put(header.tag);
  at = std::copy(header.envelope.begin(), header.envelope.end(), at);
  put(header.total);
  put(header.extra);
  static_assert(kHeaderMagic.size() + 1 + 4 + 4 * 8 + sizeof(Envelope) + 2 * 8 == Header::kBytes);
}

std::optional<Header> decodeHeader(std::span<const std::byte> bytes) {
  if (bytes.size() != Header::kBytes || !std::equal(kHeaderMagic.begin(), kHeaderMagic.end(), bytes.begin()))
    return std::nullopt;
  const std::byte* at = bytes.data() + kHeaderMagic.size();
  const auto get = [&at](auto& value) {
    value = base::loadLittleEndian<std::remove_reference_t<decltype(value)>>(at);
    at += sizeof value;
  };
  std::uint8_t kind = 0;
  Header header;
  get(kind);
  get(header.from);
  get(header.key);
  get(header.number);
  get(header.returned);
  get(header.tag);
  std::copy(at, at + sizeof(Envelope), header.envelope.begin());
  at += sizeof(Envelope);
  get(header.total);
  get(header.extra);
  header.padded = (kind & kPaddedBit) != 0;
  header.kind = static_cast<Header::Kind>(kind & ~kPaddedBit);
  if (header.kind < Header::Kind::hello || header.kind > Header::Kind::skip) return std::nullopt;
  const bool is_part = header.kind == Header::Kind::first || header.kind == Header::Kind::part;
  if (header.padded && !is_part) return std::nullopt;
  return header;
}

} // namespace goss::transports::ucx
