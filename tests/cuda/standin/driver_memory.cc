// The driver's functions that make, free and describe memory.
#include <unistd.h>

#include <cstring>

#include "tests/cuda/standin/memory.h"
#include "tests/cuda/standin/settings.h"
#include "tests/cuda/standin/streams.h"

using standin::Kind;
using standin::memory;

namespace {

/// What an IPC handle holds.
using Shared = standin::Memory::Exported;
static_assert(sizeof(Shared) <= sizeof(CUipcMemHandle));

/// Freeing and unregistering wait for the device, as the driver 580 does on an H200 (goss-device-limits).
CUresult release(std::uintptr_t address, Kind kind) {
  if (const CUresult error = standin::enter(); error != CUDA_SUCCESS) return error;
  const auto range = memory().find(address);
  if (!range || range->base != address || range->kind != kind) {
    standin::complain("a call frees memory that is not allocated");
    return CUDA_ERROR_INVALID_VALUE;
  }
  const standin::LockedDriver locked;
  standin::synchronize(range->device);
  return memory().release(address, kind) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult allocate(Kind kind, std::size_t bytes, std::uintptr_t& address, bool exportable = true) {
  if (const CUresult error = standin::enterOutsideCaptures(); error != CUDA_SUCCESS) return error;
  if (bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  address = memory().allocate(kind, bytes, standin::currentDevice(), exportable);
  return address != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

} // namespace

CUresult cuMemAlloc_v2(CUdeviceptr* out, size_t bytes) {
  std::uintptr_t address = 0;
  const CUresult result = allocate(Kind::device, bytes, address);
  if (result == CUDA_SUCCESS) *out = address;
  return result;
}

// Memory of pools; it is there at once, and ordered by no stream.
CUresult cuMemAllocAsync(CUdeviceptr* out, size_t bytes, CUstream /*stream*/) {
  std::uintptr_t address = 0;
  const CUresult result = allocate(Kind::device, bytes, address, false);
  if (result == CUDA_SUCCESS) *out = address;
  return result;
}

CUresult cuMemAllocManaged(CUdeviceptr* out, size_t bytes, unsigned /*flags*/) {
  std::uintptr_t address = 0;
  const CUresult result = allocate(Kind::managed, bytes, address);
  if (result == CUDA_SUCCESS) *out = address;
  return result;
}

CUresult cuMemFree_v2(CUdeviceptr address) {
  if (address == 0) return CUDA_SUCCESS;
  const auto range = memory().find(address);
  return release(address, range && range->kind == Kind::managed ? Kind::managed : Kind::device);
}

CUresult cuMemHostAlloc(void** out, size_t bytes, unsigned /*flags*/) {
  if (standin::pinnedFails()) return CUDA_ERROR_OUT_OF_MEMORY;
  std::uintptr_t address = 0;
  const CUresult result = allocate(Kind::pinned, bytes, address);
  if (result == CUDA_SUCCESS) *out = reinterpret_cast<void*>(address);
  return result;
}

CUresult cuMemFreeHost(void* address) { return release(reinterpret_cast<std::uintptr_t>(address), Kind::pinned); }

CUresult cuMemHostRegister_v2(void* address, size_t bytes, unsigned /*flags*/) {
  if (const CUresult error = standin::enterOutsideCaptures(); error != CUDA_SUCCESS) return error;
  if (address == nullptr || bytes == 0) return CUDA_ERROR_INVALID_VALUE;
  if (standin::pinnedFails()) return CUDA_ERROR_OUT_OF_MEMORY;
  return memory().add(address, bytes, standin::currentDevice()) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemHostUnregister(void* address) {
  return release(reinterpret_cast<std::uintptr_t>(address), Kind::registered);
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr* device, void* address, unsigned /*flags*/) {
  const auto range = memory().find(reinterpret_cast<std::uintptr_t>(address));
  if (!range || range->kind == Kind::device) return CUDA_ERROR_INVALID_VALUE;
  *device = reinterpret_cast<std::uintptr_t>(address);
  return CUDA_SUCCESS;
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr* base, size_t* bytes, CUdeviceptr address) {
  const auto range = memory().find(address);
  if (!range) return CUDA_ERROR_NOT_FOUND;
  if (base != nullptr) *base = range->base;
  if (bytes != nullptr) *bytes = range->bytes;
  return CUDA_SUCCESS;
}

CUresult cuMemGetInfo_v2(size_t* free, size_t* total) {
  *total = standin::settings().memory_bytes;
  *free = *total - memory().usedBytes(standin::currentDevice());
  return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void* value, CUpointer_attribute attribute, CUdeviceptr address) {
  const auto range = memory().find(address);
  if (!range) return CUDA_ERROR_INVALID_VALUE;
  const bool on_host = range->kind != Kind::device;
  switch (attribute) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
      return cuDevicePrimaryCtxRetain(static_cast<CUcontext*>(value), range->device);
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
      *static_cast<unsigned*>(value) =
          range->kind == Kind::pinned || range->kind == Kind::registered ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
      *static_cast<CUdeviceptr*>(value) = address;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
      if (!on_host) return CUDA_ERROR_INVALID_VALUE;
      *static_cast<CUdeviceptr*>(value) = address;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
      *static_cast<unsigned long long*>(value) = range->id;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
      *static_cast<int*>(value) = range->kind == Kind::managed ? 1 : 0;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
      *static_cast<int*>(value) = range->device;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
      *static_cast<CUdeviceptr*>(value) = range->base;
      return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
      *static_cast<size_t*>(value) = range->bytes;
      return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuPointerGetAttributes(unsigned count, CUpointer_attribute* attributes, void** values, CUdeviceptr address) {
  const standin::LockedDriver locked; // Waits for calls that hold the lock.
  standin::countClassified();
  // This function returns zeroes for memory that the driver does not know, unlike the one for a single attribute.
  for (unsigned i = 0; i < count; ++i)
    if (cuPointerGetAttribute(values[i], attributes[i], address) != CUDA_SUCCESS) {
      const bool narrow = attributes[i] == CU_POINTER_ATTRIBUTE_MEMORY_TYPE ||
                          attributes[i] == CU_POINTER_ATTRIBUTE_IS_MANAGED ||
                          attributes[i] == CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL;
      std::memset(values[i], 0, narrow ? sizeof(int) : sizeof(void*));
    }
  return CUDA_SUCCESS;
}

CUresult cuIpcGetMemHandle(CUipcMemHandle* handle, CUdeviceptr address) {
  if (const CUresult error = standin::enter(); error != CUDA_SUCCESS) return error;
  const auto range = memory().find(address);
  if (standin::settings().ipc == 0) return CUDA_ERROR_NOT_SUPPORTED;
  if (!range || range->kind != Kind::device || range->imported || !range->exportable) return CUDA_ERROR_INVALID_VALUE;
  std::memset(handle, 0, sizeof *handle);
  const Shared shared{::getpid(), range->fd, range->id, range->base, range->bytes};
  std::memcpy(handle, &shared, sizeof shared);
  return CUDA_SUCCESS;
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr* out, CUipcMemHandle handle, unsigned /*flags*/) {
  if (const CUresult error = standin::enter(); error != CUDA_SUCCESS) return error;
  Shared shared{};
  std::memcpy(&shared, &handle, sizeof shared);
  if (shared.owner == ::getpid()) return CUDA_ERROR_INVALID_CONTEXT; // a process opens no handle of its own
  if (standin::settings().ipc == 2) return CUDA_ERROR_NOT_PERMITTED;
  standin::countOpened();
  if (memory().isStale(shared)) return CUDA_ERROR_ALREADY_MAPPED;
  const std::uintptr_t address = memory().import(shared, standin::currentDevice());
  if (address == 0) return CUDA_ERROR_INVALID_VALUE;
  *out = address;
  return CUDA_SUCCESS;
}

CUresult cuIpcCloseMemHandle(CUdeviceptr address) {
  if (const CUresult error = standin::enter(); error != CUDA_SUCCESS) return error;
  const standin::LockedDriver locked;
  standin::synchronize(standin::currentDevice());
  return memory().close(address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
