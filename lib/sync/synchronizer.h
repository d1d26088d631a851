/// Implements every synchronization method: runs a composition over registered tensors.
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

#include "sync/channel.h"
#include "sync/composition.h"
#include "sync/device_mirror.h"
#include "sync/fragment.h"
#include "sync/gradient_buckets.h"
#include "sync/local_steps.h"
#include "sync/step_clock.h"
#include "sync/sync_calls.h"
#include "sync/timetable.h"
#include "sync/whole_model.h"

namespace goss::sync {

/// Runs one composition.
class Synchronizer : public SyncCalls {
 public:
  /// `longest`: how long the copies of a device may take.
  static Result<std::unique_ptr<Synchronizer>> create(goss_comm_t comm, std::string_view spec,
                                                      const MakeCodec& make_codec, std::chrono::milliseconds longest);

  Result<std::int32_t> add(Tensor tensor) override;
  Status start() override;
  Status setLr(double lr) override;
  void setLoss(std::function<double()> loss) override;
  Result<bool> computes() override;
  Status tellStepTime(double seconds) override;
  Status gradientReady(std::int32_t index) override;
  Status gradients() override;
  Status step() override;
  Status finish() override;
  Result<std::string> exportState() override;
  Status importState(std::string_view bytes) override;
  Result<bool> importAll(std::span<const std::string_view> states) override;
  Status abort(const char* reason) override;

  [[nodiscard]] goss_sync_info info() const override;
  [[nodiscard]] goss_sync_counters counters() const override;

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
  /// fetch() copies those vectors that lie on devices to the host before a method reads them; store() copies them back
  /// after a method has written them.
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
  /// Collective, in start(): takes rank 0's parameters, or goes on from the states that the ranks imported.
  Status begin();
  Status resume();
  [[nodiscard]] std::uint64_t wireBytesSent() const;
  bool adopt(const OuterState& saved);
  [[nodiscard]] Result<std::string> feedbackOf(const OuterState& saved) const;
  [[nodiscard]] bool exchangesGradients() const { return gradient_channel_ != nullptr; }

  Composition composition_;
  std::string spec_;        // canonical
  Compression compression_; // used with GradientRule::signs
  DeviceMirror mirror_;
  std::vector<Tensor> tensors_;              // with the vectors on which methods work
  std::vector<std::span<float>> parameters_; // by tensor
  std::vector<std::span<float>> gradients_;  // by tensor
  std::optional<GradientBuckets> buckets_;
  std::vector<Fragment> fragments_;
  Timetable timetable_;
  double lr_ = 1;
  std::function<Result<double>()> loss_;
  std::optional<LocalSteps> local_steps_; // used with steps=dynamic
  StepClock clock_;
  std::uint64_t setup_bytes_ = 0; // bytes sent apart from the exchanges of steps
  bool is_started_ = false;
  bool is_imported_ = false;
  Status failure_;
  std::optional<WholeModel> whole_;    // with a rule
  std::unique_ptr<GossipPeers> peers_; // with a rule
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
