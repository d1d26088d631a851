#include "capi/handles.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <utility>

#include "capi/structs.h"
#include "communicator/call_guard.h"
#include "communicator/wait.h"
#include "world/world.h"

goss_comm::goss_comm(std::unique_ptr<goss::Communicator> made) : communicator(std::move(made)) {
  for (int rank = 0; rank < communicator->size(); ++rank)
    transport_names.push_back(communicator->transportName(rank));
}

namespace goss::capi {

void* copyForCaller(std::string_view bytes) {
  auto* copy = static_cast<char*>(std::malloc(bytes.size() + 1)); // goss_free is free()
  if (copy == nullptr) return nullptr;
  std::copy(bytes.begin(), bytes.end(), copy);
  copy[bytes.size()] = '\0';
  return copy;
}

Status inherited(const char* function, const char* what) {
  return invalid(
      fmt::format("{}: {} was made before fork(), by a process that goes on using it; make a communicator of "
                  "this process's own",
                  function, what));
}

Status checkComm(const char* function, goss_comm_t comm) {
  if (isUsable(comm)) return Status::ok();
  if (comm == nullptr) return invalid(fmt::format("{}: the communicator is NULL", function));
  return inherited(function, "the communicator");
}

Result<Options> readOptions(const char* function, const goss_options* given, const goss_request_t* request,
                            bool takes_stream) {
  Options result;
  if (given == nullptr) return result;
  const auto read = readStruct<goss_options>(fmt::format("{}: options", function), given, GOSS_OPTIONS_INIT);
  if (!read.isOk()) return read.status();
  const goss_options* options = &read.value();
  if ((options->flags & ~static_cast<std::uint32_t>(GOSS_PERSISTENT | GOSS_ON_HOST)) != 0) {
    return invalid(fmt::format("{}: unknown bits in options.flags {:#x}", function, options->flags));
  }
  if (options->stream != nullptr && !takes_stream) {
    return Status::error(GOSS_ERR_UNSUPPORTED,
                         fmt::format("{}: options.stream must be NULL: this call is no part of a stream; synchronize "
                                     "with the stream first",
                                     function));
  }
  if (options->timeout_ms < 0) {
    return invalid(
        fmt::format("{}: options.timeout_ms is {}; use 0 for the communicator's", function, options->timeout_ms));
  }
  result.persistent = (options->flags & GOSS_PERSISTENT) != 0;
  if (result.persistent && request == nullptr) {
    return invalid(fmt::format("{}: GOSS_PERSISTENT needs a request to return", function));
  }
  result.on_host = (options->flags & GOSS_ON_HOST) != 0;
  if (result.on_host && options->stream != nullptr) {
    return invalid(fmt::format("{}: options.stream is set with GOSS_ON_HOST; leave out one of them", function));
  }
  result.timeout_ms = options->timeout_ms;
  if (options->algorithm != nullptr) result.algorithm = options->algorithm;
  result.scale = options->scale;
  if (options->codec != nullptr) result.codec = options->codec;
  if (options->return_codec != nullptr) result.return_codec = options->return_codec;
  if (result.codec.empty() && !result.return_codec.empty()) {
    return invalid(fmt::format("{}: options.return_codec is set without options.codec; set both", function));
  }
  result.tensor = options->tensor;
  result.stream = options->stream;
  return result;
}

Group& Group::ofThisThread() {
  thread_local Group group;
  return group;
}

Status Group::end() {
  if (depth_ == 0) return invalid("goss_group_end: no group is open in this thread; call goss_group_begin first");
  if (--depth_ > 0) return Status::ok();
  Status first;
  for (const Member& call : std::exchange(ordered_, {})) {
    if (call.lifetime->isInherited()) continue;
    std::optional<CallGuard> guard;
    if (enterCall(*call.lifetime, *call.operation, guard)) {
      call.operation->streamOrdered()->enqueueGates(); // It may block, and then goss_comm_destroy must not wait for it.
    } else if (first.isOk()) {
      first = Lifetime::endedError();
    }
  }
  const std::vector<Member> started = std::exchange(started_, {});
  for (auto at = started.begin(); at != started.end();) {
    const std::shared_ptr<Lifetime>& lifetime = at->lifetime;
    std::vector<Operation*> operations;
    for (; at != started.end() && at->lifetime == lifetime; ++at)
      operations.push_back(at->operation);
    Status status =
        lifetime->isInherited() ? inherited("goss_group_end", "the request") : waitAllOfOne(*lifetime, operations);
    if (first.isOk()) first = std::move(status);
  }
  return first;
}

bool Group::isOrdered(const Operation& operation) const {
  const std::shared_ptr<Lifetime>& lifetime = Communicator::of(operation).lifetime();
  return std::any_of(ordered_.begin(), ordered_.end(),
                     [&](const Member& one) { return one.operation == &operation && one.lifetime == lifetime; });
}

Status Group::endsWithGroup(const char* function) {
  return invalid(
      fmt::format("{}: the call in a stream belongs to the group that this thread has open; call "
                  "goss_group_end first",
                  function));
}

} // namespace goss::capi

extern "C" {

goss_status goss_options_init(goss_options* options, size_t size) {
  return goss::capi::initStruct<goss_options>("goss_options_init", GOSS_OPTIONS_INIT, options, size);
}

} // extern "C"
