/// The links and hosts that the emulator plays: queues, loss, cuts.
#ifndef GOSS_TESTS_WAN_EMULATOR_MODEL_H_
#define GOSS_TESTS_WAN_EMULATOR_MODEL_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>

#include "tests/wan/emulator/text.h"

namespace goss::wanem {

struct Profile {
  double bw = 0, delay = 0, jitter = 0, loss = 0, burst = 1, corrupt = 0, queue = 0, reorder = 0;
};

void setProfile(Profile& profile, const std::string& key, const std::string& value);

// A FIFO that serialises bytes at a fixed rate and drops what does not fit. A packet's departure
// time is known when it arrives, so a queue needs no events of its own.
struct Server {
  double ns_per_byte = 0, cap = 0; // 0 = unlimited; cap in bytes
  Ns busy = 0;                     // when the queue is empty again
  void rate(double mbps, double cap_bytes, Ns t) {
    double n = mbps > 0 ? 8000.0 / mbps : 0;
    busy = busy > t && ns_per_byte > 0 ? t + Ns(double(busy - t) * n / ns_per_byte) : t;
    ns_per_byte = n, cap = cap_bytes;
  }
  double backlog(Ns t) const { return ns_per_byte > 0 && busy > t ? double(busy - t) / ns_per_byte : 0; }
  bool admit(Ns& t, size_t bytes) { // on success t becomes the departure time
    if (ns_per_byte == 0) return true;
    if (backlog(t) + double(bytes) > cap) return false;
    t = busy = std::max(busy, t) + Ns(double(bytes) * ns_per_byte);
    return true;
  }
};
struct Link {
  Profile p;
  Server server;
  bool cut = false, bad = false, used = false; // bad: inside a loss burst; used: has carried a packet
  Ns last_out = 0;
  uint64_t rng = 1;
  struct {
    uintmax_t pkts, bytes, lost, queue, cut, firewall, corrupt;
    double queue_max;
  } n{};             // counters
  double uniform() { // xorshift64*
    rng ^= rng >> 12, rng ^= rng << 25, rng ^= rng >> 27;
    return double((rng * 0x2545F4914F6CDD1DULL) >> 11) * 0x1p-53;
  }
  bool chance(double percent) { return percent > 0 && uniform() * 100 < percent; }
  bool lose() {
    if (p.loss <= 0 || p.burst <= 1) return chance(p.loss);
    double leave = 1 / p.burst, enter = p.loss / std::max(1e-9, 100 - p.loss) * leave; // Gilbert model
    return bad = bad ? uniform() >= leave : uniform() < enter;
  }
  void apply(Ns t) {
    server.rate(p.bw, p.queue > 0 ? p.queue * 1024 : std::max(131072.0, p.bw * 125 * std::max(2 * p.delay, 20.0)), t);
  }
};
struct Host {
  int fd = -1, dev_stats = -1;
  bool cut = false, inbound = true;
  Server up, down;
};

} // namespace goss::wanem

#endif // GOSS_TESTS_WAN_EMULATOR_MODEL_H_
