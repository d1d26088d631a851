// The driver's functions on devices and contexts, and those that find functions and errors.
#include <dlfcn.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "tests/cuda/standin/memory.h"
#include "tests/cuda/standin/settings.h"
#include "tests/cuda/standin/streams.h"

namespace {

constexpr std::uintptr_t kContexts = 0x1000; // a context's handle is a number that no pointer has

bool exists(CUdevice device) { return device >= 0 && device < standin::settings().devices; }
int numberOf(CUcontext context) { return static_cast<int>(reinterpret_cast<std::uintptr_t>(context) - kContexts); }
bool exists(CUcontext context) {
  const int number = numberOf(context);
  return number >= 0 && number < 2 * standin::kOthers && exists(number % standin::kOthers);
}

// Each thread has a stack of contexts; the top is its own.
thread_local int stack[16];
thread_local int depth = 0;

} // namespace

CUcontext standin::handleOf(int context) {
  return reinterpret_cast<CUcontext>(kContexts + static_cast<unsigned>(context));
}

CUresult cuInit(unsigned /*flags*/) { return standin::settings().devices > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE; }
CUresult cuDriverGetVersion(int* version) {
  *version = 13020;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetCount(int* count) {
  *count = standin::settings().devices;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  if (!exists(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int length, CUdevice device) {
  std::snprintf(name, static_cast<std::size_t>(length), "Stand-in device %d", device);
  return exists(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (!exists(device)) return CUDA_ERROR_INVALID_DEVICE;
  *value = 0;
  switch (attribute) {
    case CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
      *value = 1024;
      break;
    case CU_DEVICE_ATTRIBUTE_WARP_SIZE:
      *value = 32;
      break;
    case CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT:
      *value = 1;
      break;
    case CU_DEVICE_ATTRIBUTE_KERNEL_EXEC_TIMEOUT:
      *value = standin::settings().kernels == 2 ? 1 : 0;
      break;
    case CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT:
      *value = 2;
      break;
    case CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING:
      *value = 1;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR:
      *value = 9;
      break;
    case CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR:
      break;
    case CU_DEVICE_ATTRIBUTE_CAN_USE_64_BIT_STREAM_MEM_OPS:
      *value = standin::settings().memops == 1 ? 1 : 0;
      break;
  }
  return CUDA_SUCCESS;
}
CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  if (!exists(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::memset(uuid, 0, sizeof *uuid);
  std::snprintf(uuid->bytes, sizeof uuid->bytes, "stand-in %d", device);
  return CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem_v2(size_t* bytes, CUdevice device) {
  *bytes = standin::settings().memory_bytes;
  return exists(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
  if (!exists(device)) return CUDA_ERROR_INVALID_DEVICE;
  *context = standin::handleOf(device);
  return CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease_v2(CUdevice device) {
  return exists(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
  *flags = 0;
  *active = 1;
  return exists(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}
CUresult cuCtxGetCurrent(CUcontext* context) {
  *context = standin::handleOf(standin::currentContext());
  return CUDA_SUCCESS;
}
CUresult cuCtxCreate_v2(CUcontext* context, unsigned /*flags*/, CUdevice device) {
  if (!exists(device)) return CUDA_ERROR_INVALID_DEVICE;
  *context = standin::handleOf(standin::kOthers + device);
  return cuCtxPushCurrent_v2(*context);
}
CUresult cuCtxSetCurrent(CUcontext context) {
  if (!exists(context)) return CUDA_ERROR_INVALID_CONTEXT;
  standin::setCurrentContext(numberOf(context));
  return CUDA_SUCCESS;
}
CUresult cuCtxPushCurrent_v2(CUcontext context) {
  if (!exists(context) || depth == 16) return CUDA_ERROR_INVALID_CONTEXT;
  stack[depth++] = standin::currentContext();
  return cuCtxSetCurrent(context);
}
CUresult cuCtxPopCurrent_v2(CUcontext* context) {
  if (depth == 0) return CUDA_ERROR_INVALID_CONTEXT;
  if (context != nullptr) *context = standin::handleOf(standin::currentContext());
  standin::setCurrentContext(stack[--depth]);
  return CUDA_SUCCESS;
}
CUresult cuCtxGetFlags(unsigned* flags) {
  *flags = standin::copiesSynchronize() ? CU_CTX_SYNC_MEMOPS : 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetFlags(unsigned flags) {
  standin::setCopiesSynchronize((flags & CU_CTX_SYNC_MEMOPS) != 0);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice* device) {
  *device = standin::currentDevice();
  return CUDA_SUCCESS;
}
CUresult cuCtxSynchronize(void) {
  if (const CUresult error = standin::enter(); error != CUDA_SUCCESS) return error;
  standin::synchronize(standin::currentDevice());
  return static_cast<CUresult>(standin::healthOf(standin::currentDevice())->error.load());
}

CUresult cuGetErrorName(CUresult error, const char** name) {
  thread_local std::string text;
  text = "CUDA_ERROR_" + std::to_string(error);
  *name = error == CUDA_SUCCESS ? "CUDA_SUCCESS" : text.c_str();
  return CUDA_SUCCESS;
}
CUresult cuGetErrorString(CUresult error, const char** text) {
  thread_local std::string made;
  made = "error " + std::to_string(error) + " of the stand-in";
  *text = error == CUDA_SUCCESS ? "no error" : made.c_str();
  return CUDA_SUCCESS;
}

CUresult cuGetProcAddress_v2(const char* name, void** function, int /*version*/, uint64_t /*flags*/, int* result) {
  static void* self = ::dlopen("libcuda.so.1", RTLD_NOW | RTLD_NOLOAD);
  *function = nullptr;
  for (const char* suffix : {"_v2", ""})
    if (*function == nullptr) *function = ::dlsym(self, (std::string(name) + suffix).c_str());
  if (result != nullptr) *result = *function != nullptr ? 0 : 1; // 1: not found
  return *function != nullptr ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

/// Not of the driver: how many complaints the stand-in has made in this process.
extern "C" uint64_t cudaStandinComplaints() { return standin::counts().complaints; }
