/// The sending half of an MPI link.
#ifndef GOSS_TRANSPORTS_MPI_OUTBOX_H_
#define GOSS_TRANSPORTS_MPI_OUTBOX_H_

#include <mpi.h>

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <unordered_set>
#include <vector>

#include "gossamer/transport.h"
#include "transports/common/credit.h"
#include "transports/common/operation_list.h"
#include "transports/common/parted_sends.h"
#include "transports/mpi/frame.h"
#include "transports/mpi/slots.h"

namespace goss::transports::mpi {

/// Messages are cut into frames, which are copied into slots: what MPI sends cannot be taken back, and a caller that
/// cancels wants its buffer at once. Frames go by MPI's synchronous sends: one that is under way was not received yet,
/// and of those there are few, so that the next to go is never behind many.
///
/// One thread. Only post() without `now`, cancel(), tell(), onAnswer(), onReturned(), fail() and the questions do
/// without MPI; only run() and fail() call operations back.
class Outbox {
 public:
  /// `movements` counts frames; `owed` is room that the peer has again, of which the headers of messages tell. Both
  /// outlive this.
  Outbox(int peer, std::size_t unexpected_limit, std::uint64_t& movements, FlowBytes& owed);
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Says hello.
  void open(MPI_Comm comm, const std::array<std::byte, 16>& job);
  /// As Transport::send; `now`: MPI may be called.
  bool post(SendOperation& operation, bool now);
  /// As Transport::cancel.
  void cancel(SendOperation& operation);
  /// A frame without payload, which goes before those of messages.
  void tell(const FrameHeader& header) { controls_.push_back(header); }
  /// The peer has answered a message that goes in parts: FrameHeader::Kind::grant or skip.
  void onAnswer(FrameHeader::Kind kind, std::uint64_t number);
  /// The peer has so much room again for messages of the flow of `tag`.
  void onReturned(Tag tag, std::uint64_t cost) { sends_.giveBack(tag, cost); }
  /// Room that the peer has for messages without a receive.
  [[nodiscard]] std::uint64_t limit() const { return sends_.limit(); }
  /// Returns whether a frame left or arrived, or an operation was completed.
  bool run();
  /// What run() would do now, as far as it can be known without MPI.
  [[nodiscard]] bool hasWork() const {
    return !skipped_.empty() || (hasRoom() && (!controls_.empty() || !queue_.empty() || sends_.next() != nullptr));
  }
  /// Why MPI refused; ok while it has not.
  [[nodiscard]] const Status& trouble() const { return trouble_; }

  /// Sends the last frame, once: goodbye, or broken. Nothing may be sent after it.
  void end(FrameHeader::Kind kind);
  [[nodiscard]] bool hasEnded() const { return ended_; }
  /// Looks which frames were received; returns whether one was.
  bool reap();
  /// The peer has received all.
  [[nodiscard]] bool isIdle() const { return !slots_ || slots_->isIdle(); }
  /// Completes everything with `status`.
  void fail(const Status& status);

 private:
  /// A message that goes in parts.
  struct Open : PartedSend {
    SendOperation* operation = nullptr;
  };

  [[nodiscard]] bool hasRoom() const { return slots_ && !ended_ && busy_ < slots_->frames.size(); }
  /// The next frame, of which there is room for one. Returns whether there was something to send.
  bool sendNext();
  /// Begins a message. Returns whether that was all of it.
  bool launch(SendOperation& operation);
  /// The next part of a message, or its header with the first one. Returns whether that was the last.
  bool sendPart(Open& open, FrameHeader::Kind kind);
  void complete(Open& open, const Status& status);
  void forget(Open& open);
  /// Into a free slot; there is one.
  void send(const FrameHeader& header, PieceCursor* payload, std::size_t bytes);
  void start(MPI_Request& request, std::span<const std::byte> frame);
  /// Returns whether the request, if there is one, has completed now.
  bool test(MPI_Request& request);

  const int peer_;
  std::uint64_t& movements_;
  FlowBytes& owed_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::deque<FrameHeader> controls_;
  OperationList<SendOperation> queue_; ///< Not begun.
  PartedSends sends_;
  std::unordered_set<Open*> open_; ///< Begun, and not over. Owned.
  std::vector<Open*> skipped_;     ///< Of those, which the peer does not want.
  SlotsPointer slots_;             ///< Null before open().
  std::size_t busy_ = 0;           ///< Of their frames.
  bool ended_ = false;
  Status trouble_;
};

} // namespace goss::transports::mpi

#endif // GOSS_TRANSPORTS_MPI_OUTBOX_H_
