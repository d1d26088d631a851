/// The receiving half of messages that are read in the sender's memory.
#ifndef GOSS_TRANSPORTS_SHM_DIRECT_RECEIVER_H_
#define GOSS_TRANSPORTS_SHM_DIRECT_RECEIVER_H_

#include <array>
#include <memory>
#include <vector>

#include "transports/common/message_sink.h"
#include "transports/shm/direct.h"
#include "transports/shm/packet.h"
#include "transports/shm/regions.h"
#include "transports/shm/ring.h"
#include "transports/shm/segment.h"

namespace goss::transports::shm {

/// Reads the described messages of one peer. Reads a bounded number of bytes in a call, so that other peers get their
/// turn, and writes the replies of receives that have one into the sender's memory as it reads. Trusts nothing that the
/// peer wrote: regions are sealed, pieces are checked against them, and the system reads addresses. One thread.
class DirectReceiver {
 public:
  /// `matcher` outlives this object.
  explicit DirectReceiver(Matcher& matcher) : matcher_(matcher) {}

  /// `process`: the id of the other side, for messages in its address space; -1: it sends none.
  void attach(const Segment& segment, int process);
  /// The link is lost, and the matcher has failed.
  void detach();

  /// Handles a packet by which the peer lends a region or takes it back. False: the packet is corrupt.
  bool handle(Packet packet);

  enum class Accept {
    taken,
    unknown,   ///< It names a region that no packet has lent.
    exhausted, ///< Memory is short.
    corrupt,
  };
  Accept accept(const RingReader::Record& record);

  enum class Step { idle, moved, finished, failed };
  /// Reads on. finished: a message was read, and the sender may be waiting for that. failed: the peer's memory cannot
  /// be read.
  Step progress();
  [[nodiscard]] bool hasWork() const;
  /// Whether no message is being read or waits to be read.
  [[nodiscard]] bool isIdle() const { return order_.empty(); }

 private:
  struct Piece {
    BorrowedRegions::Pages pages; ///< Null: the piece is an address.
    std::uint64_t at = 0;
    std::uint64_t bytes = 0;
  };
  struct Fetch {
    explicit Fetch(Matcher& matcher) : sink(matcher) {}
    MessageSink sink;
    std::vector<Piece> pieces;
    std::size_t piece = 0;
    std::uint64_t done = 0; ///< Bytes of the current piece that were read.
    Piece reply;            ///< The memory for the reply; no pages: it is not written in place.
    bool busy = false;
  };

  Accept resolve(const DirectMessage& message, std::uint64_t bytes, Fetch& fetch) const;
  bool take(std::size_t slot);
  Accept resolve(const DirectPiece& from, std::uint64_t bytes, Piece& piece) const;
  bool mayRead(Fetch& fetch, std::size_t slot, std::size_t bytes);
  bool read(Fetch& fetch, std::size_t slot, std::size_t& budget, DirectState& with);
  std::ptrdiff_t readAddresses(Fetch& fetch, const Piece& piece, std::size_t bytes);
  void finish(Fetch& fetch, std::size_t slot, DirectState with);
  [[nodiscard]] std::atomic<DirectState>& state(std::size_t slot) const { return their_side_->direct[slot].state; }

  Matcher& matcher_;
  SideControl* their_side_ = nullptr;
  int process_ = -1;
  BorrowedRegions borrowed_;
  std::array<std::unique_ptr<Fetch>, kDirectSlots> fetches_; ///< By slot; made when first needed.
  std::vector<std::uint8_t> order_;                          ///< Busy slots in order of arrival.
};

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_DIRECT_RECEIVER_H_
