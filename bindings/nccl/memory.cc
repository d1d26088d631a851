// Memory, registrations, windows and parameters.
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "bindings/nccl/communicator.h"
#include "bindings/nccl/errors.h"

using goss::nccl::find;
using goss::nccl::refuse;

/// A registered buffer. Registration has no effect on calls, because Gossamer stages all memory alike.
struct ncclWindow_vidmem {
  void* memory;
  std::size_t size;
};

/// The name of a variable.
struct ncclParamHandle {
  const char* key;
};

namespace {

struct Blocks {
  std::mutex mutex;
  std::map<void*, std::unique_ptr<goss::DeviceBlock>> all;
};

/// Threads of the program may still call while static objects are destroyed.
Blocks& blocks() {
  static Blocks& only = *new Blocks;
  return only;
}

std::array parameters{ncclParamHandle{"GOSS_NCCL_CODEC"}, ncclParamHandle{"GOSS_NCCL_ALGORITHM"},
                      ncclParamHandle{"GOSS_NCCL_REPORT"}, ncclParamHandle{"GOSS_NCCL_VERSION"}};

const char* valueOf(const char* key) {
  const char* value = std::getenv(key);
  return value == nullptr ? "" : value;
}

template <typename T>
ncclResult_t numberOf(ncclParamHandle_t handle, T* out) {
  if (handle == nullptr || out == nullptr) return refuse(ncclInvalidArgument, "ncclParamGet: an argument is NULL");
  char* end = nullptr;
  const char* text = valueOf(handle->key);
  const long long value = std::strtoll(text, &end, 10);
  if (*text != '\0' && *end != '\0')
    return refuse(ncclInvalidArgument, fmt::format("ncclParamGet: {} is \"{}\", no number", handle->key, text));
  *out = static_cast<T>(value);
  return ncclSuccess;
}

} // namespace

ncclResult_t ncclMemAlloc(void** memory, size_t size) {
  if (memory == nullptr) return refuse(ncclInvalidArgument, "ncclMemAlloc: memory is NULL");
  *memory = nullptr;
  if (size == 0) return ncclSuccess;
  auto provider = goss::nccl::devices();
  if (!provider.isOk()) return goss::nccl::report(provider.status());
  auto device = provider.value()->current();
  if (!device.isOk()) return goss::nccl::report(device.status());
  auto block = device.value()->allocate(goss::MemoryKind::device, size);
  if (!block.isOk()) return goss::nccl::report(block.status());
  *memory = block.value()->data();
  const std::lock_guard lock(blocks().mutex);
  blocks().all[*memory] = block.take();
  return ncclSuccess;
}

ncclResult_t ncclMemFree(void* memory) {
  if (memory == nullptr) return ncclSuccess;
  std::unique_ptr<goss::DeviceBlock> block;
  const std::lock_guard lock(blocks().mutex);
  const auto found = blocks().all.find(memory);
  if (found == blocks().all.end())
    return refuse(ncclInvalidArgument, "ncclMemFree: ncclMemAlloc did not allocate this memory");
  block = std::move(found->second);
  blocks().all.erase(found);
  return ncclSuccess;
}

ncclResult_t ncclCommRegister(ncclComm_t handle, void* /*memory*/, size_t /*size*/, void** registration) {
  if (find(handle, "ncclCommRegister") == nullptr) return ncclInvalidArgument;
  if (registration != nullptr) *registration = nullptr; // as NCCL does where registration brings nothing
  return ncclSuccess;
}

ncclResult_t ncclCommDeregister(ncclComm_t handle, void* /*registration*/) {
  return find(handle, "ncclCommDeregister") == nullptr ? ncclInvalidArgument : ncclSuccess;
}

ncclResult_t ncclCommWindowRegister(ncclComm_t handle, void* memory, size_t size, ncclWindow_t* window, int /*flags*/) {
  if (find(handle, "ncclCommWindowRegister") == nullptr || window == nullptr) return ncclInvalidArgument;
  *window = new ncclWindow_vidmem{memory, size};
  return ncclSuccess;
}

