#include "gossamer/config.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>
#include <vector>

#include "base/edit_distance.h"

namespace goss {

namespace {

/// Reads one variable after the other; the first malformed one decides the status, the rest are skipped.
class EnvironmentReader {
 public:
  /// An unset or empty variable leaves `value` as it is, here and below.
  void text(const char* name, std::string& value) {
    if (const auto found = find(name); !found.empty()) value = found;
  }

  void word(const char* name, std::string& value, std::initializer_list<std::string_view> accepted) {
    const auto found = find(name);
    if (found.empty()) return;
    if (std::find(accepted.begin(), accepted.end(), found) != accepted.end())
      value = found;
    else
      refuse(name, found, fmt::format("one of {}", fmt::join(accepted, ", ")));
  }

  template <typename T>
  void integer(const char* name, T& value, T least, T most, std::string_view unit) {
    const auto found = find(name);
    if (found.empty()) return;
    T parsed{};
    if (whole(found, parsed) && parsed >= least && parsed <= most)
      value = parsed;
    else
      refuse(name, found, fmt::format("a whole number{} from {} to {}", unit, least, most));
  }

  /// A number of bytes, or of KiB, MiB, GiB with the suffix K, M, G.
  void size(const char* name, std::size_t& value, std::size_t least, std::size_t most) {
    const auto found = find(name);
    if (found.empty()) return;
    std::string_view digits = found;
    const std::size_t suffix = std::string_view("KMG").find(digits.back());
    if (suffix != std::string_view::npos) digits.remove_suffix(1);
    const std::size_t shift = suffix == std::string_view::npos ? 0 : 10 * (suffix + 1);
    std::size_t parsed = 0;
    if (whole(digits, parsed) && parsed <= (most >> shift) && (parsed << shift) >= least)
      value = parsed << shift;
    else
      refuse(name, found, fmt::format("a number of bytes from {} to {}, K, M or G may follow it", least, most));
  }

  void probability(const char* name, double& value) {
    const auto found = find(name);
    if (found.empty()) return;
    double parsed = 0;
    const auto [end, error] = std::from_chars(found.data(), found.data() + found.size(), parsed);
    if (error == std::errc() && end == found.data() + found.size() && parsed >= 0 && parsed < 1)
      value = parsed;
    else
      refuse(name, found, "a number from 0 to less than 1");
  }

  void portRange(const char* name, std::uint16_t& first, std::uint16_t& last) {
    const auto found = find(name);
    if (found.empty()) return;
    const std::size_t dash = found.find('-');
    std::uint16_t low = 0;
    std::uint16_t high = 0;
    const bool numbers =
        dash != std::string_view::npos && whole(found.substr(0, dash), low) && whole(found.substr(dash + 1), high);
    if (numbers && low <= high && (low > 0) == (high > 0)) {
      first = low;
      last = high;
    } else {
      refuse(name, found, "two ports from 1 to 65535, the lower one first, such as 20000-20999, or 0-0 for any");
    }
  }

  /// Variables that begin with GOSS_ and that nobody has asked for: one that is nearly the name of a setting is
  /// refused, because the run would go without what was meant; of others `notices` tells.
  void refuseOthers(std::vector<std::string>& notices) {
    for (char** entry = environ; *entry != nullptr; ++entry) {
      const std::string_view name = std::string_view(*entry).substr(0, std::string_view(*entry).find('='));
      if (!name.starts_with("GOSS_") || isOfOthers(name) ||
          std::find(names_.begin(), names_.end(), name) != names_.end())
        continue;
      const std::string_view near = nearest(name);
      std::string text = fmt::format("{} is not a setting of Gossamer; the nearest one is {}", name, near);
      if (base::editDistance(name, near) > kTypo)
        notices.push_back(std::move(text));
      else if (status_.isOk())
        status_ = Status::error(GOSS_ERR_INVALID_ARGUMENT, text + ": correct or unset it");
    }
  }

  [[nodiscard]] const Status& status() const { return status_; }

 private:
  /// So many letters that are missing, too many or others make a misspelling.
  static constexpr std::size_t kTypo = 2;

  /// Of this project's scripts and tests.
  static bool isOfOthers(std::string_view name) { return name == "GOSS_JOBS" || name.starts_with("GOSS_TEST_"); }

