#include "bench/sim/simulated_abi.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <set>
#include <utility>

#include "call/call.h"
#include "gossamer/compression.h"
#include "gossamer/gossip.h"
#include "gossamer/window.h"
#include "state/reference_store.h"

using goss::Collective;
using goss::dtypeBytes;
using goss::Status;
using goss::bench::sim::Cluster;
using goss::bench::sim::Exchange;
using goss::bench::sim::Group;
using goss::bench::sim::Operation;
using goss::bench::sim::Post;

struct goss_comm {
  Cluster& cluster;
  std::shared_ptr<Group> group;
  int rank = 0;
  std::uint64_t next_operation = 0;
  std::uint64_t next_among_neighbors = 0;
  std::set<goss_request_t> requests = {}; ///< Those that nobody has waited for; freed with the communicator.
};

struct goss_request {
  goss_comm_t comm;
  std::shared_ptr<Operation> operation;
  std::function<void(const Operation&)> take; ///< Copies the result to the caller.
};

namespace goss::bench::sim {

namespace {

/// As in the library, of the thread; a rank reads it before another runs.
struct LastError {
  std::string text;
  int rank = -1;
};
LastError& lastError() {
  static thread_local LastError error;
  return error;
}

goss_status report(const Status& status) {
  if (!status.isOk()) lastError() = {status.text(), status.peer()};
  return status.kind();
}

goss_status unsupported(const char* function) {
  return report(Status::error(GOSS_ERR_UNSUPPORTED, std::string(function) +
                                                        ": goss-sim simulates collectives among all ranks and among "
                                                        "neighbours, not this; give another synchronizer"));
}

/// Vectors of parameters and their payloads stand for larger ones; numbers that synchronizers agree on do not.
std::uint64_t wireBytes(const goss_comm& comm, std::size_t count, goss_dtype dtype) {
  if (dtype != GOSS_FLOAT32 && dtype != GOSS_UINT8) return count * dtypeBytes(dtype);
  return comm.cluster.scaled(count, dtypeBytes(dtype));
}

template <typename T, typename Combine>
void combine(std::vector<std::byte>& result, const void* send, std::size_t count, bool first, Combine combine_two) {
  result.resize(count * sizeof(T));
  auto* into = reinterpret_cast<T*>(result.data());
  const auto* from = static_cast<const T*>(send);
  for (std::size_t i = 0; i < count; ++i)
    into[i] = first ? from[i] : combine_two(into[i], from[i]);
}

/// Ends the call: waits, or hands out a request.
goss_status conclude(goss_request made, goss_request_t* request) {
  goss_comm_t comm = made.comm;
  goss_request_t own = *comm->requests.insert(new goss_request(std::move(made))).first;
  if (request == nullptr) return goss_wait(&own, nullptr);
  *request = own;
  return GOSS_SUCCESS;
}

/// What a rank calls after its death has no effect.
Status alive(goss_comm_t comm) {
  if (!comm->cluster.isDead(comm->cluster.loop().running())) return Status::ok();
  return Status::error(GOSS_ERR_PEER_LOST, "this rank has died");
}

/// Joins the group's next collective.
goss_status start(goss_comm_t comm, Exchange exchange, const goss_options* options,
                  const std::function<void(Operation&)>& contribute, std::function<void(const Operation&)> take,
                  goss_request_t* request) {
  if (const Status status = alive(comm); !status.isOk()) return report(status);
  if (options != nullptr && options->codec != nullptr) exchange.codec = options->codec;
  if (options != nullptr && options->algorithm != nullptr) exchange.algorithm = options->algorithm;
  const auto joined = comm->cluster.join(*comm->group, comm->next_operation++, exchange, contribute);
  if (!joined.isOk()) return report(joined.status());
  return conclude({comm, joined.value(), std::move(take)}, request);
}

std::function<void(const Operation&)> copyTo(void* to) {
  return [to](const Operation& operation) {
    if (!operation.result.empty()) std::memcpy(to, operation.result.data(), operation.result.size());
  };
}

/// Splits `comm`, or duplicates it, which is a split with one color.
goss_status divide(goss_comm_t comm, std::int32_t color, goss_comm_t* made) {
  const int rank = comm->rank;
  const std::size_t size = comm->group->world_ranks.size();
  const auto contribute = [&](Operation& operation) {
    operation.colors.resize(size);
    operation.colors[static_cast<std::size_t>(rank)] = color;
  };
  std::shared_ptr<Group> group;
  const auto take = [&](const Operation& operation) { group = operation.groups[static_cast<std::size_t>(rank)]; };
  if (const goss_status status = start(comm, {Collective::barrier, 1}, nullptr, contribute, take, nullptr);
      status != GOSS_SUCCESS)
    return status;
  const std::vector<int>& ranks = group->world_ranks;
  const int self = comm->group->world_ranks[static_cast<std::size_t>(rank)];
  const auto at = static_cast<int>(std::find(ranks.begin(), ranks.end(), self) - ranks.begin());
  *made = makeCommunicator(comm->cluster, std::move(group), at);
  return GOSS_SUCCESS;
}

/// What a rank has passed to a collective among neighbours.
struct NeighborCall {
  const void* send;
  std::size_t count;
  goss_dtype dtype;
  const goss_neighborhood* neighborhood;
  const goss_options* options;
};

/// Starts a rank's exchange with its neighbours. `result` is what it begins with; `deliver` adds what source k sent.
goss_status exchangeWithNeighbors(goss_comm_t comm, const NeighborCall& call, std::vector<std::byte> result,
                                  std::function<void(Operation&, std::size_t source, const Post&)> deliver, void* recv,
                                  goss_request_t* request) {
  Group& group = *comm->group;
  Cluster& cluster = comm->cluster;
  if (const Status status = alive(comm); !status.isOk()) return report(status);
  if (!group.failure.isOk()) return report(group.failure);
  std::uint64_t bytes = wireBytes(*comm, call.count, call.dtype);
  double coding_s = 0;
  if (call.options != nullptr && call.options->codec != nullptr) {
    const auto pair = cluster.network().codec(call.options->codec);
    if (!pair.isOk()) return report(pair.status());
    const auto price = pair.value()->price(sizeof(float));
    coding_s = static_cast<double>(bytes) / price.encode_bytes_per_s +
               static_cast<double>(call.neighborhood->source_count * bytes) / price.decode_bytes_per_s;
    bytes = static_cast<std::uint64_t>(static_cast<double>(bytes) * price.payload_ratio);
  }
  const std::uint64_t number = comm->next_among_neighbors++;
  std::vector<int> sources;
  for (std::size_t k = 0; k < call.neighborhood->source_count; ++k)
    sources.push_back(call.neighborhood->sources[k].rank);
  auto operation = std::make_shared<Operation>();
  operation->missing = static_cast<int>(sources.size());
  operation->result = std::move(result);
  operation->last_s = cluster.loop().now_s();
  const auto arrive = [operation, sources, deliver = std::move(deliver), &cluster, &group, coding_s](int from,
                                                                                                     const Post& post) {
    if (from < 0) { // The group has failed.
      operation->status = group.failure;
      cluster.finish(*operation, cluster.loop().now_s());
      return true;
    }
    deliver(*operation, static_cast<std::size_t>(std::find(sources.begin(), sources.end(), from) - sources.begin()),
            post);
    operation->last_s = std::max(operation->last_s, post.arrival_s);
    if (--operation->missing > 0) return false;
    cluster.finish(*operation, operation->last_s + coding_s);
    return true;
  };
  const auto* begin = static_cast<const std::byte*>(call.send);
  const std::vector<std::byte> data(begin, begin + call.count * dtypeBytes(call.dtype));
  for (std::size_t k = 0; k < call.neighborhood->destination_count; ++k) {
    const goss_neighbor& to = call.neighborhood->destinations[k];
    cluster.post(group, to.rank, {comm->rank, number, static_cast<int>(k), bytes, to.weight, data});
  }
  bool complete = sources.empty();
  if (complete) cluster.finish(*operation, operation->last_s);
  auto& inbox = group.inbox[static_cast<std::size_t>(comm->rank)];
  for (const int source : sources) {
    const auto found = inbox.find({source, number});
    if (found == inbox.end()) continue;
    complete = arrive(source, found->second);
    inbox.erase(found);
  }
  if (!complete) group.expecting[static_cast<std::size_t>(comm->rank)].emplace(number, arrive);
  return conclude({comm, operation, copyTo(recv)}, request);
}

template <typename T>
void addWeighted(std::vector<std::byte>& result, std::span<const std::byte> data, double weight) {
  auto* into = reinterpret_cast<T*>(result.data());
  const auto* from = reinterpret_cast<const T*>(data.data());
  for (std::size_t i = 0; i < result.size() / sizeof(T); ++i)
    into[i] += static_cast<T>(weight) * from[i];
}

} // namespace

goss_comm_t makeCommunicator(Cluster& cluster, std::shared_ptr<Group> group, int rank) {
  return new goss_comm{cluster, std::move(group), rank};
}

} // namespace goss::bench::sim

