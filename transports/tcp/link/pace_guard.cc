#include "transports/tcp/link/pace_guard.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "platform/socket.h"

namespace goss::transports::tcp {

namespace {

/// A rate that has not grown by this factor in a round trip no longer grows; bbr uses the same factor.
constexpr double kGrowth = 1.25;
/// The bounded pace is this factor above the rate: as much as bbr itself takes, later, to see whether the path carries
/// more.
constexpr double kHeadroom = 1.25;
/// When the rate reaches this factor of the one at which the pace was bounded, the path carries more.
constexpr double kFound = 1.15;
/// When the round trip is this factor above the least one, a queue has built up, and it is of this connection's bytes.
constexpr double kQueuedTime = 1.25;
constexpr double kQueuedBytes = 1.5;
/// TCP's first window, of ten packets, forms no queue that counts. Short messages, whose rates say nothing, do not fill
/// it.
constexpr std::uint64_t kFirstWindowBytes = 14'480;
/// When one packet in so many is lost, the queue has overflowed: a path that loses packets by chance alone rarely loses
/// so many.
constexpr std::uint32_t kLostOneOf = 20;
constexpr std::uint32_t kLostAtLeast = 32;
/// bbr's maximum is over ten round trips; for fewer than these bbr does not learn the path anew.
constexpr double kRoundTripsRemembered = 3;
/// A pace below this part of the advice is too slow.
constexpr double kSlowPace = 0.95;
/// A rate below this part of the advice counts as far less.
constexpr double kNearAdvice = 0.85;
/// Round trips between two attempts to learn the path anew: bbr's startup takes so many.
constexpr int kMinPatience = 6;
constexpr int kMaxPatience = 600;
/// The guard looks at most once in this time, even if round trips are shorter.
constexpr std::chrono::microseconds kMinInterval(10'000);

} // namespace

bool PaceGuard::isFull(const platform::BbrState& now) const {
  const auto ahead = [&](const platform::BbrState& then) {
    const double carried = now.rate_bytes_per_s * now.least_round_trip_us / 1e6;
    return then.in_flight_bytes > kFirstWindowBytes &&
           static_cast<double>(then.in_flight_bytes) > kQueuedBytes * carried;
  };
  // What was sent a round trip ago has arrived, and its rate is known.
  const bool queued = now.round_trip_us > kQueuedTime * now.least_round_trip_us && ahead(now) && ahead(*last_);
  const std::uint32_t lost = now.resent_segments - last_->resent_segments;
  return queued || lost > kLostAtLeast + (now.sent_segments - last_->sent_segments) / kLostOneOf;
}

std::uint64_t PaceGuard::judge(const platform::BbrState& now) {
  if (!now.seeking || now.rate_bytes_per_s <= 0) {
    bounded_at_ = 0;
  } else if (bounded_at_ > 0) {
    // With a higher pace bbr finds out faster by itself.
    if (now.rate_bytes_per_s > kFound * bounded_at_) bounded_at_ = 0;
  } else if (last_ && now.rate_bytes_per_s < kGrowth * last_->rate_bytes_per_s && isFull(now)) {
    bounded_at_ = now.rate_bytes_per_s;
  }
  last_ = now;
  return static_cast<std::uint64_t>(kHeadroom * bounded_at_);
}

/// The advice, limited by what the user allows.
std::uint64_t PaceGuard::wanted() const { return users_bound_ > 0 ? std::min(advised_, users_bound_) : advised_; }

bool PaceGuard::isTooSlow(const platform::BbrState& now) {
  if (patience_left_ > 0) --patience_left_;
  if (now.seeking || now.unsent_bytes == 0 || now.rate_bytes_per_s >= kNearAdvice * static_cast<double>(wanted()))
    return false;
  if (patience_left_ > 0) return false;
  const bool helped = now.rate_bytes_per_s > kGrowth * relearnt_at_ || now.rate_bytes_per_s * kGrowth < relearnt_at_;
  patience_ = helped ? kMinPatience : std::min(2 * patience_, kMaxPatience);
  patience_left_ = patience_;
  relearnt_at_ = now.rate_bytes_per_s;
  return true;
}

void PaceGuard::update(int fd) {
  if (idle_ || platform::roughNow() < next_) return;
  const std::optional<platform::BbrState> now = platform::bbrState(fd);
  if (!now) {
    idle_ = true;
    return;
  }
  next_ = platform::roughNow() + std::max(kMinInterval, std::chrono::microseconds(now->round_trip_us));
  if (advised_ > 0) {
    // While the advice limits the pace, bbr sees the advice, not the path.
    if (isTooSlow(*now)) restart(fd);
    return;
  }
  const std::uint64_t bound = judge(*now);
  if (bound == bound_) return;
  bound_ = bound;
  apply(fd);
}

void PaceGuard::advise(int fd, std::uint64_t bytes_per_s) {
  if (bytes_per_s == advised_) return restartSlow(fd);
  const bool lifted = bytes_per_s == 0;
  if (advised_ == 0) advised_at_ = platform::roughNow();
  advised_ = bytes_per_s;
  last_.reset(); // Rates from before and after cannot be compared.
  if (fd < 0) return;
  if (lifted) forget(fd);
  apply(fd);
  restartSlow(fd);
}

/// Messages that take less than a round trip teach bbr nothing: it counts their bytes over that round trip, and sends
/// the next as slowly. While the connection is idle bbr is restarted, with the pace that its window allows and
/// the advice bounds; in use it may have found out that others use the path too. That also keeps bbr from looking for
/// the shortest round trip, once in ten seconds, with four packets in flight, in the middle of a message. A rate that
/// bbr has found is left unchanged.
bool PaceGuard::shouldRestart(const platform::BbrState& now, std::uint64_t advised) {
  const bool slow = now.pace_bytes_per_s < kSlowPace * static_cast<double>(advised);
  return now.in_flight_bytes == 0 && (slow || now.seeking) && now.anew_bytes_per_s > now.pace_bytes_per_s;
}

void PaceGuard::restartSlow(int fd) {
  if (fd < 0 || idle_ || advised_ == 0 || platform::roughNow() < next_restart_) return;
  const std::optional<platform::BbrState> now = platform::bbrState(fd);
  if (!now) return;
  next_restart_ = platform::roughNow() + std::max(kMinInterval, std::chrono::microseconds(now->round_trip_us));
  if (shouldRestart(*now, wanted())) restart(fd);
}

/// The bound is forgotten together with the rates from which it was made.
void PaceGuard::restart(int fd) {
  platform::relearnPath(fd);
  bounded_at_ = 0;
  bound_ = 0;
  apply(fd);
}

/// Rates seen while the advice limited the pace are the advice, not the path.
void PaceGuard::forget(int fd) {
  const std::chrono::duration<double> held = platform::roughNow() - advised_at_;
  if (idle_ || held.count() < kRoundTripsRemembered * platform::roundTrip_s(fd)) return;
  restart(fd);
}

/// A system that does not pace sends as fast as it can.
void PaceGuard::apply(int fd) const {
  constexpr std::uint64_t kNone = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t least = kNone;
  for (const std::uint64_t bound : {bound_, advised_, users_bound_})
    least = std::min(least, bound > 0 ? bound : kNone);
  platform::limitPace(fd, least);
}

void PaceGuard::reset(int fd) {
  const std::uint64_t advised = advised_;
  *this = PaceGuard();
  users_bound_ = platform::paceLimit(fd).value_or(0);
  idle_ = !platform::bbrState(fd).has_value();
  advise(fd, advised);
}

} // namespace goss::transports::tcp
