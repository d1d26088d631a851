/// What the parts of one GPU share: the driver, the device's primary context, and words for errors.
#ifndef GOSS_DEVICES_CUDA_CONTEXT_H_
#define GOSS_DEVICES_CUDA_CONTEXT_H_

#include <string>

#include "devices/cuda/driver/driver.h"
#include "gossamer/status.h"

/// Named, not included: bindings/nccl, which uses streams alone, may not see compressors.
namespace goss::compressors::cuda {
struct GateKernels;
} // namespace goss::compressors::cuda

namespace goss::devices::cuda {

using compressors::cuda::GateKernels;

/// Immutable.
class Context {
 public:
  Context(const Driver& driver, CUcontext handle, std::string name)
      : driver_(driver), handle_(handle), name_(std::move(name)) {}

  [[nodiscard]] const Driver& driver() const { return driver_; }
  [[nodiscard]] CUcontext handle() const { return handle_; }
  /// The device's name.
  [[nodiscard]] const std::string& name() const { return name_; }
  /// `error` as a status: success, or GOSS_ERR_DEVICE that names the device and `call`.
  [[nodiscard]] Status statusOf(CUresult error, const char* call) const;
  /// The status of a launch by the kernels' library: what CUDA refused there is the device's failure, and names it.
  [[nodiscard]] Status ofKernel(Status status) const;

 private:
  const Driver& driver_;
  const CUcontext handle_;
  const std::string name_;
};

/// Makes the context current in the calling thread as long as the object lives, and sets the thread's capture mode to
/// relaxed. In the default mode, calls that a capture does not allow, such as cuEventQuery, fail while another thread
/// captures a stream in global mode, and break that capture. Relaxed mode is safe, because the library makes no such
/// calls on a captured stream.
class InContext {
 public:
  explicit InContext(const Context& context) : driver_(context.driver()) {
    exchangeCaptureMode();
    error_ = driver_.ctxPushCurrent(context.handle());
  }
  InContext(const InContext&) = delete;
  InContext& operator=(const InContext&) = delete;
  ~InContext() {
    if (error_ == CUDA_SUCCESS) driver_.ctxPopCurrent(nullptr);
    exchangeCaptureMode();
  }

 private:
  void exchangeCaptureMode() {
    if (driver_.exchangeCaptureMode != nullptr) driver_.exchangeCaptureMode(&other_mode_);
  }

  const Driver& driver_;
  CUstreamCaptureMode other_mode_ = CU_STREAM_CAPTURE_MODE_RELAXED; ///< The one that is not the thread's now.
  CUresult error_;
};

} // namespace goss::devices::cuda

#endif // GOSS_DEVICES_CUDA_CONTEXT_H_
