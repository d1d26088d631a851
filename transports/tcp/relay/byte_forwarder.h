/// Forwards bytes between two connections of other ranks.
#ifndef GOSS_TRANSPORTS_TCP_RELAY_BYTE_FORWARDER_H_
#define GOSS_TRANSPORTS_TCP_RELAY_BYTE_FORWARDER_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "platform/clock.h"
#include "platform/filtered_stream.h"
#include "platform/poller.h"

namespace goss::transports::tcp {

/// The forwarder does not look at the bytes. A slow reader holds up the other end's writes: at most kBufferBytes wait
/// here each way. An end of one stream becomes an end of the other; a broken stream breaks the other, after the bytes
/// that came before. One thread.
class ByteForwarder {
 public:
  /// Both streams are open and have completed their greetings. Their tokens are `token` and `token` + 1.
  ByteForwarder(platform::Stream one, platform::Stream other, platform::Poller& poller, std::uint64_t token);

  /// Whether both sockets can be watched. Errors: resource.
  Status open();
  /// Forwards as many bytes as it can. Returns whether bytes moved.
  bool run();
  /// Whether no more bytes will be forwarded: then the owner destroys this object, which closes both streams.
  [[nodiscard]] bool isOver() const { return over_; }
  /// Whether run() would do anything without waiting for the sockets.
  [[nodiscard]] bool hasWork() const;
  /// Whether one side has ended: then tick() must be called, which breaks both streams when nothing has moved for a
  /// while.
  [[nodiscard]] bool isEnding() const { return !linger_.never(); }
  void tick();
  /// Bytes forwarded in both directions.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  /// Bytes that one side has sent and the other has not been given yet.
  struct Flow {
    std::unique_ptr<char[]> buffer;
    std::size_t begin = 0;
    std::size_t end = 0;
    bool ended = false;  ///< The source has ended.
    bool broken = false; ///< The source ended by an error.
    bool done = false;   ///< The sink was told of the end, or takes no more.
  };

  bool pass(std::size_t from);
  bool fill(Flow& flow, platform::Stream& source);
  bool drain(Flow& flow, platform::Stream& sink);
  void finish(std::size_t from);
  void watch(std::size_t end);
  void breakBoth();

  static constexpr std::size_t kBufferBytes = 128 * 1024;
  static constexpr int kMaxRounds = 16; ///< Rounds in one turn, so that other streams get theirs.
  static constexpr std::chrono::milliseconds kLinger{3000};

  std::array<platform::Stream, 2> ends_;
  std::array<Flow, 2> flows_; ///< By source.
  std::array<bool, 2> reads_{true, true};
  std::array<bool, 2> writes_{false, false};
  platform::Poller& poller_;
  const std::uint64_t token_;
  std::uint64_t bytes_ = 0;
  platform::Deadline linger_; ///< Runs once a side has ended, and restarts whenever bytes move.
  bool over_ = false;
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_RELAY_BYTE_FORWARDER_H_
