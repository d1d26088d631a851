#include "bench/tune/notebook.h"

#include <fmt/format.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "gossamer/gossamer.h"

namespace goss::bench {

namespace {

using Json = nlohmann::ordered_json;

/// The other ranks wait so long after the end: if they ended before rank 0, it would report lost peers.
constexpr double kOthersWait_s = 5;

std::string now() {
  std::array<char, 32> text{};
  const std::time_t seconds = std::time(nullptr);
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M UTC", std::gmtime(&seconds));
  return text.data();
}

/// Levels from an earlier run stay in the file, because a cluster is measured between hosts, and then on one host.
Json load(const std::string& path) {
  if (!std::filesystem::exists(path)) return Json::object();
  Json file;
  if (std::filesystem::is_regular_file(path)) file = Json::parse(std::ifstream(path), nullptr, false);
  if (!file.is_object() || file.value("gossamer_tuning", 0) != 1)
    throw std::runtime_error(fmt::format("{} is there and is no tuning file; name another with -o", path));
  return file;
}

sigset_t endingSignals() {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, SIGINT);
  ::sigaddset(&set, SIGTERM);
  return set;
}

} // namespace

double rounded(double value) { return std::stod(fmt::format("{:.3g}", value)); }

Notebook::Notebook(std::string path, double seconds)
    : path_(std::move(path)), seconds_(seconds), file_(std::make_unique<Json>()) {
  const sigset_t signals = endingSignals();
  ::pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  watcher_ = std::thread([this] { watch(); });
}

void Notebook::begin(int rank, int ranks) {
  const std::lock_guard lock(mutex_);
  if (rank == 0) *file_ = load(path_);
  (*file_)["gossamer_tuning"] = 1;
  (*file_)["measured"] = fmt::format("{}, {} ranks, goss-tune {}.{}.{}", now(), ranks, GOSS_VERSION_MAJOR,
                                     GOSS_VERSION_MINOR, GOSS_VERSION_PATCH);
  start_ = std::chrono::steady_clock::now();
  rank_ = rank;
}

Notebook::~Notebook() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
  }
  watcher_.join();
}

double Notebook::spent_s() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
}

double Notebook::left_s() const {
  const std::lock_guard lock(mutex_);
  return std::max(0.0, seconds_ - spent_s());
}

void Notebook::say(std::string doing) {
  const std::lock_guard lock(mutex_);
  doing_ = std::move(doing);
}

void Notebook::noteLink(const std::string& level, const std::string& key, double value) {
  const std::lock_guard lock(mutex_);
  (*file_)["links"][level][key] = rounded(value);
  has_figures_ = true;
}

void Notebook::noteCpu(const std::string& key, double value) {
  const std::lock_guard lock(mutex_);
  (*file_)["cpu"][key] = rounded(value);
  has_figures_ = true;
}

void Notebook::write() {
  const std::lock_guard lock(mutex_);
  writeLocked();
}

/// Replaces the file atomically: a reader sees the old or the new one.
void Notebook::writeLocked() {
  if (rank_ != 0 || !has_figures_) return;
  const std::string text = file_->dump(2);
  const std::string beside = fmt::format("{}.{}", path_, ::getpid());
  std::ofstream out(beside);
  out << text << '\n';
  out.close();
  if (!out || std::rename(beside.c_str(), path_.c_str()) != 0) {
    std::remove(beside.c_str());
    throw std::runtime_error(fmt::format("cannot write {}; name another file with -o", path_));
  }
  fmt::print("{}\nwrote {}; use it with GOSS_TUNING={}\n", text, path_, path_);
  std::fflush(stdout);
}

void Notebook::watch() {
  const sigset_t signals = endingSignals();
  constexpr timespec kTick{0, 50'000'000};
  for (;;) {
    const int signal = ::sigtimedwait(&signals, nullptr, &kTick);
    const std::lock_guard lock(mutex_);
    if (over_) return;
    look(signal);
  }
}

void Notebook::look(int signal) {
  if (signal > 0) end(fmt::format("ended by signal {} in the middle of: {}", signal, doing_), 128 + signal);
  if (rank_ < 0) return;
  const double spent = spent_s();
  if (spent >= seconds_ + (rank_ == 0 ? 0 : kOthersWait_s))
    end(fmt::format("{:g} s are over (--seconds) in the middle of: {}", seconds_, doing_), has_figures_ ? 0 : 1);
  if (rank_ != 0 || spent < told_s_ + 1) return;
  told_s_ = spent;
  fmt::print(stderr, "goss-tune: {:.0f} s of at most {:g}: {}\n", spent, seconds_, doing_);
}

void Notebook::end(const std::string& why, int status) {
  if (rank_ == 0) fmt::print(stderr, "goss-tune: {}\n", why);
  try {
    writeLocked();
  } catch (const std::exception& error) {
    fmt::print(stderr, "goss-tune: {}\n", error.what());
  }
  ::_exit(status); // Other threads are in the middle of calls.
}

} // namespace goss::bench
