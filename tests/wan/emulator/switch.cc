// The way of a packet: in at one host, through the queues of its link, out at another.
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "tests/wan/emulator/wan.h"

namespace goss::wanem {

void Wan::forward(int a, Packet* p, Ns t) { // takes p
  std::unique_ptr<Packet> owner(p);
  Frame f = parseFrame(*p, count_);
  if (!nat_.isIdle()) f.dst = nat_.pass(a, *p, f);
  if (f.dst < 0) return; // not for a host of ours (multicast and the like)
  Link& l = link(a, f.dst);
  Host &from = host(a), &to = host(f.dst);
  l.used = true;
  p->src = a, p->dst = f.dst;
  if (l.cut || from.cut || to.cut) {
    l.n.cut += f.segments;
    return;
  }
  if (!to.inbound && (f.tcp ? f.open : !link(f.dst, a).used)) {
    l.n.firewall++;
    return;
  }
  // A piece takes at most 1 ms on the wire, so that a slow link does not deliver in big lumps.
  const double slowest = std::max({l.server.ns_per_byte, from.up.ns_per_byte, to.down.ns_per_byte});
  const size_t most = slowest > 0 ? std::clamp<size_t>(size_t(1e6 / (slowest * double(f.gso))), 1, 64) : 64;
  const size_t none = f.segments;
  size_t first = none; // the first segment of the piece being gathered
  Ns depart = 0;
  for (size_t i = 0; i < f.segments; i++) {
    const size_t body = std::min(f.gso, f.payload - i * f.gso);
    Ns at = t;
    bool ok = from.up.admit(at, f.hlen + body);
    if (ok) l.n.queue_max = std::max(l.n.queue_max, l.server.backlog(at));
    if (!ok || !l.server.admit(at, f.hlen + body))
      ok = false, l.n.queue++;
    else if (l.lose())
      ok = false, l.n.lost++;
    else {
      depart = at, first = std::min(first, i);
      if (body && l.chance(l.p.corrupt))
        l.n.corrupt++, p->data[kVnetBytes + f.hlen + i * f.gso + size_t(l.uniform() * double(body))] ^=
                       uint8_t(1 << int(l.uniform() * 8));
    }
    const size_t end = ok ? i + 1 : i;
    if (first == none || (ok && end - first < most && end < f.segments)) continue;
    Ns out = depart + Ns(l.p.delay * 1e6);
    if (l.p.jitter > 0) out = std::max(depart, out + Ns((2 * l.uniform() - 1) * l.p.jitter * 1e6));
    if (l.p.reorder == 0) out = std::max(out, l.last_out);
    l.last_out = out;
    Packet* piece = first == 0 && end == f.segments ? owner.release() : sliceFrame(f, *p, first, end);
    piece->segments = end - first;
    piece->wire = piece->len - kVnetBytes + (end - first - 1) * f.hlen;
    events_.push({out, seq_++, piece});
    first = none;
  }
}

void Wan::readHost(int a) {
  for (int i = 0; i < 64; i++) {
    const ssize_t n = read(host(a).fd, scratch_, sizeof scratch_);
    if (n < ssize_t(kVnetBytes) + 20) return;
    Packet* p = new Packet(size_t(n));
    memcpy(&p->data[0], scratch_, size_t(n));
    forward(a, p, nowNs());
  }
}

void Wan::deliverDue(Ns t) {
  for (int i = 0; i < 256 && !events_.empty() && events_.top().t <= t; i++) {
    Event e = events_.top();
    events_.pop();
    std::unique_ptr<Packet> p(e.p);
    Link& l = link(p->src, p->dst);
    Host& h = host(p->dst);
    if (l.cut || h.cut || host(p->src).cut) {
      l.n.cut += p->segments;
      continue;
    }
    if (!p->arrived && h.down.ns_per_byte > 0) { // now the receiver's access link
      p->arrived = true;
      if (h.down.admit(e.t, p->wire))
        events_.push({e.t, seq_++, p.release()});
      else
        l.n.queue += p->segments;
      continue;
    }
    const Ns behind = std::max<Ns>(0, nowNs() - e.t);
    late_max_ = std::max(late_max_, behind);
    delivered_++, late_ += behind > kLate;
    l.n.pkts += p->segments, l.n.bytes += p->wire;
    if (write(h.fd, &p->data[0], p->len) < 0) write_errors_++;
  }
}

} // namespace goss::wanem
