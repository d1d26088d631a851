#include "bootstrap/wire.h"

#include <fmt/format.h>
#include <zstd.h>

#include <cstring>

#include "base/wire.h"
#include "bootstrap/rendezvous.h"
#include "platform/crc32c.h"

namespace goss {

namespace {

constexpr std::string_view kHelloMagic("GOSSBOOT");
constexpr std::string_view kFrameMagic("GBF1");

Status protocolError(std::string text) { return Status::error(GOSS_ERR_PROTOCOL, std::move(text)); }

/// Names the protocol of bytes that do not belong to this one, for ports that users often confuse.
std::string_view guess(std::string_view bytes) {
  for (const std::string_view verb : {"GET ", "POST", "PUT ", "HEAD", "HTTP", "OPTI"})
    if (bytes.starts_with(verb)) return "HTTP";
  if (bytes.starts_with("SSH-")) return "SSH";
  if (bytes.starts_with("\x16\x03")) return "TLS (is GOSS_TLS set alike on all ranks?)";
  return "no protocol that it knows";
}

} // namespace

std::string encodeHello(const Hello& hello) {
  base::WireWriter out;
  out.raw(kHelloMagic).integer(kBootstrapVersion).integer(std::uint16_t{0});
  out.integer(static_cast<std::uint32_t>(hello.rank)).integer(static_cast<std::uint32_t>(hello.ranks));
  out.integer(std::uint32_t{0}).integer(hello.caller);
  out.raw({reinterpret_cast<const char*>(hello.job.data()), hello.job.size()});
  return out.take();
}

bool helloMayBegin(std::string_view bytes) {
  return kHelloMagic.substr(0, bytes.size()) == bytes.substr(0, kHelloMagic.size());
}

Result<Hello> decodeHello(std::string_view bytes) {
  base::WireReader in(bytes);
  if (in.raw(kHelloMagic.size()) != kHelloMagic)
    return protocolError(fmt::format("the caller speaks {}, not Gossamer's bootstrap", guess(bytes)));
  const auto version = in.integer<std::uint16_t>();
  if (version != kBootstrapVersion)
    return protocolError(
        fmt::format("the caller speaks bootstrap version {}, this process version {}; use one version "
                    "of Gossamer on all ranks",
                    version, kBootstrapVersion));
  const auto reserved = in.integer<std::uint16_t>();
  const auto rank = in.integer<std::uint32_t>();
  const auto ranks = in.integer<std::uint32_t>();
  const auto reserved_too = in.integer<std::uint32_t>();
  Hello hello;
  hello.caller = in.integer<std::uint64_t>();
  const std::string_view job = in.raw(hello.job.size());
  if (!in.complete() || reserved != 0 || reserved_too != 0 || ranks == 0 || ranks > kMaxRanks || rank >= ranks)
    return protocolError(fmt::format("the caller's greeting is damaged (rank {} of {})", rank, ranks));
  std::memcpy(hello.job.data(), job.data(), job.size());
  hello.rank = static_cast<int>(rank);
  hello.ranks = static_cast<int>(ranks);
  return hello;
}

namespace {

/// A refusal has no checksum, so that libraries of all versions understand each other's refusals.
std::size_t checksumBytes(BootstrapFrame kind) { return kind == BootstrapFrame::refused ? 0 : kBootstrapChecksumBytes; }

std::string encodeHeader(const BootstrapHeader& header) {
  base::WireWriter out;
  out.raw(kFrameMagic).integer(static_cast<std::uint8_t>(header.kind)).integer(std::uint8_t{0});
  return out.integer(std::uint16_t{0}).integer(header.round).integer(header.bytes).take();
}

std::uint32_t checksum(std::string_view header, std::string_view payload) {
  return platform::crc32c(payload.data(), payload.size(), platform::crc32c(header.data(), header.size()));
}

} // namespace

std::string encodeFrame(BootstrapFrame kind, std::uint32_t round, std::string_view payload) {
  const std::string header =
      encodeHeader({kind, round, static_cast<std::uint32_t>(payload.size() + checksumBytes(kind))});
  base::WireWriter out;
  out.raw(header).raw(payload);
  if (checksumBytes(kind) > 0) out.integer(checksum(header, payload));
  return out.take();
}

Result<std::string_view> decodePayload(const BootstrapHeader& header, std::string_view bytes) {
  const std::size_t behind = checksumBytes(header.kind);
  if (behind == 0) return bytes;
  const auto changed = [] { return protocolError("bytes were changed on their way: their CRC32C is wrong"); };
  if (bytes.size() < behind) return changed();
  const std::string_view payload = bytes.substr(0, bytes.size() - behind);
  const auto own = base::loadLittleEndian<std::uint32_t>(payload.data() + payload.size());
  return own == checksum(encodeHeader(header), payload) ? Result<std::string_view>(payload) : changed();
}

Result<BootstrapHeader> decodeHeader(std::string_view bytes, std::size_t limit) {
  base::WireReader in(bytes);
  const bool magic = in.raw(kFrameMagic.size()) == kFrameMagic;
  const auto kind = in.integer<std::uint8_t>();
  const bool reserved = in.integer<std::uint8_t>() != 0 || in.integer<std::uint16_t>() != 0;
  BootstrapHeader header;
  header.round = in.integer<std::uint32_t>();
  header.bytes = in.integer<std::uint32_t>();
  if (!magic || reserved || !in.complete() || kind < 1 || kind > 5)
    return protocolError(fmt::format("it answered {}, not Gossamer's bootstrap", guess(bytes)));
  if (header.bytes > limit + checksumBytes(static_cast<BootstrapFrame>(kind)))
    return protocolError(fmt::format("it announced {} bytes where at most {} may come", header.bytes, limit));
  header.kind = static_cast<BootstrapFrame>(kind);
  return header;
}

std::string encodeWelcome(const Welcome& welcome) {
  base::WireWriter out;
  for (const std::string& address : {welcome.caller, welcome.root})
    out.integer(static_cast<std::uint8_t>(address.size())).raw(address);
  return out.take();
}

Result<Welcome> decodeWelcome(std::string_view payload) {
  base::WireReader in(payload);
  Welcome welcome;
  for (std::string* address : {&welcome.caller, &welcome.root}) {
    *address = in.raw(in.integer<std::uint8_t>());
    if (address->size() != 4 && address->size() != 16) return protocolError("rank 0 sent a damaged welcome");
  }
  if (!in.complete()) return protocolError("rank 0 sent a damaged welcome");
  return welcome;
}

namespace {

/// Upper bound of the bytes of `ranks` cards with their lengths.
std::size_t maxPlainBytes(int ranks) {
  return static_cast<std::size_t>(ranks) * (sizeof(std::uint32_t) + Rendezvous::kMaxCardBytes);
}

} // namespace

std::string encodeCards(const std::vector<std::string>& cards) {
  base::WireWriter out;
  for (const std::string& card : cards)
    out.text(card);
  const std::string plain = out.take();
  std::string packed(::ZSTD_compressBound(plain.size()), '\0');
  const std::size_t bytes =
      ::ZSTD_compress(packed.data(), packed.size(), plain.data(), plain.size(), ZSTD_CLEVEL_DEFAULT);
  packed.resize(::ZSTD_isError(bytes) != 0 ? 0 : bytes); // Only memory can be short: the members refuse what is empty.
  return packed;
}

Result<std::vector<std::string>> decodeCards(std::string_view payload, int ranks) {
  const auto damaged = [] { return protocolError("rank 0 sent damaged cards"); };
  // Errors are numbers above all sizes.
  const unsigned long long bytes = ::ZSTD_getFrameContentSize(payload.data(), payload.size());
  if (bytes > maxPlainBytes(ranks)) return damaged();
  std::string plain(static_cast<std::size_t>(bytes), '\0');
  if (::ZSTD_decompress(plain.data(), plain.size(), payload.data(), payload.size()) != plain.size()) return damaged();
  base::WireReader in(plain);
  std::vector<std::string> cards;
  cards.reserve(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank)
    cards.emplace_back(in.text(Rendezvous::kMaxCardBytes));
  if (!in.complete()) return damaged();
  return cards;
}

std::size_t maxCardsBytes(int ranks) { return ::ZSTD_compressBound(maxPlainBytes(ranks)); }

} // namespace goss
