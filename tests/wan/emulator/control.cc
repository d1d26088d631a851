// Control commands and statistics.
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <stdexcept>
#include <tuple>

#include "tests/wan/emulator/wan.h"

namespace goss::wanem {

std::vector<int> Wan::whichHosts(const std::string& s) const {
  if (s != "*") return {int(number(s, "host", 0, count_ - 1))};
  std::vector<int> all(size_t(count_), 0);
  return std::iota(all.begin(), all.end(), 0), all;
}

std::vector<Link*> Wan::whichLinks(Words& w) { // takes the link's words off w
  const size_t gt = w.size() < 2 ? 0 : w[1].find('>');
  const bool one_way = gt != std::string::npos;
  if (w.size() < (one_way ? 2 : 3)) fail("a link is 'A B' or 'A>B'");
  std::vector<Link*> ls;
  for (int a : whichHosts(w[1].substr(0, gt)))
    for (int b : whichHosts(one_way ? w[1].substr(gt + 1) : w[2]))
      if (a != b) {
        ls.push_back(&link(a, b));
        if (!one_way) ls.push_back(&link(b, a));
      }
  w.erase(w.begin() + 1, w.begin() + (one_way ? 2 : 3));
  return ls;
}

void Wan::setHost(Host& h, const std::string& k, double v, Ns t) {
  if (k == "inbound")
    h.inbound = v != 0;
  else if (k == "up" || k == "down")
    (k == "up" ? h.up : h.down).rate(v, std::max(131072.0, v * 125 * 50), t);
  else
    fail("unknown key '" + k + "'");
}

void Wan::command(Words w, Ns t) {
  if (w[0] == "*" || w[0].find('>') != std::string::npos || isdigit(w[0][0])) w.insert(w.begin(), "set");
  const std::string c = w[0];
  if (c == "set" || c == "cut" || c == "heal") {
    for (Link* l : whichLinks(w)) {
      Profile p = l->p; // all keys or none
      if (c != "set")
        l->cut = c == "cut";
      else
        for (size_t i = 1; i < w.size(); i++) {
          auto [k, v] = keyValue(w[i]);
          setProfile(p, k, v);
        }
      l->p = p, l->apply(t);
    }
  } else if (c == "set-host" || c == "cut-host" || c == "heal-host") {
    if (w.size() < 2) fail("which host?");
    for (int a : whichHosts(w[1]))
      if (c != "set-host")
        host(a).cut = c == "cut-host";
      else
        for (size_t i = 2; i < w.size(); i++) {
          auto [k, v] = keyValue(w[i]);
          setHost(host(a), k, number(v, k), t);
        }
  } else if (c == "heal-all") {
    for (auto& l : links_)
      l.cut = false;
    for (auto& h : hosts_)
      h.cut = false;
  } else if (c == "nat") {
    putBehindRouter(nat_.add({w.begin() + 1, w.end()}, count_));
  } else if (c == "after") {
    if (w.size() < 3) fail("after SEC CMD...");
    timeline_.insert({t + Ns(number(w[1], c) * 1e9), join(w, 2)});
  } else if (c == "quit")
    stop(0, t);
  else
    fail("unknown command '" + c + "'");
}

std::string Wan::control(const std::string& line) try { // one line in, the reply out
  const Words w = splitWords(line);
  if (!w.empty() && w[0] == "stats") return stats();
  if (!w.empty()) command(w, nowNs());
  return "ok\n";
} catch (const std::exception& e) {
  return std::string("error: ") + e.what() + "\n";
}

uintmax_t Wan::tunDrops() const { // packets the kernel dropped because we read too slowly: the 12th number
  uintmax_t sum = 0;
  for (auto& h : hosts_) {
    char buf[4096] = {};
    const char* at = pread(h.dev_stats, buf, sizeof buf - 1, 0) > 0 ? strstr(buf, "wan0:") : nullptr;
    if (const Words w = splitWords(at ? at + 5 : ""); w.size() > 11) sum += strtoull(w[11].c_str(), nullptr, 10);
  }
  return sum;
}

double Wan::latePercent() const { return 100.0 * double(late_) / double(std::max<uintmax_t>(1, delivered_)); }
std::string Wan::stats() {
  rusage u;
  getrusage(RUSAGE_SELF, &u);
  auto since = [](timeval v, timeval v0) {
    return double(v.tv_sec - v0.tv_sec) + double(v.tv_usec - v0.tv_usec) / 1e6;
  };
  double wall = double(nowNs() - started_) / 1e9, bytes = 0;
  for (auto& l : links_)
    bytes += double(l.n.bytes);
  std::string s =
      textOf("# seconds %.3f cpu_user %.3f cpu_sys %.3f delivered_mb %.3f mbit_per_s %.1f\n", wall,
             since(u.ru_utime, cpu0_.ru_utime), since(u.ru_stime, cpu0_.ru_stime), bytes / 1e6, bytes * 8e-6 / wall);
  s += textOf("# late_over_2ms_pct %.3f late_max_ms %.3f tun_drops %ju write_errors %ju\n", latePercent(),
              double(late_max_) / 1e6, tunDrops(), write_errors_);
  s += "src\tdst\tbw\tdelay\tloss\tcut\tpkts\tbytes\tlost\tqueue_drop\tcut_drop\tfirewall_drop\tcorrupted\tqueue_max\n";
  for (int a = 0; a < count_; a++)
    for (int b = 0; b < count_; b++) {
      const auto& [p, n] = std::tie(link(a, b).p, link(a, b).n);
      if (a != b)
        s += textOf("%d\t%d\t%g\t%g\t%g\t%d\t%ju\t%ju\t%ju\t%ju\t%ju\t%ju\t%ju\t%.0f\n", a, b, p.bw, p.delay, p.loss,
                    link(a, b).cut || host(a).cut || host(b).cut, n.pkts, n.bytes, n.lost, n.queue, n.cut, n.firewall,
                    n.corrupt, n.queue_max);
    }
  return s;
}

void Wan::clientInput(int fd) { // a message is a command; the answer is a message too
  char buf[4096];
  const ssize_t n = recv(fd, buf, sizeof buf, MSG_DONTWAIT);
  if (n <= 0) {
    close(fd);
    return;
  }
  const std::string reply = control(std::string(buf, size_t(n)));
  send(fd, reply.data(), reply.size(), MSG_NOSIGNAL | MSG_DONTWAIT); // nobody may block the packets
}

} // namespace goss::wanem
