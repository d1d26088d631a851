/// The receiving half of an MPI link.
#ifndef GOSS_TRANSPORTS_MPI_INBOX_H_
#define GOSS_TRANSPORTS_MPI_INBOX_H_

#include <mpi.h>

#include <array>
#include <span>

#include "transports/common/matcher.h"
#include "transports/common/multipart_recvs.h"
#include "transports/mpi/frame.h"
#include "transports/mpi/frame_buffers.h"
#include "transports/mpi/outbox.h"

namespace goss::transports::mpi {

/// Receives frames in turn into a few buffers and gives them at once to the matcher and to the sending half.
///
/// One thread, which may call MPI. Only run() calls operations back.
class Inbox {
 public:
  /// The arguments outlive this object.
  Inbox(Matcher& matcher, MultipartRecvs& recvs, Outbox& outbox) : matcher_(matcher), recvs_(recvs), outbox_(outbox) {}
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  void open(MPI_Comm comm, const std::array<std::byte, 16>& job);
  /// Returns whether anything happened.
  bool run();
  /// The peer's hello has come, with the job's secret.
  [[nodiscard]] bool greeted() const { return greeted_; }
  /// The peer's goodbye has come, and everything before it was taken.
  [[nodiscard]] bool departed() const { return departed_; }
  /// Why the link must break; ok while it is sound.
  [[nodiscard]] const Status& trouble() const { return trouble_; }

  /// Replaces run() when no messages are wanted any more: receives and drops them, so that MPI has none left.
  void drop();
  /// The peer sends nothing more.
  [[nodiscard]] bool hasEnded() const { return ended_; }
  /// Cancels the posted receives. False: MPI may still write into them, so their memory is leaked.
  bool close();

 private:
  /// Posts the receive of the frame after those already posted.
  void post(FrameBuffer<kMaxFrameBytes>& buffer);
  /// Whether the next frame has come; then the inbox holds it.
  bool receive();
  /// Releases the held frame.
  void advance();
  void take(std::span<const std::byte> frame);
  Status takePayload(const FrameHeader& header, std::span<const std::byte> payload);
  void takeControl(const FrameHeader& header);
  void fail(const Status& why) {
    if (trouble_.isOk()) trouble_ = why;
  }
  [[nodiscard]] std::span<const std::byte> held() const {
    return std::span(buffers_->frames[next_].bytes).first(held_bytes_);
  }

  Matcher& matcher_;
  MultipartRecvs& recvs_;
  Outbox& outbox_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  std::array<std::byte, 16> job_{};
  FrameBuffersPointer buffers_; ///< Null before open().
  std::size_t next_ = 0;        ///< Index of the buffer of the next frame.
  std::size_t held_bytes_ = 0;  ///< Bytes of the frame in it; 0: not received yet.
  bool greeted_ = false;
  bool departed_ = false;
  bool ended_ = false;
  Status trouble_;
};

} // namespace goss::transports::mpi

#endif // GOSS_TRANSPORTS_MPI_INBOX_H_
