#include "bindings/nccl/errors.h"

#include <cstdio>
#include <mutex>

#include "bindings/nccl/settings.h"

namespace goss::nccl {

namespace {

struct Last {
  std::mutex mutex;
  std::string text;
};

/// Threads of the program may still call while static objects are destroyed.
Last& last() {
  static Last& only = *new Last;
  return only;
}

} // namespace

ncclResult_t refuse(ncclResult_t result, const std::string& text) {
  if (settings().log) std::fprintf(stderr, "gossamer nccl: %s\n", text.c_str());
  const std::lock_guard lock(last().mutex);
  last().text = text;
  return result;
}

const char* lastError() {
  thread_local std::string copy;
  const std::lock_guard lock(last().mutex);
  copy = last().text;
  return copy.c_str();
}

ncclResult_t resultOf(goss_status status) {
  switch (status) {
    case GOSS_SUCCESS:
      return ncclSuccess;
    case GOSS_ERR_INVALID_ARGUMENT:
      return ncclInvalidArgument;
    case GOSS_ERR_UNSUPPORTED:
    case GOSS_ERR_MISMATCH:
    case GOSS_ERR_TRUNCATED:
      return ncclInvalidUsage;
    case GOSS_ERR_TIMEOUT:
    case GOSS_ERR_PEER_LOST:
    case GOSS_ERR_ABORTED:
    case GOSS_ERR_PROTOCOL:
    case GOSS_ERR_BOOTSTRAP:
      return ncclRemoteError;
    case GOSS_ERR_RESOURCE:
      return ncclSystemError;
    case GOSS_ERR_DEVICE:
      return ncclUnhandledCudaError;
    default:
      return ncclInternalError;
  }
}

ncclResult_t report(const Status& status) {
  return status.isOk() ? ncclSuccess : refuse(resultOf(status.kind()), status.text());
}

Status lastFailure(goss_status status) {
  return status == GOSS_SUCCESS ? Status::ok() : Status::error(status, goss_last_error());
}

} // namespace goss::nccl
