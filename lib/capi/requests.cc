// Point to point, completion and groups of the C ABI.
#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "capi/device_calls.h"
#include "communicator/call_guard.h"
#include "communicator/wait.h"

namespace goss::capi {

namespace {

/// Limit for elements of at most 8 bytes; comparing is cheaper than a division.
constexpr std::uint64_t kMaxElements = std::uint64_t{1} << 59;

/// Arguments of a message beside those that describe it.
struct MessageArguments {
  const char* function;
  goss_comm_t comm;
  const goss_options* options;
  goss_request_t* request;
  bool takes_stream = true;
};

/// Whether checkMessage() would find no error, at the price of a few comparisons.
bool isGood(goss_comm_t comm, const MessageCall& call) {
  return isUsable(comm) && static_cast<unsigned>(call.dtype) < GOSS_DTYPE_COUNT && call.peer >= 0 &&
         call.peer < comm->communicator->size() && call.tag >= 0 && call.buffer != nullptr &&
         call.count <= kMaxElements;
}

Status checkMessage(const MessageArguments& arguments, const MessageCall& call) {
  if (isGood(arguments.comm, call)) return Status::ok();
  if (Status status = checkComm(arguments.function, arguments.comm); !status.isOk()) return status;
  const int size = arguments.comm->communicator->size();
  const std::size_t element = dtypeBytes(call.dtype);
  if (element == 0)
    return invalid(fmt::format("{}: unknown dtype {}", arguments.function, static_cast<int>(call.dtype)));
  const bool any_source = !call.sends && call.peer == GOSS_ANY_SOURCE;
  if (!any_source && (call.peer < 0 || call.peer >= size)) {
    return invalid(
        fmt::format("{}: peer {} is not a rank of this communicator (0..{})", arguments.function, call.peer, size - 1));
  }
  const bool any_tag = !call.sends && call.tag == GOSS_ANY_TAG;
  if (!any_tag && call.tag < 0) return invalid(fmt::format("{}: tag {} is negative", arguments.function, call.tag));
  if (call.count > 0 && call.buffer == nullptr) {
    return invalid(fmt::format("{}: the buffer is NULL, but has {} elements", arguments.function, call.count));
  }
  if (call.count > kMaxElements) {
    return invalid(fmt::format("{}: {} elements do not fit in memory", arguments.function, call.count));
  }
  return Status::ok();
}

/// As launchGood(), for memory of a device.
Status launchOnDevice(Communicator& communicator, const MessageCall& call, const MessageDevice& device,
                      goss_request_t* request, bool persistent) {
  const Result<Operation*> started = communicator.messages().startOnDevice(call, device, persistent);
  if (!started.isOk()) return started.status();
  if (device.stream != nullptr && !persistent) return launchOrdered(communicator, *started.value(), request);
  if (request != nullptr) {
    *request = toRequest(started.value());
  } else if (Group::ofThisThread().open()) {
    Group::ofThisThread().add(started.value());
  } else {
    return communicator.requests().finish(*started.value(), nullptr);
  }
  return Status::ok();
}

/// Starts a call for which isGood() holds. `request` null: blocking, unless a group is open.
Status launchGood(Communicator& communicator, const MessageCall& call, goss_request_t* request, bool persistent,
                  void* stream = nullptr, bool on_host = false) {
  if (communicator.world().devices().present() || stream != nullptr) {
    const CallBuffers asked{on_host ? nullptr : call.buffer, nullptr};
    const auto places = findBufferPlaces(call.sends ? "goss_send" : "goss_recv", communicator.world(), asked,
                                         {stream, call.count == 0, !persistent});
    if (!places.isOk()) return places.status();
    MessageDevice device{places.value().device, stream};
    // A send of no elements has no memory, but must not overtake earlier device sends with the same peer and tag.
    if (device.ordinal < 0 && call.sends && call.count == 0)
      device.ordinal = communicator.messages().deviceBefore(call);
    if (device.ordinal >= 0) return launchOnDevice(communicator, call, device, request, persistent);
  }
  if (request == nullptr && !Group::ofThisThread().open()) return communicator.messages().run(call, nullptr);
  Status error;
  Operation* started = communicator.messages().start(call, persistent, error);
  if (started == nullptr) return error;
  if (request == nullptr) {
    Group::ofThisThread().add(started);
  } else {
    *request = toRequest(started);
  }
  return Status::ok();
}

/// `call` gets the timeout from the options.
Status launchMessage(const MessageArguments& arguments, MessageCall& call) {
  bool persistent = false;
  bool on_host = false;
  void* stream = nullptr;
  if (arguments.options != nullptr) {
    Result<Options> options =
        readOptions(arguments.function, arguments.options, arguments.request, arguments.takes_stream);
    if (!options.isOk()) return options.status();
    if (!options.value().codec.empty()) {
      return Status::error(
          GOSS_ERR_UNSUPPORTED,
          fmt::format("{}: messages travel as they are; options.codec must be NULL", arguments.function));
    }
    call.timeout_ms = options.value().timeout_ms;
    persistent = options.value().persistent;
    on_host = options.value().on_host;
    stream = options.value().stream;
  }
  if (Status status = checkMessage(arguments, call); !status.isOk()) return status;
  return launchGood(*arguments.comm->communicator, call, arguments.request, persistent, stream, on_host);
}

/// Blocks until `limit` at most; `done`, unless it is null, tells whether the request has ended.
Status waitRequest(const char* function, goss_request_t* request, goss_message* message,
                   goss::TimePoint limit = goss::TimePoint::max(), int* done = nullptr) {
  if (Status status = checkRequest(function, *request); !status.isOk()) return status;
  Operation* operation = toOperation(*request);
  if (Status status = Group::ofThisThread().checkMayEnd(function, *operation); !status.isOk()) return status;
  const bool persistent = operation->persistent;
  std::optional<Status> ended = Communicator::of(*operation).requests().finishBefore(*operation, message, limit);
  if (done != nullptr) *done = ended.has_value() ? 1 : 0;
  if (!ended.has_value()) return Status::ok();
  if (!persistent) *request = nullptr;
  return std::move(*ended);
}

/// The time in so many milliseconds; negative, or too far away for the clock: never.
goss::TimePoint timeAfter(std::int64_t milliseconds) {
  const goss::TimePoint now = std::chrono::steady_clock::now();
  const auto longest = std::chrono::duration_cast<std::chrono::milliseconds>(goss::TimePoint::max() - now).count();
  if (milliseconds < 0 || milliseconds >= longest) return goss::TimePoint::max();
  return now + std::chrono::milliseconds(milliseconds);
}

Status toOperations(const char* function, std::span<const goss_request_t> requests,
                    std::vector<Operation*>& operations) {
  const Group& group = Group::ofThisThread();
  operations.reserve(requests.size());
  for (goss_request_t request : requests) {
    if (Status status = checkRequest(function, request); !status.isOk()) return status;
    operations.push_back(toOperation(request));
    if (request == nullptr) continue;
    if (Status status = group.checkMayEnd(function, *operations.back()); !status.isOk()) return status;
  }
  return Status::ok();
}

} // namespace

} // namespace goss::capi