  [[nodiscard]] std::string_view nearest(std::string_view name) const {
    return *std::min_element(names_.begin(), names_.end(), [&](std::string_view a, std::string_view b) {
      return base::editDistance(name, a) < base::editDistance(name, b);
    });
  }

  std::string_view find(const char* name) {
    names_.emplace_back(name);
    const char* value = std::getenv(name);
    return value == nullptr ? std::string_view() : std::string_view(value);
  }

  template <typename T>
  static bool whole(std::string_view text, T& value) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size();
  }

  void refuse(std::string_view name, std::string_view value, std::string_view accepted) {
    if (status_.isOk())
      status_ =
          Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("{} is \"{}\"; it must be {}", name, value, accepted));
  }

  Status status_;
  std::vector<std::string_view> names_; ///< Asked for so far.
};

} // namespace

Result<Config> Config::fromEnvironment() {
  constexpr std::int64_t kMostMs = 1'000'000'000'000; // 31 years: room for every addition to a clock.
  Config config;
  EnvironmentReader read;
  read.integer<std::int64_t>("GOSS_TIMEOUT_MS", config.timeout_ms, 1, kMostMs, " of milliseconds");
  read.integer<std::int64_t>("GOSS_BOOTSTRAP_TIMEOUT_MS", config.bootstrap_timeout_ms, 1, kMostMs, " of milliseconds");
  read.word("GOSS_TRANSPORT", config.transport, {"loopback", "shm", "tcp", "tls", "sim", "ucx", "mpi"});
  read.text("GOSS_TLS", config.tls);
  read.word("GOSS_TLS_SCOPE", config.tls_scope, {"all", "hosts"});
  read.text("GOSS_INTERFACE", config.interface);
  read.portRange("GOSS_PORT_RANGE", config.port_min, config.port_max);
  read.integer("GOSS_SILENCE_MS", config.silence_ms, std::int64_t{0}, std::int64_t{86'400'000}, " of milliseconds");
  read.word("GOSS_RELAY", config.relay, {"on", "off"});
  read.text("GOSS_TCP_CONGESTION", config.tcp_congestion);
  read.size("GOSS_TCP_PACING", config.tcp_pacing_bytes_per_s, 10'000, std::size_t{1} << 40);
  read.word("GOSS_RECONNECT", config.reconnect, {"auto", "on", "off"});
  read.integer("GOSS_CONNECTIONS", config.connections_per_peer, 1, 64, " of connections");
  read.text("GOSS_ALGORITHM", config.algorithm);
  read.text("GOSS_CODEC", config.codec);
  read.size("GOSS_FRAGMENT_BYTES", config.fragment_bytes, 4u << 10, std::size_t{1} << 40);
  read.text("GOSS_TUNING", config.tuning_file);
  read.text("GOSS_LINKS", config.links_file);
  read.size("GOSS_UNEXPECTED_BYTES", config.unexpected_bytes, 64u << 10, std::size_t{1} << 40);
  read.size("GOSS_SHM_RING_BYTES", config.shm_ring_bytes, 4u << 10, std::size_t{1} << 30);
  read.word("GOSS_SHM_PATH", config.shm_path, {"ring", "mapped", "addresses"});
  read.size("GOSS_SHM_DIRECT_BYTES", config.shm_direct_bytes, 1, std::size_t{1} << 40);
  read.integer("GOSS_SPIN_US", config.spin_us, 0, 1'000'000, " of microseconds");
  read.integer<std::uint64_t>("GOSS_SIM_SEED", config.sim_seed, 0, std::numeric_limits<std::uint64_t>::max(), "");
  read.probability("GOSS_SIM_DROP", config.sim_drop);
  read.word("GOSS_LOG", config.log_level, {"off", "error", "warn", "info", "debug", "trace"});
  read.integer<std::uint16_t>("GOSS_BOOTSTRAP_PORT", config.bootstrap_port, 1, 65535, " (a port)");
  read.text("GOSS_JOB_ID", config.job_id);
  read.refuseOthers(config.notices);
  if (!read.status().isOk()) return read.status();
  if (config.tls.empty() && std::getenv("GOSS_TLS_SCOPE") != nullptr)
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         "GOSS_TLS_SCOPE is set, but GOSS_TLS is not: this run would be in clear; set both or none");
  return config;
}

} // namespace goss
