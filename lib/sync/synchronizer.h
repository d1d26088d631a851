/// The one machine behind every synchronization method: runs a composition over registered tensors.
#ifndef GOSS_LIB_SYNC_SYNCHRONIZER_H_
#define GOSS_LIB_SYNC_SYNCHRONIZER_H_

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
#include "sync/fragment.h"
#include "sync/gradient_buckets.h"
#include "sync/local_steps.h"
#include "sync/step_clock.h"
#include "sync/timetable.h"
#include "sync/whole_model.h"

namespace goss::sync {

/// A tensor as registered.
struct Tensor {
  std::string name;
  std::span<float> parameter;
  std::span<float> gradient; ///< Empty: none.
  std::int32_t layer = -1;
};

/// Implements goss_sync_t call by call, as include/gossamer/sync.h describes. One thread, except abort().
class Synchronizer {
 public:
  /// The codec of a spec; the synchronizer sees codecs through their seam alone.
  using MakeCodec = std::function<Result<Compression>(std::string_view spec)>;
  static Result<std::unique_ptr<Synchronizer>> create(goss_comm_t comm, std::string_view spec,
                                                      const MakeCodec& make_codec);

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
  Synchronizer(Composition composition, std::string spec);
  Status connect(goss_comm_t comm);
  Status connectRule();
  void makeBuckets();
  void layOut();
  Status checkRunning(const char* call) const;
  /// Remembers the first failure, which every later call returns.
  Status noted(Status status);
  /// As noted(); a rule can fail on one rank alone, and then the others must not wait for it.
  Status notedOfRule(Status status);
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
  std::vector<Tensor> tensors_;
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
  // Declared last, to be destroyed first: that ends the lending of what is in flight.
  std::unique_ptr<Channel> all_;
  std::unique_ptr<Channel> island_;      // with islands: the ranks of this rank's island
  std::unique_ptr<Channel> across_;      // with islands: the ranks at this rank's position in each island
  std::unique_ptr<Peers> peers_;         // with a rule
  Channel* gradient_channel_ = nullptr;  // null: gradients stay local
  Channel* parameter_channel_ = nullptr; // null: parameters are never exchanged
  Channel* compressed_ = nullptr;        // the one of the channels that has the codec
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_SYNCHRONIZER_H_
