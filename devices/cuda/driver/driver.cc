#include "devices/cuda/driver/driver.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <mutex>
#include <string>

namespace goss::devices::cuda {

namespace {

/// Looks up one function after the other; remembers the first that is missing.
class Finder {
 public:
  explicit Finder(void* library) : library_(library) {}
  template <typename F>
  void operator()(F& function, const char* name) {
    mayLack(function, name);
    if (function == nullptr && missing_ == nullptr) missing_ = name;
  }
  /// Null where the driver does not have it.
  template <typename F>
  void mayLack(F& function, const char* name) {
    function = reinterpret_cast<F>(::dlsym(library_, name));
  }
  [[nodiscard]] const char* missing() const { return missing_; }

 private:
  void* library_;
  const char* missing_ = nullptr;
};

void findContexts(Finder& find, Driver& driver) {
  find(driver.init, "cuInit");
  find(driver.deviceGetCount, "cuDeviceGetCount");
  find(driver.deviceGet, "cuDeviceGet");
  find(driver.deviceGetName, "cuDeviceGetName");
  find(driver.deviceGetAttribute, "cuDeviceGetAttribute");
  find.mayLack(driver.deviceGetUuid, "cuDeviceGetUuid_v2");
  find(driver.primaryCtxRetain, "cuDevicePrimaryCtxRetain");
  find(driver.primaryCtxGetState, "cuDevicePrimaryCtxGetState");
  find(driver.primaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
  find(driver.ctxGetCurrent, "cuCtxGetCurrent");
  find(driver.ctxPushCurrent, "cuCtxPushCurrent_v2");
  find(driver.ctxPopCurrent, "cuCtxPopCurrent_v2");
  find(driver.ctxGetDevice, "cuCtxGetDevice");
  find.mayLack(driver.ctxGetFlags, "cuCtxGetFlags");
  find.mayLack(driver.ctxSetFlags, "cuCtxSetFlags");
  find(driver.getErrorName, "cuGetErrorName");
  find(driver.getErrorString, "cuGetErrorString");
  find(driver.memAlloc, "cuMemAlloc_v2");
  find(driver.memFree, "cuMemFree_v2");
  find(driver.memHostRegister, "cuMemHostRegister_v2");
  find(driver.memHostUnregister, "cuMemHostUnregister");
  find(driver.memHostGetDevicePointer, "cuMemHostGetDevicePointer_v2");
  find(driver.pointerGetAttributes, "cuPointerGetAttributes");
  find.mayLack(driver.ipcGetMemHandle, "cuIpcGetMemHandle");
  find.mayLack(driver.ipcOpenMemHandle, "cuIpcOpenMemHandle_v2");
  find.mayLack(driver.ipcCloseMemHandle, "cuIpcCloseMemHandle");
}

void findStreams(Finder& find, Driver& driver) {
  find(driver.memcpyAsync, "cuMemcpyAsync");
  find.mayLack(driver.streamWriteValue32, "cuStreamWriteValue32_v2");
  find.mayLack(driver.streamWaitValue32, "cuStreamWaitValue32_v2");
  find(driver.streamCreate, "cuStreamCreate");
  find(driver.streamDestroy, "cuStreamDestroy_v2");
  find(driver.streamSynchronize, "cuStreamSynchronize");
  find(driver.streamWaitEvent, "cuStreamWaitEvent");
  find(driver.streamGetCtx, "cuStreamGetCtx");
  find(driver.streamIsCapturing, "cuStreamIsCapturing");
  find.mayLack(driver.exchangeCaptureMode, "cuThreadExchangeStreamCaptureMode");
  find.mayLack(driver.streamGetCaptureInfo, "cuStreamGetCaptureInfo_v2");
  find.mayLack(driver.userObjectCreate, "cuUserObjectCreate");
  find.mayLack(driver.graphRetainUserObject, "cuGraphRetainUserObject");
  find.mayLack(driver.eventRecordWithFlags, "cuEventRecordWithFlags");
  find(driver.eventCreate, "cuEventCreate");
  find(driver.eventDestroy, "cuEventDestroy_v2");
  find(driver.eventRecord, "cuEventRecord");
  find(driver.eventQuery, "cuEventQuery");
}

Status unsupported(std::string text) { return Status::error(GOSS_ERR_UNSUPPORTED, std::move(text)); }

Status open(bool only_if_used, Driver& driver) {
  void* library = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NODELETE | (only_if_used ? RTLD_NOLOAD : 0));
  if (library == nullptr)
    return unsupported(only_if_used ? "this process does not use CUDA: it has not loaded libcuda.so.1"
                                    : fmt::format("there is no CUDA driver here: {}", ::dlerror()));
  Finder find(library);
  findContexts(find, driver);
  findStreams(find, driver);
  if (find.missing() != nullptr)
    return unsupported(fmt::format("the CUDA driver has no {}: install one of CUDA 12 or later", find.missing()));
  if (const CUresult error = driver.init(0); error != CUDA_SUCCESS)
    return unsupported(fmt::format("the CUDA driver does not start: {}", driver.textOf(error)));
  return {};
}

} // namespace

Result<const Driver*> Driver::load(bool only_if_used) {
  static std::mutex mutex;
  static Driver driver{};
  static bool loaded = false;
  const std::lock_guard lock(mutex);
  if (!loaded) {
    if (Status status = open(only_if_used, driver); !status.isOk()) return status;
    loaded = true;
  }
  return &driver;
}

std::string Driver::textOf(CUresult error) const {
  const char* name = nullptr;
  const char* text = nullptr;
  if (getErrorName(error, &name) != CUDA_SUCCESS || name == nullptr) name = "an unknown error";
  if (getErrorString(error, &text) != CUDA_SUCCESS || text == nullptr) text = "an unknown error";
  return fmt::format("{} ({})", text, name);
}

} // namespace goss::devices::cuda
