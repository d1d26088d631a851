#include "capi/launch.h"

#include <fmt/format.h>

#include <algorithm>

#include "world/world.h"

namespace goss::capi {

namespace {

/// Applies GOSS_CODEC to calls that name no codec and that it can serve.
Status useDefaultCodec(Communicator& communicator, Call& call) {
  const std::string& spec = communicator.world().config().codec;
  const bool sums = call.op == GOSS_SUM || call.op == GOSS_AVG || call.op == GOSS_PREMUL_SUM;
  const bool narrow = call.dtype == GOSS_FLOAT32 || call.dtype == GOSS_FLOAT16 || call.dtype == GOSS_BFLOAT16;
  if (spec.empty() || call.collective != Collective::allReduce || !sums || !narrow) return Status::ok();
  auto codecs = communicator.world().codecs().find(spec, {});
  if (!codecs.isOk()) {
    return Status::error(codecs.status().kind(), fmt::format("GOSS_CODEC: {}", codecs.status().text()));
  }
  // Without a tensor's name no feedback could be kept.
  if (codecs.value()->feedback() && call.tensor == 0) return Status::ok();
  call.codecs = codecs.take();
  return Status::ok();
}

/// Finds out which of the buffers lie in device memory.
Status findDevice(const Common& common, void* stream, Call& call) {
  Devices& devices = common.comm->communicator->world().devices();
  const auto refuse = [&](const char* why) {
    return Status::error(GOSS_ERR_UNSUPPORTED, fmt::format("{}: {}", common.function, why));
  };
  if (!devices.present()) {
    if (stream == nullptr) return Status::ok();
    return refuse("options.stream is set, but this rank uses no devices; set GOSS_DEVICE=cuda, or pass NULL");
  }
  int found[2] = {-1, -1};
  const void* const buffers[2] = {call.input, call.output};
  for (int i = 0; i < 2; ++i) {
    const Result<MemoryInfo> info = devices.classify(buffers[i]);
    if (!info.isOk()) return info.status();
    if (info.value().kind == MemoryKind::device) found[i] = info.value().device;
  }
  call.device.input = found[0] >= 0;
  call.device.output = found[1] >= 0;
  call.device.device = std::max(found[0], found[1]);
  if (call.device.input && call.device.output && found[0] != found[1])
    return refuse("send and recv lie on two devices; copy one of them to the other's");
  if (stream != nullptr && !call.device.any()) {
    if (call.count > 0 || call.uneven)
      return refuse("options.stream is set, but the buffers are host memory; pass NULL for them");
    const Result<Device*> current = devices.current(); // A call without elements has its place in the stream, too.
    if (!current.isOk()) return current.status();
    call.device.device = current.value()->ordinal();
  }
  if (!call.device.any()) return Status::ok();
  if (call.neighborhood != nullptr)
    return refuse("collectives among neighbours do not take device memory; copy the buffers to the host");
  if (call.codecs != nullptr && call.codecs->multiPhase())
    return refuse("this codec does not take device memory; choose another codec, or copy the buffers to the host");
  call.device.ordered = stream != nullptr;
  call.device.grouped = call.device.ordered && Group::ofThisThread().open();
  call.device.stream = stream;
  if (call.device.ordered) common.comm->communicator->world().driveUnattended();
  return Status::ok();
}

} // namespace

Status launch(const Common& common, Call& call) {
  Result<Options> options = readOptions(common.function, common.options, common.request, true);
  if (!options.isOk()) return options.status();
  Communicator& communicator = *common.comm->communicator;
  call.timeout_ms = options.value().timeout_ms;
  call.algorithm = options.value().algorithm;
  call.scale = options.value().scale;
  call.tensor = options.value().tensor;
  if (!options.value().codec.empty()) {
    auto codecs = communicator.world().codecs().find(options.value().codec, options.value().return_codec);
    if (!codecs.isOk()) return codecs.status();
    call.codecs = codecs.take();
  } else if (Status status = useDefaultCodec(communicator, call); !status.isOk()) {
    return status;
  }
  if (Status status = findDevice(common, options.value().stream, call); !status.isOk()) return status;
  if (Status status = validate(call, communicator.size()); !status.isOk()) return status;

  Group& group = Group::ofThisThread();
  if (common.request == nullptr && !group.open() && !call.device.ordered) return communicator.collectives().run(call);
  Result<Operation*> started = communicator.collectives().start(call, options.value().persistent);
  if (!started.isOk()) return started.status();
  if (call.device.ordered && !options.value().persistent)
    return launchOrdered(communicator, *started.value(), common.request);
  if (common.request == nullptr) {
    group.add(started.value());
  } else {
    *common.request = toRequest(started.value());
  }
  return Status::ok();
}

Status checkBuffer(const Common& common, const char* name, const void* buffer, std::uint64_t count, goss_dtype dtype) {
  if (count == 0) return Status::ok();
  if (buffer == nullptr)
    return invalid(fmt::format("{}: {} is NULL, but has {} elements", common.function, name, count));
  const std::size_t element = dtypeBytes(dtype);
  if (element > 0 && reinterpret_cast<std::uintptr_t>(buffer) % element != 0) {
    return invalid(fmt::format("{}: {} is not aligned to its {} byte elements", common.function, name, element));
  }
  return Status::ok();
}

Call describe(Collective collective, const Buffers& buffers, std::size_t count, goss_dtype dtype) {
  Call call;
  call.collective = collective;
  call.dtype = dtype;
  call.input = buffers.send;
  call.output = buffers.recv;
  call.count = count;
  return call;
}

} // namespace goss::capi
