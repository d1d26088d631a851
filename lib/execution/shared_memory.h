/// The addresses of a call's buffers on all ranks that may share a GPU, and the messages in which the ranks exchange
/// them. Private to lib/execution.
#ifndef GOSS_LIB_EXECUTION_SHARED_MEMORY_H_
#define GOSS_LIB_EXECUTION_SHARED_MEMORY_H_

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "call/call.h"
#include "devices/devices.h"
#include "gossamer/schedule.h"
#include "mesh/group.h"

namespace goss {

/// Bytes of a vector on the device.
struct DevicePiece {
  std::byte* data = nullptr;
  std::size_t bytes = 0;
};

/// The message of one rank: its GPU, and the allocations that hold its input, output and scratch memory.
struct SharedOffer {
  static constexpr std::size_t kSpaces = 3;
  static constexpr std::size_t kIdentityBytes = 16;
  /// An allocation has an id, a base and a size, 8 bytes each, and a handle.
  static constexpr std::size_t kAllocationBytes = 24 + sizeof(MemoryHandle);
  /// The offer alone, and behind it what the rank has mapped.
  static constexpr std::size_t kOfferBytes = kIdentityBytes + kSpaces * kAllocationBytes;
  static constexpr std::size_t kBytes = kOfferBytes + 8;

  std::string device; ///< Device::identity(); empty: this rank cannot share.
  /// By Space; without bytes where the call has none. Their ranks are not told.
  std::array<PeerAllocation, kSpaces> allocations{};
  std::uint64_t mapped = 0; ///< The offers of all ranks that this one has mapped, by SharedMemory::hash(); 0: none.

  void encode(std::span<std::byte, kBytes> to) const;
  static SharedOffer decode(std::span<const std::byte, kBytes> from);
};

/// A call's buffers on all ranks. Among processes each maps the others' allocations, and a message names bytes by
/// allocation and offset, 16 bytes a piece; ranks of one process read them at their owner's addresses.
class SharedMemory {
 public:
  static constexpr std::size_t kPieceBytes = 16;

  /// `in_process`: the ranks are threads of one process.
  SharedMemory(const Group& group, bool in_process);

  /// Finds out where the buffers of `call` lie, and `scratch` bytes of scratch memory; for this rank's offer. Error:
  /// other processes cannot map one of them. Calls the driver.
  Status prepare(Devices& devices, DeviceStation& station, const Call& call, DevicePiece scratch);
  /// This rank's offer; empty before prepare().
  [[nodiscard]] SharedOffer& own() { return own_; }
  /// The buffer into which the offers of all ranks are gathered, in rank order.
  [[nodiscard]] std::span<std::byte> told() { return told_; }

  /// Whether the buffers of all ranks lie on one GPU. Called when told() holds all offers.
  [[nodiscard]] bool isOnOneDevice() const;
  /// A number for all offers, without what ranks have mapped; never 0.
  [[nodiscard]] std::uint64_t hash() const;
  /// Whether all ranks say that they have mapped these offers.
  [[nodiscard]] bool areMapped() const;
  /// Maps all other ranks' allocations. Error: one of them cannot be mapped. Calls the driver unless they are mapped.
  Status map(DeviceStation& station);
  /// Keeps the memory of the last map() mapped until release(). Returns its hash(); 0: a part was unmapped.
  std::uint64_t keepMapped();
  /// Allows PeerMemory to unmap it. Returns whether there was any.
  bool release();

  /// Encodes, for a message, where bytes of this rank lie.
  void write(Space space, DevicePiece piece, std::span<std::byte, kPieceBytes> to) const;
  /// Decodes where bytes of `rank` (of the group) lie in this rank's address space. nullopt: `rank` has no such bytes.
  [[nodiscard]] std::optional<DevicePiece> read(int rank, std::span<const std::byte, kPieceBytes> from) const;

 private:
  [[nodiscard]] SharedOffer offerOf(int rank) const;

  const Group& group_;
  const bool in_process_;
  SharedOffer own_;
  std::vector<std::byte> told_;
  /// By rank and Space: addresses and sizes here.
  std::vector<std::array<DevicePiece, SharedOffer::kSpaces>> places_;
  std::vector<std::weak_ptr<DeviceBlock>> mapped_; ///< What `mapped_hash_` stands for.
  std::uint64_t mapped_hash_ = 0;
  std::vector<PeerMemory::Block> blocks_; ///< The same, from keepMapped() or map() to release().
};

} // namespace goss

#endif // GOSS_LIB_EXECUTION_SHARED_MEMORY_H_
