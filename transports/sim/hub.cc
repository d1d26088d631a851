#include "transports/sim/hub.h"

#include <algorithm>
#include <utility>

#include "gossamer/config.h"

namespace goss::transports::sim {

namespace {

// The finaliser of splitmix64: flipping any input bit flips about half of the output bits.
std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

// A number evenly spread over [0, 1), determined by the seed, the link, the number of the event and its purpose.
double uniform(std::uint64_t seed, std::uint64_t link, std::uint64_t number, std::uint64_t purpose) {
  std::uint64_t bits = mix(mix(mix(mix(seed) + link) + number) + purpose);
  return static_cast<double>(bits >> 11) * 0x1p-53;
}

VirtualTime nanoseconds(double seconds) { return static_cast<VirtualTime>(seconds * 1e9); }

} // namespace

Hub::Hub(const TransportContext& context, SimOptions options)
    : job_(context.job), options_(std::move(options)), ranks_(static_cast<std::size_t>(context.size)) {
  directions_.resize(ranks_.size() * ranks_.size());
  if (!options_.links) {
    options_.links = [drop = context.config->sim_drop](int, int) {
      SimLink link;
      link.drop = drop;
      return link;
    };
  }
}

void Hub::join(int number, const platform::Wakeup& wakeup) {
  std::lock_guard lock(mutex_);
  Rank& joining = rank(number);
  joining.joined = true;
  joining.wakeup = &wakeup;
  joining.last_call = Clock::now();
}

void Hub::leave(int number) {
  std::lock_guard lock(mutex_);
  Rank& leaving = rank(number);
  leaving.gone = true;
  leaving.wakeup = nullptr;
  leaving.events.clear();
  advance(Clock::now()); // The others may have waited for this rank only.
}

void Hub::connect(int from, int to) {
  {
    std::lock_guard lock(mutex_);
    direction(from, to).wanted = true;
  }
  poke(from, to);
}

bool Hub::linked(int from, int to) const {
  std::lock_guard lock(mutex_);
  return directions_[index(from, to)].wanted && directions_[index(to, from)].wanted;
}

// When a message arrives: its bytes occupy the link one after the other, then the latency passes; a loss costs one
// retransmission. Never before an earlier message.
VirtualTime Hub::arrival(int from, int to, Direction& way, std::uint64_t bytes) const {
  const SimLink link = options_.links(from, to);
  const std::uint64_t id = index(from, to);
  VirtualTime start = std::max(now_, way.free_at);
  way.free_at = start + nanoseconds(static_cast<double>(bytes) / link.bandwidth_bytes_per_s);
  double delay_s = link.latency_s + link.jitter_s * uniform(options_.seed, id, way.number, 1);
  if (uniform(options_.seed, id, way.number, 2) < link.drop) delay_s += link.retransmit_s;
  way.last_arrival = std::max(way.last_arrival, way.free_at + nanoseconds(delay_s));
  return way.last_arrival;
}

void Hub::post(int from, int to, Event::Kind kind, std::shared_ptr<Message> message, std::uint64_t bytes) {
  std::lock_guard lock(mutex_);
  rank(from).idle = false;
  Rank& receiver = rank(to);
  if (receiver.gone) return;
  Direction& way = direction(from, to);
  ++way.number;
  VirtualTime at = arrival(from, to, way, bytes);
  receiver.events.insert({at, from, way.number, kind, std::move(message)});
}

void Hub::poke(int from, int to) {
  std::lock_guard lock(mutex_);
  Rank& receiver = rank(to);
  if (receiver.gone) return;
  receiver.events.insert({now_, from, 0, Event::Kind::wake, {}});
  wake(receiver, Clock::now());
}

void Hub::touch(int number) {
  std::lock_guard lock(mutex_);
  rank(number).idle = false;
}

void Hub::wake(Rank& sleeper, Clock::time_point wall) {
  if (!std::exchange(sleeper.sleeping, false)) return; // It is busy elsewhere: an event does not extend its patience.
  sleeper.woken = true;
  sleeper.last_call = wall;
  if (sleeper.wakeup) sleeper.wakeup->notify();
}

Hub::Clock::duration Hub::holdsClockFor(const Rank& who, Clock::time_point wall) const {
  if (who.gone || (who.joined && who.idle && !due(who))) return Clock::duration::zero();
  if (!who.joined) return options_.patience;
  const bool away = who.idle && !who.woken && !who.sleeping;
  return who.last_call + options_.patience / (away ? 100 : 1) - wall;
}

Hub::Clock::duration Hub::clockIsHeldFor(Clock::time_point wall) const {
  Clock::duration longest{0};
  for (const Rank& who : ranks_)
    longest = std::max(longest, holdsClockFor(who, wall));
  return longest;
}

void Hub::advance(Clock::time_point wall) {
  if (clockIsHeldFor(wall) > Clock::duration::zero()) return;
  VirtualTime next = INT64_MAX;
  for (const Rank& who : ranks_) {
    // A rank that is away does not take its due events, but later events of other ranks do not wait for it.
    if (!who.events.empty() && !due(who)) next = std::min(next, who.events.begin()->at);
  }
  if (next == INT64_MAX) return;
  now_ = std::max(now_, next);
  for (Rank& who : ranks_) {
    if (due(who)) wake(who, wall);
  }
}

void Hub::take(int number, bool idle, std::vector<Event>& out) {
  std::lock_guard lock(mutex_);
  const Clock::time_point wall = Clock::now();
  Rank& taker = rank(number);
  taker.last_call = wall;
  taker.woken = false;
  if (!due(taker)) {
    taker.idle = idle;
    if (!idle) return;
    advance(wall);
    if (!due(taker)) return;
  }
  taker.idle = false;
  while (due(taker))
    out.push_back(std::move(taker.events.extract(taker.events.begin()).value()));
}

Hub::Sleep Hub::prepareToSleep(int number) {
  std::lock_guard lock(mutex_);
  const Clock::time_point wall = Clock::now();
  Rank& sleeper = rank(number);
  sleeper.last_call = wall;
  sleeper.idle = true;
  if (!due(sleeper)) advance(wall);
  if (due(sleeper)) return {};
  sleeper.sleeping = true;
  const Clock::duration held = clockIsHeldFor(wall);
  if (held <= Clock::duration::zero()) return {true, {}};
  return {true, std::chrono::ceil<std::chrono::milliseconds>(held) + std::chrono::milliseconds(1)};
}

void Hub::sleepEnded(int number) {
  std::lock_guard lock(mutex_);
  rank(number).sleeping = false;
}

VirtualTime Hub::now() const {
  std::lock_guard lock(mutex_);
  return now_;
}

} // namespace goss::transports::sim
