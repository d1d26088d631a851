// goss-wanem: the command line.
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <map>
#include <stdexcept>

#include "gossamer/gossamer.h"
#include "tests/wan/emulator/wan.h"

namespace goss::wanem {

namespace {

using Ns = int64_t; // nanoseconds of CLOCK_MONOTONIC
using std::string;
using Words = std::vector<std::string>;

const char* kHelp = R"(wanem - WAN emulator in user space (network namespaces + TUN); needs root

  wanem run  [options] -- COMMAND [ARG...]  bring the hosts up, run COMMAND, take everything down; the
                                            exit status is COMMAND's (124: --timeout, 128+N: signal)
  wanem up   [options]                      bring the hosts up, print "ready", serve until a signal or `quit`
  wanem ctl  [--prefix P] CONTROL...        send one control command to a running wanem
  wanem clean [--prefix P]                  stop that wanem if it runs, remove all it left (idempotent)

Topology and profile (defaults in brackets; every link gets the uniform profile first)
  --hosts N         number of hosts, 2..200 [2]; host I is namespace <prefix>I, device wan0,
                    addresses 10.77.0.(I+1)/24 and fd77::(I+1 in hex)/64
  --bw M            bandwidth of each directed link in Mbit/s of IP bytes, 0 = unlimited [0]
  --delay MS        one-way delay [0]             --jitter MS  uniform +-MS, order kept [0]
  --loss PCT        random loss per packet [0]    --burst L    mean length of a loss burst [1]
  --corrupt PCT     flip one payload bit in this share of packets [0]
  --queue KIB       bottleneck queue, 0 = max(128 KiB, bw * max(2*delay, 20 ms)) [0]
  --up M, --down M  bandwidth shared by all links out of / into a host, 50 ms queue, 0 = unlimited [0]
  --links FILE      control commands, one a line, # starts a comment; a line that begins with a
                    host number or * is a `set`, e.g. "0 1 bw=100 delay=40" or "0>1 loss=1"
  --at 'SEC CMD'    run a control command SEC seconds after COMMAND starts (repeatable)
  --seed N          seed of loss, jitter and corruption [1]
  --cc NAME         TCP congestion control [kernel default]       --mtu N      [1500]
  --tcp-mem MIB     tcp_rmem/tcp_wmem maximum, 0 = kernel default [64]
  --sysctl K=V      any net.* sysctl, set in every host (repeatable)
  --no-gso          no TSO, no checksum offload: only real packets, but ten times the CPU cost
  --prefix P        name prefix, letters, digits and -, not ending in a digit [wan]
  --each            run COMMAND once inside every host (WANEM_RANK=I, WANEM_IP=its address)
  --timeout S       end COMMAND after S seconds [0 = never]
  --stats FILE      write the statistics there at the end ("-" = stderr)
  --no-rt           nice -20 instead of real-time (SCHED_RR) priority for the emulator
  COMMAND's environment: WANEM_HOSTS=N WANEM_PREFIX=P WANEM_IPS="10.77.0.1 ..." WANEM=/path/wanem

Control commands (A, B: host number or *; "A B" is both directions, "A>B" one)
  set A B KEY=VALUE...   bw delay jitter loss burst corrupt queue reorder (1: jitter may reorder)
  set-host A KEY=VALUE   up down inbound (0: like NAT, no TCP connection into A can be opened, other
                         protocols only from hosts that A has sent to)
  nat A,B... forward=FIRST-LAST:HOST:PORT...   hosts A, B... get private addresses behind one router, which has
                         A's address and forwards those of its TCP ports to ports of HOST (may be repeated)
  cut A B | heal A B | cut-host A | heal-host A | heal-all    silent, packets in flight are lost too
  stats | after SEC CMD... | quit
)";

int runProgram(int argc, char** argv) {
  const Words args(argv + 1, argv + argc);
  const std::string verb = args.empty() ? "" : args[0];
  if (verb.empty() || std::count(args.begin(), std::find(args.begin(), args.end(), "--"), "--help"))
    return fputs(kHelp, stdout), verb.empty() ? 2 : 0;
  if (verb == "--version") {
    printf("goss-wanem %d.%d.%d\n", GOSS_VERSION_MAJOR, GOSS_VERSION_MINOR, GOSS_VERSION_PATCH);
    return 0;
  }
  Options o;
  struct Num {
    double* v;
    double lo, hi;
  };
  const std::map<std::string, Num> nums = {{"hosts", {&o.hosts, 2, 200}},      {"up", {&o.up, 0, 1e6}},
                                           {"down", {&o.down, 0, 1e6}},        {"mtu", {&o.mtu, 576, 16000}},
                                           {"tcp-mem", {&o.tcp_mem, 0, 1024}}, {"timeout", {&o.timeout, 0, 1e6}},
                                           {"seed", {&o.seed, 0, 1e15}}};
  const std::map<std::string, bool*> flags = {{"no-gso", &o.no_gso}, {"no-rt", &o.no_rt}, {"each", &o.each}};
  std::string links;
  const std::map<std::string, std::string*> strings = {
      {"prefix", &o.names.prefix}, {"cc", &o.cc}, {"stats", &o.stats}, {"links", &links}};
  const std::map<std::string, Words*> lists = {{"sysctl", &o.sysctls}, {"at", &o.at}};
  size_t i = 1;
  for (; i < args.size() && args[i] != "--" && args[i].starts_with("--"); i++) {
    const size_t eq = args[i].find('=');
    const std::string a = args[i].substr(2, eq - 2);
    if (flags.count(a)) {
      *flags.at(a) = true;
      continue;
    }
    if (eq == std::string::npos && i + 1 == args.size()) fail("--" + a + " wants a value");
    const std::string v = eq == std::string::npos ? args[++i] : args[i].substr(eq + 1);
    if (nums.count(a))
      *nums.at(a).v = number(v, a, nums.at(a).lo, nums.at(a).hi);
    else if (strings.count(a))
      *strings.at(a) = v;
    else if (lists.count(a))
      lists.at(a)->push_back(v);
    else
      setProfile(o.uniform, a, v);
  }
  if (std::ifstream in(links); !links.empty()) {
    if (!in) fail(links + ": " + strerror(errno));
    for (std::string line; std::getline(in, line);)
      o.setup.push_back(line);
  }
  if (i < args.size() && args[i] == "--")
    i++;
  else if (i < args.size() && verb != "ctl")
    fail("unexpected argument '" + args[i] + "' (COMMAND goes after --)");
  const Words rest(args.begin() + long(std::min(i, args.size())), args.end());
  o.names.check();
  if (verb == "clean") return clean(o.names);
  if (verb == "ctl" && !rest.empty()) return sendControl(o.names, rest);
  if ((verb == "run" && !rest.empty()) || (verb == "up" && rest.empty())) return Wan(o).run(rest);
  fail("'" + join(args) + "' is not a command (see --help)");
}

} // namespace

} // namespace goss::wanem

int main(int argc, char** argv) {
  try {
    return goss::wanem::runProgram(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "wanem: %s\n", error.what());
    return 1;
  }
}
