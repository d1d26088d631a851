#include "tests/wan/emulator/wan.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <memory>
#include <stdexcept>

namespace goss::wanem {

void Wan::watch(int fd, uint64_t tag) {
  epoll_event e{.events = EPOLLIN, .data = {.u64 = tag}};
  must(epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &e), "epoll_ctl");
}

void Wan::spawn(const Words& cmd, int rank, const sigset_t& mask) {
  pid_t pid = must(fork(), "fork");
  if (pid == 0) try {
      setpgid(0, group_);
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      signal(SIGTTOU, SIG_DFL);
      std::string ips, self(4096, 0);
      for (int i = 0; i < count_; i++)
        ips += (i ? " " : "") + ip4(i);
      self.resize(size_t(std::max<ssize_t>(0, readlink("/proc/self/exe", self.data(), self.size()))));
      std::map<std::string, std::string> env = {
          {"_HOSTS", std::to_string(count_)}, {"_PREFIX", options_.names.prefix}, {"_IPS", ips}, {"", self}};
      if (rank >= 0) env["_RANK"] = std::to_string(rank), env["_IP"] = ip4(rank), joinNamespace(rank);
      for (auto& [k, v] : env)
        setenv(("WANEM" + k).c_str(), v.c_str(), 1);
      std::vector<char*> argv(cmd.size() + 1, nullptr);
      std::transform(cmd.begin(), cmd.end(), argv.begin(),
                     [](const std::string& s) { return const_cast<char*>(s.c_str()); });
      sigprocmask(SIG_SETMASK, &mask, nullptr);
      must(execvp(argv[0], argv.data()), cmd[0]);
    } catch (const std::exception& e) {
      fprintf(stderr, "wanem: %s\n", e.what()), _exit(127);
    }
  setpgid(pid, group_);
  if (!group_) fprintf(janitor_, "%d\n", group_ = pid), fflush(janitor_);
  children_.insert(pid);
}

void Wan::stop(int code, Ns t) { // ask the command to end; it gets 3 s
  if (!stopping_) status_ = code;
  stopping_ = true;
  if (!children_.empty()) kill(-group_, SIGTERM), kill_at_ = kill_at_ ? kill_at_ : t + 3'000'000'000LL;
}

void Wan::onSignal(Ns t) {
  signalfd_siginfo s;
  while (read(signals_, &s, sizeof s) == sizeof s) {
    if (s.ssi_signo != SIGCHLD) {
      stop(128 + int(s.ssi_signo), t);
      continue;
    }
    for (int p, st; (p = waitpid(-1, &st, WNOHANG)) > 0;) {
      if (!children_.erase(p)) continue;
      if (!stopping_) status_ = std::max(status_, WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st));
      stopping_ |= children_.empty();
    }
  }
}

/// When the loop has to look next, if nothing comes.
Ns Wan::nextDeadline(Ns t, Ns deadline) const {
  Ns until = t + 1'000'000'000;
  if (!events_.empty()) until = std::min(until, events_.top().t);
  if (!timeline_.empty()) until = std::min(until, timeline_.begin()->first);
  for (const Ns other : {deadline, kill_at_})
    if (other != 0) until = std::min(until, other);
  return until;
}

void Wan::runTimeline(Ns t) {
  while (!timeline_.empty() && timeline_.begin()->first <= t) {
    const std::string line = timeline_.begin()->second;
    timeline_.erase(timeline_.begin());
    const std::string reply = control(line);
    if (reply.starts_with("error")) std::fprintf(stderr, "wanem: %s: %s", line.c_str(), reply.c_str());
  }
}

void Wan::handle(std::uint64_t tag, Ns t) {
  if (tag < uint64_t(count_)) return readHost(int(tag));
  if (tag == kSignal) return onSignal(t);
  if (tag >= kClient) return clientInput(int(tag - kClient));
  const int fd = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) return;
  const int big = 1 << 23; // Statistics of 200 hosts in one message.
  setsockopt(fd, SOL_SOCKET, SO_SNDBUFFORCE, &big, sizeof big);
  watch(fd, kClient + uint64_t(fd));
}

void Wan::loop(Ns deadline) {
  epoll_event ev[64];
  while (!(stopping_ && children_.empty())) {
    const Ns t = nowNs();
    deliverDue(t);
    runTimeline(t);
    if (deadline != 0 && t >= deadline) {
      deadline = 0;
      std::fprintf(stderr, "wanem: --timeout reached\n");
      stop(124, t);
    }
    if (kill_at_ != 0 && t >= kill_at_) {
      kill_at_ = t + 1'000'000'000;
      kill(-group_, SIGKILL);
    }
    const Ns wait = std::max<Ns>(0, nextDeadline(t, deadline) - nowNs());
    const timespec ts{time_t(wait / 1'000'000'000), long(wait % 1'000'000'000)};
    const int n = epoll_pwait2(epoll_, ev, 64, &ts, nullptr);
    for (int i = 0; i < n; i++)
      handle(ev[i].data.u64, t);
  }
}

