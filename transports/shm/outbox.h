/// The sending half of a link through shared memory.
#ifndef GOSS_TRANSPORTS_SHM_OUTBOX_H_
#define GOSS_TRANSPORTS_SHM_OUTBOX_H_

#include "gossamer/message.h"
#include "transports/common/multipart_outbox.h"
#include "transports/shm/direct_sender.h"
#include "transports/shm/ring.h"
#include "transports/shm/segment.h"

namespace goss::transports::shm {

/// Sends short messages whole and without credit, which would cost more than the rest of the path, as long as the peer
/// does not say that it is oversubscribed. Of a long message it sends a description, if the peer can read the sender's
/// memory and a slot for descriptions is free; else it sends the message in parts. Messages that do not fit the ring
/// wait here. One thread; only run() and fail() call operations back.
class Outbox final : public MultipartOutbox {
 public:
  /// `writer` and `direct` outlive this object.
  Outbox(RingWriter& writer, DirectSender& direct) : writer_(writer), direct_(direct) {}

  void open(const Segment& segment) {
    their_side_ = &segment.theirSide();
    ring_bytes_ = segment.ringBytes();
  }
  /// Whether the peer keeps so many unexpected messages that short ones must not be sent whole.
  [[nodiscard]] bool isOversubscribed() const {
    return their_side_->oversubscribed.load(std::memory_order_relaxed) != 0;
  }
  /// Whether the peer reads this message in the sender's memory.
  [[nodiscard]] static bool isDescribed(const SendOperation& operation) { return operation.hook.extra == kElsewhere; }

 private:
  [[nodiscard]] bool hasRoom(std::uint64_t bytes) const override { return writer_.hasSpaceFor(bytes); }
  Elsewhere sendElsewhere(SendOperation& operation) override;
  bool goesWhole(const SendOperation& operation) override;
  void write(const ControlFrame& frame) override;
  void writeWhole(const SendOperation& operation) override;
  std::size_t writePart(const SendOperation& operation, MultipartSend& send, bool first) override;

  RingWriter& writer_;
  DirectSender& direct_;
  const SideControl* their_side_ = nullptr;
  std::size_t ring_bytes_ = 0;
};

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_OUTBOX_H_
