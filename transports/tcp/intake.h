/// The messages from one peer, on their way out of its connections.
#ifndef GOSS_TRANSPORTS_TCP_INTAKE_H_
#define GOSS_TRANSPORTS_TCP_INTAKE_H_

#include <memory>
#include <string>
#include <vector>

#include "transports/common/inflow.h"
#include "transports/common/matcher.h"
#include "transports/tcp/connection.h"
#include "transports/tcp/wire.h"

namespace goss::transports::tcp {

/// Small messages are read many at once into a buffer, the payload of others straight to where it belongs. The payload
/// of a striped message is read from the payload connections in turn, so that it too arrives in order: what the other
/// connections have meanwhile waits in their sockets. One thread.
class Intake {
 public:
  enum class End { none, goodbye, closed, malformed };

  /// Both outlive this; the connections are open before the first run().
  Intake(std::vector<Connection>& connections, Matcher& matcher);

  /// Reads what is there, within bounds. To be called out of progress(). Returns whether something happened.
  bool run();
  /// How the stream ended, and why, once it has; run() must not be called any more.
  [[nodiscard]] End end() const { return end_; }
  [[nodiscard]] const std::string& endReason() const { return end_reason_; }
  /// The next message waits for a receive, and its bytes in the socket.
  [[nodiscard]] bool isStalled() const { return end_ == End::none && inflow_.isIdle() && inflow_.isStalled(); }
  /// The connection has broken while isStalled(). True: what has arrived ends with the peer's goodbye and is kept.
  /// False: it does not, and this is the end.
  bool salvage();
  /// Nothing is to be left in the sockets any longer: the connection is broken.
  void hurry() { patience_ = 0; }
  /// run() would do something without waiting for the sockets.
  [[nodiscard]] bool hasWork() const;

 private:
  enum class Step { moved, blocked, stalled };
  Step step();
  Step readFrames();
  Step handleFrame();
  Step readPayload();
  Step readStripe();
  /// One read into the message under way, at most `limit` bytes of it; with `ahead`, what follows goes to the buffer.
  Step readInto(Connection& connection, std::size_t limit, bool ahead);
  /// So many bytes of the current stripe came over `connection`.
  void countStripe(Connection& connection, std::size_t bytes);
  Step finish(End end, std::string reason);
  [[nodiscard]] std::size_t buffered() const { return filled_ - taken_; }
  [[nodiscard]] bool hasFrame() const { return buffered() >= kFrameBytes; }

  static constexpr std::size_t kBufferBytes = 8 * 1024;
  /// A message of kPatientBytes or more whose receive is not posted yet stays in the socket for so many turns: in a
  /// collective the receive is about to be posted, and to keep the message elsewhere costs an allocation and a copy.
  static constexpr std::size_t kPatientBytes = 16 * 1024;
  static constexpr int kPatience = 16;

  std::vector<Connection>& connections_;
  Matcher& matcher_;
  Inflow inflow_;
  std::unique_ptr<char[]> buffer_;      ///< From connection 0: frames and small payloads.
  std::size_t capacity_ = kBufferBytes; ///< Of buffer_.
  std::size_t taken_ = 0;
  std::size_t filled_ = 0;
  bool dry_ = false;         ///< Connection 0 gave less than was asked for in this turn: to read on would be in vain.
  int patience_ = kPatience; ///< Turns that the next message may still wait for its receive.
  bool striped_ = false;     ///< The message under way comes over the payload connections.
  std::size_t turn_ = 0;     ///< Payload connection of the current stripe.
  std::size_t stripe_left_ = 0;
  End end_ = End::none;
  std::string end_reason_;
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_INTAKE_H_
