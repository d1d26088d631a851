// Windows and pair averages of the C ABI.
#include "gossamer/window.h"

#include <fmt/format.h>

#include <cmath>

#include "call/call.h"
#include "capi/device_calls.h"
#include "capi/handles.h"
#include "communicator/call_guard.h"
#include "kernels/kernels.h"
#include "world/world.h"

namespace goss::capi {

namespace {

using Kind = WindowCall::Kind;

Window* toWindow(goss_window_t window) { return reinterpret_cast<Window*>(window); }

/// Arguments of a call beside those that describe it.
struct WindowArguments {
  const char* function;
  goss_window_t window;
  const goss_options* options = nullptr;
  goss_request_t* request = nullptr;
};

/// The timeout of the options, which may hold nothing else.
Result<std::int64_t> readTimeout(const char* function, const goss_options* given, const goss_request_t* request) {
  const Result<Options> options = readOptions(function, given, request);
  if (!options.isOk()) return options.status();
  const Options& read = options.value();
  if (read.persistent || !read.codec.empty() || !read.algorithm.empty() || read.tensor != 0) {
    return Status::error(GOSS_ERR_UNSUPPORTED,
                         fmt::format("{}: of the options only timeout_ms may be set for windows", function));
  }
  return read.timeout_ms;
}

Status checkWindow(const char* function, goss_window_t window) {
  if (window == nullptr) return invalid(fmt::format("{}: the window is NULL", function));
  return Communicator::of(*toWindow(window)).lifetime()->isInherited() ? inherited(function, "the window")
                                                                       : Status::ok();
}

Status checkRank(const char* function, goss_window_t window, const char* what, std::int32_t rank) {
  if (Status status = checkWindow(function, window); !status.isOk()) return status;
  const int size = toWindow(window)->environment().group.size();
  if (rank >= 0 && rank < size) return Status::ok();
  return invalid(fmt::format("{}: {} {} is not a rank of this communicator (0..{})", function, what, rank, size - 1));
}

Status checkRange(const char* function, const WindowMemory& memory, const WindowRange& range, const char* what) {
  if (memory.holds(range)) return Status::ok();
  return invalid(fmt::format("{}: the {} of {} elements from {} on is beyond the window's {}", function, what,
                             range.count, range.offset, memory.count()));
}

Status checkMemory(const char* function, const char* name, Communicator& communicator, const void* memory,
                   std::size_t count) {
  if (count == 0) return Status::ok();
  if (memory == nullptr) return invalid(fmt::format("{}: {} is NULL, but has {} elements", function, name, count));
  if (!communicator.world().devices().present()) return Status::ok();
  return refuseDevice(function, name, communicator.world(), memory);
}

/// Checks, and runs or starts the call.
Status launchWindow(const WindowArguments& arguments, WindowCall call) {
  const bool pairs = call.kind == Kind::pairAverage;
  const char* function = arguments.function;
  if (Status s = checkRank(function, arguments.window, pairs ? "partner" : "target", call.target); !s.isOk()) return s;
  Window& window = *toWindow(arguments.window);
  Communicator& communicator = Communicator::of(window);
  if (Status s = checkRange(function, window.memory(), call.range, "range"); !s.isOk()) return s;
  if (!pairs) {
    if (Status s = checkMemory(function, "data", communicator, call.buffer, call.range.count); !s.isOk()) return s;
  }
  const Result<std::int64_t> timeout = readTimeout(function, arguments.options, arguments.request);
  if (!timeout.isOk()) return timeout.status();
  call.timeout_ms = timeout.value();
  if (arguments.request == nullptr) return communicator.windows().run(window, call);
  const Result<Operation*> started = communicator.windows().start(window, call);
  if (!started.isOk()) return started.status();
  *arguments.request = toRequest(started.value());
  return Status::ok();
}

WindowCall access(Kind kind, const void* data, std::size_t count, std::int32_t target, std::size_t offset) {
  WindowCall call;
  call.kind = kind;
  call.buffer = const_cast<void*>(data);
  call.target = target;
  call.range = {offset, count};
  return call;
}

Status create(goss_comm_t comm, const Windows::Part& part, const goss_options* options, goss_window_t* window) {
  constexpr const char* kFunction = "goss_window_create";
  if (Status status = checkComm(kFunction, comm); !status.isOk()) return status;
  if (window == nullptr) return invalid("goss_window_create: the place for the window is NULL");
  const std::size_t element = dtypeBytes(part.dtype);
  if (element == 0) return invalid(fmt::format("{}: unknown dtype {}", kFunction, static_cast<int>(part.dtype)));
  if (part.count > SIZE_MAX / 2 / element)
    return invalid(fmt::format("{}: {} elements do not fit in memory", kFunction, part.count));
  Communicator& communicator = *comm->communicator;
  if (Status s = checkMemory(kFunction, "memory", communicator, part.data, part.count); !s.isOk()) return s;
  if (reinterpret_cast<std::uintptr_t>(part.data) % element != 0)
    return invalid(fmt::format("{}: memory is not aligned for its elements of {} bytes", kFunction, element));
  const Result<std::int64_t> timeout = readTimeout(kFunction, options, nullptr);
  if (!timeout.isOk()) return timeout.status();
  const CallGuard inside(communicator);
  const Result<Window*> made = communicator.windows().create(part, timeout.value());
  if (!made.isOk()) return made.status();
  *window = reinterpret_cast<goss_window_t>(made.value());
  return Status::ok();
}

Status freeWindow(goss_window_t* window) {
  if (window == nullptr) return invalid("goss_window_free: window is NULL; pass the address of a goss_window_t");
  if (*window == nullptr) return Status::ok();
  if (Status status = checkWindow("goss_window_free", *window); !status.isOk()) return status;
  Communicator& communicator = Communicator::of(*toWindow(*window));
  const CallGuard inside(communicator);
  Window* own = toWindow(*window);
  Status status = communicator.windows().free(own);
  if (own == nullptr) *window = nullptr;
  return status;
}

Status flush(goss_window_t window, std::int32_t target, const goss_options* options) {
  constexpr const char* kFunction = "goss_window_flush";
  WindowCall call;
  call.kind = Kind::flush;
  call.target = target;
  if (target != GOSS_ALL_TARGETS) return launchWindow({kFunction, window, options}, call);
  if (Status status = checkWindow(kFunction, window); !status.isOk()) return status;
  const Result<std::int64_t> timeout = readTimeout(kFunction, options, nullptr);
  if (!timeout.isOk()) return timeout.status();
  Communicator& communicator = Communicator::of(*toWindow(window));
  const CallGuard inside(communicator);
  return communicator.windows().flushAll(*toWindow(window), timeout.value());
}

Status pairAverage(const WindowArguments& arguments, WindowCall call, const goss_shadow* shadow) {
  const char* function = arguments.function;
  if (Status s = checkRank(function, arguments.window, "partner", call.target); !s.isOk()) return s;
  const Window& window = *toWindow(arguments.window);
  if (call.target == window.rank()) return invalid(fmt::format("{}: the partner is this rank itself", function));
  if (!kernels::supported(window.memory().dtype(), GOSS_PREMUL_SUM)) {
    return Status::error(GOSS_ERR_UNSUPPORTED,
                         fmt::format("{}: a window of {} has no means; use one of a floating type", function,
                                     dtypeName(window.memory().dtype())));
  }
  if (shadow != nullptr) {
    if (!std::isfinite(shadow->factor)) return invalid(fmt::format("{}: shadow->factor is not finite", function));
    call.shadow_offset = shadow->offset;
    call.shadow_factor = shadow->factor;
    const WindowRange range{shadow->offset, call.range.count};
    if (Status s = checkRange(function, window.memory(), range, "shadow"); !s.isOk()) return s;
  }
  return launchWindow(arguments, call);
}

} // namespace

} // namespace goss::capi

