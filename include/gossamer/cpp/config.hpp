/// Settings of a new world of ranks.
#ifndef GOSSAMER_CPP_CONFIG_HPP_
#define GOSSAMER_CPP_CONFIG_HPP_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "gossamer/abi.h"
#include "gossamer/cpp/error.hpp"

namespace gossamer {

/// The fields of goss_config, which says what each means. A field that is left out has the environment's value:
/// `Comm::create({.rank = 0, .ranks = 2, .transport = "tcp"})`. Strings live during the call that takes the struct.
struct Config {
  std::optional<std::int32_t> rank = {};
  std::optional<std::int32_t> ranks = {};
  const goss_unique_id* unique_id = nullptr; ///< nullptr: meet by the launcher's means.
  std::optional<std::int64_t> timeout_ms = {};
  std::optional<std::int64_t> bootstrap_timeout_ms = {};
  const char* transport = nullptr;
  const char* interface = nullptr;
  std::optional<std::uint16_t> port_min = {};
  std::optional<std::uint16_t> port_max = {};
  std::optional<std::int32_t> connections_per_peer = {};
  const char* algorithm = nullptr;
  const char* links_file = nullptr;
  std::optional<std::int64_t> silence_ms = {};
  const char* tls = nullptr;
  const char* tls_scope = nullptr;
  const char* advertise = nullptr;
  const char* relay = nullptr;
  const char* reconnect = nullptr;
  const char* tcp_congestion = nullptr;
  std::optional<std::uint64_t> tcp_pacing_bytes_per_s = {};
  const char* codec = nullptr;
  std::optional<std::uint64_t> fragment_bytes = {};
  const char* tuning_file = nullptr;
  std::optional<std::uint64_t> unexpected_bytes = {};
  std::optional<std::uint64_t> shm_ring_bytes = {};
  const char* shm_path = nullptr;
  std::optional<std::uint64_t> shm_direct_bytes = {};
  std::optional<std::int32_t> spin_us = {};
  std::optional<std::int32_t> bootstrap_port = {};
  std::optional<std::uint64_t> sim_seed = {};
  std::optional<double> sim_drop = {};
  const char* log_level = nullptr;
  const char* job_id = nullptr;
  const char* tcp_checksum = nullptr;
  const char* device = nullptr;
  std::optional<std::int64_t> device_hold_ms = {};
  const char* measure = nullptr;

  /// The struct of the C ABI. GOSS_ERR_INVALID_ARGUMENT for a malformed variable of the environment.
  goss_status raw(goss_config& made) const {
    const goss_status status = goss_config_init_sized(&made, sizeof(made));
    if (status != GOSS_SUCCESS) return status;
    if (unique_id != nullptr) made.unique_id = unique_id;
    set(made.rank, rank);
    set(made.ranks, ranks);
    set(made.timeout_ms, timeout_ms);
    set(made.bootstrap_timeout_ms, bootstrap_timeout_ms);
    set(made.transport, transport);
    set(made.interface, interface);
    set(made.port_min, port_min);
    set(made.port_max, port_max);
    set(made.connections_per_peer, connections_per_peer);
    set(made.algorithm, algorithm);
    set(made.links_file, links_file);
    set(made.silence_ms, silence_ms);
    set(made.tls, tls);
    set(made.tls_scope, tls_scope);
    set(made.advertise, advertise);
    set(made.relay, relay);
    set(made.reconnect, reconnect);
    set(made.tcp_congestion, tcp_congestion);
    set(made.tcp_pacing_bytes_per_s, tcp_pacing_bytes_per_s);
    set(made.codec, codec);
    set(made.fragment_bytes, fragment_bytes);
    set(made.tuning_file, tuning_file);
    set(made.unexpected_bytes, unexpected_bytes);
    set(made.shm_ring_bytes, shm_ring_bytes);
    set(made.shm_path, shm_path);
    set(made.shm_direct_bytes, shm_direct_bytes);
    set(made.spin_us, spin_us);
    set(made.bootstrap_port, bootstrap_port);
    set(made.sim_seed, sim_seed);
    set(made.sim_drop, sim_drop);
    set(made.log_level, log_level);
    set(made.job_id, job_id);
    set(made.tcp_checksum, tcp_checksum);
    set(made.device, device);
    set(made.device_hold_ms, device_hold_ms);
    set(made.measure, measure);
    return GOSS_SUCCESS;
  }

 private:
  template <class T>
  static void set(T& field, const std::optional<T>& given) {
    if (given) field = *given;
  }
  static void set(const char*& field, const char* given) {
    if (given != nullptr) field = given;
  }
};

/// Whether `config` is well-formed; Comm::create checks the same first.
template <class Errors = Throwing>
typename Errors::template Return<void> checkConfig(const Config& config) {
  goss_config made;
  const goss_status status = config.raw(made);
  return Errors::finish(status == GOSS_SUCCESS ? goss_config_check(&made) : status);
}

/// Makes an id by which ranks find each other, in the process that becomes rank 0. Hand out its 128 bytes by your own
/// means, and give it to Comm::create on every rank.
template <class Errors = Throwing>
typename Errors::template Return<goss_unique_id> createUniqueId(const Config& config = {}) {
  goss_config made;
  goss_unique_id id{};
  goss_status status = config.raw(made);
  if (status == GOSS_SUCCESS) status = goss_unique_id_create_with(&made, &id);
  return Errors::finish(status, [&] { return id; });
}

/// Closes the listening socket of an id that this process has made and that will not be used.
template <class Errors = Throwing>
typename Errors::template Return<void> destroyUniqueId(const goss_unique_id& id) {
  return Errors::finish(goss_unique_id_destroy(&id));
}

} // namespace gossamer

#endif // GOSSAMER_CPP_CONFIG_HPP_
