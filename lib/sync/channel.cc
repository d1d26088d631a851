#include "sync/channel.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "gossamer/compression.h"
#include "sync/outer_state.h"

namespace goss::sync {

namespace {

using Clock = std::chrono::steady_clock;

/// Every rank adds the same, and so the mean has it, whoever encodes what in the schedule.
void addOwed(ReferenceStore& losses, const VectorExchange& exchange) {
  for (const ReferenceRole role : {ReferenceRole::worker, ReferenceRole::server}) {
    const ReferenceKey key{exchange.tensor, role, 0};
    if (!losses.holds(key, {0, exchange.values.size()})) {
      continue;
    }
    std::vector<float> owed(exchange.values.size());
    losses.take(key, 0, owed);
    std::transform(owed.begin(), owed.end(), exchange.values.begin(), exchange.values.begin(), std::plus<>());
  }
}

/// Refers to the texts.
goss_options optionsOf(const std::string& codec, const std::string& algorithm, std::uint64_t tensor) {
  goss_options options = GOSS_OPTIONS_INIT;
  options.codec = codec.empty() ? nullptr : codec.c_str();
  options.tensor = codec.empty() ? 0 : tensor;
  options.algorithm = algorithm.empty() ? nullptr : algorithm.c_str();
  return options;
}

} // namespace

Result<std::unique_ptr<Channel>> Channel::adopt(goss_comm_t comm) {
  std::int32_t rank = 0, size = 0;
  Status status = called(goss_comm_rank(comm, &rank));
  if (status.isOk()) {
    status = called(goss_comm_size(comm, &size));
  }
  if (!status.isOk()) {
    return status;
  }
  return std::unique_ptr<Channel>(new Channel(comm, rank, size));
}

Result<std::unique_ptr<Channel>> Channel::duplicate(goss_comm_t comm) {
  goss_comm_t made = nullptr;
  if (Status status = called(goss_comm_dup(comm, &made)); !status.isOk()) {
    return status;
  }
  return adopt(made);
}

Result<std::unique_ptr<Channel>> Channel::split(goss_comm_t comm, std::int32_t color) {
  goss_comm_t made = nullptr;
  if (Status status = called(goss_comm_split(comm, color, 0, &made)); !status.isOk()) {
    return status;
  }
  return adopt(made);
}

Channel::~Channel() { goss_comm_destroy(comm_); }

Status Channel::checkMean() {
  goss_options options = optionsOf(codec_, algorithm_, 1);
  options.flags = GOSS_PERSISTENT; // planned, but not started
  float value = 0;
  goss_request_t request = nullptr;
  const Status planned = called(goss_all_reduce(comm_, &value, &value, 1, GOSS_FLOAT32, GOSS_AVG, &options, &request));
  return planned.isOk() ? called(goss_request_free(&request)) : planned;
}

Status Channel::startMean(const VectorExchange& exchange, goss_request_t* request) {
  addOwed(owed_, exchange);
  const goss_options options = optionsOf(codec_, algorithm_, exchange.tensor);
  exchanged_bytes_ += exchange.values.size_bytes();
  return called(goss_all_reduce(comm_, exchange.values.data(), exchange.values.data(), exchange.values.size(),
                                GOSS_FLOAT32, GOSS_AVG, &options, request));
}

Status Channel::startGather(const Gathering& gathering, goss_request_t* request) {
  exchanged_bytes_ += gathering.meaning_bytes;
  return called(goss_all_gather(comm_, gathering.mine.data(), gathering.all.data(), gathering.mine.size(), GOSS_UINT8,
                                nullptr, request));
}

Status Channel::neighborSum(const VectorExchange& exchange, const goss_neighborhood& neighborhood) {
  const goss_options options = optionsOf(codec_, {}, exchange.tensor);
  goss_request_t request = nullptr;
  const Status started =
      called(goss_neighbor_all_reduce(comm_, exchange.values.data(), exchange.values.data(), exchange.values.size(),
                                      GOSS_FLOAT32, &neighborhood, &options, &request));
  exchanged_bytes_ += exchange.values.size_bytes();
  return started.isOk() ? wait(&request) : started;
}

Status Channel::neighborSum(double& value, const goss_neighborhood& neighborhood) {
  const Clock::time_point start = Clock::now();
  Status status =
      called(goss_neighbor_all_reduce(comm_, &value, &value, 1, GOSS_FLOAT64, &neighborhood, nullptr, nullptr));
  waited_ns_ += static_cast<std::uint64_t>((Clock::now() - start).count());
  return status;
}

Status Channel::startNeighborSum(std::span<float> values, const goss_neighborhood& neighborhood,
                                 goss_request_t* request) {
  exchanged_bytes_ += values.size_bytes();
  return called(goss_neighbor_all_reduce(comm_, values.data(), values.data(), values.size(), GOSS_FLOAT32,
                                         &neighborhood, nullptr, request));
}

Status Channel::startNeighborSum(double& value, const goss_neighborhood& neighborhood, goss_request_t* request) {
  return called(goss_neighbor_all_reduce(comm_, &value, &value, 1, GOSS_FLOAT64, &neighborhood, nullptr, request));
}

Status Channel::neighborGather(const Gathering& gathering, const goss_neighborhood& neighborhood) {
  goss_request_t request = nullptr;
  const Status started =
      called(goss_neighbor_all_gather(comm_, gathering.mine.data(), gathering.all.data(), gathering.mine.size(),
                                      GOSS_UINT8, &neighborhood, nullptr, &request));
  exchanged_bytes_ += gathering.meaning_bytes;
  return started.isOk() ? wait(&request) : started;
}

Status Channel::gather(double mine, std::span<double> all) {
  const Clock::time_point start = Clock::now();
  Status status = called(goss_all_gather(comm_, &mine, all.data(), 1, GOSS_FLOAT64, nullptr, nullptr));
  waited_ns_ += static_cast<std::uint64_t>((Clock::now() - start).count());
  return status;
}

Status Channel::mean(std::span<float> values) {
  goss_request_t request = nullptr;
  const Status started = called(
      goss_all_reduce(comm_, values.data(), values.data(), values.size(), GOSS_FLOAT32, GOSS_AVG, nullptr, &request));
  exchanged_bytes_ += values.size_bytes();
  return started.isOk() ? wait(&request) : started;
}

Status Channel::wait(goss_request_t* request, bool counts) {
  const Clock::time_point start = Clock::now();
  Status status = called(goss_wait(request, nullptr));
  waited_ns_ += static_cast<std::uint64_t>((Clock::now() - start).count());
  exchanges_ += status.isOk() && counts ? 1 : 0;
  return status;
}

Result<bool> Channel::test(goss_request_t* request) {
  int done = 0;
  if (Status status = called(goss_test(request, &done, nullptr)); !status.isOk()) {
    return status;
  }
  return done != 0;
}

Status Channel::openWindow(std::span<float> memory, goss_window_t* window) {
  return called(goss_window_create(comm_, memory.data(), memory.size(), GOSS_FLOAT32, nullptr, window));
}

Status Channel::openWindow(std::span<std::int64_t> memory, goss_window_t* window) {
  return called(goss_window_create(comm_, memory.data(), memory.size(), GOSS_INT64, nullptr, window));
}

Status Channel::barrier() {
  const Clock::time_point start = Clock::now();
  Status status = called(goss_barrier(comm_, nullptr, nullptr));
  waited_ns_ += static_cast<std::uint64_t>((Clock::now() - start).count());
  return status;
}

Status Channel::broadcast(std::span<float> values) {
  return called(goss_broadcast(comm_, values.data(), values.data(), values.size(), GOSS_FLOAT32, 0, nullptr, nullptr));
}

Result<bool> Channel::allEqual(std::uint64_t value) {
  std::uint64_t least_and_inverse[2] = {value, ~value}; // the least inverse is the inverse of the largest
  if (Status status = called(
          goss_all_reduce(comm_, least_and_inverse, least_and_inverse, 2, GOSS_UINT64, GOSS_MIN, nullptr, nullptr));
      !status.isOk()) {
    return status;
  }
  return least_and_inverse[0] == ~least_and_inverse[1];
}

Status Channel::sameStep(std::uint64_t step) {
  std::vector<double> steps(static_cast<std::size_t>(size_));
  if (Status status = gather(static_cast<double>(step), steps); !status.isOk()) {
    return status;
  }
  const auto other = std::find_if(steps.begin(), steps.end(), [&](double of_rank) { return of_rank != steps.front(); });
  if (other == steps.end()) {
    return Status::ok();
  }
  return Status::error(GOSS_ERR_MISMATCH,
                       fmt::format("the ranks imported states of different steps: rank 0's is of step {}, rank {}'s of "
                                   "step {}; import states of one step on all ranks",
                                   steps.front(), other - steps.begin(), *other));
}

Result<std::string> Channel::codecState() const {
  void* bytes = nullptr;
  std::size_t size = 0;
  if (Status status = called(goss_codec_state_export(comm_, &bytes, &size)); !status.isOk()) {
    return status;
  }
  std::string state(static_cast<const char*>(bytes), size);
  goss_free(bytes);
  if (owed_.intervals() == 0) {
    return state;
  }
  ReferenceStore all, owed = owed_;
  if (Status status = all.importAll(state); !status.isOk()) {
    return status;
  }
  for (const ReferenceRole role : {ReferenceRole::worker, ReferenceRole::server}) {
    owed.move(role, OuterState::kInherited, all);
  }
  return all.exportAll();
}

/// Another grid's losses wait for the next exchange in owed_. In the store a schedule in which nobody encodes a sum
/// would leave those of sums, and a rank those of contributions that it does not encode, such as its own shard's.
Status Channel::restoreCodecState(std::string_view bytes) {
  ReferenceStore kept, owed;
  if (Status status = kept.importAll(bytes); !status.isOk()) {
    return status;
  }
  kept.move(ReferenceRole::server, OuterState::kInherited, owed);
  kept.move(ReferenceRole::worker, OuterState::kInherited, owed);
  const std::string rest = kept.exportAll();
  Status status = called(goss_codec_state_import(comm_, rest.data(), rest.size()));
  if (status.isOk()) {
    owed_ = std::move(owed);
  }
  return status;
}

Status Channel::lostSoFar(std::uint64_t tensor, std::span<float> lost) const {
  return called(goss_codec_state_read(comm_, tensor, lost.data(), lost.size()));
}

/// goss_codec_state_reset would also forget what this rank has lost of its shard of the means, which no other rank has.
Status Channel::forgetLost(std::uint64_t tensor) {
  const Result<std::string> kept = codecState();
  if (!kept.isOk()) {
    return kept.status();
  }
  ReferenceStore store;
  if (Status status = store.importAll(kept.value()); !status.isOk()) {
    return status;
  }
  store.reset({tensor, ReferenceRole::worker, std::nullopt});
  return restoreCodecState(store.exportAll());
}

Status Channel::abort(const char* reason) { return called(goss_comm_abort(comm_, reason)); }

goss_counters Channel::counters() const {
  goss_counters counters{};
  counters.size = sizeof counters;
  goss_comm_counters(comm_, &counters); // Fails only for wrong arguments.
  return counters;
}

} // namespace goss::sync