using namespace goss::capi; // NOLINT(google-build-using-namespace): the C functions are not in a namespace
using goss::MessageCall;
using goss::Status;

extern "C" {

goss_status goss_send(goss_comm_t comm, const void* buffer, size_t count, goss_dtype dtype, int32_t peer, int32_t tag,
                      const goss_options* options, goss_request_t* request) {
  return guarded("goss_send", [&] {
    MessageCall call{true, const_cast<void*>(buffer), count, dtype, peer, tag, 0};
    if (options == nullptr && isGood(comm, call)) return launchGood(*comm->communicator, call, request, false);
    return launchMessage({"goss_send", comm, options, request}, call);
  });
}

goss_status goss_recv(goss_comm_t comm, void* buffer, size_t count, goss_dtype dtype, int32_t peer, int32_t tag,
                      const goss_options* options, goss_request_t* request) {
  return guarded("goss_recv", [&] {
    MessageCall call{false, buffer, count, dtype, peer, tag, 0};
    if (options == nullptr && isGood(comm, call)) return launchGood(*comm->communicator, call, request, false);
    return launchMessage({"goss_recv", comm, options, request}, call);
  });
}

goss_status goss_sendrecv(goss_comm_t comm, const void* send, size_t send_count, int32_t dest, void* recv,
                          size_t recv_count, int32_t source, goss_dtype dtype, int32_t tag, const goss_options* options,
                          goss_message* message) {
  return guarded("goss_sendrecv", [&]() -> Status {
    goss_request_t sending = nullptr;
    goss_request_t receiving = nullptr;
    MessageCall out{true, const_cast<void*>(send), send_count, dtype, dest, tag, 0};
    MessageCall in{false, recv, recv_count, dtype, source, tag, 0};
    if (options != nullptr) { // The call returns no request, so GOSS_PERSISTENT is an error.
      if (const auto read = readOptions("goss_sendrecv", options, nullptr, false); !read.isOk()) return read.status();
    }
    if (Status s = checkMessage({"goss_sendrecv", comm, options, &sending, false}, out); !s.isOk()) return s;
    const goss::CallGuard guard(*comm->communicator);
    if (Status s = launchMessage({"goss_sendrecv", comm, options, &receiving, false}, in); !s.isOk()) return s;
    const Status started = launchMessage({"goss_sendrecv", comm, options, &sending, false}, out);
    const Status sent = started.isOk() ? waitRequest("goss_sendrecv", &sending, nullptr) : started;
    const Status received = waitRequest("goss_sendrecv", &receiving, message);
    return sent.isOk() ? received : sent;
  });
}

goss_status goss_wait(goss_request_t* request, goss_message* message) {
  return guarded("goss_wait", [&]() -> Status {
    if (request == nullptr) return invalid("goss_wait: request is NULL; pass the address of a goss_request_t");
    if (*request == nullptr) return Status::ok();
    return waitRequest("goss_wait", request, message);
  });
}

goss_status goss_wait_for(goss_request_t* request, int64_t timeout_ms, int* done, goss_message* message) {
  return guarded("goss_wait_for", [&]() -> Status {
    if (request == nullptr || done == nullptr) return invalid("goss_wait_for: request and done must not be NULL");
    *done = 0;
    if (*request != nullptr) return waitRequest("goss_wait_for", request, message, timeAfter(timeout_ms), done);
    *done = 1;
    return Status::ok();
  });
}

goss_status goss_test(goss_request_t* request, int* done, goss_message* message) {
  return guarded("goss_test", [&]() -> Status {
    if (request == nullptr || done == nullptr) return invalid("goss_test: request and done must not be NULL");
    if (Status status = checkRequest("goss_test", *request); !status.isOk()) return status;
    if (*request == nullptr) {
      *done = 1;
      return Status::ok();
    }
    goss::Operation* operation = toOperation(*request);
    if (Status status = Group::ofThisThread().checkMayEnd("goss_test", *operation); !status.isOk()) return status;
    *done = goss::Communicator::of(*operation).requests().test(*operation) ? 1 : 0;
    return *done != 0 ? waitRequest("goss_test", request, message) : Status::ok();
  });
}

goss_status goss_wait_any(goss_request_t* requests, size_t n, size_t* index, goss_message* message) {
  return guarded("goss_wait_any", [&]() -> Status {
    if ((requests == nullptr && n > 0) || index == nullptr) {
      return invalid("goss_wait_any: requests and index must not be NULL");
    }
    std::vector<goss::Operation*> operations;
    if (Status status = toOperations("goss_wait_any", {requests, n}, operations); !status.isOk()) return status;
    size_t found = n;
    Status status = goss::waitAny(operations, found, message);
    if (found < n) requests[found] = toRequest(operations[found]);
    if (found < n || status.isOk()) *index = found;
    return status;
  });
}

goss_status goss_wait_all(goss_request_t* requests, size_t n) {
  return guarded("goss_wait_all", [&]() -> Status {
    if (requests == nullptr && n > 0) return invalid("goss_wait_all: requests is NULL");
    std::vector<goss::Operation*> operations;
    if (Status status = toOperations("goss_wait_all", {requests, n}, operations); !status.isOk()) return status;
    Status status = goss::waitAll(operations);
    for (size_t i = 0; i < n; ++i)
      requests[i] = toRequest(operations[i]);
    return status;
  });
}

goss_status goss_request_error(goss_request_t request, goss_status* status, const char** text) {
  return guarded("goss_request_error", [&]() -> Status {
    if (Status checked = checkRequest("goss_request_error", request); !checked.isOk()) return checked;
    // The operation keeps its status as long as the request lives.
    const goss::Operation* operation = toOperation(request);
    tell(operation != nullptr ? goss::Communicator::of(*operation).requests().failureOf(*operation) : Status::ok(),
         status, text);
    return Status::ok();
  });
}

goss_status goss_start(goss_request_t request) {
  return guarded("goss_start", [&]() -> Status {
    if (request == nullptr) return invalid("goss_start: the request is NULL");
    if (Status status = checkRequest("goss_start", request); !status.isOk()) return status;
    goss::Operation& operation = *toOperation(request);
    goss::Communicator& communicator = goss::Communicator::of(operation);
    goss::Requests& requests = communicator.requests();
    goss::StreamOrdered* const ordered = operation.streamOrdered();
    const bool in_group = Group::ofThisThread().open();
    if (ordered == nullptr) return requests.restart(operation, in_group);
    const goss::CallGuard guard(communicator); // prepare() may block.
    if (Status status = ordered->prepare(in_group); !status.isOk()) return status;
    if (Status status = requests.restart(operation, in_group); !status.isOk()) return status;
    if (!ordered->isEnqueuing()) return requests.finish(operation, nullptr); // It failed as it started.
    enqueue(operation);
    return Status::ok();
  });
}

goss_status goss_request_free(goss_request_t* request) {
  return guarded("goss_request_free", [&]() -> Status {
    if (request == nullptr) return invalid("goss_request_free: request is NULL; pass the address of a goss_request_t");
    if (*request == nullptr) return Status::ok();
    goss::Operation* operation = toOperation(*request);
    goss::Communicator& communicator = goss::Communicator::of(*operation);
    const bool frees = !communicator.lifetime()->isInherited();
    if (frees && !communicator.requests().test(*operation)) {
      return invalid("goss_request_free: the request is still active; wait for it first");
    }
    if (frees) communicator.requests().release(*operation);
    *request = nullptr;
    return Status::ok();
  });
}

goss_status goss_group_begin(void) {
  return guarded("goss_group_begin", [] {
    Group::ofThisThread().begin();
    return Status::ok();
  });
}

goss_status goss_group_end(void) {
  return guarded("goss_group_end", [] { return Group::ofThisThread().end(); });
}

} // extern "C"
