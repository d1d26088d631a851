#include "trainer/library_replicas.h"

#include "trainer/error.h"

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

void LibraryReplicas::start(std::span<const ReplicaTensor> tensors, const std::string& state) {
  for (const ReplicaTensor& given : tensors) {
    goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
    tensor.name = given.name.c_str();
    tensor.parameter = given.parameter;
    tensor.gradient = given.gradient;
    tensor.count = given.count;
    tensor.layer = given.layer;
    check(goss_sync_register(sync_, &tensor, nullptr));
  }
  if (!state.empty()) check(goss_sync_import(sync_, state.data(), state.size()));
  check(goss_sync_start(sync_));
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

void LibraryReplicas::finish() { check(goss_sync_finish(sync_)); }

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
  return {counters.exchanged_bytes, counters.wire_bytes_sent, counters.edge_bytes_sent,
          static_cast<double>(counters.waited_ns) / kNsPerS};
}

void LibraryReplicas::abort(const std::string& reason) noexcept { goss_sync_abort(sync_, reason.c_str()); }

} // namespace goss::trainer
