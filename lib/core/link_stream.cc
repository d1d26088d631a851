#include "core/link_stream.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/world.h"

namespace goss::core {

namespace {

constexpr std::int32_t kDataTag = 2;
constexpr double kLeastSpan_s = 0.06;
constexpr double kMostSpan_s = 0.25;
constexpr double kSpanInRoundTrips = 12; ///< TCP doubles its speed in each, from ten packets on.
constexpr double kShortest_s = 1e-6;

/// Large enough to be striped over several connections, where there are such.
constexpr std::size_t kLargeChunkBytes = std::size_t{512} * 1024;
/// What is on its way when the time is over must not take long.
constexpr std::size_t kSmallChunkBytes = std::size_t{16} * 1024;
/// One is on its way while the next one waits. More may be in buffers of the system.
constexpr std::size_t kMostSends = 2;

} // namespace

double bestRate(const std::vector<std::uint64_t>& bytes, const std::vector<double>& at_s, double least_s) {
  double best = 0;
  double whole = 0;
  std::size_t from = 0;
  double between = 0; // Bytes after `from`, up to `to`.
  for (std::size_t to = 0; to < bytes.size(); ++to) {
    const double here = static_cast<double>(bytes[to]);
    whole += here;
    between += to > 0 ? here : 0;
    // The shortest stretch that is long enough.
    while (from + 1 < to && at_s[to] - at_s[from + 1] >= least_s)
      between -= static_cast<double>(bytes[++from]);
    const double took_s = at_s[to] - at_s[from];
    if (took_s >= least_s && took_s > 0) best = std::max(best, between / took_s);
  }
  if (best > 0 || bytes.empty()) return best;
  return whole / std::max(kShortest_s, at_s.back());
}

LinkStream::LinkStream(Communicator& communicator, int peer, double round_trip_s, std::int64_t timeout_ms)
    : communicator_(communicator),
      peer_(peer),
      round_trip_s_(round_trip_s),
      timeout_ms_(timeout_ms),
      span_s_(std::clamp(kSpanInRoundTrips * round_trip_s, kLeastSpan_s, kMostSpan_s)),
      scratch_(kLargeChunkBytes) {
  const bool large = round_trip_s < kNearRoundTrip_s || communicator.world().config().connections_per_peer > 1;
  chunk_.resize(large ? kLargeChunkBytes : kSmallChunkBytes);
}

LinkStream::~LinkStream() {
  if (data_ != nullptr || !sends_.empty()) communicator_.abort("measuring bandwidths failed");
}

Result<double> LinkStream::run() {
  Result<double> rate = exchange();
  if (!rate.isOk()) communicator_.abort(fmt::format("measuring bandwidths: {}", rate.status().text()));
  return rate;
}

Result<double> LinkStream::exchange() {
  begun_ = Clock::now();
  if (Status status = receiveData(); !status.isOk()) return status;
  while (data_ != nullptr || !said_last_) {
    if (Status status = pump(); !status.isOk()) return status;
    if (Status status = awaitOne(); !status.isOk()) return status;
  }
  while (!sends_.empty()) {
    Operation* last = sends_.back();
    sends_.pop_back();
    if (Status status = communicator_.finish(last, nullptr); !status.isOk()) return status;
  }
  return bestRate(arrived_bytes_, arrived_at_s_, std::max(round_trip_s_, span_s_ / 2));
}

/// Sends what may be on its way, and, when the time is over, the last word: a chunk of no bytes.
Status LinkStream::pump() {
  while (!said_last_ && sends_.size() < kMostSends) {
    said_last_ = sent_some_ && now_s() >= span_s_;
    if (Status status = send(said_last_ ? 0 : chunk_.size()); !status.isOk()) return status;
    sent_some_ = true;
  }
  return Status::ok();
}

Status LinkStream::awaitOne() {
  std::vector<Operation*> operations = sends_;
  operations.push_back(data_);
  const std::vector<Operation*> awaited = operations;
  std::size_t found = 0;
  goss_message message{-1, 0, 0};
  Status status = Communicator::finishAny(operations, found, &message);
  if (found == operations.size()) return status;
  Operation* operation = awaited[found];
  const bool is_data = operation == data_;
  if (is_data) data_ = nullptr;
  std::erase(sends_, operation);
  if (!status.isOk()) return status;
  return is_data ? arrived(message.bytes) : Status::ok();
}

Status LinkStream::arrived(std::uint64_t bytes) {
  if (bytes == 0) return Status::ok();
  arrived_bytes_.push_back(bytes);
  arrived_at_s_.push_back(now_s());
  return receiveData();
}

Status LinkStream::post(Operation*& at, const MessageCall& message) {
  Status status;
  Operation* started = communicator_.startMessage(message, false, status);
  if (started != nullptr) at = started;
  return status;
}

Status LinkStream::send(std::uint64_t bytes) {
  Operation* operation = nullptr;
  Status status = post(operation, {true, chunk_.data(), bytes, GOSS_UINT8, peer_, kDataTag, timeout_ms_});
  if (status.isOk()) sends_.push_back(operation);
  return status;
}

Status LinkStream::receiveData() {
  return post(data_, {false, scratch_.data(), scratch_.size(), GOSS_UINT8, peer_, kDataTag, timeout_ms_});
}

} // namespace goss::core
