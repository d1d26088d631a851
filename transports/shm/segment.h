/// Memory that two processes share: 64 KiB of control, the ring from the caller to the called rank, and the ring back.
#ifndef GOSS_TRANSPORTS_SHM_SEGMENT_H_
#define GOSS_TRANSPORTS_SHM_SEGMENT_H_

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "gossamer/status.h"
#include "platform/fd.h"
#include "transports/shm/direct.h"

namespace goss::transports::shm {

/// Position of the consumer of one ring, in bytes since its beginning; always a multiple of 16. The producer's position
/// is stored nowhere: records show themselves where they are (ring.h).
struct RingControl {
  alignas(128) std::atomic<std::uint64_t> head; ///< Only the consumer writes it.
};

/// Reasons for which a sleeping side is to be woken; 0: the side is awake.
inline constexpr std::uint32_t kWakeForData = 1;
inline constexpr std::uint32_t kWakeForSpace = 2;

/// Values of SideControl::goodbye. kLeaves: the side closes on purpose, and everything that it will ever write is in
/// its ring. kGivesUp: the side lives, and has given up the link.
inline constexpr std::uint32_t kLeaves = 1;
inline constexpr std::uint32_t kGivesUp = 2;

/// Which messages in ordinary memory are read in the sender's address space. stored: those of is_stored_whole, while
/// the processors share no cache.
enum class AddressReading : std::uint32_t { none = 0, stored = 1, all = 2 };

struct alignas(64) DirectSlot {
  std::atomic<DirectState> state;
};

/// Loans of one side that may be open at a time.
inline constexpr std::size_t kLoans = 64;

/// The state that one side publishes.
struct SideControl {
  alignas(128) std::atomic<std::uint32_t> sleeping;
  std::atomic<std::uint32_t> goodbye;          ///< Why it closes: kLeaves, kGivesUp; 0 when its process ends.
  std::atomic<AddressReading> reads_addresses; ///< Which messages in the other side's address space it reads there.
  /// Address at which it has mapped the segment; for testing reads_addresses.
  std::atomic<std::uint64_t> segment_at;
  /// 1: before it sleeps it passes a fence in all processes (platform/fence.h).
  std::atomic<std::uint32_t> fences_all;
  std::atomic<std::uint32_t>
      /// 1: it keeps many unexpected short messages, so that further ones must go in parts.
      oversubscribed;
  std::atomic<std::uint64_t> room;              ///< Credit for messages in parts, in bytes.
  alignas(128) DirectSlot direct[kDirectSlots]; ///< Messages that this side sends.
  /// Loans of this side (loan_desk.h). 0: none.
  alignas(128) std::atomic<std::uint64_t> loans[kLoans];
};

/// The first page of a segment. New segments are all zero, which is the valid initial state.
struct SegmentControl {
  SideControl side[2]; ///< 0: the side that made the segment.
  RingControl ring[2]; ///< ring[s] carries what side s writes.
};

/// One process's mapping of a segment. Each ring is mapped twice in a row, so that every record is contiguous. The
/// memory is a memfd: it has no name and vanishes with its last holder, however that ends. Movable; not thread-safe
/// itself.
class Segment {
 public:
  /// The power of two from 64 KiB to 1 GiB that holds `wanted_bytes`, or the nearest.
  static std::size_t ringBytesFor(std::size_t wanted_bytes);
  /// Makes a segment as side 0. Errors: resource.
  static Result<Segment> create(std::size_t ring_bytes);
  /// Maps what the other side made, as side 1. Errors: resource, or protocol when the descriptor is not a sealed
  /// segment of that size (the peer could truncate an unsealed one, and reading it would then kill this process).
  static Result<Segment> attach(platform::UniqueFd fd, std::uint64_t ring_bytes, int peer);

  Segment() = default;
  ~Segment();
  Segment(Segment&& other) noexcept;
  Segment& operator=(Segment&& other) noexcept;
  Segment(const Segment&) = delete;
  Segment& operator=(const Segment&) = delete;

  [[nodiscard]] bool valid() const { return base_ != nullptr; }
  [[nodiscard]] std::size_t ringBytes() const { return ring_bytes_; }
  [[nodiscard]] SegmentControl& control() const { return *reinterpret_cast<SegmentControl*>(base_); }
  [[nodiscard]] SideControl& mySide() const { return control().side[side_]; }
  [[nodiscard]] SideControl& theirSide() const { return control().side[1 - side_]; }
  [[nodiscard]] RingControl& outControl() const { return control().ring[side_]; }
  [[nodiscard]] RingControl& inControl() const { return control().ring[1 - side_]; }
  [[nodiscard]] std::byte* outBytes() const { return ringBase(side_); }
  [[nodiscard]] std::byte* inBytes() const { return ringBase(1 - side_); }
  /// Bytes that neither side writes, and their offset from control(); used to measure copies.
  static constexpr std::size_t kTrialBytes = 32 * 1024;
  static constexpr std::size_t kTrialOffset = 32 * 1024;
  /// The memfd, to be passed to the other side and then closed.
  [[nodiscard]] int fd() const { return fd_.get(); }
  void closeFd() { fd_.reset(); }

 private:
  Status map();
  [[nodiscard]] std::byte* ringBase(int side) const;

  platform::UniqueFd fd_;
  std::byte* base_ = nullptr;
  std::size_t ring_bytes_ = 0;
  int side_ = 0;
};

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_SEGMENT_H_
