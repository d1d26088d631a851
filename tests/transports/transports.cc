#include "tests/transports/harness.h"
#include "transports/loopback/loopback.h"
#include "transports/shm/shm.h"

namespace goss::tests {

std::vector<TransportFactory> allTransports() {
  return {
      {"loopback",
       [](const TransportContext& context) { return std::make_unique<transports::LoopbackTransport>(context); }, false},
      {"shm", [](const TransportContext& context) { return std::make_unique<transports::ShmTransport>(context); },
       true},
  };
}

} // namespace goss::tests