ncclResult_t ncclCommWindowDeregister(ncclComm_t handle, ncclWindow_t window) {
  if (find(handle, "ncclCommWindowDeregister") == nullptr) return ncclInvalidArgument;
  delete window;
  return ncclSuccess;
}

ncclResult_t ncclWinGetUserPtr(ncclComm_t handle, ncclWindow_t window, void** memory) {
  if (find(handle, "ncclWinGetUserPtr") == nullptr || window == nullptr || memory == nullptr)
    return ncclInvalidArgument;
  *memory = window->memory;
  return ncclSuccess;
}

ncclResult_t ncclParamBind(ncclParamHandle_t* handle, const char* key) {
  for (ncclParamHandle& parameter : parameters)
    if (key != nullptr && handle != nullptr && std::strcmp(parameter.key, key) == 0) {
      *handle = &parameter;
      return ncclSuccess;
    }
  return refuse(ncclInvalidArgument,
                fmt::format("ncclParamBind: Gossamer has no parameter \"{}\"", key == nullptr ? "" : key));
}

ncclResult_t ncclParamGetI8(ncclParamHandle_t handle, int8_t* value) { return numberOf(handle, value); }
ncclResult_t ncclParamGetI16(ncclParamHandle_t handle, int16_t* value) { return numberOf(handle, value); }
ncclResult_t ncclParamGetI32(ncclParamHandle_t handle, int32_t* value) { return numberOf(handle, value); }
ncclResult_t ncclParamGetI64(ncclParamHandle_t handle, int64_t* value) { return numberOf(handle, value); }
ncclResult_t ncclParamGetU8(ncclParamHandle_t handle, uint8_t* value) { return numberOf(handle, value); }
ncclResult_t ncclParamGetU16(ncclParamHandle_t handle, uint16_t* value) { return numberOf(handle, value); }
ncclResult_t ncclParamGetU32(ncclParamHandle_t handle, uint32_t* value) { return numberOf(handle, value); }
ncclResult_t ncclParamGetU64(ncclParamHandle_t handle, uint64_t* value) { return numberOf(handle, value); }

ncclResult_t ncclParamGetStr(ncclParamHandle_t handle, const char** value) {
  if (handle == nullptr || value == nullptr) return refuse(ncclInvalidArgument, "ncclParamGetStr: an argument is NULL");
  *value = valueOf(handle->key);
  return ncclSuccess;
}

ncclResult_t ncclParamGet(ncclParamHandle_t handle, void* value, int room, int* length) {
  if (handle == nullptr || value == nullptr || length == nullptr)
    return refuse(ncclInvalidArgument, "ncclParamGet: an argument is NULL");
  const std::string text = valueOf(handle->key);
  if (static_cast<int>(text.size()) > room) return refuse(ncclInvalidArgument, "ncclParamGet: the buffer is too small");
  std::memcpy(value, text.data(), text.size());
  *length = static_cast<int>(text.size());
  return ncclSuccess;
}

ncclResult_t ncclParamGetParameter(const char* key, const char** value, int* length) {
  ncclParamHandle_t handle = nullptr;
  if (const ncclResult_t result = ncclParamBind(&handle, key); result != ncclSuccess) return result;
  if (value != nullptr) *value = valueOf(key);
  if (length != nullptr) *length = static_cast<int>(std::strlen(valueOf(key)));
  return ncclSuccess;
}

ncclResult_t ncclParamGetAllParameterKeys(const char*** keys, int* count) {
  if (keys == nullptr || count == nullptr) return refuse(ncclInvalidArgument, "ncclParamGetAllParameterKeys: NULL");
  thread_local std::array<const char*, parameters.size()> table{};
  for (std::size_t i = 0; i < table.size(); ++i)
    table[i] = parameters[i].key;
  *keys = table.data();
  *count = static_cast<int>(table.size());
  return ncclSuccess;
}

void ncclParamDumpAll() {
  for (const ncclParamHandle& parameter : parameters)
    std::fprintf(stderr, "gossamer nccl: %s=%s\n", parameter.key, valueOf(parameter.key));
}
