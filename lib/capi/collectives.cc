// The collectives of the C ABI: each checks its own buffers, describes the call, and hands it to the communicator.
#include "capi/collectives.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "call/call.h"
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
  if (options.on_host) return Status::ok();
  const auto places = findBufferPlaces(common.function, common.comm->communicator->world(), {call.input, call.output},
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

Status launch(const Common& common, Call& call, const CallKey* key) {
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
  if (common.request == nullptr && !group.open() && !call.device.ordered)
    return communicator.collectives().run(call, key);
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

namespace {

/// A collective that one count describes.
struct Uniform {
  Collective collective;
  std::size_t count;
  goss_dtype dtype;
  goss_op op = GOSS_SUM;
  std::int32_t root = -1;
};

/// Whether the call is blocking and has no options that change anything: then it may be a cached call.
bool isPlain(const Common& common, goss_op op) {
  const goss_options* options = common.options;
  if (common.request != nullptr || op == GOSS_PREMUL_SUM || !isUsable(common.comm)) return false;
  if (Group::ofThisThread().open()) return false;
  if (options == nullptr) return true;
  // Without a codec a tensor has no meaning.
  const bool tensor_counts = options->tensor != 0 && !common.comm->communicator->world().config().codec.empty();
  return options->size == sizeof(goss_options) && options->flags == 0 && options->timeout_ms == 0 &&
         options->algorithm == nullptr && options->stream == nullptr && options->codec == nullptr &&
         options->return_codec == nullptr && !tensor_counts;
}

/// Validates, plans and launches a call. If `key` is not null, the call may be cached under it. Not inlined, because
/// cached calls would otherwise reserve its stack frame.
[[gnu::noinline]] Status launchNew(const Common& common, const Uniform& uniform, const Buffers& buffers,
                                   const CallKey* key) {
  // A buffer that this rank does not use may be an invalid pointer.
  const Buffers used{buffers.uses_send ? buffers.send : nullptr, buffers.uses_recv ? buffers.recv : nullptr};
  Call call = describe(uniform.collective, used, uniform.count, uniform.dtype);
  call.op = uniform.op;
  call.root = uniform.root;
  call.staged_input = uniform.collective == Collective::allToAll && buffers.send == buffers.recv && call.count > 0;
  if (Status status = checkComm(common.function, common.comm); !status.isOk()) return status;
  if (buffers.uses_send) {
    if (Status s = checkBuffer(common, "send", buffers.send, call.count, call.dtype); !s.isOk()) return s;
  }
  if (buffers.uses_recv) {
    if (Status s = checkBuffer(common, "recv", buffers.recv, call.count, call.dtype); !s.isOk()) return s;
  }
  setUniformShape(call, common.comm->communicator->size());
  return launch(common, call, key);
}

Status launchUniform(const Common& common, const Uniform& uniform, const Buffers& buffers) {
  // runCached() does not find out where the buffers lie, so only calls on host memory are cached.
  if (!isPlain(common, uniform.op) || !areOnHost(common.comm->communicator->world(), {buffers.send, buffers.recv}))
    return launchNew(common, uniform, buffers, nullptr);
  const CallKey key{uniform.collective, uniform.dtype, uniform.op,  uniform.root,
                    uniform.count,      buffers.send,  buffers.recv};
  std::optional<Status> status = common.comm->communicator->collectives().runCached(key);
  return status.has_value() ? std::move(*status) : launchNew(common, uniform, buffers, &key);
}

/// Checks the sizes and positions of a v-variant's blocks; returns the sum.
Result<std::uint64_t> sumOf(const Common& common, const char* name, const std::size_t* counts, int ranks) {
  if (counts == nullptr) return invalid(fmt::format("{}: {} is NULL", common.function, name));
  std::uint64_t sum = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    if (__builtin_add_overflow(sum, counts[rank], &sum)) {
      return invalid(fmt::format("{}: {} add up to more than 2^64 elements", common.function, name));
    }
  }
  return sum;
}

std::span<const std::size_t> perRank(const std::size_t* counts, goss_comm_t comm) {
  return {counts, static_cast<std::size_t>(comm->communicator->size())};
}

bool isRoot(goss_comm_t comm, std::int32_t root) { return comm != nullptr && comm->communicator->rank() == root; }

/// Launches a v-variant with one list of counts, the same on all ranks.
Status launchUneven(const Common& common, Call call, const Buffers& buffers, const std::size_t* counts,
                    const std::size_t* displs) {
  if (Status status = checkComm(common.function, common.comm); !status.isOk()) return status;
  const Communicator& communicator = *common.comm->communicator;
  Result<std::uint64_t> sum = sumOf(common, "counts", counts, communicator.size());
  if (!sum.isOk()) return sum.status();
  call.count = sum.value();
  call.uneven = true;
  const std::uint64_t mine = counts[communicator.rank()];
  const bool gathers = call.collective == Collective::allGather;
  if (Status s = checkBuffer(common, "send", buffers.send, gathers ? mine : call.count, call.dtype); !s.isOk())
    return s;
  if (Status s = checkBuffer(common, "recv", buffers.recv, gathers ? call.count : mine, call.dtype); !s.isOk())
    return s;
  const std::size_t element = dtypeBytes(call.dtype);
  call.shape = blocksShape(call.collective, perRank(counts, common.comm), displs, element);
  call.counts_hash = XXH32(counts, perRank(counts, common.comm).size_bytes(), 0);
  return launch(common, call);
}

} // namespace

} // namespace goss::capi