/// The janitor outlives even SIGKILL of this process: at the end of its input it kills the command's process group and
/// removes the hosts. It inherits the lock, so that nobody reuses the prefix before it is done.
void Wan::hireJanitor() {
  const int lock = options_.names.lock();
  if (lock < 0) fail("prefix '" + options_.names.prefix + "' is in use by another wanem");
  shell(options_.names.removal()); // Also removes what a wanem left whose janitor was killed too.
  const std::string script =
      "trap '' INT TERM HUP; while read x; do g=$x; done; [ -z $g ] || kill -9 -$g; " + options_.names.removal();
  setenv("WANEM_JANITOR", script.c_str(), 1);
  fcntl(lock, F_SETFD, 0);
  janitor_ = popen("exec setsid sh -c \"$WANEM_JANITOR\" 2>/dev/null", "we");
  if (janitor_ == nullptr) fail("cannot start a shell");
  fcntl(lock, F_SETFD, FD_CLOEXEC);
  unsetenv("WANEM_JANITOR");
}

void Wan::prepareLinks() {
  const Ns t = nowNs();
  for (size_t i = 0; i < links_.size(); i++) {
    links_[i].p = options_.uniform;
    // Any odd constants will do: each link gets a stream of its own that only the seed decides.
    const uint64_t stream = (uint64_t(options_.seed) + 1) * 0x9E3779B97F4A7C15ULL ^ (i + 1) * 0xBF58476D1CE4E5B9ULL;
    links_[i].rng = std::max<uint64_t>(1, stream);
    links_[i].apply(t);
  }
  for (Host& h : hosts_) {
    setHost(h, "up", options_.up, t);
    setHost(h, "down", options_.down, t);
  }
}

void Wan::openLoop(const sigset_t& mask) {
  epoll_ = must(epoll_create1(EPOLL_CLOEXEC), "epoll_create1");
  signals_ = must(signalfd(-1, &mask, SFD_NONBLOCK | SFD_CLOEXEC), "signalfd");
  watch(signals_, kSignal);
  listener_ = must(options_.names.socketAt(options_.names.control(), true), options_.names.control());
  must(listen(listener_, 16), "listen");
  watch(listener_, kListener);
  for (int i = 0; i < count_; i++)
    watch(host(i).fd, uint64_t(i));
}

void Wan::serve(const Words& cmd, const sigset_t& mask) {
  const bool tty = !cmd.empty() && !options_.each && isatty(0);
  for (int i = 0; !cmd.empty() && i < (options_.each ? count_ : 1); i++)
    spawn(cmd, options_.each ? i : -1, mask);
  if (tty) tcsetpgrp(0, group_);
  if (cmd.empty()) {
    std::puts("ready");
    std::fflush(stdout);
  }
  const sched_param prio{1};
  if (options_.no_rt || sched_setscheduler(0, SCHED_RR, &prio) != 0) setpriority(PRIO_PROCESS, 0, -20);
  loop(options_.timeout > 0 ? nowNs() + Ns(options_.timeout * 1e9) : 0);
  if (tty) tcsetpgrp(0, getpgrp());
  if (!options_.stats.empty()) std::ofstream(options_.stats == "-" ? "/dev/stderr" : options_.stats) << stats();
  if (tunDrops() == 0 && latePercent() <= 1) return;
  std::fprintf(stderr,
               "wanem: OVERLOADED: %.1f%% of packets over 2 ms late, %ju dropped unread; this run's timings are not to "
               "be trusted\n",
               latePercent(), tunDrops());
}

int Wan::run(const Words& cmd) {
  if (geteuid() != 0) fail("must be root");
  hireJanitor();
  signal(SIGTTOU, SIG_IGN);
  prctl(PR_SET_TIMERSLACK, 1);
  sigset_t mask, old;
  sigemptyset(&mask);
  for (const int s : {SIGINT, SIGTERM, SIGHUP, SIGCHLD})
    sigaddset(&mask, s);
  std::string error;
  try {
    prepareLinks();
    bringUp();
    sigprocmask(SIG_BLOCK, &mask, &old);
    for (const std::string& line : options_.setup)
      if (const std::string reply = control(line); reply != "ok\n") fail("'" + line + "': " + reply);
    openLoop(mask);
    getrusage(RUSAGE_SELF, &cpu0_);
    started_ = nowNs();
    for (const std::string& line : options_.at)
      if (const std::string reply = control("after " + line); reply != "ok\n") fail("--at '" + line + "': " + reply);
    serve(cmd, old);
  } catch (const std::exception& e) {
    error = e.what();
  }
  // Once the group has ended its number may be reused.
  if (group_ != 0 && kill(-group_, 0) != 0) std::fputs("\n", janitor_);
  pclose(janitor_);
  if (!error.empty()) fail(error);
  return status_;
}

} // namespace goss::wanem
