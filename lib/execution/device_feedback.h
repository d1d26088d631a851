/// What error feedback keeps in the memory of GPUs, where steps encode there.
#ifndef GOSS_LIB_EXECUTION_DEVICE_FEEDBACK_H_
#define GOSS_LIB_EXECUTION_DEVICE_FEEDBACK_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <vector>

#include "devices/devices.h"
#include "execution/edge_plan.h"
#include "state/reference_store.h"

namespace goss {

/// Elements of a state.
struct KeptRange {
  ReferenceKey key;
  ElementRange range;
};

/// An encoding of a call that keeps what it loses.
struct KeptEncoding {
  KeptRange kept;
  std::size_t place = 0;  ///< Index of the fragment * number of steps + index of the step.
  bool on_device = false; ///< The device encodes; else the host does.
};

/// The residuals that steps of one call on the device add and keep.
class DeviceResiduals {
 public:
  /// Residuals of a fragment's steps, null where a step keeps none.
  [[nodiscard]] std::span<float* const> ofFragment(std::uint32_t fragment) const {
    return std::span(at_).subspan(fragment * steps_, steps_);
  }
  /// Enqueues the copies that fill new residuals with zeros, or with values from the host. Call it before all steps.
  Status enqueueStart(DeviceQueue& queue) const;

 private:
  friend class DeviceFeedback;
  std::size_t steps_ = 0;
  std::vector<float*> at_;
  std::vector<std::shared_ptr<BlockPool::Lease>> blocks_; ///< All memory that `at_` points to.
  BlockPool::Lease pinned_;                               ///< kZeroBytes of zeros, and what is brought from the host.
  std::span<std::byte> cleared_;                          ///< Memory that is new.
  std::vector<CopyJob> brought_;
};

/// Residuals of one communicator that lie in device memory. Each element of a state lies here or in the reference
/// store, never in both. It is brought to the device by the first call that encodes it there and stays; it is brought
/// home when something on the host needs it, or a call whose encodings have other boundaries.
///
/// Nothing is brought home while a call uses residuals of its tensor, so that nobody waits for work of a device that is
/// not enqueued yet. Under the engine's lock.
class DeviceFeedback {
 public:
  explicit DeviceFeedback(ReferenceStore& references) : references_(references) {}
  /// Returns when no copy uses its memory.
  ~DeviceFeedback();
  DeviceFeedback(const DeviceFeedback&) = delete;
  DeviceFeedback& operator=(const DeviceFeedback&) = delete;

  /// What lies in the host's memory.
  [[nodiscard]] ReferenceStore& references() const { return references_; }
  [[nodiscard]] bool isEmpty() const { return held_.empty(); }

  /// A call that begins.
  struct Beginner {
    const EdgePlan& plan; ///< Which steps run on the device.
    std::uint64_t tensor = 0;
    void* stream = nullptr; ///< Null: it is a part of no stream.
    std::size_t others = 0; ///< Calls under way that keep what they lose of the tensor.
    std::uint32_t fragments = 1;
  };
  /// Residuals for a call's encodings, until close(). Null: not now, because a call that is under way and not before
  /// this one in the same stream uses them, or elements must be brought home first. Errors: GOSS_ERR_RESOURCE where
  /// memory is short; the device's. Nothing has changed then.
  Result<std::shared_ptr<const DeviceResiduals>> open(DeviceStation& station, const Beginner& call,
                                                      std::span<const KeptEncoding> encodings);
  /// The call has ended.
  void close(std::uint64_t tensor);

  /// Whether these elements lie in the reference store. False: they are brought there as soon as no call uses them; ask
  /// again. Errors: the device's, and as ReferenceStore::open().
  Result<bool> bringHome(const KeptRange& kept);
  /// Whether all that is kept of `tensor`, or of every tensor (0), lies in the store; else as above.
  Result<bool> bringHome(std::uint64_t tensor);

 private:
  /// A copy to the host.
  struct Return {
    BlockPool::Lease pinned;
    std::unique_ptr<DeviceEvent> done;
  };
  struct Held {
    std::uint64_t count = 0;
    DeviceStation* station = nullptr;
    std::shared_ptr<BlockPool::Lease> block;
    float* data = nullptr;
    std::unique_ptr<Return> returning; ///< Null: it stays.
  };
  using Intervals = std::map<std::uint64_t, Held>; ///< By first element; intervals of a key do not overlap.
  struct Use {
    std::size_t calls = 0;
    void* stream = nullptr;
    std::vector<std::uint32_t> phase_of; ///< EdgePlan's.
  };

  [[nodiscard]] bool mayBegin(const Beginner& call) const;
  [[nodiscard]] const Held* find(const KeptRange& kept) const;
  [[nodiscard]] bool overlaps(const KeptRange& kept) const;
  /// Elements of encodings on the device that do not lie there; false: some lie elsewhere, or in another way.
  bool findMissing(const DeviceStation& station, std::span<const KeptEncoding> encodings,
                   std::vector<KeptRange>& missing) const;
  Status makeRoom(DeviceStation& station, std::span<const KeptRange> missing, DeviceResiduals& into);
  static Intervals::const_iterator firstTouching(const Intervals& intervals, std::uint64_t first);
  static Result<bool> advanceReturn(Held& held);
  Result<bool> bringHome(const ReferenceKey& key, Intervals& intervals, ElementRange range);

  ReferenceStore& references_;
  std::map<ReferenceKey, Intervals> held_;
  std::map<std::uint64_t, Use> uses_; ///< By tensor.
};

} // namespace goss

#endif // GOSS_LIB_EXECUTION_DEVICE_FEEDBACK_H_