using namespace goss::capi; // NOLINT(google-build-using-namespace): the C functions are not in a namespace
using goss::Collective;

extern "C" {

goss_status goss_all_reduce(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype, goss_op op,
                            const goss_options* options, goss_request_t* request) {
  return guarded("goss_all_reduce", [&] {
    return launchUniform({"goss_all_reduce", comm, options, request}, {Collective::allReduce, count, dtype, op},
                         {send, recv});
  });
}

goss_status goss_reduce(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype, goss_op op,
                        int32_t root, const goss_options* options, goss_request_t* request) {
  return guarded("goss_reduce", [&] {
    return launchUniform({"goss_reduce", comm, options, request}, {Collective::reduce, count, dtype, op, root},
                         {send, recv, true, isRoot(comm, root)});
  });
}

goss_status goss_broadcast(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype, int32_t root,
                           const goss_options* options, goss_request_t* request) {
  return guarded("goss_broadcast", [&] {
    return launchUniform({"goss_broadcast", comm, options, request},
                         {Collective::broadcast, count, dtype, GOSS_SUM, root}, {send, recv, isRoot(comm, root), true});
  });
}

goss_status goss_all_gather(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                            const goss_options* options, goss_request_t* request) {
  return guarded("goss_all_gather", [&] {
    return launchUniform({"goss_all_gather", comm, options, request}, {Collective::allGather, count, dtype},
                         {send, recv});
  });
}

goss_status goss_all_gatherv(goss_comm_t comm, const void* send, void* recv, const size_t* counts, const size_t* displs,
                             goss_dtype dtype, const goss_options* options, goss_request_t* request) {
  return guarded("goss_all_gatherv", [&] {
    const Buffers buffers{send, recv};
    return launchUneven({"goss_all_gatherv", comm, options, request},
                        describe(Collective::allGather, buffers, 0, dtype), buffers, counts, displs);
  });
}

goss_status goss_reduce_scatter(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                goss_op op, const goss_options* options, goss_request_t* request) {
  return guarded("goss_reduce_scatter", [&] {
    return launchUniform({"goss_reduce_scatter", comm, options, request}, {Collective::reduceScatter, count, dtype, op},
                         {send, recv});
  });
}

goss_status goss_reduce_scatterv(goss_comm_t comm, const void* send, void* recv, const size_t* counts, goss_dtype dtype,
                                 goss_op op, const goss_options* options, goss_request_t* request) {
  return guarded("goss_reduce_scatterv", [&] {
    const Buffers buffers{send, recv};
    goss::Call call = describe(Collective::reduceScatter, buffers, 0, dtype);
    call.op = op;
    return launchUneven({"goss_reduce_scatterv", comm, options, request}, call, buffers, counts, nullptr);
  });
}

goss_status goss_all_to_all(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                            const goss_options* options, goss_request_t* request) {
  return guarded("goss_all_to_all", [&] {
    return launchUniform({"goss_all_to_all", comm, options, request}, {Collective::allToAll, count, dtype},
                         {send, recv});
  });
}

goss_status goss_all_to_allv(goss_comm_t comm, const void* send, const size_t* send_counts, const size_t* send_displs,
                             void* recv, const size_t* recv_counts, const size_t* recv_displs, goss_dtype dtype,
                             const goss_options* options, goss_request_t* request) {
  return guarded("goss_all_to_allv", [&]() -> goss::Status {
    const Common common{"goss_all_to_allv", comm, options, request};
    if (goss::Status status = checkComm(common.function, common.comm); !status.isOk()) return status;
    const int ranks = comm->communicator->size();
    const auto sent = sumOf(common, "send_counts", send_counts, ranks);
    if (!sent.isOk()) return sent.status();
    const auto received = sumOf(common, "recv_counts", recv_counts, ranks);
    if (!received.isOk()) return received.status();
    if (goss::Status s = checkBuffer(common, "send", send, sent.value(), dtype); !s.isOk()) return s;
    if (goss::Status s = checkBuffer(common, "recv", recv, received.value(), dtype); !s.isOk()) return s;
    if (send == recv && sent.value() > 0) return invalid("goss_all_to_allv: not in place; send and recv must differ");
    const int self = comm->communicator->rank();
    if (send_counts[self] != recv_counts[self]) {
      return invalid(fmt::format("goss_all_to_allv: rank {} sends {} elements to itself, but receives {} from itself",
                                 self, send_counts[self], recv_counts[self]));
    }
    goss::Call call = describe(Collective::allToAll, {send, recv}, 0, dtype);
    call.uneven = true;
    const std::size_t element = goss::dtypeBytes(dtype);
    call.shape = goss::blocksShape(Collective::allToAll, perRank(send_counts, comm), send_displs, element);
    call.shape.output_blocks =
        goss::blocksShape(Collective::allToAll, perRank(recv_counts, comm), recv_displs, element).output_blocks;
    return launch(common, call);
  });
}

goss_status goss_gather(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype, int32_t root,
                        const goss_options* options, goss_request_t* request) {
  return guarded("goss_gather", [&] {
    return launchUniform({"goss_gather", comm, options, request}, {Collective::gather, count, dtype, GOSS_SUM, root},
                         {send, recv, true, isRoot(comm, root)});
  });
}

goss_status goss_scatter(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype, int32_t root,
                         const goss_options* options, goss_request_t* request) {
  return guarded("goss_scatter", [&] {
    return launchUniform({"goss_scatter", comm, options, request}, {Collective::scatter, count, dtype, GOSS_SUM, root},
                         {send, recv, isRoot(comm, root), true});
  });
}

goss_status goss_scan(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype, goss_op op,
                      const goss_options* options, goss_request_t* request) {
  return guarded("goss_scan", [&] {
    return launchUniform({"goss_scan", comm, options, request}, {Collective::scan, count, dtype, op}, {send, recv});
  });
}

goss_status goss_exscan(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype, goss_op op,
                        const goss_options* options, goss_request_t* request) {
  return guarded("goss_exscan", [&] {
    return launchUniform({"goss_exscan", comm, options, request}, {Collective::exscan, count, dtype, op}, {send, recv});
  });
}

goss_status goss_barrier(goss_comm_t comm, const goss_options* options, goss_request_t* request) {
  return guarded("goss_barrier", [&] {
    return launchUniform({"goss_barrier", comm, options, request}, {Collective::barrier, 0, GOSS_UINT8},
                         {nullptr, nullptr});
  });
}

} // extern "C"
