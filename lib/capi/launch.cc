#include "capi/launch.h"

#include <fmt/format.h>

#include "capi/device_calls.h"

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
Status findDevice(const Common& common, const Options& options, Call& call) {
  const auto places = findPlaces(common.function, common.comm->communicator->world(), {call.input, call.output},
                                 {options.stream, call.count == 0 && !call.uneven, !options.persistent});
  if (!places.isOk()) return places.status();
  call.device.device = places.value().device;
  if (!call.device.any()) return Status::ok();
  call.device.input = places.value().is_device[0];
  call.device.output = places.value().is_device[1];
  call.device.pinned_input = places.value().is_pinned[0];
  call.device.pinned_output = places.value().is_pinned[1];
  if (call.codecs != nullptr && call.codecs->multiPhase()) {
    return Status::error(GOSS_ERR_UNSUPPORTED,
                         fmt::format("{}: this codec does not take device memory; choose another codec, or copy the "
                                     "buffers to the host",
                                     common.function));
  }
  if (call.codecs != nullptr && call.dtype == GOSS_FLOAT32) {
    for (const Compression* one : {&call.codecs->contribution, &call.codecs->result})
      common.comm->communicator->world().devices().prepareCodec(call.device.device, one->codec->spec());
  }
  call.device.ordered = options.stream != nullptr;
  call.device.grouped = call.device.ordered && Group::ofThisThread().open();
  call.device.stream = options.stream;
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
  if (Status status = findDevice(common, options.value(), call); !status.isOk()) return status;
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