using namespace goss::bench::sim; // NOLINT(google-build-using-namespace): the C functions are not in a namespace

extern "C" {

const char* goss_last_error(void) { return lastError().text.c_str(); }
goss_status goss_last_error_rank(goss_comm_t, int32_t* rank) {
  *rank = lastError().rank;
  return GOSS_SUCCESS;
}
goss_status goss_set_last_error(goss_status status, const char* text) {
  lastError() = {text, -1};
  return status;
}
void goss_free(void* memory) { std::free(memory); }

goss_status goss_comm_rank(goss_comm_t comm, int32_t* rank) {
  *rank = comm->rank;
  return GOSS_SUCCESS;
}
goss_status goss_comm_size(goss_comm_t comm, int32_t* size) {
  *size = static_cast<int32_t>(comm->group->world_ranks.size());
  return GOSS_SUCCESS;
}
goss_status goss_comm_dup(goss_comm_t comm, goss_comm_t* new_comm) { return divide(comm, 0, new_comm); }
goss_status goss_comm_split(goss_comm_t comm, int32_t color, int32_t, goss_comm_t* new_comm) {
  return divide(comm, color, new_comm);
}
goss_status goss_comm_abort(goss_comm_t comm, const char* reason) {
  if (comm->cluster.isDead(comm->cluster.loop().running())) return GOSS_SUCCESS; // It says nothing any more.
  comm->cluster.fail(*comm->group, Status::error(GOSS_ERR_ABORTED, reason));
  return GOSS_SUCCESS;
}
goss_status goss_comm_destroy(goss_comm_t comm) {
  for (goss_request_t request : comm->requests)
    delete request;
  delete comm;
  return GOSS_SUCCESS;
}
goss_status goss_comm_counters(goss_comm_t, goss_counters* counters) {
  const std::size_t size = counters->size;
  *counters = {};
  counters->size = size;
  return GOSS_SUCCESS;
}

goss_status goss_all_reduce(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype, goss_op op,
                            const goss_options* options, goss_request_t* request) {
  const bool sums = dtype == GOSS_FLOAT32 && (op == GOSS_AVG || op == GOSS_SUM);
  if (!sums && (dtype != GOSS_UINT64 || op != GOSS_MIN)) return unsupported("goss_all_reduce");
  if (options != nullptr && (options->flags & GOSS_PERSISTENT) != 0) { // A synchronizer asks whether it can be planned.
    *request = nullptr;
    return GOSS_SUCCESS;
  }
  const auto contribute = [&](Operation& operation) {
    const bool first = operation.result.empty();
    if (sums) {
      combine<float>(operation.result, send, count, first, std::plus<>());
    } else {
      combine<std::uint64_t>(operation.result, send, count, first, [](auto a, auto b) { return std::min(a, b); });
    }
  };
  const auto ranks = static_cast<float>(op == GOSS_AVG ? comm->group->world_ranks.size() : 1);
  const auto take = [=](const Operation& operation) {
    copyTo(recv)(operation);
    if (!sums) return;
    auto* values = static_cast<float*>(recv);
    std::for_each(values, values + count, [=](float& value) { value /= ranks; });
  };
  return start(comm, {Collective::allReduce, wireBytes(*comm, count, dtype)}, options, contribute, take, request);
}

goss_status goss_all_gather(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                            const goss_options* options, goss_request_t* request) {
  const std::size_t each = count * dtypeBytes(dtype);
  const auto contribute = [&](Operation& operation) {
    operation.result.resize(each * comm->group->world_ranks.size());
    std::memcpy(operation.result.data() + static_cast<std::size_t>(comm->rank) * each, send, each);
  };
  return start(comm, {Collective::allGather, wireBytes(*comm, count, dtype)}, options, contribute, copyTo(recv),
               request);
}

goss_status goss_broadcast(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype, int32_t root,
                           const goss_options* options, goss_request_t* request) {
  const auto contribute = [&](Operation& operation) {
    if (comm->rank != root) return;
    const auto* begin = static_cast<const std::byte*>(send);
    operation.result.assign(begin, begin + count * dtypeBytes(dtype));
  };
  return start(comm, {Collective::broadcast, wireBytes(*comm, count, dtype)}, options, contribute, copyTo(recv),
               request);
}

goss_status goss_barrier(goss_comm_t comm, const goss_options* options, goss_request_t* request) {
  return start(
      comm, {Collective::barrier, 0}, options, [](Operation&) {}, [](const Operation&) {}, request);
}

goss_status goss_neighbor_all_reduce(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                     const goss_neighborhood* neighborhood, const goss_options* options,
                                     goss_request_t* request) {
  if (dtype != GOSS_FLOAT32 && dtype != GOSS_FLOAT64) return unsupported("goss_neighbor_all_reduce");
  const auto add = dtype == GOSS_FLOAT32 ? addWeighted<float> : addWeighted<double>;
  std::vector<std::byte> result(count * dtypeBytes(dtype));
  const auto* own = static_cast<const std::byte*>(send);
  add(result, {own, result.size()}, neighborhood->self_weight);
  std::vector<double> weights;
  for (std::size_t k = 0; k < neighborhood->source_count; ++k)
    weights.push_back(neighborhood->sources[k].weight);
  const auto deliver = [add, weights](Operation& operation, std::size_t source, const Post& post) {
    add(operation.result, post.data, weights[source] * post.weight);
  };
  return exchangeWithNeighbors(comm, {send, count, dtype, neighborhood, options}, std::move(result), deliver, recv,
                               request);
}

goss_status goss_neighbor_all_gather(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                     const goss_neighborhood* neighborhood, const goss_options* options,
                                     goss_request_t* request) {
  const std::size_t each = count * dtypeBytes(dtype);
  const auto deliver = [each](Operation& operation, std::size_t source, const Post& post) {
    std::memcpy(operation.result.data() + source * each, post.data.data(), each);
  };
  return exchangeWithNeighbors(comm, {send, count, dtype, neighborhood, options},
                               std::vector<std::byte>(each * neighborhood->source_count), deliver, recv, request);
}

goss_status goss_wait(goss_request_t* request, goss_message*) {
  if (*request == nullptr) return GOSS_SUCCESS;
  const std::unique_ptr<goss_request> held(std::exchange(*request, nullptr));
  held->comm->requests.erase(held.get());
  const Status status = held->comm->cluster.wait(*held->operation);
  if (status.isOk()) held->take(*held->operation);
  return report(status);
}
goss_status goss_request_free(goss_request_t*) { return GOSS_SUCCESS; }
goss_status goss_wait_all(goss_request_t* requests, size_t n) {
  goss_status first = GOSS_SUCCESS;
  for (size_t i = 0; i < n; ++i) {
    const goss_status status = goss_wait(&requests[i], nullptr);
    if (first == GOSS_SUCCESS) first = status;
  }
  return first;
}
goss_status goss_test(goss_request_t* request, int* done, goss_message*) {
  if (*request == nullptr) {
    *done = 1;
    return GOSS_SUCCESS;
  }
  Cluster& cluster = (*request)->comm->cluster;
  const Operation& operation = *(*request)->operation;
  *done = operation.over && operation.end_s <= cluster.loop().now_s() ? 1 : 0;
  return *done != 0 ? goss_wait(request, nullptr) : GOSS_SUCCESS;
}

// Payloads are not made, so encoding loses nothing, and codecs keep nothing.
goss_status goss_codec_state_export(goss_comm_t, void** bytes, size_t* size) {
  const std::string state = goss::ReferenceStore().exportAll();
  *bytes = std::malloc(state.size());
  if (*bytes == nullptr) return GOSS_ERR_RESOURCE;
  std::memcpy(*bytes, state.data(), state.size());
  *size = state.size();
  return GOSS_SUCCESS;
}
goss_status goss_codec_state_import(goss_comm_t, const void*, size_t) { return GOSS_SUCCESS; }
goss_status goss_codec_state_read(goss_comm_t, uint64_t, float* values, size_t count) {
  std::fill_n(values, count, 0.0f);
  return GOSS_SUCCESS;
}

// Functions that only asynchronous methods call. The simulator does not support these methods.
goss_status goss_send(goss_comm_t, const void*, size_t, goss_dtype, int32_t, int32_t, const goss_options*,
                      goss_request_t*) {
  return unsupported("goss_send");
}
goss_status goss_recv(goss_comm_t, void*, size_t, goss_dtype, int32_t, int32_t, const goss_options*, goss_request_t*) {
  return unsupported("goss_recv");
}
goss_status goss_iprobe(goss_comm_t, int32_t, int32_t, int*, goss_message*) { return unsupported("goss_iprobe"); }
goss_status goss_window_create(goss_comm_t, void*, size_t, goss_dtype, const goss_options*, goss_window_t*) {
  return unsupported("goss_window_create");
}
goss_status goss_window_free(goss_window_t*) { return unsupported("goss_window_free"); }
goss_status goss_window_put(goss_window_t, const void*, size_t, int32_t, size_t, const goss_options*, goss_request_t*) {
  return unsupported("goss_window_put");
}
goss_status goss_window_accumulate(goss_window_t, const void*, size_t, goss_op, int32_t, size_t, const goss_options*,
                                   goss_request_t*) {
  return unsupported("goss_window_accumulate");
}
goss_status goss_window_get(goss_window_t, void*, size_t, int32_t, size_t, const goss_options*, goss_request_t*) {
  return unsupported("goss_window_get");
}
goss_status goss_window_flush(goss_window_t, int32_t, const goss_options*) { return unsupported("goss_window_flush"); }
goss_status goss_window_version(goss_window_t, int32_t, uint64_t*) { return unsupported("goss_window_version"); }
goss_status goss_window_lock(goss_window_t, int32_t, const goss_options*) { return unsupported("goss_window_lock"); }
goss_status goss_window_unlock(goss_window_t, int32_t) { return unsupported("goss_window_unlock"); }
goss_status goss_pair_average(goss_window_t, int32_t, size_t, size_t, const goss_shadow*, const goss_options*,
                              goss_request_t*) {
  return unsupported("goss_pair_average");
}

} // extern "C"
