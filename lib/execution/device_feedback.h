/// The residuals of error feedback in the memory of GPUs, for steps that encode there.
#ifndef GOSS_LIB_EXECUTION_DEVICE_FEEDBACK_H_
#define GOSS_LIB_EXECUTION_DEVICE_FEEDBACK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "devices/devices.h"
#include "execution/device_step_plan.h"
#include "state/reference_store.h"

namespace goss {

/// A range of elements of one state of the reference store.
struct KeptRange {
  ReferenceKey key;
  ElementRange range;
};

/// A step of one fragment that encodes with error feedback: it keeps what it loses in `kept`.
struct KeptEncoding {
  KeptRange kept;
  std::size_t index = 0;  ///< Index of the fragment * number of steps of the schedule + index of the step.
  bool on_device = false; ///< Whether the device encodes; else the host does.
  bool momentum = false;  ///< `kept` is the encoding's momentum; else what it loses.
};

/// What the steps of one fragment keep in device memory, by step; null: the step keeps none. Empty: no step does.
struct KeptOnDevice {
  std::span<float* const> residuals;
  std::span<float* const> momenta;
};

/// Where the steps of one call find their residuals in device memory.
class DeviceResiduals {
 public:
  [[nodiscard]] KeptOnDevice ofFragment(std::uint32_t fragment) const {
    return {std::span(at_).subspan(fragment * steps_, steps_),
            std::span(at_).subspan(at_.size() / 2 + fragment * steps_, steps_)};
  }
  /// Whether there are new residuals.
  [[nodiscard]] bool hasStart() const { return !cleared_.empty(); }
  /// Enqueues the copies that fill new residuals with zeros, or with values from the host. The caller enqueues the
  /// steps afterwards.
  Status enqueueStart(DeviceQueue& queue) const;

 private:
  friend class DeviceFeedback;
  std::size_t steps_ = 0;
  std::vector<float*> at_;                                ///< Residuals of all fragments, then their momenta.
  std::vector<std::shared_ptr<BlockPool::Lease>> blocks_; ///< The memory that `at_` points into.
  BlockPool::Lease pinned_;      ///< kZeroBytes of zeros, and the values that come from the host.
  std::span<std::byte> cleared_; ///< New device memory, which the copies fill with zeros.
  std::vector<CopyJob> brought_;
};

/// The residuals of one communicator that lie in device memory. Each element of a state lies here or in the reference
/// store, never in both. The first call that encodes an element on the device moves it there. It stays until something
/// on the host needs it, or a call encodes ranges with other boundaries: then it moves back to the store.
///
/// While a call uses residuals of a tensor, none of that tensor move to the host, so that nobody waits for device work
/// that is not enqueued yet. Used under the engine's lock.
class DeviceFeedback {
 public:
  explicit DeviceFeedback(ReferenceStore& references) : references_(references) {}
  /// Waits for the copies that use its memory.
  ~DeviceFeedback() = default;
  DeviceFeedback(const DeviceFeedback&) = delete;
  DeviceFeedback& operator=(const DeviceFeedback&) = delete;

  /// The store of the residuals that lie in the host's memory.
  [[nodiscard]] ReferenceStore& references() const { return references_; }
  [[nodiscard]] bool isEmpty() const { return held_.empty(); }

  /// A call that begins.
  struct Beginner {
    const DeviceStepPlan& plan; ///< Which steps run on the device.
    std::uint64_t tensor = 0;
    void* stream = nullptr; ///< The caller's stream; null: the call is not a part of one.
    std::size_t others = 0; ///< Other active calls with error feedback for this tensor.
    std::uint32_t fragments = 1;
    BlockReserve& reserve; ///< Has what want() wanted.
  };
  /// Wants the memory that open() will take.
  void want(DeviceStation& station, std::span<const KeptEncoding> encodings, BlockReserve& reserve) const;
  /// Lends the call the residuals of its encodings until close(). Null: ask again later, because an active call uses
  /// them which does not precede this one in the same stream, or because elements must move to the host first. Errors:
  /// GOSS_ERR_RESOURCE if memory is short, or the device's error; nothing has changed then.
  Result<std::shared_ptr<const DeviceResiduals>> open(DeviceStation& station, const Beginner& call,
                                                      std::span<const KeptEncoding> encodings);
  /// Ends the use of a tensor's residuals by a call to which open() lent them.
  void close(std::uint64_t tensor);

  /// Whether these elements lie in the reference store. False: they are on their way there, or will be when no call
  /// uses them; ask again. Errors: the device's, and those of ReferenceStore::open().
  Result<bool> moveToHost(const KeptRange& kept);
  /// Whether all elements of the states of `tensor`, or of every tensor (0), lie in the reference store. False, and
  /// errors: as for one range.
  Result<bool> moveToHost(std::uint64_t tensor);

 private:
  /// A copy to the host that is under way.
  struct Return {
    explicit Return(DeviceStation& station) : copy(station.watch) {}
    BlockPool::Lease pinned;
    DeviceJob copy; ///< Also gets `pinned`.
  };
  struct Held {
    std::uint64_t count = 0;
    DeviceStation* station = nullptr;
    std::shared_ptr<BlockPool::Lease> block;
    float* data = nullptr;
    std::unique_ptr<Return> returning; ///< Null: the elements stay on the device.
  };
  using Intervals = std::map<std::uint64_t, Held>; ///< By first element; intervals of a key do not overlap.
  struct Use {
    std::size_t calls = 0;
    void* stream = nullptr;
    std::vector<std::uint32_t> phase_of; ///< DeviceStepPlan::phase_of.
  };

  [[nodiscard]] bool mayBegin(const Beginner& call) const;
  [[nodiscard]] const Held* find(const KeptRange& kept) const;
  [[nodiscard]] bool overlaps(const KeptRange& kept) const;
  /// Appends to `missing` the ranges that `station` encodes and that no device holds. False: another device holds some
  /// of them, or a range with other boundaries.
  bool findMissing(const DeviceStation& station, std::span<const KeptEncoding> encodings,
                   std::vector<KeptRange>& missing) const;
  /// Memory of new residuals.
  struct Room {
    std::size_t bytes = 0;
    std::size_t pinned_bytes = 0; ///< For zeros, and for what the reference store holds.
  };
  [[nodiscard]] Room roomFor(std::span<const KeptRange> missing) const;
  Status makeRoom(DeviceStation& station, BlockReserve& reserve, std::span<const KeptRange> missing,
                  DeviceResiduals& into);
  static Intervals::const_iterator firstTouching(const Intervals& intervals, std::uint64_t first);
  /// Whether the elements have come to pinned memory.
  static Result<bool> advanceReturn(Held& held);
  Result<bool> moveToHost(const ReferenceKey& key, Intervals& intervals, ElementRange range);

  ReferenceStore& references_;
  std::map<ReferenceKey, Intervals> held_;
  std::map<std::uint64_t, Use> uses_; ///< By tensor.
};

} // namespace goss

#endif // GOSS_LIB_EXECUTION_DEVICE_FEEDBACK_H_
