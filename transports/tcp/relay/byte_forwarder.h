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
/// here each way. An end of one stream becomes an end of the other; one that broke breaks the
/// other, after what had come before it. One thread.
class ByteForwarder {
 public:
  /// Both are open and through their greetings. Their tokens are `token` and `token` + 1.
  ByteForwarder(platform::Stream one, platform::Stream other, platform::Poller& poller, std::uint64_t token);

  /// Whether both sockets can be watched. Errors: resource.
  Status open();
  /// Passes on what it can. Returns whether bytes moved.
  bool run();
  /// Nothing more will be passed on: to be destroyed, which closes both.
  [[nodiscard]] bool isOver() const { return over_; }
  /// run() would do something without waiting for the sockets.
  [[nodiscard]] bool hasWork() const;
  /// One side has ended: tick() is to be called, which breaks both when nothing has moved for a while.
  [[nodiscard]] bool isEnding() const { return !linger_.never(); }
  void tick();
  /// From one to the other and back.
  [[nodiscard]] std::uint64_t bytes() const { return bytes_; }

 private:
  /// What one end has sent and the other has not been given yet.
  struct Flow {
    std::unique_ptr<char[]> buffer;
    std::size_t begin = 0;
    std::size_t end = 0;
    bool ended = false;  ///< The source gives no more.
    bool broken = false; ///< And that was no orderly end.
    bool done = false;   ///< The sink was told, or takes no more.
  };

  bool pass(std::size_t from);
  bool fill(Flow& flow, platform::Stream& source);
  bool drain(Flow& flow, platform::Stream& sink);
  void finish(std::size_t from);
  void watch(std::size_t end);
  void breakBoth();

  static constexpr std::size_t kBufferBytes = 128 * 1024;
  static constexpr int kMaxRounds = 16; ///< In one turn: others get theirs.
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
