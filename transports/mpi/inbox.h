/// The receiving half of an MPI link.
#ifndef GOSS_TRANSPORTS_MPI_INBOX_H_
#define GOSS_TRANSPORTS_MPI_INBOX_H_

#include <mpi.h>

#include <array>
#include <span>

#include "transports/common/matcher.h"
#include "transports/common/parted_recvs.h"
#include "transports/mpi/frame.h"
#include "transports/mpi/outbox.h"
#include "transports/mpi/slots.h"

namespace goss::transports::mpi {

/// Receives frames in turn into a few slots and gives them, all at once, to the matcher and to the other half.
///
/// One thread, which may call MPI. Only run() calls operations back.
class Inbox {
 public:
  /// All outlive this.
  Inbox(Matcher& matcher, PartedRecvs& recvs, Outbox& outbox) : matcher_(matcher), recvs_(recvs), outbox_(outbox) {}
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  void open(MPI_Comm comm, const std::array<std::byte, 16>& job);
  /// Returns whether anything happened.
  bool run();
  /// The peer has said hello, with the job's secret.
  [[nodiscard]] bool greeted() const { return greeted_; }
  /// The peer has said goodbye, and what came before it was taken.
  [[nodiscard]] bool departed() const { return departed_; }
  /// Why the link must break; ok while it need not.
  [[nodiscard]] const Status& trouble() const { return trouble_; }

  /// In place of run() where nobody wants messages any more: receives them all the same, so that MPI has nothing left
  /// of them.
  void drop();
  /// The peer sends nothing more.
  [[nodiscard]] bool hasEnded() const { return ended_; }
  /// Takes the receives back that are posted. False: MPI may still write into them, and is left their memory.
  bool close();

 private:
  /// Posts the receive of the next frame but so many.
  void post(Slot<kMaxFrameBytes>& slot);
  /// Whether the next frame has come; then it is held.
  bool receive();
  /// The frame that is held was used.
  void advance();
  void take(std::span<const std::byte> frame);
  Status takePayload(const FrameHeader& header, std::span<const std::byte> payload);
  void takeControl(const FrameHeader& header);
  void fail(const Status& why) {
    if (trouble_.isOk()) trouble_ = why;
  }
  [[nodiscard]] std::span<const std::byte> held() const {
    return std::span(slots_->frames[next_].bytes).first(held_bytes_);
  }

  Matcher& matcher_;
  PartedRecvs& recvs_;
  Outbox& outbox_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::array<std::byte, 16> job_{};
  SlotsPointer slots_;         ///< Null before open().
  std::size_t next_ = 0;       ///< Of their frames.
  std::size_t held_bytes_ = 0; ///< Of the frame in it; 0: not received yet.
  bool greeted_ = false;
  bool departed_ = false;
  bool ended_ = false;
  Status trouble_;
};

} // namespace goss::transports::mpi

#endif // GOSS_TRANSPORTS_MPI_INBOX_H_
