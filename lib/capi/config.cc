#include "capi/config.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <type_traits>
#include <utility>

#include "capi/structs.h"
#include "world/settings.h"

namespace goss::capi {

namespace {

/// Copies the numbers of a Config into a goss_config, whose strings are NULL.
class NumberWriter {
 public:
  NumberWriter(const Config& config, goss_config& to) : config_(config), to_(to) {}

  void text(const Setting<std::string, const char*>& /*setting*/) {}
  void word(const Setting<std::string, const char*>& /*setting*/, const Words& /*accepted*/) {}
  template <typename T, typename F, typename Accepted>
  void integer(const Setting<T, F>& setting, const Accepted& /*range*/) {
    to_.*setting.given = static_cast<F>(config_.*setting.member);
  }
  template <typename F>
  void bytes(const Setting<std::size_t, F>& setting, const Range<std::size_t>& range) {
    integer(setting, range);
  }
  void probability(const Setting<double, double>& setting) { to_.*setting.given = config_.*setting.member; }
  void portRange(const char* /*variable*/, const char* /*fields*/) {
    to_.port_min = config_.port_min;
    to_.port_max = config_.port_max;
  }

 private:
  const Config& config_;
  goss_config& to_;
};

/// Overrides a Config by the fields of a goss_config; the first field that is not acceptable decides the status.
class FieldReader {
 public:
  FieldReader(const char* function, const goss_config& given, Config& config)
      : function_(function), given_(given), config_(config) {}

  /// NULL: the environment's value. Empty: the default.
  void text(const Setting<std::string, const char*>& setting) {
    const char* found = given_.*setting.given;
    if (found == nullptr) return;
    config_.*setting.member = *found != '\0' ? std::string(found) : defaults_.*setting.member;
  }

  void word(const Setting<std::string, const char*>& setting, const Words& accepted) {
    const char* found = given_.*setting.given;
    const bool known =
        found == nullptr || *found == '\0' || std::find(accepted.begin(), accepted.end(), found) != accepted.end();
    if (known) return text(setting);
    refuse(setting.field, fmt::format("\"{}\"", found), fmt::format("one of {}", fmt::join(accepted, ", ")));
  }

  /// Accepts the values of the range, and the default. A default of 0 lies outside of the range if 0 has its own
  /// meaning.
  template <typename T, typename F>
  void integer(const Setting<T, F>& setting, const Range<T>& range) {
    const F found = given_.*setting.given;
    const T standard = defaults_.*setting.member;
    // 0 has no meaning for this field: the environment's value stays.
    if (found == 0 && standard != 0 && range.least > 0) return;
    const bool fits = std::in_range<T>(found);
    const T value = static_cast<T>(found);
    if (fits && (value == standard || (value >= range.least && value <= range.most)))
      config_.*setting.member = value;
    else
      refuse(setting.field, fmt::format("{}", found),
             fmt::format("a whole number{} from {} to {}", range.unit, range.least, range.most));
  }
  template <typename F>
  void bytes(const Setting<std::size_t, F>& setting, const Range<std::size_t>& range) {
    integer(setting, Range<std::size_t>{range.least, range.most, " of bytes"});
  }

  void probability(const Setting<double, double>& setting) {
    const double found = given_.*setting.given;
    if (found >= 0 && found < 1)
      config_.*setting.member = found;
    else
      refuse(setting.field, fmt::format("{}", found), "a number from 0 to less than 1");
  }

  void portRange(const char* /*variable*/, const char* fields) {
    if (!isPortRange(given_.port_min, given_.port_max))
      return refuse(fields, fmt::format("{} and {}", given_.port_min, given_.port_max),
                    fmt::format("{}, or 0 and 0 for any", kPortRange));
    config_.port_min = given_.port_min;
    config_.port_max = given_.port_max;
  }

  [[nodiscard]] const Status& status() const { return status_; }

 private:
  void refuse(std::string_view field, std::string_view value, std::string_view accepted) {
    if (status_.isOk())
      status_ = invalid(fmt::format("{}: config.{} is {}; it must be {}", function_, field, value, accepted));
  }

  const char* function_;
  const goss_config& given_;
  Config& config_;
  const Config defaults_;
  Status status_;
};

goss_config fieldsOf(const Config& config) {
  goss_config fields{};
  fields.size = sizeof fields;
  fields.rank = fields.ranks = -1;
  NumberWriter writer(config, fields);
  visitSettings(writer);
  return fields;
}

goss_status initConfig(goss_config* config, std::size_t size) {
  return guarded("goss_config_init", [&]() -> Status {
    const auto environment = Config::fromEnvironment();
    if (!environment.isOk()) return environment.status();
    return writeStruct("goss_config_init: config", fieldsOf(environment.value()), config, size);
  });
}

} // namespace

Result<Settings> readSettings(const char* function, const goss_config* given) {
  Result<Config> environment = Config::fromEnvironment();
  if (!environment.isOk()) return environment.status();
  Settings settings{fieldsOf(environment.value()), environment.take()};
  if (given == nullptr) return settings;
  const auto read = readStruct(fmt::format("{}: config", function), given, settings.place);
  if (!read.isOk()) return read.status();
  settings.place = read.value();
  FieldReader reader(function, settings.place, settings.config);
  visitSettings(reader);
  if (!reader.status().isOk()) return reader.status();
  const char* scope = settings.place.tls_scope;
  if (settings.config.tls.empty() && scope != nullptr && *scope != '\0') {
    return invalid(fmt::format("{}: config.tls_scope is set, but tls is not: this run would be in clear", function));
  }
  return settings;
}

} // namespace goss::capi

extern "C" {

goss_status goss_config_init_sized(goss_config* config, size_t size) { return goss::capi::initConfig(config, size); }

goss_status goss_config_check(const goss_config* config) {
  return goss::capi::guarded("goss_config_check",
                             [&] { return goss::capi::readSettings("goss_config_check", config).status(); });
}

/// The symbol for programs that were compiled when goss_config_init was no inline function: their struct ends with
/// links_file.
GOSS_API goss_status goss_config_init_of_first_version(goss_config* config) __asm__("goss_config_init");
goss_status goss_config_init_of_first_version(goss_config* config) {
  return goss::capi::initConfig(config, offsetof(goss_config, silence_ms));
}

} // extern "C"
