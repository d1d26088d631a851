#include "gossamer/config.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <string_view>
#include <vector>

#include "base/edit_distance.h"
#include "platform/advertisement.h"
#include "world/settings.h"

namespace goss {

namespace {

/// Reads one variable after the other; the first malformed one decides the status, the rest are skipped. An unset or
/// empty variable leaves its member unchanged.
class EnvironmentReader {
 public:
  explicit EnvironmentReader(Config& config) : config_(config) {}

  void text(const Setting<std::string, const char*>& setting) {
    if (const auto found = find(setting.variable); !found.empty()) config_.*setting.member = found;
  }

  void word(const Setting<std::string, const char*>& setting, const Words& accepted) {
    const auto found = find(setting.variable);
    if (found.empty()) return;
    if (std::find(accepted.begin(), accepted.end(), found) != accepted.end())
      config_.*setting.member = found;
    else
      refuse(setting.variable, found, fmt::format("one of {}", fmt::join(accepted, ", ")));
  }

  template <typename T, typename F>
  void integer(const Setting<T, F>& setting, const Range<T>& range) {
    const auto found = find(setting.variable);
    if (found.empty()) return;
    T parsed{};
    if (whole(found, parsed) && parsed >= range.least && parsed <= range.most)
      config_.*setting.member = parsed;
    else
      refuse(setting.variable, found,
             fmt::format("a whole number{} from {} to {}", range.unit, range.least, range.most));
  }

  /// Reads a number of bytes, or of KiB, MiB, GiB with the suffix K, M, G.
  template <typename F>
  void bytes(const Setting<std::size_t, F>& setting, const Range<std::size_t>& range) {
    const auto found = find(setting.variable);
    if (found.empty()) return;
    std::string_view digits = found;
    const std::size_t suffix = std::string_view("KMG").find(digits.back());
    if (suffix != std::string_view::npos) digits.remove_suffix(1);
    const std::size_t shift = suffix == std::string_view::npos ? 0 : 10 * (suffix + 1);
    std::size_t parsed = 0;
    if (whole(digits, parsed) && parsed <= (range.most >> shift) && (parsed << shift) >= range.least)
      config_.*setting.member = parsed << shift;
    else
      refuse(setting.variable, found,
             fmt::format("a number of bytes from {} to {}, K, M or G may follow it", range.least, range.most));
  }

  void probability(const Setting<double, double>& setting) {
    const auto found = find(setting.variable);
    if (found.empty()) return;
    double parsed = 0;
    const auto [end, error] = std::from_chars(found.data(), found.data() + found.size(), parsed);
    if (error == std::errc() && end == found.data() + found.size() && parsed >= 0 && parsed < 1)
      config_.*setting.member = parsed;
    else
      refuse(setting.variable, found, "a number from 0 to less than 1");
  }

  void portRange(const char* variable, const char* /*fields*/) {
    const auto found = find(variable);
    if (found.empty()) return;
    const std::size_t dash = found.find('-');
    std::uint16_t low = 0;
    std::uint16_t high = 0;
    const bool numbers =
        dash != std::string_view::npos && whole(found.substr(0, dash), low) && whole(found.substr(dash + 1), high);
    if (numbers && isPortRange(low, high)) {
      config_.port_min = low;
      config_.port_max = high;
    } else {
      refuse(variable, found, fmt::format("{}, such as 20000-20999, or 0-0 for any", kPortRange));
    }
  }

  /// Handles variables that begin with GOSS_ and that no setting reads: one that is nearly the name of a setting is
  /// refused, because the run would ignore the user's intent; the others are reported by `notices`.
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
  /// Up to so many wrong, missing or extra letters count as a misspelling.
  static constexpr std::size_t kTypo = 2;

  /// Whether the variable belongs to the scripts, the tests, libnccl.so.2 or libgossamer-mpi.so of this project.
  static bool isOfOthers(std::string_view name) {
    return name == "GOSS_JOBS" || name.starts_with("GOSS_TEST_") || name.starts_with("GOSS_NCCL_") ||
           name.starts_with("GOSS_MPI_");
  }

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

  Config& config_;
  Status status_;
  std::vector<std::string_view> names_; ///< Names that were read so far.
};

} // namespace

Result<Config> Config::fromEnvironment() {
  Config config;
  EnvironmentReader reader(config);
  visitSettings(reader);
  reader.refuseOthers(config.notices);
  if (!reader.status().isOk()) return reader.status();
  const auto advertised = platform::Advertisement::parse(config.advertise, {config.port_min, config.port_max});
  if (!advertised.isOk()) return advertised.status();
  if (config.tls.empty() && std::getenv("GOSS_TLS_SCOPE") != nullptr)
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         "GOSS_TLS_SCOPE is set, but GOSS_TLS is not: this run would be in clear; set both or none");
  return config;
}

} // namespace goss
