/// Memory of a GPU that other processes have allocated, mapped once and kept.
#ifndef GOSS_LIB_DEVICES_PEER_MEMORY_H_
#define GOSS_LIB_DEVICES_PEER_MEMORY_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "gossamer/device.h"

namespace goss {

/// An allocation of a rank in another process, as that rank describes it.
struct PeerAllocation {
  int rank = -1;          ///< World rank of its owner.
  std::uint64_t id = 0;   ///< MemoryInfo::allocation there: memory that is freed and allocated again has another one.
  std::uint64_t base = 0; ///< Its address there.
  std::uint64_t bytes = 0;
  MemoryHandle handle{};
};

/// Used by the jobs of the device's thread, because the driver may not answer for a while. To map memory takes it long,
/// so memory stays mapped until its owner is lost, has something else at its address, or kMaxMapped others were used
/// since. To unmap it may wait for the device's streams, and so waits itself until `may_wait` allows that.
class PeerMemory {
 public:
  using Block = std::shared_ptr<DeviceBlock>;
  static constexpr std::size_t kMaxMapped = 64;

  PeerMemory(Device& device, std::function<bool()> may_wait) : device_(device), may_wait_(std::move(may_wait)) {}
  ~PeerMemory();
  PeerMemory(const PeerMemory&) = delete;
  PeerMemory& operator=(const PeerMemory&) = delete;

  /// The mapped memory, which stays mapped as long as somebody holds it. Errors: as Device::importMemory(), which may
  /// refuse memory as long as what its owner had there before is mapped.
  Result<Block> map(const PeerAllocation& allocation);
  /// Whether map() has succeeded whenever no memory was left to unmap. If processes may not map each other's memory,
  /// later calls do not try.
  /// Thread-safe.
  [[nodiscard]] bool succeeds() const { return succeeds_; }
  /// Whether map() was ever called. Thread-safe.
  [[nodiscard]] bool isUsed() const { return is_used_; }
  /// The rank is lost: what it owned is no longer wanted.
  void forget(int rank);
  /// Unmaps unwanted memory that no call uses; to be called when a failed call has let go of memory.
  void sweep();

 private:
  struct Mapped {
    PeerAllocation allocation;
    Block block;
    std::uint64_t used = 0; ///< When it was mapped or asked for last.
  };

  void unmapIf(const std::function<bool(const Mapped&)>& unwanted);

  Device& device_;
  const std::function<bool()> may_wait_;
  std::map<std::pair<int, std::uint64_t>, Mapped> mapped_; ///< By owner and id.
  std::vector<Block> unwanted_;
  std::uint64_t clock_ = 0;
  std::atomic<bool> succeeds_{true};
  std::atomic<bool> is_used_{false};
};

} // namespace goss

#endif // GOSS_LIB_DEVICES_PEER_MEMORY_H_
