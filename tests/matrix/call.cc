#include "tests/matrix/call.h"

#include <algorithm>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>

namespace goss::test {

namespace {

constexpr std::byte kPoison{0xA5};
/// Around every buffer, to notice writes outside of it.
constexpr std::size_t kGuardElems = 16;

/// The v-variants.
goss_status callUneven(goss_comm_t comm, const Case& test, Buffers& buffers, const goss_options& options,
                       goss_request_t* request) {
  const Blocks out = sendBlocks(test, buffers.rank(), buffers.ranks());
  const Blocks in = recvBlocks(test, buffers.rank(), buffers.ranks());
  const auto displs = [&](const Blocks& blocks) { return test.gap > 0 ? blocks.displs.data() : nullptr; };
  switch (test.collective) {
    case Collective::allGather:
      return goss_all_gatherv(comm, buffers.send(), buffers.recv(), in.counts.data(), displs(in), test.dtype, &options,
                              request);
    case Collective::reduceScatter:
      return goss_reduce_scatterv(comm, buffers.send(), buffers.recv(), out.counts.data(), test.dtype, test.op,
                                  &options, request);
    default:
      return goss_all_to_allv(comm, buffers.send(), out.counts.data(), displs(out), buffers.recv(), in.counts.data(),
                              displs(in), test.dtype, &options, request);
  }
}

} // namespace

Buffers::Buffers(const Case& test, int rank, int ranks)
    : rank_(rank),
      ranks_(ranks),
      element_(goss_dtype_size(test.dtype)),
      send_count_(sendCount(test, rank, ranks)),
      recv_count_(recvCount(test, rank, ranks)) {
  const auto send_at = test.in_place && send_count_ > 0 && recv_count_ > 0
                           ? sendOffsetInPlace(test, rank, ranks)
                           : static_cast<std::ptrdiff_t>(recv_count_ + kGuardElems);
  recv_first_ = kGuardElems + static_cast<std::size_t>(std::max<std::ptrdiff_t>(0, -send_at));
  send_first_ = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(recv_first_) + send_at);
  const std::size_t end = std::max(recv_first_ + recv_count_, send_first_ + send_count_) + kGuardElems;
  before_.assign(end * element_, kPoison);
  fill(test);
  expect(test);
  reset();
}

void Buffers::fill(const Case& test) {
  std::vector<double> values;
  for (std::size_t i = 0; i < send_count_; ++i)
    values.push_back(inputValue(test, rank_, ranks_, i));
  const auto encoded = encode(test.dtype, values);
  std::copy(encoded.begin(), encoded.end(), before_.begin() + static_cast<std::ptrdiff_t>(send_first_ * element_));
}

/// Encoded in one go: element by element it would take longer than the collective.
void Buffers::expect(const Case& test) {
  expected_ = before_;
  const std::vector<std::optional<double>> wanted = expectedValues(test, rank_, ranks_);
  std::vector<double> values;
  for (const std::optional<double>& value : wanted)
    values.push_back(value.value_or(0));
  const auto encoded = encode(test.dtype, values);
  for (std::size_t i = 0; i < recv_count_; ++i) {
    if (wanted[i]) std::memcpy(&expected_[(recv_first_ + i) * element_], &encoded[i * element_], element_);
  }
}

std::string Buffers::difference() const {
  if (memory_ == expected_) return "";
  for (std::size_t i = 0; i * element_ < memory_.size(); ++i) {
    if (std::memcmp(&memory_[i * element_], &expected_[i * element_], element_) == 0) continue;
    return "element " + std::to_string(static_cast<std::ptrdiff_t>(i) - static_cast<std::ptrdiff_t>(recv_first_)) +
           " of the receive buffer of " + std::to_string(recv_count_) + " (send buffer at " +
           std::to_string(static_cast<std::ptrdiff_t>(send_first_) - static_cast<std::ptrdiff_t>(recv_first_)) + ")";
  }
  return "";
}

goss_status call(goss_comm_t comm, const Case& test, Buffers& buffers, std::uint32_t flags, goss_request_t* request) {
  goss_options options = GOSS_OPTIONS_INIT;
  options.scale = 0.5;
  options.flags = flags;
  options.stream = buffers.stream();
  if (!test.algorithm.empty()) options.algorithm = test.algorithm.c_str();
  if (!test.codec.empty()) options.codec = test.codec.c_str();
  if (test.codec.ends_with("+ef")) options.tensor = 5; // Of every size, and with every algorithm.
  if (!test.blocks.empty()) return callUneven(comm, test, buffers, options, request);
  const std::size_t n = test.count;
  const DType t = test.dtype;
  const void* send = buffers.send();
  void* recv = buffers.recv();
  switch (test.collective) {
    case Collective::allReduce:
      return goss_all_reduce(comm, send, recv, n, t, test.op, &options, request);
    case Collective::reduce:
      return goss_reduce(comm, send, recv, n, t, test.op, test.root, &options, request);
    case Collective::broadcast:
      return goss_broadcast(comm, send, recv, n, t, test.root, &options, request);
    case Collective::allGather:
      return goss_all_gather(comm, send, recv, n, t, &options, request);
    case Collective::reduceScatter:
      return goss_reduce_scatter(comm, send, recv, n, t, test.op, &options, request);
    case Collective::allToAll:
      return goss_all_to_all(comm, send, recv, n, t, &options, request);
    case Collective::gather:
      return goss_gather(comm, send, recv, n, t, test.root, &options, request);
    case Collective::scatter:
      return goss_scatter(comm, send, recv, n, t, test.root, &options, request);
    case Collective::scan:
      return goss_scan(comm, send, recv, n, t, test.op, &options, request);
    case Collective::exscan:
      return goss_exscan(comm, send, recv, n, t, test.op, &options, request);
    case Collective::barrier:
      return goss_barrier(comm, &options, request);
    default:
      break; // among neighbours: tests/lib/capi/neighbors_test.cc
  }
  return GOSS_ERR_INTERNAL;
}

const char* abiName(Collective collective) {
  static const char* const kNames[] = {"allreduce", "reduce",  "broadcast", "allgather", "reduce_scatter", "alltoall",
                                       "gather",    "scatter", "scan",      "exscan",    "barrier"};
  return kNames[static_cast<int>(collective)];
}

std::vector<std::string> algorithmsFor(Collective collective, int ranks) {
  char* text = nullptr;
  if (goss_explain(abiName(collective), ranks, 1 << 20, nullptr, &text) != GOSS_SUCCESS) return {};
  std::vector<std::string> names;
  const nlohmann::json answer = nlohmann::json::parse(text);
  goss_free(text);
  for (const auto& candidate : answer.at("candidates")) {
    const std::string name = candidate.at("algorithm");
    if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  }
  // Only offered for small vectors, but legal for all: then it runs as messages.
  names.emplace_back("flat");
  return names;
}

} // namespace goss::test
