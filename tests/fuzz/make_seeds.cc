/// Writes what the library itself would send as inputs for the fuzz targets: make_seeds FOLDER, with a folder per
/// target in it. Texts that people write are in tests/fuzz/seeds/text.
#include <fmt/format.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "bootstrap/unique_id.h"
#include "bootstrap/wire.h"
#include "call/history.h"
#include "call/signature.h"
#include "compressors/catalogue.h"
#include "compressors/chain.h"
#include "health/agreement.h"
#include "mesh/control.h"
#include "mesh/mesh.h"
#include "platform/crc32c.h"
#include "state/reference_store.h"
#include "sync/saved_vectors.h"
#include "transports/tcp/stream/wire.h"

namespace {

/// The inputs of one target.
class Seeds {
 public:
  Seeds(const std::filesystem::path& folder, const char* target) : folder_(folder / target) {
    std::filesystem::create_directories(folder_);
  }
  void add(std::string_view head, std::string_view bytes) {
    std::ofstream file(folder_ / fmt::format("seed_{}", count_++), std::ios::binary);
    file << head << bytes;
  }

 private:
  std::filesystem::path folder_;
  int count_ = 0;
};

/// The bytes from the table of tensors to the codecs, for one tensor in a fragment and in a bucket.
std::string outerState(const std::string& references) {
  const float values[] = {1, 2, 3};
  const std::uint64_t tensors[] = {0};
  goss::base::WireWriter writer;
  writer.integer(std::uint64_t{1}).text("a").integer(std::uint64_t{std::size(values)});
  writer.integer(std::uint64_t{1});
  goss::sync::saveNumbers(writer, tensors);
  writer.integer(std::uint64_t{4}).integer(std::uint8_t{1}).integer(std::uint8_t{1}).integer(std::uint64_t{1});
  for (int vector = 0; vector < 3; ++vector) { // reference, momentum, what has arrived
    goss::sync::saveFloats(writer, values);
  }
  writer.integer(std::uint64_t{1});
  goss::sync::saveNumbers(writer, tensors);
  writer.integer(std::uint8_t{1});
  goss::sync::saveFloats(writer, values);
  writer.integer(static_cast<std::uint64_t>(references.size())).raw(references);
  return writer.take();
}

bool writeCodecs(Seeds seeds) {
  constexpr std::size_t kCount = 300;
  const auto head = [](std::size_t which, std::size_t count) {
    return std::string{static_cast<char>(which), static_cast<char>(count & 255), static_cast<char>(count >> 8)};
  };
  std::vector<float> values(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    values[i] = std::sin(static_cast<float>(i * i)) * static_cast<float>(i % 17);
  }
  std::size_t which = 0;
  for (const auto& entry : goss::compressors::builtinCodecs()) {
    const auto made = goss::compressors::makeCompression(entry.example);
    if (!made.isOk() || made.value().codec->traits().multi_phase) {
      continue;
    }
    const goss::Codec& codec = *made.value().codec;
    std::vector<std::byte> payload(codec.maxBytes(kCount)), scratch(codec.scratchBytes(kCount) + 64);
    const auto address = reinterpret_cast<std::uintptr_t>(scratch.data());
    goss::EncodeSegment segment{0, kCount, payload, 0};
    goss::EncodeJob job;
    job.values = values;
    job.scratch = std::span(scratch).subspan((64 - address % 64) % 64);
    job.segments = {&segment, 1};
    if (!codec.encode(job).isOk()) {
      return false;
    }
    seeds.add(head(which++, kCount), {reinterpret_cast<const char*>(payload.data()), segment.bytes});
  }
  goss::ReferenceStore store;
  const auto opened = store.open({1, goss::ReferenceRole::worker, 2}, {3, 4});
  seeds.add(head(which++, 0), store.exportAll());
  seeds.add(head(which, 0), outerState(store.exportAll()));
  return opened.isOk();
}

/// Heads: which message, and the number of ranks less one.
void writeMessages(Seeds seeds) {
  using namespace goss;
  constexpr int kRanks = 8;
  const auto head = [](int which) { return std::string{static_cast<char>(which), kRanks - 1}; };
  seeds.add(head(0), encodeHello({3, kRanks, 77, {}}));
  PeerCard card;
  card.host = "host";
  card.process = "process";
  card.processors = "\3";
  card.place = {0, 1, -1};
  card.site = {"", "\x0a\x0b\x0c\x0d"};
  card.addresses = {{"shm", "segment"}, {"tcp", "addresses"}};
  card.trouble = "ucx could not be opened";
  seeds.add(head(1), encodeFrame(BootstrapFrame::card, 1, card.encode()));
  seeds.add(head(1), encodeFrame(BootstrapFrame::refused, 0, "the reason"));
  seeds.add(head(2), encodeCards(std::vector<std::string>(kRanks, card.encode())));
  seeds.add(head(3), card.encode());
  Signature signature;
  signature.count = 1000;
  AgreementView view;
  view.accuse(1, 7, true, kRanks);
  view.accuse(2, 6, false, kRanks);
  ControlMessage message;
  message.signature = signature.encode();
  seeds.add(head(4), message.encode());
  message.type = ControlMessage::Type::abort;
  message.error_kind = GOSS_ERR_PEER_LOST;
  message.text = "what happened";
  seeds.add(head(4), message.encode());
  message.type = ControlMessage::Type::view;
  message.text = view.encode();
  seeds.add(head(4), message.encode());
  message.type = ControlMessage::Type::agreed;
  message.text = AgreementOutcome{view, std::vector<bool>(kRanks, true), true}.encode();
  seeds.add(head(4), message.encode());
  History history;
  for (int i = 0; i < 3; ++i) {
    signature.history = history.hash();
    history.add(signature.encode());
  }
  message.type = ControlMessage::Type::history;
  message.text = history.encode();
  seeds.add(head(4), message.encode());
  seeds.add(head(5), view.encode());
  const goss::Envelope envelope = signature.encode();
  seeds.add(head(6), {reinterpret_cast<const char*>(envelope.data()), envelope.size()});
  UniqueId id;
  id.port = 1;
  id.addresses = {*goss::platform::SocketAddress::parse("127.0.0.1", 4711),
                  *goss::platform::SocketAddress::parse("fd00::2", 4712)};
  const goss_unique_id bytes = encodeUniqueId(id);
  seeds.add(head(7), {bytes.bytes, sizeof bytes.bytes});
}

std::string frame(goss::transports::tcp::FrameKind kind, goss::Tag tag, std::uint64_t bytes, std::uint32_t eager = 0) {
  const auto encoded = goss::transports::tcp::encodeFrame({kind, {tag, bytes, {}}, eager});
  return {encoded.data(), encoded.size()};
}

/// A piece of a link's stream, as stream_fuzz cuts it.
std::string piece(unsigned connection, std::string_view bytes) {
  const auto head = static_cast<unsigned>(bytes.size()) << 4 | connection;
  return std::string{static_cast<char>(head & 255), static_cast<char>(head >> 8)}.append(bytes);
}

void writeStreams(Seeds seeds) {
  using namespace goss::transports::tcp;
  seeds.add({"\0", 1}, encodeHello({1, 0, 2, 0, 1, {}}));
  LinkToken token{};
  token.fill(std::byte{7});
  seeds.add({"\0", 1}, encodeHello({1, 0, 2, 0, 1, {}, Purpose::resume, true, 0, 3, token}));
  const auto record = [](std::uint32_t bytes, std::uint64_t used) {
    const auto encoded = encodeRecordHeader({bytes, used}, false);
    return std::string(encoded.data(), encoded.size());
  };
  const auto checked = [](std::string_view payload, std::uint64_t used) {
    const auto bytes = static_cast<std::uint32_t>(payload.size());
    const auto encoded = encodeRecordHeader({bytes, used, goss::platform::crc32c(payload.data(), bytes)}, true);
    return std::string(encoded.data(), encoded.size()).append(payload);
  };
  seeds.add({"\0", 1}, record(100, 7));
  seeds.add({"\4", 1}, piece(0, record(100, 0) + std::string(100, 'r')) + piece(3, record(0, 50)));
  seeds.add({"\4", 1},
            piece(8, record(50, 0) + std::string(20, 'r')) + piece(15, record(0, 0) + record(4, 16) + "1234"));
  seeds.add({"\5", 1}, piece(0, checked(std::string(100, 'r'), 0)) + piece(3, checked("", 50) + checked("1234", 50)));
  seeds.add({"\5", 1}, piece(8, checked("12345", 0).substr(0, 26)) + piece(15, checked("", 0) + checked("1234", 16)));
  seeds.add({"\0", 1}, encodeAnswer(Answer::refused, "the reason"));
  seeds.add({"\1", 1}, encodeAddress({"host", {*goss::platform::SocketAddress::fromBytes({"\x7f\0\0\1", 4}, 9)}}));
  const std::string payload(100, 'x');
  const std::string small = frame(FrameKind::message, 1, payload.size()) + payload;
  const std::string goodbye = frame(FrameKind::goodbye, 0, 0);
  seeds.add({"\2\0", 2}, piece(0, small + small) + piece(0, goodbye));
  seeds.add({"\2\0", 2}, piece(0, small.substr(0, 20)) + piece(0, small.substr(20)) + piece(0, goodbye));
  // No receive has tag 9.
  seeds.add({"\2\0", 2}, piece(0, frame(FrameKind::message, 9, 300) + std::string(300, 'y') + small));
  const std::string room = frame(FrameKind::room, 0, 1 << 20);
  seeds.add({"\2\0", 2}, piece(0, room + frame(FrameKind::message, 2, 0)));
  const std::string large(3000, 'z');
  const std::string announce = frame(FrameKind::announce, 1, large.size(), 1000);
  const std::string half = frame(FrameKind::chunk, 1, 1000) + large.substr(0, 1000);
  const std::string rest = frame(FrameKind::chunk, 1, 2000) + large.substr(0, 2000);
  seeds.add({"\2\0", 2}, piece(0, announce + half + small) + piece(0, rest + goodbye));
  seeds.add({"\2\0", 2}, piece(0, announce + half + frame(FrameKind::withdraw, 1, 0) + small));
  // No receive has tag 9, until the message is dropped.
  seeds.add({"\2\0", 2},
            piece(5, frame(FrameKind::announce, 9, 0)) + piece(0, frame(FrameKind::announce, 9, 3000, 200)));
  seeds.add({"\2\0", 2}, piece(0, frame(FrameKind::grant, 1, 0) + frame(FrameKind::drop, 2, 0)) + piece(0, room));
  const std::string stripe = frame(FrameKind::stripe, 1, 1000);
  seeds.add({"\2\2", 2}, piece(0, frame(FrameKind::announce, 1, 2000, 2000) + stripe + stripe + small) +
                             piece(1, large.substr(0, 1000)) + piece(2, large.substr(0, 1000)) + piece(0, goodbye));
  seeds.add({"\2\1", 2},
            piece(1, large) + piece(0, announce + stripe + stripe + stripe + frame(FrameKind::withdraw, 1, 0)));
}

} // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    return 1;
  }
  writeMessages({argv[1], "message"});
  writeStreams({argv[1], "stream"});
  return writeCodecs({argv[1], "codec"}) ? 0 : 1;
}
