/// The CUDA driver, loaded when it is wanted and not before.
#ifndef GOSS_DEVICES_CUDA_DRIVER_DRIVER_H_
#define GOSS_DEVICES_CUDA_DRIVER_DRIVER_H_

#include "devices/cuda/driver/driver_api.h"
#include "gossamer/status.h"

namespace goss::devices::cuda {

/// The driver's functions, by their names without the suffixes of versions.
struct Driver {
  /// Loads libcuda.so.1 and initialises it; it stays loaded. Thread-safe: the first success is kept. `only_if_used`:
  /// only if this process has loaded it before. Errors: GOSS_ERR_UNSUPPORTED when there is no driver, an old one that
  /// lacks a function, or no device.
  static Result<const Driver*> load(bool only_if_used);

  /// "out of memory (CUDA_ERROR_OUT_OF_MEMORY)"
  [[nodiscard]] std::string textOf(CUresult error) const;

  decltype(&cuInit) init;
  decltype(&cuDeviceGetCount) deviceGetCount;
  decltype(&cuDeviceGet) deviceGet;
  decltype(&cuDeviceGetName) deviceGetName;
  decltype(&cuDeviceGetAttribute) deviceGetAttribute;
  decltype(&cuDeviceGetUuid_v2) deviceGetUuid; ///< May be null, before CUDA 11.4.
  decltype(&cuDevicePrimaryCtxRetain) primaryCtxRetain;
  decltype(&cuDevicePrimaryCtxGetState) primaryCtxGetState;
  decltype(&cuDevicePrimaryCtxRelease_v2) primaryCtxRelease;
  decltype(&cuCtxGetCurrent) ctxGetCurrent;
  decltype(&cuCtxPushCurrent_v2) ctxPushCurrent;
  decltype(&cuCtxPopCurrent_v2) ctxPopCurrent;
  decltype(&cuCtxGetDevice) ctxGetDevice;
  decltype(&cuCtxGetFlags) ctxGetFlags; ///< May be null, as the next one, before CUDA 12.1.
  decltype(&cuCtxSetFlags) ctxSetFlags;
  decltype(&cuGetErrorName) getErrorName;
  decltype(&cuGetErrorString) getErrorString;
  decltype(&cuMemAlloc_v2) memAlloc;
  decltype(&cuMemFree_v2) memFree;
  decltype(&cuMemHostRegister_v2) memHostRegister;
  decltype(&cuMemHostUnregister) memHostUnregister;
  decltype(&cuMemHostGetDevicePointer_v2) memHostGetDevicePointer;
  decltype(&cuPointerGetAttributes) pointerGetAttributes;
  decltype(&cuIpcGetMemHandle) ipcGetMemHandle; ///< May be null, as the next two.
  decltype(&cuIpcOpenMemHandle_v2) ipcOpenMemHandle;
  decltype(&cuIpcCloseMemHandle) ipcCloseMemHandle;
  decltype(&cuMemcpyAsync) memcpyAsync;
  decltype(&cuStreamWriteValue32_v2) streamWriteValue32; ///< May be null.
  decltype(&cuStreamWaitValue32_v2) streamWaitValue32;   ///< May be null.
  decltype(&cuStreamCreate) streamCreate;
  decltype(&cuStreamDestroy_v2) streamDestroy;
  decltype(&cuStreamSynchronize) streamSynchronize;
  decltype(&cuStreamWaitEvent) streamWaitEvent;
  decltype(&cuStreamGetCtx) streamGetCtx;
  decltype(&cuStreamIsCapturing) streamIsCapturing;
  decltype(&cuThreadExchangeStreamCaptureMode) exchangeCaptureMode; ///< May be null.
  decltype(&cuStreamGetCaptureInfo_v2) streamGetCaptureInfo; ///< May be null, as the next three, before CUDA 11.3.
  decltype(&cuUserObjectCreate) userObjectCreate;
  decltype(&cuGraphRetainUserObject) graphRetainUserObject;
  decltype(&cuEventRecordWithFlags) eventRecordWithFlags;
  decltype(&cuEventCreate) eventCreate;
  decltype(&cuEventDestroy_v2) eventDestroy;
  decltype(&cuEventRecord) eventRecord;
  decltype(&cuEventQuery) eventQuery;
};

} // namespace goss::devices::cuda

#endif // GOSS_DEVICES_CUDA_DRIVER_DRIVER_H_
