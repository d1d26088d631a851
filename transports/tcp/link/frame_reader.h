/// Reads the messages of one peer from its connections.
#ifndef GOSS_TRANSPORTS_TCP_LINK_FRAME_READER_H_
#define GOSS_TRANSPORTS_TCP_LINK_FRAME_READER_H_

#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "transports/common/arrivals.h"
#include "transports/common/credit.h"
#include "transports/common/matcher.h"
#include "transports/common/message_sink.h"
#include "transports/tcp/link/connection.h"
#include "transports/tcp/link/frame_writer.h"
#include "transports/tcp/stream/wire.h"

namespace goss::transports::tcp {

/// Reads without waiting for receives. The peer's credit bounds the bytes of unexpected messages; when a message has
/// matched a receive, the reader grants the rest of it. It reads small messages many at a time into a buffer, the
/// payload of others straight into its destination, and stripes from the payload connections in turn. One thread.
class FrameReader {
 public:
  enum class End { none, goodbye, closed, malformed, exhausted };

  /// The arguments outlive this object; the connections are open before the first run(). `room`: bytes of unexpected
  /// messages that may lie here, which `writer` tells the peer.
  FrameReader(std::vector<Connection>& connections, Matcher& matcher, FrameWriter& writer, std::size_t room);

  /// Reads what has arrived, within bounds. Called out of progress(). Returns whether anything happened.
  bool run();
  /// How the stream ended, and why, once it has; then run() must not be called any more.
  [[nodiscard]] End end() const { return end_; }
  [[nodiscard]] const std::string& endReason() const { return end_reason_; }
  /// From now on run() reads everything that the sockets hold, because the connection is broken.
  void readAll() { reads_all_ = true; }
  /// Whether run() would do anything without waiting for the sockets.
  [[nodiscard]] bool hasWork() const;

 private:
  using Arrival = Arrivals::Arrival;
  enum class Step { moved, blocked };
  /// Bytes that come without a header between them.
  struct Part {
    MessageSink* sink = nullptr;
    Arrival* arrival = nullptr; ///< Null: the part is a short message.
    std::size_t left = 0;
  };

  Step step();
  Step stepStripes();
  Step readFrames();
  Step handleFrame();
  Step handle(const Frame& frame);
  Step beginMessage(const MessageHeader& header);
  Step announce(const Frame& frame);
  Step handleAdvance(const Frame& frame);
  Step beginPart(const Frame& frame);
  Step handleWithdraw(std::uint64_t number);
  Step handleGoodbye();
  Step readPayload();
  /// One read into `part`; with `ahead`, the bytes behind it go to the buffer.
  Step readInto(Connection& connection, Part& part, bool ahead);
  /// Counts `bytes` of the part as read and given to its sink.
  void count(Part& part, std::size_t bytes);
  void endIfWhole(Arrival& arrival);
  /// Whether a message of so many bytes should stay in the socket, because its receive is about to be posted.
  bool isPatient(std::uint64_t bytes);
  bool settle();
  void answer(Arrival& arrival);
  [[nodiscard]] bool charge(std::uint64_t cost);
  void release(Tag tag, std::uint64_t cost);
  Step finish(End end, std::string reason);
  Step malformed() { return finish(End::malformed, "bytes that are no frame of the TCP protocol"); }
  [[nodiscard]] std::size_t buffered() const { return filled_ - taken_; }
  [[nodiscard]] bool hasFrame() const { return buffered() >= kFrameBytes; }

  static constexpr std::size_t kBufferBytes = 8 * 1024;
  /// Messages of kPatientBytes or more without a posted receive stay in the socket for so many turns: in a collective
  /// the receive is about to be posted, and keeping the message elsewhere costs an allocation and a copy.
  static constexpr std::size_t kPatientBytes = 16 * 1024;
  static constexpr int kPatience = 16;

  std::vector<Connection>& connections_;
  Matcher& matcher_;
  FrameWriter& writer_;
  const std::uint64_t room_;
  std::uint64_t charged_ = 0; ///< Credit in use: bytes of room_ that were not given back to the sender.
  FlowBytes released_;        ///< Part of charged_ to be returned to the sender.
  MessageSink short_;         ///< Sink of messages that come with their header.
  Arrivals arrivals_;
  Part part_;                      ///< The part that comes over connection 0.
  std::deque<Part> stripes_;       ///< Parts that come over the payload connections, in order.
  std::size_t turn_ = 0;           ///< Payload connection of the first stripe.
  std::unique_ptr<char[]> buffer_; ///< Bytes from connection 0: frames and small payloads.
  std::size_t taken_ = 0;
  std::size_t filled_ = 0;
  /// Connection 0 returned less than was asked for in this turn: reading on would return nothing.
  bool dry_ = false;
  int patience_ = kPatience; ///< Turns that the next bytes may still wait for their receive.
  bool reads_all_ = false;
  bool goodbye_ = false; ///< The goodbye has come; stripes are still to be read.
  End end_ = End::none;
  std::string end_reason_;
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_LINK_FRAME_READER_H_
