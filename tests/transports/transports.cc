#include "tests/transports/harness.h"
#include "transports/loopback/loopback.h"
#include "transports/shm/shm.h"
#include "transports/sim/sim.h"
#include "transports/tcp/tcp.h"

namespace goss::tests {

namespace {

/// TCP over the interface with this address, with so many connections for payload.
TransportFactory tcp(const char* name, const char* interface, int connections) {
  return {name, [](const TransportContext& context) { return std::make_unique<transports::TcpTransport>(context); },
          true,
          [interface, connections](Config& config) {
            config.interface = interface;
            config.connections_per_peer = connections;
          }};
}

/// Shared memory with each way of long messages, which begin early. The shortest are always kept for a late receive.
TransportFactory shm(const char* name, const char* path, bool lends) {
  return {name, [](const TransportContext& context) { return std::make_unique<transports::ShmTransport>(context); },
          true,
          [path](Config& config) {
            config.shm_path = path;
            config.shm_direct_bytes = 2000;
          },
          lends};
}

} // namespace

std::vector<TransportFactory> allTransports() {
  return {
      {"loopback",
       [](const TransportContext& context) { return std::make_unique<transports::LoopbackTransport>(context); }, false},
      {"shm", [](const TransportContext& context) { return std::make_unique<transports::ShmTransport>(context); },
       true},
      shm("shmRing", "ring", true),
      shm("shmMapped", "mapped", true),
      shm("shmAddresses", "addresses", false),
      tcp("tcp", "127.0.0.1", 1),
      tcp("tcpOverIpv6", "::1", 1),
      tcp("tcpStriped", "127.0.0.1", 4),
      {"sim", [](const TransportContext& context) { return std::make_unique<transports::SimTransport>(context); },
       false},
  };
}

} // namespace goss::tests
