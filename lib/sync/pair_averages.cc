#include "sync/pair_averages.h"

#include <algorithm>

namespace goss::sync {

PairAverages::~PairAverages() = default;

Status PairAverages::open(std::span<const std::vector<float>> vectors, std::span<const double> scalars) {
  count_ = vectors.front().size();
  memory_.reserve(count_ * vectors.size());
  for (const std::vector<float>& vector : vectors) {
    memory_.insert(memory_.end(), vector.begin(), vector.end());
  }
  for (const double scalar : scalars) {
    memory_.push_back(static_cast<float>(scalar));
  }
  asked_.resize(static_cast<std::size_t>(channel_.size()));
  left_.resize(asked_.size());
  return channel_.openWindow(memory_, &window_);
}

Status PairAverages::read(std::span<float> values) {
  return called(goss_window_get(window_, values.data(), values.size(), channel_.rank(), 0, nullptr, nullptr));
}

Status PairAverages::add(std::span<const float> change) {
  return called(
      goss_window_accumulate(window_, change.data(), change.size(), GOSS_SUM, channel_.rank(), 0, nullptr, nullptr));
}

Status PairAverages::start(const Average& average) {
  if (flying_ != nullptr) {
    return Status::ok();
  }
  goss_options options = GOSS_OPTIONS_INIT;
  options.timeout_ms = average.timeout_ms;
  const goss_shadow shadow = {count_, average.shadow_factor};
  partner_ = average.partner;
  patience_ms_ = average.timeout_ms;
  return called(goss_pair_average(window_, partner_, count_, 0, average.shadow_factor > 0 ? &shadow : nullptr, &options,
                                  &flying_));
}

Result<bool> PairAverages::over(bool waits) {
  if (flying_ == nullptr) {
    return true;
  }
  Result<bool> done = true;
  if (waits) {
    if (Status status = channel_.wait(&flying_, false); !status.isOk()) {
      done = status;
    }
  } else {
    done = Channel::test(&flying_);
  }
  if (!done.isOk()) {
    return missed(done.status(), partner_);
  }
  if (done.value()) {
    asked_[static_cast<std::size_t>(partner_)] = true;
    channel_.countExchange(count_ * sizeof(float));
  }
  return done;
}

Status PairAverages::change(int rank, const std::function<void(std::span<float>)>& change) {
  Status status = called(goss_window_lock(window_, rank, nullptr));
  if (!status.isOk()) {
    return status;
  }
  std::vector<float> values(memory_.size());
  status = called(goss_window_get(window_, values.data(), values.size(), rank, 0, nullptr, nullptr));
  if (status.isOk()) {
    change(values);
    status = called(goss_window_put(window_, values.data(), values.size(), rank, 0, nullptr, nullptr));
  }
  const Status unlocked = called(goss_window_unlock(window_, rank)); // the next holder of the lock sees the put
  if (!status.isOk() || !unlocked.isOk()) {
    return status.isOk() ? unlocked : status;
  }
  channel_.countExchange(2 * values.size() * sizeof(float));
  return status;
}

Result<bool> PairAverages::push(int rank, std::span<const float> change) {
  Status status = called(goss_window_lock(window_, rank, nullptr));
  if (status.isOk()) {
    status = called(goss_window_accumulate(window_, change.data(), change.size(), GOSS_SUM, rank, 0, nullptr, nullptr));
    const Status unlocked = called(goss_window_unlock(window_, rank));
    status = status.isOk() ? unlocked : status;
  }
  if (!status.isOk() && status.kind() == GOSS_ERR_PEER_LOST) { // before the lock, or under it
    left_[static_cast<std::size_t>(rank)] = true;
    return false;
  }
  if (!status.isOk()) {
    return status;
  }
  asked_[static_cast<std::size_t>(rank)] = true;
  channel_.countExchange(change.size_bytes());
  return true;
}

Status PairAverages::readAt(int rank, std::span<float> values) {
  Status status = called(goss_window_lock(window_, rank, nullptr));
  if (!status.isOk()) {
    return status;
  }
  status = called(goss_window_get(window_, values.data(), values.size(), rank, 0, nullptr, nullptr));
  const Status unlocked = called(goss_window_unlock(window_, rank));
  return status.isOk() ? unlocked : status;
}

/// A rank that does not answer within the patience costs this rank one average, which has not taken place. If the
/// communicator has failed, the next access to this rank's own elements fails.
Result<bool> PairAverages::missed(const Status& why, int rank) {
  if (why.kind() == GOSS_ERR_PEER_LOST) {
    left_[static_cast<std::size_t>(rank)] = true;
    return true;
  }
  if (why.kind() == GOSS_ERR_TIMEOUT && patience_ms_ > 0) {
    return true;
  }
  return why;
}

Status PairAverages::settle(std::int64_t timeout_ms) {
  const Result<bool> is_over = over(true);
  if (!is_over.isOk()) {
    return is_over.status();
  }
  for (std::size_t rank = 0; rank < asked_.size(); ++rank) {
    if (!asked_[rank] || left_[rank]) {
      continue;
    }
    goss_options options = GOSS_OPTIONS_INIT;
    options.timeout_ms = timeout_ms;
    Status status = called(goss_window_flush(window_, static_cast<std::int32_t>(rank), &options));
    if (!status.isOk() && status.kind() != GOSS_ERR_PEER_LOST) {
      return status;
    }
    asked_[rank] = false;
    left_[rank] = !status.isOk();
  }
  return Status::ok();
}

} // namespace goss::sync
