#include "bench/suite/goss_engine.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "bench/suite/pattern.h"

namespace goss::bench {

void check(goss_status status, const char* what) {
  if (status == GOSS_ERR_INVALID_ARGUMENT) throw std::invalid_argument(goss_last_error());
  if (status != GOSS_SUCCESS) {
    throw std::runtime_error(fmt::format("{}: {}: {}", what, goss_status_string(status), goss_last_error()));
  }
}

GossEngine::GossEngine(goss_comm_t comm, std::string algorithm, std::string codec)
    : comm_(comm), algorithm_(std::move(algorithm)), codec_(std::move(codec)) {
  check(goss_comm_rank(comm, &rank_), "goss_comm_rank");
  check(goss_comm_size(comm, &size_), "goss_comm_size");
  options_.scale = Pattern::kPremulFactor;
}

GossEngine::~GossEngine() {
  (void)goss_comm_destroy(alone_);
  (void)goss_comm_destroy(comm_);
}

std::string GossEngine::version() const {
  return fmt::format("Gossamer {}.{}.{}", GOSS_VERSION_MAJOR, GOSS_VERSION_MINOR, GOSS_VERSION_PATCH);
}

std::string GossEngine::transport() const {
  const char* name = "";
  check(goss_comm_transport(comm_, (rank_ + 1) % size_, &name), "goss_comm_transport");
  return name;
}

std::unique_ptr<Engine> GossEngine::uncompressed() const {
  goss_comm_t copy = nullptr;
  check(goss_comm_dup(comm_, &copy), "goss_comm_dup");
  auto engine = std::make_unique<GossEngine>(copy, algorithm_);
  engine->name_ = "uncompressed";
  return engine;
}

std::uint64_t GossEngine::wireBytes() const {
  goss_counters counters{};
  counters.size = sizeof counters;
  check(goss_comm_counters(comm_, &counters), "goss_comm_counters");
  return counters.wire_bytes_sent;
}

void GossEngine::combine(double* values, std::size_t count, goss_op op) {
  check(goss_all_reduce(comm_, values, values, count, GOSS_FLOAT64, op, nullptr, nullptr), "goss_all_reduce");
}

void* GossEngine::allocate(std::size_t bytes) {
  void* memory = nullptr;
  check(goss_mem_alloc(comm_, bytes, &memory), "goss_mem_alloc");
  return memory;
}

void* GossEngine::allocateOnDevice(std::size_t bytes) {
  void* memory = nullptr;
  check(goss_mem_alloc_device(comm_, bytes, &memory), "goss_mem_alloc_device");
  return memory;
}

void GossEngine::copy(void* to, const void* from, std::size_t bytes) {
  if (alone_ == nullptr) check(goss_comm_split(comm_, rank_, 0, &alone_), "goss_comm_split");
  if (bytes == 0) return;
  check(goss_all_gather(alone_, from, to, bytes, GOSS_UINT8, nullptr, nullptr), "the copy to or from a GPU failed");
}

void GossEngine::abort(const char* reason) { (void)goss_comm_abort(comm_, reason); }

void GossEngine::issue(const CollectiveCall& c, std::uint32_t flags, goss_request_t* request) {
  options_.flags = flags;
  options_.algorithm = algorithm_.empty() ? nullptr : algorithm_.c_str();
  options_.codec = codec_.empty() ? nullptr : codec_.c_str();
  options_.tensor = 1;
  const goss_options* o = &options_;
  goss_status status = GOSS_SUCCESS;
  switch (c.collective) {
    case Collective::allReduce:
      status = goss_all_reduce(comm_, c.send, c.recv, c.count, c.dtype, c.op, o, request);
      break;
    case Collective::reduce:
      status = goss_reduce(comm_, c.send, c.recv, c.count, c.dtype, c.op, c.root, o, request);
      break;
    case Collective::broadcast:
      status = goss_broadcast(comm_, c.send, c.recv, c.count, c.dtype, c.root, o, request);
      break;
    case Collective::allGather:
      status = goss_all_gather(comm_, c.send, c.recv, c.count, c.dtype, o, request);
      break;
    case Collective::allGatherv:
      status = goss_all_gatherv(comm_, c.send, c.recv, c.counts, nullptr, c.dtype, o, request);
      break;
    case Collective::reduceScatter:
      status = c.even ? goss_reduce_scatter(comm_, c.send, c.recv, c.counts[0], c.dtype, c.op, o, request)
                      : goss_reduce_scatterv(comm_, c.send, c.recv, c.counts, c.dtype, c.op, o, request);
      break;
    case Collective::allToAll:
      status = goss_all_to_all(comm_, c.send, c.recv, c.count, c.dtype, o, request);
      break;
    case Collective::allToAllv:
      status = goss_all_to_allv(comm_, c.send, c.counts, nullptr, c.recv, c.counts, nullptr, c.dtype, o, request);
      break;
    case Collective::gather:
      status = goss_gather(comm_, c.send, c.recv, c.count, c.dtype, c.root, o, request);
      break;
    case Collective::scatter:
      status = goss_scatter(comm_, c.send, c.recv, c.count, c.dtype, c.root, o, request);
      break;
    case Collective::scan:
      status = goss_scan(comm_, c.send, c.recv, c.count, c.dtype, c.op, o, request);
      break;
    case Collective::exscan:
      status = goss_exscan(comm_, c.send, c.recv, c.count, c.dtype, c.op, o, request);
      break;
    case Collective::barrier:
      status = goss_barrier(comm_, o, request);
      break;
  }
  check(status, "the collective failed");
}

void GossEngine::barrier() { check(goss_barrier(comm_, nullptr, nullptr), "goss_barrier"); }

bool GossEngine::test() {
  int done = 0;
  goss_request_t& oldest = requests_.front();
  if (oldest != nullptr) {
    check(goss_test(&oldest, &done, nullptr), "goss_test");
  }
  return done != 0 || oldest == nullptr;
}

void GossEngine::wait() {
  check(goss_wait(&requests_.front(), nullptr), "goss_wait");
  if (requests_.front() == nullptr) requests_.pop_front(); // A persistent request stays.
}

void GossEngine::start() { check(goss_start(requests_.front()), "goss_start"); }

void GossEngine::release() {
  check(goss_request_free(&requests_.front()), "goss_request_free");
  requests_.pop_front();
}

void GossEngine::send(const void* buffer, std::size_t bytes, int peer) {
  check(goss_send(comm_, buffer, bytes, GOSS_INT8, peer, 0, nullptr, nullptr), "goss_send");
}

void GossEngine::recv(void* buffer, std::size_t bytes, int peer) {
  check(goss_recv(comm_, buffer, bytes, GOSS_INT8, peer, 0, nullptr, nullptr), "goss_recv");
}

void GossEngine::startSend(const void* buffer, std::size_t bytes, int peer) {
  check(goss_send(comm_, buffer, bytes, GOSS_INT8, peer, 0, nullptr, &messages_.emplace_back()), "goss_send");
}

void GossEngine::startRecv(void* buffer, std::size_t bytes, int peer) {
  check(goss_recv(comm_, buffer, bytes, GOSS_INT8, peer, 0, nullptr, &messages_.emplace_back()), "goss_recv");
}

void GossEngine::waitAll() {
  check(goss_wait_all(messages_.data(), messages_.size()), "goss_wait_all");
  messages_.clear();
}

} // namespace goss::bench
