// Probes of the C ABI.
#include <fmt/format.h>

#include "capi/call_options.h"
#include "capi/handles.h"

namespace {

using goss::Pattern;
using goss::Status;
using goss::capi::invalid;

struct Probe {
  const char* function;
  goss_comm_t comm;
  Pattern pattern;
};

Status check(const Probe& probe, const void* out) {
  if (Status status = goss::capi::checkComm(probe.function, probe.comm); !status.isOk()) return status;
  if (out == nullptr) return invalid(fmt::format("{}: an output argument is NULL", probe.function));
  const int size = probe.comm->communicator->size();
  const auto [source, tag] = probe.pattern;
  if (source != GOSS_ANY_SOURCE && (source < 0 || source >= size)) {
    return invalid(fmt::format("{}: source {} is not a rank of this communicator (0..{}), nor GOSS_ANY_SOURCE",
                               probe.function, source, size - 1));
  }
  if (tag != GOSS_ANY_TAG && tag < 0) return invalid(fmt::format("{}: tag {} is negative", probe.function, tag));
  return Status::ok();
}

} // namespace

extern "C" {

goss_status goss_probe(goss_comm_t comm, int32_t source, int32_t tag, const goss_options* options,
                       goss_message* message) {
  return goss::capi::guarded("goss_probe", [&]() -> Status {
    const Pattern pattern{source, tag};
    goss_message found{};
    if (Status status = check({"goss_probe", comm, pattern}, &found); !status.isOk()) return status;
    const auto read = goss::capi::readOptions("goss_probe", options, nullptr);
    if (!read.isOk()) return read.status();
    Status status = comm->communicator->probe(pattern, read.value().timeout_ms, found);
    if (status.isOk() && message != nullptr) *message = found;
    return status;
  });
}

goss_status goss_iprobe(goss_comm_t comm, int32_t source, int32_t tag, int* found, goss_message* message) {
  return goss::capi::guarded("goss_iprobe", [&]() -> Status {
    const Pattern pattern{source, tag};
    if (Status status = check({"goss_iprobe", comm, pattern}, found); !status.isOk()) return status;
    goss_message first{};
    auto is_there = comm->communicator->probeNow(pattern, first);
    if (!is_there.isOk()) return is_there.status();
    *found = is_there.value() ? 1 : 0;
    if (is_there.value() && message != nullptr) *message = first;
    return Status::ok();
  });
}

} // extern "C"
