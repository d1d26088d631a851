/// The messages from one peer, on their way out of its connections.
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

/// Reads on whatever is posted: what may come before its receive is bounded by the credit that the peer was given, and
/// the rest of a message is asked for (granted) when it has met a receive. Small messages are read many at once into a
/// buffer, the payload of others straight to where it belongs. Stripes are read from the payload connections in turn.
/// One thread.
class FrameReader {
 public:
  enum class End { none, goodbye, closed, malformed, exhausted };

  /// All outlive this; the connections are open before the first run(). Tells the peer by `outflow` that `room` bytes
  /// may lie here without a receive.
  FrameReader(std::vector<Connection>& connections, Matcher& matcher, FrameWriter& outflow, std::size_t room);

  /// Reads what is there, within bounds. To be called out of progress(). Returns whether something happened.
  bool run();
  /// How the stream ended, and why, once it has; run() must not be called any more.
  [[nodiscard]] End end() const { return end_; }
  [[nodiscard]] const std::string& endReason() const { return end_reason_; }
  /// Nothing is to be left in the sockets any longer: the connection is broken.
  void hurry() { hurries_ = true; }
  /// run() would do something without waiting for the sockets.
  [[nodiscard]] bool hasWork() const;

 private:
  using Arrival = Arrivals::Arrival;
  enum class Step { moved, blocked };
  /// Bytes that come in one go.
  struct Part {
    MessageSink* inflow = nullptr;
    Arrival* arrival = nullptr; ///< Null: a short message.
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
  /// One read into `part`; with `ahead`, what follows goes to the buffer.
  Step readInto(Connection& connection, Part& part, bool ahead);
  /// So many bytes of the part have been read, and given to its inflow.
  void count(Part& part, std::size_t bytes);
  void endIfWhole(Arrival& arrival);
  /// The receive is about to be posted, and the bytes wait for it in the socket.
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
  /// Bytes of kPatientBytes or more that no receive is posted for stay in the socket for so many turns: in a collective
  /// the receive is about to be posted, and to keep the message elsewhere costs an allocation and a copy.
  static constexpr std::size_t kPatientBytes = 16 * 1024;
  static constexpr int kPatience = 16;

  std::vector<Connection>& connections_;
  Matcher& matcher_;
  FrameWriter& outflow_;
  const std::uint64_t room_;
  std::uint64_t charged_ = 0; ///< Of room_, for what the sender has not been given back.
  FlowBytes released_;        ///< Of that, what it has to be told of.
  MessageSink short_;         ///< Of messages that come with their header.
  Arrivals arrivals_;
  Part part_;                      ///< What comes over connection 0.
  std::deque<Part> stripes_;       ///< What comes over the payload connections, in order.
  std::size_t turn_ = 0;           ///< Payload connection of the first of them.
  std::unique_ptr<char[]> buffer_; ///< From connection 0: frames and small payloads.
  std::size_t taken_ = 0;
  std::size_t filled_ = 0;
  bool dry_ = false;         ///< Connection 0 gave less than was asked for in this turn: to read on would be in vain.
  int patience_ = kPatience; ///< Turns that the next bytes may still wait for their receive.
  bool hurries_ = false;
  bool goodbye_ = false; ///< It has come; stripes are still to be read.
  End end_ = End::none;
  std::string end_reason_;
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_LINK_FRAME_READER_H_