using namespace goss::capi; // NOLINT(google-build-using-namespace): the C functions are not in a namespace
using goss::Communicator;
using goss::Status;

extern "C" {

goss_status goss_window_create(goss_comm_t comm, void* memory, size_t count, goss_dtype dtype,
                               const goss_options* options, goss_window_t* window) {
  return guarded("goss_window_create", [&] { return create(comm, {memory, count, dtype}, options, window); });
}

goss_status goss_window_free(goss_window_t* window) {
  return guarded("goss_window_free", [&] { return freeWindow(window); });
}

goss_status goss_window_put(goss_window_t window, const void* data, size_t count, int32_t target, size_t offset,
                            const goss_options* options, goss_request_t* request) {
  return guarded("goss_window_put", [&] {
    return launchWindow({"goss_window_put", window, options, request}, access(Kind::put, data, count, target, offset));
  });
}

goss_status goss_window_accumulate(goss_window_t window, const void* data, size_t count, goss_op op, int32_t target,
                                   size_t offset, const goss_options* options, goss_request_t* request) {
  return guarded("goss_window_accumulate", [&]() -> Status {
    constexpr const char* kFunction = "goss_window_accumulate";
    if (Status status = checkWindow(kFunction, window); !status.isOk()) return status;
    const goss_dtype dtype = toWindow(window)->memory().dtype();
    if (op == GOSS_AVG || op == GOSS_PREMUL_SUM || static_cast<unsigned>(op) >= GOSS_OP_COUNT ||
        !goss::kernels::supported(dtype, op)) {
      return invalid(fmt::format("{}: {} is no operation for accumulates of {}", kFunction, goss::opName(op),
                                 goss::dtypeName(dtype)));
    }
    goss::WindowCall call = access(Kind::accumulate, data, count, target, offset);
    call.op = op;
    return launchWindow({kFunction, window, options, request}, call);
  });
}

goss_status goss_window_get(goss_window_t window, void* data, size_t count, int32_t target, size_t offset,
                            const goss_options* options, goss_request_t* request) {
  return guarded("goss_window_get", [&] {
    return launchWindow({"goss_window_get", window, options, request}, access(Kind::get, data, count, target, offset));
  });
}

goss_status goss_window_flush(goss_window_t window, int32_t target, const goss_options* options) {
  return guarded("goss_window_flush", [&] { return flush(window, target, options); });
}

goss_status goss_window_version(goss_window_t window, int32_t origin, uint64_t* version) {
  return guarded("goss_window_version", [&]() -> Status {
    if (Status s = checkRank("goss_window_version", window, "origin", origin); !s.isOk()) return s;
    if (version == nullptr) return invalid("goss_window_version: the place for the version is NULL");
    const goss::Window& own = *toWindow(window);
    *version = Communicator::of(own).windows().version(own, origin);
    return Status::ok();
  });
}

goss_status goss_window_lock(goss_window_t window, int32_t target, const goss_options* options) {
  return guarded("goss_window_lock", [&]() -> Status {
    if (Status s = checkRank("goss_window_lock", window, "target", target); !s.isOk()) return s;
    const goss::Result<std::int64_t> timeout = readTimeout("goss_window_lock", options, nullptr);
    if (!timeout.isOk()) return timeout.status();
    return Communicator::of(*toWindow(window)).windows().lock(*toWindow(window), target, timeout.value());
  });
}

goss_status goss_window_unlock(goss_window_t window, int32_t target) {
  return guarded("goss_window_unlock", [&]() -> Status {
    if (Status s = checkRank("goss_window_unlock", window, "target", target); !s.isOk()) return s;
    return Communicator::of(*toWindow(window)).windows().unlock(*toWindow(window), target);
  });
}

goss_status goss_pair_average(goss_window_t window, int32_t partner, size_t count, size_t offset,
                              const goss_shadow* shadow, const goss_options* options, goss_request_t* request) {
  return guarded("goss_pair_average", [&] {
    return pairAverage({"goss_pair_average", window, options, request},
                       access(Kind::pairAverage, nullptr, count, partner, offset), shadow);
  });
}

} // extern "C"
