// Synchronizers of the C ABI.
#include <fmt/format.h>

#include <chrono>

#include "capi/handles.h"
#include "capi/structs.h"
#include "devices/devices.h"
#include "gossamer/sync.h"
#include "sync/autotune/auto_synchronizer.h"
#include "sync/methods.h"
#include "world/world.h"

struct goss_sync {
  goss::platform::ProcessMark made_in;
  std::unique_ptr<goss::sync::SyncCalls> synchronizer;
  std::weak_ptr<goss::World> world;
};

namespace goss::capi {

namespace {

/// Runs body(synchronizer) for a call whose only precondition is the handle.
template <typename Body>
goss_status onSync(const char* function, goss_sync_t sync, Body body) {
  return guarded(function, [&]() -> Status {
    if (sync == nullptr) return invalid(fmt::format("{}: the synchronizer is NULL", function));
    if (sync->made_in.isInherited()) return inherited(function, "the synchronizer");
    return body(*sync->synchronizer);
  });
}

Status missing(const char* function, const char* what) {
  return invalid(fmt::format("{}: {} is NULL", function, what));
}

Status handOut(std::string_view bytes, void** to) {
  void* copy = copyForCaller(bytes);
  if (copy == nullptr) return Status::error(GOSS_ERR_RESOURCE, "out of memory");
  *to = copy;
  return Status::ok();
}

Result<sync::Tensor> readTensor(const goss_sync_tensor* caller) {
  constexpr const char* kFunction = "goss_sync_register";
  const auto read = readStruct<goss_sync_tensor>("goss_sync_register: tensor", caller, GOSS_SYNC_TENSOR_INIT);
  if (!read.isOk()) return read.status();
  const goss_sync_tensor* given = &read.value();
  if (given->name == nullptr) return missing(kFunction, "tensor.name");
  if (given->dtype != GOSS_FLOAT32) {
    return Status::error(GOSS_ERR_UNSUPPORTED, fmt::format("{}: tensor '{}' is not GOSS_FLOAT32; keep float32 masters",
                                                           kFunction, given->name));
  }
  if (given->parameter == nullptr && given->count > 0) return missing(kFunction, "tensor.parameter");
  sync::Tensor tensor;
  tensor.name = given->name;
  tensor.parameter = {static_cast<float*>(given->parameter), given->count};
  if (given->gradient != nullptr) tensor.gradient = {static_cast<float*>(given->gradient), given->count};
  tensor.layer = given->layer;
  return tensor;
}

/// The device on which `buffer` lies; null: it is host memory.
Result<Device*> deviceOf(World& world, const float* buffer) {
  if (buffer == nullptr || !world.devices().present()) return nullptr;
  const Result<MemoryInfo> info = world.devices().classify(buffer);
  if (!info.isOk()) return info.status();
  if (info.value().kind != MemoryKind::device) return nullptr;
  if (Status status = world.devices().prepare(info.value().device, nullptr); !status.isOk()) return status;
  const Result<DeviceStation*> station = world.devices().station(info.value().device);
  if (!station.isOk()) return station.status();
  world.devices().awaitCopies(info.value().device);
  return &station.value()->device;
}

} // namespace

} // namespace goss::capi

using namespace goss::capi; // NOLINT(google-build-using-namespace): the C functions are not in a namespace
using goss::Result;
using goss::Status;
using goss::sync::SyncCalls;

