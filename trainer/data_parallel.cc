#include "trainer/data_parallel.h"

#include "trainer/error.h"

namespace goss::trainer {

namespace {

void check(goss_status status) {
  if (status != GOSS_SUCCESS) fail("{}", goss_last_error());
}

} // namespace

DataParallel::DataParallel() {
  check(goss_comm_create(nullptr, &comm_));
  check(goss_comm_rank(comm_, &rank_));
  check(goss_comm_size(comm_, &size_));
}

DataParallel::~DataParallel() { goss_comm_destroy(comm_); }

void DataParallel::startSum(float* values, std::size_t count) {
  goss_request_t request = nullptr;
  check(goss_all_reduce(comm_, values, values, count, GOSS_FLOAT32, GOSS_SUM, nullptr, &request));
  pending_.push_back(request);
}

void DataParallel::waitSums() {
  const goss_status status = goss_wait_all(pending_.data(), pending_.size());
  pending_.clear();
  check(status);
}

void DataParallel::sum(std::span<double> values) {
  check(goss_all_reduce(comm_, values.data(), values.data(), values.size(), GOSS_FLOAT64, GOSS_SUM, nullptr, nullptr));
}

void DataParallel::broadcast(void* data, std::size_t bytes) {
  check(goss_broadcast(comm_, data, data, bytes, GOSS_UINT8, 0, nullptr, nullptr));
}

bool DataParallel::allEqual(std::uint64_t value) {
  std::uint64_t least_and_inverse[2] = {value, ~value}; // the least inverse is the inverse of the largest
  check(goss_all_reduce(comm_, least_and_inverse, least_and_inverse, 2, GOSS_UINT64, GOSS_MIN, nullptr, nullptr));
  return least_and_inverse[0] == ~least_and_inverse[1];
}

void DataParallel::barrier() { check(goss_barrier(comm_, nullptr, nullptr)); }

void DataParallel::abort(const std::string& reason) noexcept {
  goss_comm_abort(comm_, reason.c_str());
  goss_wait_all(pending_.data(), pending_.size()); // each fails at once; what matters is that its buffer is free again
  pending_.clear();
}

} // namespace goss::trainer
