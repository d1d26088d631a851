/// libFuzzer target: arbitrary bytes on the connections of the TCP transport. Input: what (1 byte), bytes. Either one
/// of the things that are read before a link stands, or a link's stream of frames and payload: then the next byte says
/// how many payload connections there are, and what follows is cut into pieces, a length (2 bytes: 4 bits connection,
/// 12 bits bytes) before each. Or the records of a connection that can be resumed or is checked: pieces again, and
/// connection 15 means that the connection breaks and goes on with the next piece.
#include <sys/socket.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "platform/stream.h"
#include "transports/tcp/link/frame_reader.h"
#include "transports/tcp/link/frame_writer.h"
#include "transports/tcp/stream/record_stream.h"

namespace {

using namespace goss::transports;
using namespace goss::transports::tcp;
using goss::platform::Stream;
using goss::platform::UniqueFd;

constexpr std::size_t kCapacity = 3000;
/// More than one message may come per receive, and more than the limit of those without one.
constexpr std::size_t kUnexpectedBytes = 16 * 1024;
constexpr int kTags = 4;

void require(bool condition) {
  if (!condition) std::abort();
}

void tryGreeting(std::string_view bytes) {
  const auto hello = decodeHello(bytes);
  if (hello.isOk()) require(helloMayBegin(bytes) && encodeHello(hello.value()) == bytes);
  for (const bool checked : {false, true}) {
    RecordHeader record;
    if (decodeRecordHeader(bytes, checked, record) != HeaderVerdict::valid) continue;
    const RecordHeaderBytes again = encodeRecordHeader(record, checked);
    require(bytes == std::string_view(again.data(), again.size()));
  }
  const auto answer = decodeAnswer(bytes.substr(0, kAnswerBytes));
  if (answer.isOk()) require(answer.value().reason_bytes <= kMaxReasonBytes);
}

void tryAddress(std::string_view bytes) {
  const auto address = decodeAddress(bytes);
  if (address.isOk()) require(encodeAddress(address.value()) == bytes);
}

/// Takes messages of one tag, into memory or as views, again and again.
class Receive final : public goss::RecvOperation {
 public:
  Receive(Matcher& matcher, int number) : matcher_(matcher), bytes_(kCapacity), piece_{bytes_.data(), bytes_.size()} {
    tag = static_cast<goss::Tag>(number);
    consumes = number % 2 == 1;
    capacity = kCapacity;
    if (!consumes) pieces = {&piece_, 1};
  }
  goss::Status onMatched(const goss::Envelope&, std::size_t bytes) override {
    expected_ = bytes;
    seen_ = 0;
    return bytes <= kCapacity ? goss::Status::ok() : goss::Status::error(GOSS_ERR_TRUNCATED, "too long");
  }
  void onData(std::size_t offset, std::span<const std::byte> bytes) override {
    require(offset == seen_ && offset + bytes.size() <= expected_);
    seen_ += bytes.size();
  }
  void onReceived(const goss::Status& status) override {
    if (status.isOk() && consumes) require(seen_ == expected_);
    if (!matcher_.hasFailed()) matcher_.post(*this);
  }

 private:
  Matcher& matcher_;
  std::vector<std::byte> bytes_;
  iovec piece_;
  std::size_t expected_ = 0;
  std::size_t seen_ = 0;
};

/// Messages that the peer may grant, drop or leave alone; the last one is taken back.
class Sends {
 public:
  explicit Sends(FrameWriter& writer) {
    for (Send& send : sends_)
      if (writer.post(send)) send.over = true;
  }
  ~Sends() {
    for (Send& send : sends_)
      require(send.over || &send == &sends_.back());
  }