extern "C" {

goss_status goss_sync_create(goss_comm_t comm, const char* spec, goss_sync_t* sync) {
  return guarded("goss_sync_create", [&]() -> Status {
    if (Status status = checkComm("goss_sync_create", comm); !status.isOk()) return status;
    if (spec == nullptr) return missing("goss_sync_create", "the spec");
    if (sync == nullptr) return missing("goss_sync_create", "the place for the synchronizer");
    const auto codec = [comm](std::string_view name) -> Result<goss::Compression> {
      const auto found = comm->communicator->world().codecs().find(name, {});
      if (!found.isOk()) return found.status();
      return found.value()->contribution;
    };
    const std::chrono::milliseconds longest(comm->communicator->defaultTimeoutMs());
    Result<std::unique_ptr<SyncCalls>> made = goss::sync::createSynchronizer(comm, spec, codec, longest);
    if (!made.isOk()) return made.status();
    *sync = new goss_sync{{}, made.take(), comm->communicator->world().shared_from_this()};
    return Status::ok();
  });
}

goss_status goss_sync_register(goss_sync_t sync, const goss_sync_tensor* tensor, int32_t* index) {
  return onSync("goss_sync_register", sync, [&](SyncCalls& s) -> Status {
    Result<goss::sync::Tensor> read = readTensor(tensor);
    if (!read.isOk()) return read.status();
    goss::sync::Tensor registered = read.take();
    if (const std::shared_ptr<goss::World> world = sync->world.lock(); world != nullptr) {
      const Result<goss::Device*> parameter = deviceOf(*world, registered.parameter.data());
      if (!parameter.isOk()) return parameter.status();
      const Result<goss::Device*> gradient = deviceOf(*world, registered.gradient.data());
      if (!gradient.isOk()) return gradient.status();
      registered.parameter_device = parameter.value();
      registered.gradient_device = gradient.value();
    }
    const Result<std::int32_t> added = s.add(std::move(registered));
    if (added.isOk() && index != nullptr) *index = added.value();
    return added.status();
  });
}

goss_status goss_sync_start(goss_sync_t sync) {
  return onSync("goss_sync_start", sync, [](SyncCalls& s) { return s.start(); });
}

goss_status goss_sync_set_lr(goss_sync_t sync, double lr) {
  return onSync("goss_sync_set_lr", sync, [&](SyncCalls& s) { return s.setLr(lr); });
}

goss_status goss_sync_set_loss(goss_sync_t sync, const goss_sync_loss* loss) {
  return onSync("goss_sync_set_loss", sync, [&](SyncCalls& s) -> Status {
    const auto read = readStruct<goss_sync_loss>("goss_sync_set_loss: loss", loss, GOSS_SYNC_LOSS_INIT);
    if (!read.isOk()) return read.status();
    const goss_sync_loss given = read.value();
    if (given.evaluate == nullptr) return missing("goss_sync_set_loss", "loss.evaluate");
    s.setLoss([given] { return given.evaluate(given.context); });
    return Status::ok();
  });
}

goss_status goss_sync_computes(goss_sync_t sync, int32_t* computes) {
  return onSync("goss_sync_computes", sync, [&](SyncCalls& s) -> Status {
    if (computes == nullptr) return missing("goss_sync_computes", "the place for the answer");
    const Result<bool> answer = s.computes();
    if (answer.isOk()) *computes = answer.value() ? 1 : 0;
    return answer.status();
  });
}

goss_status goss_sync_step_time(goss_sync_t sync, double seconds) {
  return onSync("goss_sync_step_time", sync, [&](SyncCalls& s) { return s.tellStepTime(seconds); });
}

goss_status goss_sync_gradient_ready(goss_sync_t sync, int32_t index) {
  return onSync("goss_sync_gradient_ready", sync, [&](SyncCalls& s) { return s.gradientReady(index); });
}

goss_status goss_sync_gradients(goss_sync_t sync) {
  return onSync("goss_sync_gradients", sync, [](SyncCalls& s) { return s.gradients(); });
}

goss_status goss_sync_step(goss_sync_t sync) {
  return onSync("goss_sync_step", sync, [](SyncCalls& s) { return s.step(); });
}

goss_status goss_sync_finish(goss_sync_t sync) {
  return onSync("goss_sync_finish", sync, [](SyncCalls& s) { return s.finish(); });
}

goss_status goss_sync_export(goss_sync_t sync, void** bytes, size_t* count) {
  return onSync("goss_sync_export", sync, [&](SyncCalls& s) -> Status {
    if (bytes == nullptr || count == nullptr) return missing("goss_sync_export", "a place for the result");
    const Result<std::string> state = s.exportState();
    if (!state.isOk()) return state.status();
    Status status = handOut(state.value(), bytes);
    if (status.isOk()) *count = state.value().size();
    return status;
  });
}

goss_status goss_sync_import(goss_sync_t sync, const void* bytes, size_t count) {
  return onSync("goss_sync_import", sync, [&](SyncCalls& s) -> Status {
    if (bytes == nullptr) return missing("goss_sync_import", "bytes");
    return s.importState({static_cast<const char*>(bytes), count});
  });
}

goss_status goss_sync_import_all(goss_sync_t sync, const void* const* bytes, const size_t* counts, size_t states,
                                 int32_t* dropped) {
  return onSync("goss_sync_import_all", sync, [&](SyncCalls& s) -> Status {
    if (states > 0 && (bytes == nullptr || counts == nullptr))
      return missing("goss_sync_import_all", "bytes or counts");
    std::vector<std::string_view> views;
    for (size_t i = 0; i < states; ++i) {
      if (bytes[i] == nullptr) return missing("goss_sync_import_all", "a state");
      views.emplace_back(static_cast<const char*>(bytes[i]), counts[i]);
    }
    const Result<bool> loses = s.importAll(views);
    if (loses.isOk() && dropped != nullptr) *dropped = loses.value() ? 1 : 0;
    return loses.status();
  });
}

goss_status goss_sync_get_info(goss_sync_t sync, goss_sync_info* info) {
  return onSync("goss_sync_get_info", sync,
                [&](SyncCalls& s) { return fillStruct("goss_sync_get_info: info", s.info(), info); });
}

goss_status goss_sync_get_counters(goss_sync_t sync, goss_sync_counters* counters) {
  return onSync("goss_sync_get_counters", sync,
                [&](SyncCalls& s) { return fillStruct("goss_sync_get_counters: counters", s.counters(), counters); });
}

goss_status goss_sync_abort(goss_sync_t sync, const char* reason) {
  return onSync("goss_sync_abort", sync,
                [&](SyncCalls& s) { return s.abort(reason != nullptr ? reason : "no reason given"); });
}

goss_status goss_sync_destroy(goss_sync_t sync) {
  return guarded("goss_sync_destroy", [&] {
    if (sync != nullptr && !sync->made_in.isInherited()) delete sync;
    return Status::ok();
  });
}

goss_status goss_sync_tensor_init(goss_sync_tensor* tensor, size_t size) {
  return initStruct<goss_sync_tensor>("goss_sync_tensor_init", GOSS_SYNC_TENSOR_INIT, tensor, size);
}

goss_status goss_sync_loss_init(goss_sync_loss* loss, size_t size) {
  return initStruct<goss_sync_loss>("goss_sync_loss_init", GOSS_SYNC_LOSS_INIT, loss, size);
}

goss_status goss_sync_info_init(goss_sync_info* info, size_t size) {
  return initStruct("goss_sync_info_init", goss_sync_info{}, info, size);
}

goss_status goss_sync_counters_init(goss_sync_counters* counters, size_t size) {
  return initStruct("goss_sync_counters_init", goss_sync_counters{}, counters, size);
}

goss_status goss_sync_trials(goss_sync_t sync, char** json) {
  return onSync("goss_sync_trials", sync, [&](SyncCalls& s) -> Status {
    if (json == nullptr) return missing("goss_sync_trials", "the place for the text");
    void* text = nullptr;
    Status status = handOut(s.trials(), &text);
    if (status.isOk()) *json = static_cast<char*>(text);
    return status;
  });
}

goss_status goss_sync_methods(char** json) {
  return guarded("goss_sync_methods", [&]() -> Status {
    if (json == nullptr) return missing("goss_sync_methods", "the place for the text");
    void* text = nullptr;
    Status status = handOut(goss::sync::describeMethods(), &text);
    if (status.isOk()) *json = static_cast<char*>(text);
    return status;
  });
}

} // extern "C"
