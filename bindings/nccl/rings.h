/// Pinned memory through which calls are staged, and the words by which a stream and the host wait for each other.
#ifndef GOSS_BINDINGS_NCCL_RINGS_H_
#define GOSS_BINDINGS_NCCL_RINGS_H_

#include <cstddef>
#include <memory>
#include <vector>

#include "bindings/nccl/call.h"
#include "gossamer/device.h"

namespace goss::nccl {

/// What one slot of the rings holds: parts that start together, and for which the stream waits once.
struct Gate {
  std::uint32_t sequence = 0;
  std::vector<Part> parts;
  std::vector<CopyJob> in;  ///< From the caller's buffers.
  std::vector<CopyJob> out; ///< To them.
};

/// Two rings of slots. Streams alone write the one for sends, and the host alone that for receives: what the host has
/// put there to say that a call has failed stays. One thread at a time, but for spoil().
class Rings {
 public:
  static constexpr std::size_t kSlots = 4;

  static Result<std::unique_ptr<Rings>> make(Device& device, std::size_t slot_bytes = kFirstSlotBytes);

  /// Cuts `calls` into parts, one of each call in turn, and packs these into gates, whose slots follow `sequence`.
  /// Empty: the first parts of all calls do not fit into the rings together, and larger rings are needed, because ranks
  /// that wait for each other's messages must start all of them.
  std::vector<Gate> pack(const std::vector<std::shared_ptr<Call>>& calls, int rank, int ranks, std::uint32_t sequence);
  [[nodiscard]] std::size_t slotBytes() const { return slot_bytes_; }

  /// Fills what streams will copy to results with bytes that are no numbers.
  void spoil();

  /// Rises when the stream has brought in what the gate sends.
  [[nodiscard]] Flag arrived() const { return flags_; }
  /// Rises when the host has put what the gate receives into place.
  [[nodiscard]] Flag done() const { return flags_ + 16; } // a cache line of its own

 private:
  static constexpr std::size_t kFirstSlotBytes = (1u << 20) + (64u << 10);

  Rings(std::unique_ptr<DeviceBlock> memory, std::size_t slot_bytes);

  const std::unique_ptr<DeviceBlock> memory_; ///< Flags, sends, receives.
  const std::size_t slot_bytes_;
  const Flag flags_;
  std::byte* const sends_;
  std::byte* const receives_;
};

} // namespace goss::nccl

#endif // GOSS_BINDINGS_NCCL_RINGS_H_
