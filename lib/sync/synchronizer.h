/// The one machine behind every synchronization method: runs a composition over registered tensors.
#ifndef GOSS_LIB_SYNC_SYNCHRONIZER_H_
#define GOSS_LIB_SYNC_SYNCHRONIZER_H_

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gossamer/sync.h"
#include "sync/channel.h"
#include "sync/composition.h"
#include "sync/device_mirror.h"
#include "sync/fragment.h"
#include "sync/gradient_buckets.h"
#include "sync/local_steps.h"
#include "sync/step_clock.h"
#include "sync/timetable.h"
#include "sync/whole_model.h"

namespace goss::sync {

/// A tensor as registered; once it is added, its vectors are those on which methods work.
struct Tensor {
  std::string name;
  std::span<float> parameter;
  std::span<float> gradient; ///< Empty: none.
  std::int32_t layer = -1;
  Device* parameter_device = nullptr; ///< On which the parameter lies; null: host memory. Outlives the synchronizer.
  Device* gradient_device = nullptr;
};

/// Implements goss_sync_t call by call, as include/gossamer/sync.h describes. One thread, except abort().
class Synchronizer {
 public:
  /// The codec of a spec; the synchronizer sees codecs through their seam alone.
  using MakeCodec = std::function<Result<Compression>(std::string_view spec)>;
  /// `longest`: how long the copies of a device may take.
  static Result<std::unique_ptr<Synchronizer>> create(goss_comm_t comm, std::string_view spec,
                                                      const MakeCodec& make_codec, std::chrono::milliseconds longest);

  Result<std::int32_t> add(Tensor tensor);
  Status start();
  Status setLr(double lr);
  Result<bool> computes();
  Status tellStepTime(double seconds);
  Status gradientReady(std::int32_t index);
  Status gradients();
  Status step();
  Status finish();
  Result<std::string> exportState();
  Status importState(std::string_view bytes);
  /// Returns true when state of single ranks was dropped.
  Result<bool> importAll(std::span<const std::string_view> states);
  Status abort(const char* reason);

  [[nodiscard]] goss_sync_info info() const;
  [[nodiscard]] goss_sync_counters counters() const;

 private:
  Synchronizer(Composition composition, std::string spec, std::chrono::milliseconds longest);
  Status connect(goss_comm_t comm);
  Status connectRule();
  void makeBuckets();
  void layOut();
  Status checkRunning(const char* call) const;
  /// Remembers the first failure, which every later call returns.
  Status noted(Status status);
  /// As noted(); a rule or a device can fail on one rank alone, and then the others must not wait for it.
  Status notedAlone(Status status);
  /// Brings what lies on devices of these vectors to the host, before a method reads them, and back, behind one that
  /// has written them.
  using Vectors = std::span<const std::span<float>>;
  Status fetch(Vectors vectors) { return notedOfDevice(mirror_.fetch(vectors)); }
  Status store(Vectors vectors) { return notedOfDevice(mirror_.store(vectors)); }
  Status notedOfDevice(const Status& status);
  Status stepWhole();
  Status stepFragments();
  Status stepFragment(std::uint64_t number);
  Status checkComputes(const char* call) const;
  Status checkImports(const char* call) const;
  Status planPeriod();
  Status shareParameters();
  [[nodiscard]] std::uint64_t wireBytesSent() const;
  Status readShard(std::string_view bytes, OuterState& saved, Timetable::State& at) const;
  bool adopt(const OuterState& saved);
  [[nodiscard]] Result<std::string> feedbackOf(const OuterState& saved) const;
  [[nodiscard]] std::uint64_t layoutHash() const;
  [[nodiscard]] bool exchangesGradients() const { return gradient_channel_ != nullptr; }

  Composition composition_;
  std::string spec_;        // canonical
  Compression compression_; // used with GradientRule::signs
  DeviceMirror mirror_;
  std::vector<Tensor> tensors_;
  std::vector<std::span<float>> parameters_; // by tensor
  std::vector<std::span<float>> gradients_;  // by tensor
  std::optional<GradientBuckets> buckets_;
  std::vector<Fragment> fragments_;
  Timetable timetable_;
  double lr_ = 1;
  std::optional<LocalSteps> local_steps_; // used with steps=dynamic
  StepClock clock_;
  std::uint64_t setup_bytes_ = 0; // bytes sent apart from the exchanges of steps
  bool is_started_ = false;
  bool is_imported_ = false;
  Status failure_;
  std::optional<WholeModel> whole_; // with a rule
  std::unique_ptr<Peers> peers_;    // with a rule
  // Declared last, to be destroyed first: that ends the lending of what is in flight, and of what peers_ shares.
  std::unique_ptr<Channel> all_;
  std::unique_ptr<Channel> island_;      // with islands: the ranks of this rank's island
  std::unique_ptr<Channel> across_;      // with islands: the ranks at this rank's position in each island
  Channel* gradient_channel_ = nullptr;  // null: gradients stay local
  Channel* parameter_channel_ = nullptr; // null: parameters are never exchanged
  Channel* compressed_ = nullptr;        // the one of the channels that has the codec
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_SYNCHRONIZER_H_
