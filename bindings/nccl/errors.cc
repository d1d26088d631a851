#include "bindings/nccl/errors.h"

#include <array>
#include <cstdio>
#include <mutex>

#include "bindings/nccl/settings.h"

namespace goss::nccl {

namespace {

struct Last {
  std::mutex mutex;
  std::string text;
  std::array<std::string, ncclNumResults> reasons; ///< Reason for each result.
};

/// Threads of the program may still call while static objects are destroyed.
Last& last() {
  static Last& only = *new Last;
  return only;
}

const char* meaningOf(ncclResult_t result) {
  switch (result) {
    case ncclSuccess:
      return "no error";
    case ncclUnhandledCudaError:
      return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
    case ncclSystemError:
      return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
    case ncclInternalError:
      return "internal error - please report this issue to Gossamer's developers";
    case ncclInvalidArgument:
      return "invalid argument (run with NCCL_DEBUG=WARN for details)";
    case ncclInvalidUsage:
      return "invalid usage (run with NCCL_DEBUG=WARN for details)";
    case ncclRemoteError:
      return "remote process exited or there was a network error";
    case ncclInProgress:
      return "operation in progress";
    case ncclTimeout:
      return "operation timed out";
    default:
      return "unknown result code";
  }
}

} // namespace

ncclResult_t refuse(ncclResult_t result, const std::string& text) {
  if (settings().log) std::fprintf(stderr, "gossamer nccl: %s\n", text.c_str());
  remember(result, text);
  return result;
}

void remember(ncclResult_t result, const std::string& text) {
  const std::lock_guard lock(last().mutex);
  last().text = text;
  last().reasons.at(static_cast<std::size_t>(result)) = text;
}

const char* describe(ncclResult_t result) {
  if (result <= ncclSuccess || result >= ncclNumResults) return meaningOf(result);
  thread_local std::array<std::string, ncclNumResults> texts;
  std::string& text = texts[static_cast<std::size_t>(result)];
  const std::lock_guard lock(last().mutex);
  const std::string& reason = last().reasons[static_cast<std::size_t>(result)];
  const std::string now = std::string(meaningOf(result)) + (reason.empty() ? "" : ": ") + reason;
  if (text != now) text = now;
  return text.c_str();
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

Status invalid(std::string text) { return Status::error(GOSS_ERR_INVALID_ARGUMENT, std::move(text)); }

Status lastFailure(goss_status status) {
  return status == GOSS_SUCCESS ? Status::ok() : Status::error(status, goss_last_error());
}

void abortUnlessFailed(goss_comm_t comm, const Status& failure) {
  if (comm == nullptr) return;
  goss_status known = GOSS_SUCCESS;
  goss_comm_error(comm, &known, nullptr);
  if (known == GOSS_SUCCESS) goss_comm_abort(comm, failure.cText());
}

} // namespace goss::nccl
