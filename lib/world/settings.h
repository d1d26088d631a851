/// The settings of a world, each listed once: its variable, its field of goss_config, its member of Config, and the
/// accepted values.
#ifndef GOSS_LIB_WORLD_SETTINGS_H_
#define GOSS_LIB_WORLD_SETTINGS_H_

#include <cstdint>
#include <limits>
#include <string_view>
#include <vector>

#include "builtins/builtins.h"
#include "gossamer/config.h"
#include "gossamer/gossamer.h"

namespace goss {

/// T is the type in Config, F that in goss_config; another integer type where C programs shall not see std::size_t.
template <typename T, typename F>
struct Setting {
  const char* variable;
  const char* field;
  T Config::*member;
  F goss_config::*given;
};
template <typename T, typename F>
Setting(const char*, const char*, T Config::*, F goss_config::*) -> Setting<T, F>;

/// The values that a whole number may have. `unit` follows "a whole number" in errors, such as " of bytes".
template <typename T>
struct Range {
  T least;
  T most;
  std::string_view unit = {};
};

using Words = std::vector<std::string_view>;

/// 31 years: no sum of a clock reading and a timeout overflows.
constexpr std::int64_t kMaxMs = 1'000'000'000'000;
constexpr std::size_t kMaxBytes = std::size_t{1} << 40;

/// Whether first..last are ports to listen on; 0..0 means any port.
constexpr bool isPortRange(std::uint16_t first, std::uint16_t last) {
  return first <= last && (first > 0) == (last > 0);
}
constexpr std::string_view kPortRange = "two ports from 1 to 65535, the lower one first";

/// Calls visit.text, word, integer, bytes, probability or portRange for each setting of time, start-up and logging.
template <typename Visit>
void visitMeetingSettings(Visit& visit) {
  using C = Config;
  using G = goss_config;
  const Range<std::int64_t> milliseconds{1, kMaxMs, " of milliseconds"};
  visit.integer(Setting{"GOSS_TIMEOUT_MS", "timeout_ms", &C::timeout_ms, &G::timeout_ms}, milliseconds);
  visit.integer(
      Setting{"GOSS_BOOTSTRAP_TIMEOUT_MS", "bootstrap_timeout_ms", &C::bootstrap_timeout_ms, &G::bootstrap_timeout_ms},
      milliseconds);
  visit.integer(Setting{"GOSS_SILENCE_MS", "silence_ms", &C::silence_ms, &G::silence_ms},
                Range<std::int64_t>{0, 86'400'000, " of milliseconds"});
  visit.text(Setting{"GOSS_INTERFACE", "interface", &C::interface, &G::interface});
  visit.portRange("GOSS_PORT_RANGE", "port_min and port_max");
  visit.text(Setting{"GOSS_ADVERTISE", "advertise", &C::advertise, &G::advertise});
  visit.integer(Setting{"GOSS_BOOTSTRAP_PORT", "bootstrap_port", &C::bootstrap_port, &G::bootstrap_port},
                Range<std::uint16_t>{1, 65535, " (a port)"});
  visit.text(Setting{"GOSS_JOB_ID", "job_id", &C::job_id, &G::job_id});
  visit.word(Setting{"GOSS_LOG", "log_level", &C::log_level, &G::log_level},
             Words{"off", "error", "warn", "info", "debug", "trace"});
}

/// As visitMeetingSettings(), for the settings of transports.
template <typename Visit>
void visitTransportSettings(Visit& visit) {
  using C = Config;
  using G = goss_config;
  visit.word(Setting{"GOSS_TRANSPORT", "transport", &C::transport, &G::transport}, transportNames());
  visit.text(Setting{"GOSS_TLS", "tls", &C::tls, &G::tls});
  visit.word(Setting{"GOSS_TLS_SCOPE", "tls_scope", &C::tls_scope, &G::tls_scope}, Words{"all", "hosts"});
  visit.integer(Setting{"GOSS_CONNECTIONS", "connections_per_peer", &C::connections_per_peer, &G::connections_per_peer},
                Range<int>{1, 64, " of connections"});
  visit.word(Setting{"GOSS_RELAY", "relay", &C::relay, &G::relay}, Words{"on", "off"});
  visit.word(Setting{"GOSS_RECONNECT", "reconnect", &C::reconnect, &G::reconnect}, Words{"auto", "on", "off"});
  visit.text(Setting{"GOSS_TCP_CONGESTION", "tcp_congestion", &C::tcp_congestion, &G::tcp_congestion});
  visit.word(Setting{"GOSS_TCP_CHECKSUM", "tcp_checksum", &C::tcp_checksum, &G::tcp_checksum},
             Words{"auto", "on", "off"});
  visit.bytes(
      Setting{"GOSS_TCP_PACING", "tcp_pacing_bytes_per_s", &C::tcp_pacing_bytes_per_s, &G::tcp_pacing_bytes_per_s},
      Range<std::size_t>{10'000, kMaxBytes});
  visit.bytes(Setting{"GOSS_UNEXPECTED_BYTES", "unexpected_bytes", &C::unexpected_bytes, &G::unexpected_bytes},
              Range<std::size_t>{64u << 10, kMaxBytes});
  visit.bytes(Setting{"GOSS_SHM_RING_BYTES", "shm_ring_bytes", &C::shm_ring_bytes, &G::shm_ring_bytes},
              Range<std::size_t>{4u << 10, std::size_t{1} << 30});
  visit.word(Setting{"GOSS_SHM_PATH", "shm_path", &C::shm_path, &G::shm_path}, Words{"ring", "mapped", "addresses"});
  visit.bytes(Setting{"GOSS_SHM_DIRECT_BYTES", "shm_direct_bytes", &C::shm_direct_bytes, &G::shm_direct_bytes},
              Range<std::size_t>{1, kMaxBytes});
  visit.integer(Setting{"GOSS_SPIN_US", "spin_us", &C::spin_us, &G::spin_us},
                Range<int>{0, 1'000'000, " of microseconds"});
  visit.text(Setting{"GOSS_DEVICE", "device", &C::device, &G::device});
  visit.integer(Setting{"GOSS_DEVICE_HOLD_MS", "device_hold_ms", &C::device_hold_ms, &G::device_hold_ms},
                Range<std::int64_t>{0, kMaxMs, " of milliseconds"});
  visit.integer(Setting{"GOSS_SIM_SEED", "sim_seed", &C::sim_seed, &G::sim_seed},
                Range<std::uint64_t>{0, std::numeric_limits<std::uint64_t>::max()});
  visit.probability(Setting{"GOSS_SIM_DROP", "sim_drop", &C::sim_drop, &G::sim_drop});
}

/// As visitMeetingSettings(), for the settings of the planner.
template <typename Visit>
void visitPlannerSettings(Visit& visit) {
  using C = Config;
  using G = goss_config;
  visit.text(Setting{"GOSS_ALGORITHM", "algorithm", &C::algorithm, &G::algorithm});
  visit.text(Setting{"GOSS_CODEC", "codec", &C::codec, &G::codec});
  visit.bytes(Setting{"GOSS_FRAGMENT_BYTES", "fragment_bytes", &C::fragment_bytes, &G::fragment_bytes},
              Range<std::size_t>{4u << 10, kMaxBytes});
  visit.text(Setting{"GOSS_TUNING", "tuning_file", &C::tuning_file, &G::tuning_file});
  visit.word(Setting{"GOSS_MEASURE", "measure", &C::measure, &G::measure}, Words{"off", "links", "trials"});
  visit.text(Setting{"GOSS_LINKS", "links_file", &C::links_file, &G::links_file});
}

/// As visitMeetingSettings(), for all settings.
template <typename Visit>
void visitSettings(Visit& visit) {
  visitMeetingSettings(visit);
  visitTransportSettings(visit);
  visitPlannerSettings(visit);
}

} // namespace goss

#endif // GOSS_LIB_WORLD_SETTINGS_H_
