/// Settings of a world, read once from the environment and passed down. Nothing else in the library calls getenv,
/// except the bootstrap for the variables of launchers (mpirun, torchrun).
#ifndef GOSSAMER_CONFIG_H_
#define GOSSAMER_CONFIG_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gossamer/status.h"

namespace goss {

/// Each member names its environment variable and default. docs/environment.md is the user's copy of these comments.
struct Config {
  std::int64_t timeout_ms = 300000;          ///< GOSS_TIMEOUT_MS: deadline of an operation that names none.
  std::int64_t bootstrap_timeout_ms = 60000; ///< GOSS_BOOTSTRAP_TIMEOUT_MS: until all ranks must have arrived.
  std::int64_t silence_ms = 10000; ///< GOSS_SILENCE_MS: a rank that gives no sign of life for so long while others wait
                                   ///< is given up; 0: never.
  std::string transport;           ///< GOSS_TRANSPORT: "" picks per pair; loopback, shm, tcp, tls, ucx, mpi, sim force.
  std::string tls;                 ///< GOSS_TLS: psk:FILE or certs:DIR secures the run; "" does not.
  std::string tls_scope = "all";   ///< GOSS_TLS_SCOPE: TLS on all links, or only between hosts.
  std::string interface;           ///< GOSS_INTERFACE: network interface name or address; "" any.
  std::uint16_t port_min = 0;      ///< GOSS_PORT_RANGE=a-b: listening ports; 0-0 any.
  std::uint16_t port_max = 0;
  std::string advertise; ///< GOSS_ADVERTISE: address[:ports] at which others call this rank through a router; "": none.
  int connections_per_peer = 1;      ///< GOSS_CONNECTIONS: TCP connections for payload to each peer.
  std::string relay = "on";          ///< GOSS_RELAY: whether this rank relays between others that cannot meet: on, off.
  std::string reconnect = "auto";    ///< GOSS_RECONNECT: broken TCP connections are resumed: between hosts, on, or off.
  std::string tcp_congestion;        ///< GOSS_TCP_CONGESTION: "" picks per path; else a name the kernel knows, as bbr.
  std::string tcp_checksum = "auto"; ///< GOSS_TCP_CHECKSUM: TCP in clear is checked for bits that flip: between hosts,
                                     ///< on, or off.
  std::size_t tcp_pacing_bytes_per_s = 0; ///< GOSS_TCP_PACING: most bytes a second to each peer; 0: no bound.
  std::string algorithm;                  ///< GOSS_ALGORITHM: "" lets the planner choose.
  /// GOSS_CODEC: codec of floating all_reduces whose options name none; "": none.
  std::string codec;
  std::size_t fragment_bytes = 0; ///< GOSS_FRAGMENT_BYTES: buffers are cut into parts of about this size; 0: planner.
  std::string tuning_file;        ///< GOSS_TUNING: what goss-tune measured; "" built-in values.
  std::string links_file;         ///< GOSS_LINKS: file with link prices; "" built-in values.
  std::size_t unexpected_bytes =
      /// GOSS_UNEXPECTED_BYTES: bytes kept per peer for messages without a receive yet.
      256u << 20;
  std::size_t shm_ring_bytes = 0; ///< GOSS_SHM_RING_BYTES: shared ring from each peer on this host; 0: by their number.
  std::string shm_path; ///< GOSS_SHM_PATH: "" picks; ring, mapped or addresses: how long messages between processes go.
  std::size_t shm_direct_bytes = 32u << 10; ///< GOSS_SHM_DIRECT_BYTES: least length of messages read in place.
  int spin_us = 100;                        ///< GOSS_SPIN_US: how long a waiting thread polls before it sleeps.
  std::uint64_t sim_seed = 1;               ///< GOSS_SIM_SEED: the sim transport's only source of randomness.
  double sim_drop = 0;                      ///< GOSS_SIM_DROP: probability that a simulated frame is lost once.
  std::string log_level = "warn";           ///< GOSS_LOG: off, error, warn, info, debug or trace.
  std::uint16_t bootstrap_port = 0; ///< GOSS_BOOTSTRAP_PORT: where rank 0 is met at MASTER_ADDR; 0: MASTER_PORT.
  /// GOSS_DEVICE: provider of device buffers: a name, none, or "": cuda where this process uses CUDA already.
  std::string device;
  std::int64_t device_hold_ms = 600000; ///< GOSS_DEVICE_HOLD_MS: how long a stream waits behind a failed call.
  std::string job_id;                   ///< GOSS_JOB_ID: tells jobs that share MASTER_ADDR and port apart.
  /// GOSS_MEASURE, for WAN links: off; links: they are measured at the beginning; trials: plans are compared.
  std::string measure = "links";

  /// One sentence about each environment variable that begins with GOSS_ and is no setting. fromEnvironment() fills it;
  /// a new world logs it.
  std::vector<std::string> notices;

  /// Reads the environment. Errors: invalidArgument naming the variable and its value, or the setting that a variable
  /// with nearly its name may mean.
  static Result<Config> fromEnvironment();
};

} // namespace goss

#endif // GOSSAMER_CONFIG_H_
