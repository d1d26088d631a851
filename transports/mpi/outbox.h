/// The sending half of an MPI link.
#ifndef GOSS_TRANSPORTS_MPI_OUTBOX_H_
#define GOSS_TRANSPORTS_MPI_OUTBOX_H_

#include <mpi.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "gossamer/message.h"
#include "transports/common/credit.h"
#include "transports/common/parted_outbox.h"
#include "transports/mpi/frame.h"
#include "transports/mpi/frame_buffers.h"

namespace goss::transports::mpi {

/// Bytes that a peer keeps of messages which have no receive, GOSS_UNEXPECTED_BYTES permitting.
inline constexpr std::size_t kWindowBytes = 4u << 20;

/// Cuts messages into frames, which are copied into buffers, because an MPI send cannot be taken back and a caller that
/// cancels wants its buffer at once. Frames are sent by MPI's synchronous sends: a pending one was not received yet,
/// and there are few of those, so that the next frame is never behind many.
///
/// One thread. post() without `now`, cancel(), tell(), onAnswer(), onReturned(), fail() and the const methods do not
/// call MPI; only run() and fail() call operations back.
class Outbox final : public PartedOutbox {
 public:
  /// `movements` counts frames; `owed` is credit that the peer has again, which the headers of messages carry. Both
  /// outlive this object.
  Outbox(int peer, std::size_t unexpected_limit, std::uint64_t& movements, FlowBytes& owed);

  /// Says hello.
  void open(MPI_Comm comm, const std::array<std::byte, 16>& job);
  /// Returns whether a frame was sent or received, or an operation completed.
  bool run() {
    const bool any = reap();
    return PartedOutbox::run() || any;
  }
  /// Why MPI refused to send; ok while it has not.
  [[nodiscard]] const Status& trouble() const { return trouble_; }

  /// Sends the last frame, once: goodbye, or broken. Nothing may be sent after that frame.
  void end(FrameHeader::Kind kind);
  [[nodiscard]] bool hasEnded() const { return ended_; }
  /// Looks for frames that were received; returns whether there was one.
  bool reap();
  /// Whether the peer has received all frames.
  [[nodiscard]] bool isReceived() const { return !buffers_ || buffers_->isIdle(); }

 private:
  [[nodiscard]] bool hasRoom(std::uint64_t bytes) const override {
    (void)bytes;
    return buffers_ && !ended_ && trouble_.isOk() && busy_ < buffers_->frames.size();
  }
  bool goesWhole(const SendOperation& operation) override {
    return operation.bytes <= kMaxPayloadBytes && sends_.mayGo(operation.tag, operation.bytes);
  }
  void write(const ControlFrame& frame) override;
  void writeWhole(const SendOperation& operation) override;
  std::size_t writePart(const SendOperation& operation, PartedSend& send, bool first) override;
  /// Sends a frame out of a free buffer; there is one.
  void send(const FrameHeader& header, PieceCursor* payload, std::size_t bytes);
  void start(MPI_Request& request, std::span<const std::byte> frame);
  /// Returns whether the request, if there is one, has completed.
  bool test(MPI_Request& request);

  const int peer_;
  std::uint64_t& movements_;
  FlowBytes& owed_;
  MPI_Comm comm_ = MPI_COMM_NULL;
  FrameBuffersPointer buffers_; ///< Null before open().
  std::size_t busy_ = 0;        ///< Number of frames in use.
  bool ended_ = false;
  Status trouble_;
};

} // namespace goss::transports::mpi

#endif // GOSS_TRANSPORTS_MPI_OUTBOX_H_
