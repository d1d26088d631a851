/// A wide-area network in user space, for kernels without netem: network namespaces ("hosts") with a TUN device each,
/// and one epoll loop that switches packets between them through a profile per directed link. docs/wan_emulator.md.
#ifndef GOSS_TESTS_WAN_EMULATOR_WAN_H_
#define GOSS_TESTS_WAN_EMULATOR_WAN_H_

#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <map>
#include <queue>
#include <set>
#include <string>
#include <vector>

#include "tests/wan/emulator/model.h"
#include "tests/wan/emulator/names.h"
#include "tests/wan/emulator/nat.h"
#include "tests/wan/emulator/packet.h"

namespace goss::wanem {

struct Options {
  Names names;
  Profile uniform;
  double hosts = 2, mtu = 1500, up = 0, down = 0, tcp_mem = 64, timeout = 0, seed = 1;
  bool no_gso = false, each = false, no_rt = false;
  std::string cc, stats;
  Words setup, sysctls, at; // control commands from --links; --sysctl; --at
};

class Wan {
 public:
  explicit Wan(const Options& o)
      : options_(o), count_(int(o.hosts)), hosts_(size_t(count_)), links_(size_t(count_) * size_t(count_)) {}
  int run(const Words& command);

 private:
  const Options options_;
  const int count_;
  std::vector<Host> hosts_;
  std::vector<Link> links_;
  uint8_t scratch_[66000];
  std::priority_queue<Event> events_;
  uintmax_t seq_ = 0, delivered_ = 0, late_ = 0, write_errors_ = 0; // packets; late: by more than kLate
  Ns late_max_ = 0, started_ = 0, kill_at_ = 0;
  rusage cpu0_{};
  std::multimap<Ns, std::string> timeline_; // commands of --at and `after`
  int epoll_ = -1, signals_ = -1, listener_ = -1, status_ = 0;
  FILE* janitor_ = nullptr;
  pid_t group_ = 0; // the process group of the command
  std::set<pid_t> children_;
  bool stopping_ = false;
  Nat nat_;
  static constexpr Ns kLate = 2'000'000;
  static constexpr uint64_t kSignal = 1000, kListener = 1001, kClient = 2000; // epoll tags; a host's is its number

  Host& host(int i) { return hosts_[size_t(i)]; }
  Link& link(int a, int b) { return links_[size_t(a * count_ + b)]; }
  static std::string ip4(int i) { return textOf("10.77.0.%d", i + 1); }
  // Bringing the hosts up (hosts.cc).
  void joinNamespace(int i);
  int makeTun();
  static void setSysctl(std::string key, const std::string& value);
  void bringUp();
  void putBehindRouter(const std::vector<int>& hosts);

  // The data path (switch.cc).
  void forward(int a, Packet* p, Ns t); ///< Takes p.
  void readHost(int a);
  void deliverDue(Ns t);

  // Control (control.cc).
  [[nodiscard]] std::vector<int> whichHosts(const std::string& s) const;
  std::vector<Link*> whichLinks(Words& w); ///< Takes the link's words off w.
  void setHost(Host& h, const std::string& k, double v, Ns t);
  void command(Words w, Ns t);
  std::string control(const std::string& line);  ///< Sends one line; returns the reply.
  [[nodiscard]] std::uintmax_t tunDrops() const; ///< Packets that the kernel dropped because we read too slowly.
  [[nodiscard]] double latePercent() const;
  std::string stats();
  void clientInput(int fd); ///< A message is a command; the answer is a message too.

  // The command that is run, and the loop (wan.cc).
  void hireJanitor();
  void prepareLinks();
  void openLoop(const sigset_t& mask);
  void serve(const Words& cmd, const sigset_t& mask);
  [[nodiscard]] Ns nextDeadline(Ns t, Ns deadline) const;
  void runTimeline(Ns t);
  void handle(std::uint64_t tag, Ns t);
  void watch(int fd, std::uint64_t tag);
  void spawn(const Words& cmd, int rank, const sigset_t& mask);
  void stop(int code, Ns t); ///< Asks the command to end; it gets 3 s.
  void onSignal(Ns t);
  void loop(Ns deadline);
};

} // namespace goss::wanem

#endif // GOSS_TESTS_WAN_EMULATOR_WAN_H_
