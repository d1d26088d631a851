/// The synchronizer `auto`: runs others by turns, and stays with the fastest.
#ifndef GOSS_LIB_SYNC_AUTOTUNE_AUTO_SYNCHRONIZER_H_
#define GOSS_LIB_SYNC_AUTOTUNE_AUTO_SYNCHRONIZER_H_

#include <chrono>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sync/autotune/tuner.h"
#include "sync/channel.h"
#include "sync/device_mirror.h"
#include "sync/sync_calls.h"

namespace goss::sync {

/// Collective: the synchronizer of a spec, `auto` or another. `longest`: how long the copies of a device may take.
Result<std::unique_ptr<SyncCalls>> createSynchronizer(goss_comm_t comm, std::string_view spec,
                                                      const MakeCodec& make_codec, std::chrono::milliseconds longest);

/// Between two trials the parameters become equal on all ranks. One thread, except abort().
class AutoSynchronizer : public SyncCalls {
 public:
  static Result<std::unique_ptr<SyncCalls>> create(goss_comm_t comm, const Tuning& tuning, std::string spec,
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
  [[nodiscard]] std::string trials() const override { return tuner_.describe(); }

 private:
  using Clock = std::chrono::steady_clock;
  using Vectors = std::vector<std::span<float>>;

  AutoSynchronizer(const Tuning& tuning, std::string spec, MakeCodec make_codec, std::chrono::milliseconds longest);
  Status checkRunning(const char* call) const;
  /// Collective: makes the synchronizer that the tuner wants, with the tensors; states: those to import.
  Result<bool> install(std::span<const std::string_view> states, bool is_own);
  /// Collective: checks that all ranks go on from the same step and settings.
  Status checkStates();
  Status findLevels();
  Status measure();
  Status change();
  Status noted(Status status);
  [[nodiscard]] Result<std::string_view> readState(std::string_view bytes, Tuner& tuner) const;

  Tuning tuning_;
  std::string spec_; // canonical
  MakeCodec make_codec_;
  std::chrono::milliseconds longest_;
  Tuner tuner_;
  DeviceMirror mirror_;
  std::vector<Tensor> tensors_; // with the vectors on which methods work
  Vectors parameters_, gradients_;
  std::vector<bool> fetched_; // by tensor: the step's gradient is here, and perhaps in flight
  double lr_ = 1;
  std::optional<double> told_;
  Clock::time_point since_;
  bool is_started_ = false;
  std::vector<std::string> imported_; // states of the inner synchronizers, until start()
  bool imports_own_ = false;
  Status failure_;
  goss_sync_counters retired_{};     // of synchronizers that have run
  std::unique_ptr<Channel> channel_; // from which inner_ is made: the caller's order of collectives is not used
  // inner_ changes, and other threads read it in abort(), under the mutex.
  std::mutex inner_mutex_;
  std::optional<std::string> aborted_; // why
  std::unique_ptr<SyncCalls> inner_;   // declared last, to be destroyed first
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_AUTOTUNE_AUTO_SYNCHRONIZER_H_
