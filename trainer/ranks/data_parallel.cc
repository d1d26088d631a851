#include "trainer/ranks/data_parallel.h"

#include <utility>

#include "trainer/base/error.h"

namespace goss::trainer {

namespace {

constexpr std::int32_t kMoveTag = 0, kTextTag = 1;

void check(goss_status status) {
  if (status != GOSS_SUCCESS) fail("{}", goss_last_error());
}

} // namespace

DataParallel::DataParallel() {
  check(goss_comm_create(nullptr, &comm_));
  check(goss_comm_rank(comm_, &rank_));
  check(goss_comm_size(comm_, &size_));
}

DataParallel::~DataParallel() {
  // Rank 0 takes every text before a run ends, and a run that fails aborts the communicator.
  if (text_sent_ != nullptr) goss_wait(&text_sent_, nullptr);
  goss_comm_destroy(comm_);
}

void DataParallel::sum(std::span<double> values) {
  check(goss_all_reduce(comm_, values.data(), values.data(), values.size(), GOSS_FLOAT64, GOSS_SUM, nullptr, nullptr));
}

void DataParallel::startSum(std::vector<double> values) {
  StartedSum& sum = sums_.emplace_back(StartedSum{std::move(values)});
  double* data = sum.values.data();
  check(goss_all_reduce(comm_, data, data, sum.values.size(), GOSS_FLOAT64, GOSS_SUM, nullptr, &sum.request));
}

std::vector<double> DataParallel::takeSum() {
  check(goss_wait(&sums_.front().request, nullptr));
  std::vector<double> values = std::move(sums_.front().values);
  sums_.pop_front();
  return values;
}

void DataParallel::broadcast(void* data, std::size_t bytes) {
  check(goss_broadcast(comm_, data, data, bytes, GOSS_UINT8, 0, nullptr, nullptr));
}

bool DataParallel::allEqual(std::uint64_t value) {
  std::uint64_t least_and_inverse[2] = {value, ~value}; // the least inverse is the inverse of the largest value
  check(goss_all_reduce(comm_, least_and_inverse, least_and_inverse, 2, GOSS_UINT64, GOSS_MIN, nullptr, nullptr));
  return least_and_inverse[0] == ~least_and_inverse[1];
}

void DataParallel::barrier() { check(goss_barrier(comm_, nullptr, nullptr)); }

void DataParallel::move(void* data, std::size_t bytes, int peer, Direction direction) {
  const bool is_sender = (rank_ == 0) == (direction == Direction::fromRoot);
  const int other = rank_ == 0 ? peer : 0;
  check(is_sender ? goss_send(comm_, data, bytes, GOSS_UINT8, other, kMoveTag, nullptr, nullptr)
                  : goss_recv(comm_, data, bytes, GOSS_UINT8, other, kMoveTag, nullptr, nullptr));
}

void DataParallel::sendText(const std::string& text) {
  if (text_sent_ != nullptr) check(goss_wait(&text_sent_, nullptr)); // rank 0 has taken it before the next is due
  text_ = text;
  check(goss_send(comm_, text_.data(), text_.size(), GOSS_UINT8, 0, kTextTag, nullptr, &text_sent_));
}

std::optional<std::string> DataParallel::takeText(int peer) {
  int found = 0;
  goss_message message{};
  check(goss_iprobe(comm_, peer, kTextTag, &found, &message));
  if (found == 0) return std::nullopt;
  std::string text(message.bytes, '\0');
  check(goss_recv(comm_, text.data(), text.size(), GOSS_UINT8, peer, kTextTag, nullptr, nullptr));
  return text;
}

goss_counters DataParallel::counters() const {
  goss_counters counters{};
  counters.size = sizeof counters;
  check(goss_comm_counters(comm_, &counters));
  return counters;
}

std::shared_ptr<Replicas> DataParallel::synchronize(const std::string& spec) {
  auto made = std::make_shared<LibraryReplicas>(comm_, spec);
  replicas_ = made;
  return made;
}

void DataParallel::abort(const std::string& reason) noexcept {
  if (const std::shared_ptr<LibraryReplicas> replicas = replicas_.lock()) replicas->abort(reason);
  goss_comm_abort(comm_, reason.c_str());
}

} // namespace goss::trainer
