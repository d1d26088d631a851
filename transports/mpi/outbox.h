/// The sending half of an MPI link.
#ifndef GOSS_TRANSPORTS_MPI_OUTBOX_H_
#define GOSS_TRANSPORTS_MPI_OUTBOX_H_

#include <mpi.h>

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "gossamer/transport.h"
#include "transports/common/operation_list.h"
#include "transports/common/piece_cursor.h"
#include "transports/common/remainder.h"
#include "transports/mpi/frame.h"
#include "transports/mpi/slots.h"

namespace goss::transports::mpi {

/// Messages are cut into frames, which are copied into slots: what MPI sends cannot be taken back, and a caller that
/// cancels wants its buffer at once. Frames go by MPI's synchronous sends: one that is under way was not received yet,
/// and of those there are few, which is what holds a sender back.
///
/// One thread. Only post() without `now`, cancel(), fail() and the questions do without MPI; only run() and fail() call
/// operations back.
class Outbox {
 public:
  /// `movements` counts frames; it outlives this.
  Outbox(int peer, std::uint64_t& movements) : peer_(peer), movements_(movements) {}
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  /// Says hello.
  void open(MPI_Comm comm, const std::array<std::byte, 16>& job);
  /// As Transport::send; `now`: MPI may be called.
  bool post(SendOperation& operation, bool now);
  /// The rest of what is half sent goes on from a copy. False: there is no memory for it, so the link must break.
  bool cancel(SendOperation& operation);
  /// Returns whether a frame left or arrived. `remainder_alone`: what is queued behind a remainder, which there is,
  /// stays where it is, and nothing is called back.
  bool run(bool remainder_alone = false);
  /// What run() would do now, as far as it can be known without MPI.
  [[nodiscard]] bool hasWork() const { return hasRoom() && !queue_.empty(); }
  /// Why MPI refused; ok while it has not.
  [[nodiscard]] const Status& trouble() const { return trouble_; }

  /// The rest of a message that was cancelled half way is still to be sent.
  [[nodiscard]] bool hasRemainder() const { return remainder_ != nullptr; }
  /// Sends the last frame, once: goodbye, or broken. Nothing may be sent after it.
  void end(FrameHeader::Kind kind);
  [[nodiscard]] bool hasEnded() const { return ended_; }
  /// Tells a peer that does not read: see kAlarmTag.
  void alarm();
  /// Looks which frames were received; returns whether one was.
  bool reap();
  /// The peer has received all.
  [[nodiscard]] bool isIdle() const { return !slots_ || slots_->isIdle(); }
  /// Completes everything with `status`.
  void fail(const Status& status);

 private:
  [[nodiscard]] bool hasRoom() const { return slots_ && !ended_ && busy_ < slots_->frames.size(); }
  void begin(SendOperation& operation);
  /// Of the message that was begun, where there is room. Returns whether that was the last of it.
  bool sendFrame();
  /// Into a free slot; there is one.
  void send(const FrameHeader& header, PieceCursor* payload);
  void start(MPI_Request& request, std::span<const std::byte> frame);
  /// Returns whether the request, if there is one, has completed now.
  bool test(MPI_Request& request);

  const int peer_;
  std::uint64_t& movements_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  OperationList<SendOperation> queue_;
  SendOperation* begun_ = nullptr; ///< The first of the queue, when it was begun.
  PieceCursor cursor_;             ///< In it.
  std::uint64_t left_ = 0;         ///< Of its bytes.
  std::unique_ptr<Remainder> remainder_;
  SlotsPointer slots_;   ///< Null before open().
  std::size_t busy_ = 0; ///< Of their frames.
  bool ended_ = false;
  Status trouble_;
};

} // namespace goss::transports::mpi

#endif // GOSS_TRANSPORTS_MPI_OUTBOX_H_
