#include "trainer/ranks/library_replicas.h"

#include "trainer/base/error.h"

namespace goss::trainer {

namespace {

void check(goss_status status) {
  if (status != GOSS_SUCCESS) fail("{}", goss_last_error());
}

} // namespace

LibraryReplicas::LibraryReplicas(goss_comm_t comm, const std::string& spec) {
  check(goss_sync_create(comm, spec.c_str(), &sync_));
  info_.size = sizeof info_;
  check(goss_sync_get_info(sync_, &info_));
}

LibraryReplicas::~LibraryReplicas() { goss_sync_destroy(sync_); }

std::string LibraryReplicas::start(std::span<const ReplicaTensor> tensors, const SavedSync& saved) {
  for (const ReplicaTensor& given : tensors) {
    goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
    tensor.name = given.name.c_str();
    tensor.parameter = given.parameter;
    tensor.gradient = given.gradient;
    tensor.count = given.count;
    tensor.layer = given.layer;
    check(goss_sync_register(sync_, &tensor, nullptr));
  }
  std::string left_behind;
  if (saved.is_own && !saved.states.empty()) {
    check(goss_sync_import(sync_, saved.states.front().data(), saved.states.front().size()));
  } else if (!saved.states.empty()) {
    left_behind = adopt(saved);
  }
  check(goss_sync_start(sync_));
  return left_behind;
}

/// A state that does not fit this run is dropped. States are the same on all ranks, and so is the answer.
std::string LibraryReplicas::adopt(const SavedSync& saved) {
  std::vector<const void*> bytes;
  std::vector<std::size_t> counts;
  for (const std::string& state : saved.states) {
    bytes.push_back(state.data());
    counts.push_back(state.size());
  }
  std::int32_t dropped = 0;
  const goss_status status = goss_sync_import_all(sync_, bytes.data(), counts.data(), bytes.size(), &dropped);
  if (status == GOSS_ERR_INVALID_ARGUMENT)
    return fmt::format("what the synchronizer kept is reset: {}", goss_last_error());
  check(status);
  return dropped != 0 ? "what a codec kept is left behind" : "";
}

void LibraryReplicas::setLr(double lr) { check(goss_sync_set_lr(sync_, lr)); }

bool LibraryReplicas::computes() {
  std::int32_t answer = 1;
  check(goss_sync_computes(sync_, &answer));
  return answer != 0;
}

void LibraryReplicas::stepTook(double seconds) { check(goss_sync_step_time(sync_, seconds)); }

void LibraryReplicas::gradientReady(std::size_t tensor) {
  check(goss_sync_gradient_ready(sync_, static_cast<std::int32_t>(tensor)));
}

void LibraryReplicas::gradients() { check(goss_sync_gradients(sync_)); }

void LibraryReplicas::step() { check(goss_sync_step(sync_)); }

void LibraryReplicas::finish() {
  exchanges_of_steps_ = traffic().exchanges;
  check(goss_sync_finish(sync_));
}

std::string LibraryReplicas::state() {
  void* bytes = nullptr;
  std::size_t count = 0;
  check(goss_sync_export(sync_, &bytes, &count));
  std::string state(static_cast<const char*>(bytes), count);
  goss_free(bytes);
  return state;
}

ReplicaTraffic LibraryReplicas::traffic() const {
  constexpr double kNsPerS = 1e9;
  goss_sync_counters counters{};
  counters.size = sizeof counters;
  check(goss_sync_get_counters(sync_, &counters));
  return {exchanges_of_steps_.value_or(counters.exchanges), counters.exchanged_bytes, counters.wire_bytes_sent,
          counters.setup_bytes_sent, static_cast<double>(counters.waited_ns) / kNsPerS};
}

void LibraryReplicas::abort(const std::string& reason) noexcept { goss_sync_abort(sync_, reason.c_str()); }

} // namespace goss::trainer
