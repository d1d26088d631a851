// Error feedback in checkpoints, codecs of the caller's own, and what the planner makes of a codec.
#include <fmt/format.h>

#include <chrono>
#include <string>
#include <thread>

#include "builtins/builtins.h"
#include "capi/handles.h"
#include "capi/structs.h"
#include "capi/user_codec.h"
#include "communicator/call_guard.h"
#include "execution/tensor_use.h"
#include "explain/explain.h"
#include "gossamer/compression.h"
#include "world/world.h"

using namespace goss::capi; // NOLINT(google-build-using-namespace): the C functions are not in a namespace
using goss::Status;

namespace {

/// The error while an operation is pending, which uses the state until it ends.
Status pending(const char* function) {
  return invalid(std::string(function) + ": an all_reduce with a codec that works in phases is pending; wait for it");
}

/// Waits until all error feedback state of `tensor` (0: of every tensor) lies in host memory, where calls on GPU
/// buffers do not keep it, and then runs `body` under the engine's lock. If the communicator has failed, it runs `body`
/// at once, and copies no state from a GPU.
template <typename Body>
Status withState(const char* function, goss_comm_t comm, uint64_t tensor, Body body) {
  goss::Communicator& communicator = *comm->communicator;
  const goss::CallGuard guard(communicator);
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(communicator.defaultTimeoutMs());
  while (true) {
    {
      auto lock = communicator.engine().enter();
      if (!communicator.operations().asyncError().isOk()) return body(communicator);
      const goss::Result<bool> on_host = communicator.deviceFeedback().moveToHost(tensor);
      if (!on_host.isOk()) return on_host.status();
      if (on_host.value()) return body(communicator);
    }
    if (std::chrono::steady_clock::now() > end)
      return Status::error(GOSS_ERR_TIMEOUT, fmt::format("{}: a call on GPU buffers that uses the state has not ended, "
                                                         "or its GPU has not copied the state; wait for the call first",
                                                         function));
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

} // namespace

extern "C" {

goss_status goss_codec_state_export(goss_comm_t comm, void** bytes, size_t* size) {
  return guarded("goss_codec_state_export", [&]() -> Status {
    if (Status status = checkComm("goss_codec_state_export", comm); !status.isOk()) return status;
    if (bytes == nullptr || size == nullptr) {
      return invalid("goss_codec_state_export: bytes and size must not be NULL");
    }
    return withState("goss_codec_state_export", comm, 0, [&](goss::Communicator& communicator) GOSS_ON_LOOP -> Status {
      if (const Status& failure = communicator.operations().asyncError(); !failure.isOk()) return failure;
      const std::string state = communicator.deviceFeedback().references().exportAll();
      void* copy = copyForCaller(state);
      if (copy == nullptr) return Status::error(GOSS_ERR_RESOURCE, "goss_codec_state_export: out of memory");
      *bytes = copy;
      *size = state.size();
      return Status::ok();
    });
  });
}

goss_status goss_codec_state_import(goss_comm_t comm, const void* bytes, size_t size) {
  return guarded("goss_codec_state_import", [&]() -> Status {
    if (Status status = checkComm("goss_codec_state_import", comm); !status.isOk()) return status;
    if (bytes == nullptr) return invalid("goss_codec_state_import: bytes must not be NULL");
    return withState("goss_codec_state_import", comm, 0, [&](goss::Communicator& communicator) GOSS_ON_LOOP -> Status {
      if (goss::holdsTensorOnLoop(communicator.operations(), 0)) return pending("goss_codec_state_import");
      return communicator.deviceFeedback().references().importAll({static_cast<const char*>(bytes), size});
    });
  });
}

goss_status goss_codec_state_read(goss_comm_t comm, uint64_t tensor, float* values, size_t count) {
  return guarded("goss_codec_state_read", [&]() -> Status {
    if (Status status = checkComm("goss_codec_state_read", comm); !status.isOk()) return status;
    if (values == nullptr && count > 0) return invalid("goss_codec_state_read: values must not be NULL");
    if (tensor == 0)
      return invalid("goss_codec_state_read: tensor 0 keeps nothing; give the one of goss_options.tensor");
    return withState(
        "goss_codec_state_read", comm, tensor, [&](goss::Communicator& communicator) GOSS_ON_LOOP -> Status {
          if (const Status& failure = communicator.operations().asyncError(); !failure.isOk()) return failure;
          if (goss::holdsTensorOnLoop(communicator.operations(), tensor)) return pending("goss_codec_state_read");
          communicator.deviceFeedback().references().read({tensor, goss::ReferenceRole::worker, 0}, 0, {values, count});
          return Status::ok();
        });
  });
}

goss_status goss_codec_state_reset(goss_comm_t comm, uint64_t tensor) {
  return guarded("goss_codec_state_reset", [&]() -> Status {
    if (Status status = checkComm("goss_codec_state_reset", comm); !status.isOk()) return status;
    goss::ReferenceStore::Filter filter;
    if (tensor != 0) filter.tensor = tensor;
    return withState("goss_codec_state_reset", comm, tensor,
                     [&](goss::Communicator& communicator) GOSS_ON_LOOP -> Status {
                       if (goss::holdsTensorOnLoop(communicator.operations(), tensor))
                         return pending("goss_codec_state_reset");
                       // The roles of error feedback; positions in random streams and PowerSGD's factors must stay the
                       // same on all ranks.
                       using Role = goss::ReferenceRole;
                       for (const Role role : {Role::worker, Role::server, Role::momentum, Role::velocity}) {
                         filter.role = role;
                         communicator.deviceFeedback().references().reset(filter);
                       }
                       return Status::ok();
                     });
  });
}

goss_status goss_codec_register(goss_comm_t comm, const char* name, const goss_codec_functions* functions) {
  return guarded("goss_codec_register", [&]() -> Status {
    if (Status status = checkComm("goss_codec_register", comm); !status.isOk()) return status;
    if (name == nullptr) return invalid("goss_codec_register: name must not be NULL");
    const auto read = readStruct("goss_codec_register: functions", functions, goss_codec_functions{});
    if (!read.isOk()) return read.status();
    const goss_codec_functions& given = read.value();
    if (given.max_bytes == nullptr || given.encode == nullptr || given.decode == nullptr) {
      return invalid(fmt::format("goss_codec_register: '{}' lacks a function", name));
    }
    return comm->communicator->world().codecs().add(name, std::make_shared<goss::UserCodec>(name, given));
  });
}

goss_status goss_codec_functions_init(goss_codec_functions* functions, size_t size) {
  return initStruct("goss_codec_functions_init", goss_codec_functions{}, functions, size);
}

goss_status goss_codecs(char** json) {
  return guarded("goss_codecs", [&]() -> Status {
    if (json == nullptr) return invalid("goss_codecs: json must not be NULL");
    *json = static_cast<char*>(copyForCaller(goss::describeCodecs()));
    return *json != nullptr ? Status::ok() : Status::error(GOSS_ERR_RESOURCE, "goss_codecs: out of memory");
  });
}

goss_status goss_explain_codec(const char* collective, int32_t ranks, size_t bytes, const char* codec,
                               const char* links, char** json) {
  return guarded("goss_explain_codec", [&]() -> Status {
    if (collective == nullptr || codec == nullptr || json == nullptr) {
      return invalid("goss_explain_codec: collective, codec and json must not be NULL");
    }
    auto text = goss::explainHere(collective, ranks, bytes, {links != nullptr ? links : "", codec, {}, 0});
    if (!text.isOk()) return text.status();
    *json = static_cast<char*>(copyForCaller(text.value()));
    return *json != nullptr ? Status::ok() : Status::error(GOSS_ERR_RESOURCE, "goss_explain_codec: out of memory");
  });
}

} // extern "C"
