/// The calls of a goss_sync_t.
#ifndef GOSS_LIB_SYNC_SYNC_CALLS_H_
#define GOSS_LIB_SYNC_SYNC_CALLS_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

#include "gossamer/codec.h"
#include "gossamer/device.h"
#include "gossamer/status.h"
#include "gossamer/sync.h"

namespace goss::sync {

/// A tensor as registered.
struct Tensor {
  std::string name;
  std::span<float> parameter;
  std::span<float> gradient; ///< Empty: none.
  std::int32_t layer = -1;
  Device* parameter_device = nullptr; ///< On which the parameter lies; null: host memory. Outlives the synchronizer.
  Device* gradient_device = nullptr;
};

/// The codec of a spec; synchronizers see codecs through their seam alone.
using MakeCodec = std::function<Result<Compression>(std::string_view spec)>;

/// Call by call as include/gossamer/sync.h describes. One thread, except abort().
class SyncCalls {
 public:
  virtual ~SyncCalls() = default;

  virtual Result<std::int32_t> add(Tensor tensor) = 0;
  virtual Status start() = 0;
  virtual Status setLr(double lr) = 0;
  /// `loss` evaluates the caller's loss at the parameters as they lie in the tensors.
  virtual void setLoss(std::function<double()> loss) = 0;
  virtual Result<bool> computes() = 0;
  virtual Status tellStepTime(double seconds) = 0;
  virtual Status gradientReady(std::int32_t index) = 0;
  virtual Status gradients() = 0;
  virtual Status step() = 0;
  virtual Status finish() = 0;
  virtual Result<std::string> exportState() = 0;
  virtual Status importState(std::string_view bytes) = 0;
  /// Returns true when state of single ranks was dropped.
  virtual Result<bool> importAll(std::span<const std::string_view> states) = 0;
  virtual Status abort(const char* reason) = 0;

  [[nodiscard]] virtual goss_sync_info info() const = 0;
  [[nodiscard]] virtual goss_sync_counters counters() const = 0;
  /// What goss_sync_trials() gives.
  [[nodiscard]] virtual std::string trials() const { return "{}"; }
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_SYNC_CALLS_H_
