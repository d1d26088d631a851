#include "bench/suite/common_start.h"

#include <chrono>
#include <limits>
#include <thread>

#include "bench/suite/clock.h"

namespace goss::bench {

namespace {

constexpr int kRoundTrips = 8;

void answer(GossEngine& engine, int peer) {
  for (int i = 0; i < kRoundTrips; ++i) {
    double theirs = 0;
    engine.recv(&theirs, sizeof theirs, peer);
    const double now = nowUs();
    engine.send(&now, sizeof now, peer);
  }
}

/// Rank 0's clock minus this rank's. Rank 0's answer counts as written in the middle of the round trip; the error is at
/// most half of it.
double ask(GossEngine& engine) {
  double shortest = std::numeric_limits<double>::max();
  double ahead = 0;
  for (int i = 0; i < kRoundTrips; ++i) {
    const double start = nowUs();
    double theirs = 0;
    engine.send(&start, sizeof start, 0);
    engine.recv(&theirs, sizeof theirs, 0);
    const double end = nowUs();
    if (end - start >= shortest) continue;
    shortest = end - start;
    ahead = theirs - (start + end) / 2;
  }
  return ahead;
}

} // namespace

CommonStart::CommonStart(GossEngine& engine) : engine_(engine) {
  if (engine.rank() != 0) {
    ahead_us_ = ask(engine);
  } else {
    for (int peer = 1; peer < engine.size(); ++peer)
      answer(engine, peer);
  }
  (void)agree();
}

/// A moment of rank 0's clock after the last of all ranks has called, late enough that all of them learn it in time.
double CommonStart::agree() {
  const double start = nowUs();
  double values[2] = {start + ahead_us_, took_us_};
  engine_.combine(values, 2, GOSS_MAX);
  took_us_ = nowUs() - start;
  return values[0] + 2 * values[1];
}

double CommonStart::await() {
  const double moment = agree() - ahead_us_;
  std::this_thread::sleep_for(std::chrono::duration<double, std::micro>(moment - nowUs()));
  return moment;
}

} // namespace goss::bench
