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
#include "transports/common/multipart_outbox.h"
#include "transports/mpi/frame.h"
#include "transports/mpi/frame_buffers.h"

namespace goss::transports::mpi {

/// Bytes of messages without a posted receive that a peer keeps, if GOSS_UNEXPECTED_BYTES is not less.
inline constexpr std::size_t kWindowBytes = 4u << 20;

/// Cuts messages into frames and copies these into buffers of its own: an MPI send cannot be taken back, and a caller
/// that cancels wants its buffer at once. It sends frames by MPI_Issend, so that a pending request is a frame which the
/// peer has not received. Few frames are pending at a time, so that the next frame never waits behind many.
///
/// One thread. These functions do not call MPI: post() without `now`, cancel(), tell(), onAnswer(), onReturned(),
/// fail() and the const ones. Only run() and fail() call operations back.
class Outbox final : public MultipartOutbox {
 public:
  /// `movements` counts frames that were sent or received. `owed` is the credit that this rank has to return to the
  /// peer; the headers of messages carry it. Both outlive this object.
  Outbox(int peer, std::size_t unexpected_limit, std::uint64_t& movements, FlowBytes& owed);

  /// Sends the first frame, hello, over `comm`.
  void open(MPI_Comm comm, const std::array<std::byte, 16>& job);
  /// Returns whether a frame was sent or received, or an operation completed.
  bool run() {
    const bool any = reap();
    return MultipartOutbox::run() || any;
  }
  /// The error of the MPI call that failed to send; ok: none failed.
  [[nodiscard]] const Status& trouble() const { return trouble_; }

  /// Sends the last frame, goodbye or broken. To be called once; nothing may be sent afterwards.
  void end(FrameHeader::Kind kind);
  [[nodiscard]] bool hasEnded() const { return ended_; }
  /// Frees the buffers of frames that the peer has received. Returns whether there was one.
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
  std::size_t writePart(const SendOperation& operation, MultipartSend& send, bool first) override;
  /// Copies a frame into a free buffer, which there must be, and sends it.
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