 private:
  struct Send final : goss::SendOperation {
    Send() : piece{room.data(), room.size()} {
      pieces = {&piece, 1};
      bytes = room.size();
    }
    void onSent(const goss::Status&) override {
      require(!over);
      over = true;
    }
    std::array<char, 2 * kCapacity> room{};
    iovec piece;
    bool over = false;
  };
  std::array<Send, 4> sends_;
};

/// Both ends of the connections of a link.
struct Ends {
  explicit Ends(std::size_t count) : connections(count) {
    for (std::size_t i = 0; i < count; ++i) {
      int pair[2];
      require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
      writers.emplace_back(pair[0]);
      require(connections[i].open(Stream(UniqueFd(pair[1])), poller, i, true).isOk());
    }
  }
  goss::platform::Poller poller = goss::platform::Poller::create().take();
  std::vector<UniqueFd> writers;
  std::vector<Connection> connections;
};

void tryStream(std::string_view bytes) {
  if (bytes.empty()) return;
  const std::size_t payload_connections = static_cast<unsigned char>(bytes[0]) % 4u;
  bytes.remove_prefix(1);
  Ends ends(1 + payload_connections);
  Deferred deferred;
  Matcher matcher(1, deferred);
  std::vector<std::unique_ptr<Receive>> receives;
  for (int i = 0; i < kTags; ++i) {
    receives.push_back(std::make_unique<Receive>(matcher, i));
    matcher.post(*receives.back());
  }
  {
    FrameWriter writer(ends.connections, kCapacity);
    FrameReader reader(ends.connections, matcher, writer, kUnexpectedBytes);
    Sends sends(writer);
    while (bytes.size() > 2 && reader.end() == FrameReader::End::none) {
      const unsigned head = static_cast<unsigned char>(bytes[0]) | static_cast<unsigned char>(bytes[1]) << 8;
      const std::string_view piece = bytes.substr(2, head >> 4);
      bytes.remove_prefix(2 + piece.size());
      goss::platform::writeSome(ends.writers[(head & 15) % ends.writers.size()].get(), piece.data(), piece.size());
      // A stalled link stays so until its patience is at its end; 40 turns are more than that.
      for (int turn = 0; turn < 40 && reader.end() == FrameReader::End::none; ++turn) {
        matcher.drain();
        reader.run();
        writer.flush();
      }
      // A receive that is taken away, and one that comes late.
      if ((head & 7) == 3) matcher.cancel(*receives[0]);
      if ((head & 7) == 5) matcher.discard(~goss::Tag{0}, 9);
    }
    ends.writers.clear();
    for (int turn = 0; turn < 40 && reader.end() == FrameReader::End::none; ++turn) {
      matcher.drain();
      reader.run();
    }
    writer.fail(goss::Status::error(GOSS_ERR_PEER_LOST, "the link is over"));
    matcher.fail(goss::Status::error(GOSS_ERR_PEER_LOST, "the link is over"));
  }
}

void tryRecords(std::string_view bytes, bool checked) {
  constexpr std::size_t kWindow = 16 * 1024;
  RecordStream records(kWindow, checked);
  Stream stream;
  UniqueFd writer;
  const auto connect = [&] {
    int pair[2];
    require(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, pair) == 0);
    stream = Stream(UniqueFd(pair[0]));
    writer = UniqueFd(pair[1]);
  };
  connect();
  while (bytes.size() > 2 && !records.isMalformed()) {
    const unsigned head = static_cast<unsigned char>(bytes[0]) | static_cast<unsigned char>(bytes[1]) << 8;
    const std::string_view piece = bytes.substr(2, head >> 4);
    bytes.remove_prefix(2 + piece.size());
    if ((head & 15) == 15) {
      records.restart();
      connect();
    }
    const iovec out{const_cast<char*>(piece.data()), piece.size()}; // Only read.
    records.write(stream, std::span(&out, 1));
    goss::platform::writeSome(writer.get(), piece.data(), piece.size());
    std::vector<char> room(1 + (head & 7) * 100);
    const iovec in{room.data(), room.size()};
    if ((head & 8) != 0) {
      records.pull(stream);
    } else {
      const auto got = records.read(stream, std::span(&in, 1));
      require(got.bytes <= room.size() && (!got.ended || records.isMalformed() || records.isCorrupted()));
    }
    records.flush(stream);
  }
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  // A copy of exactly this length, so that the sanitizers see a read behind it.
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 6) {
    case 0:
      tryGreeting(bytes);
      break;
    case 1:
      tryAddress(bytes);
      break;
    case 4:
      tryRecords(bytes, false);
      break;
    case 5:
      tryRecords(bytes, true);
      break;
    default:
      tryStream(bytes);
  }
  return 0;
}
