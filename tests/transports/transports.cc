#include "tests/transports/harness.h"
#include "transports/loopback/loopback.h"

namespace goss::tests {

std::vector<TransportFactory> allTransports() {
  return {
      {"loopback",
       [](const TransportContext& context) { return std::make_unique<transports::LoopbackTransport>(context); }, false},
  };
}

} // namespace goss::tests
