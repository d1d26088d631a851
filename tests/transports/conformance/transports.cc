#include <algorithm>

#include "builtins/builtins.h"
#include "tests/transports/conformance/harness.h"
#include "transports/shm/shm.h"
#include "transports/tcp/tcp.h"
#ifdef GOSS_HAVE_UCX
#include "transports/ucx/ucx.h"
#endif

#ifdef GOSS_TEST_TLS
#include "security/security.h"
#include "tests/support/credential_files.h"
#endif

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

/// The same with one setting "on".
TransportFactory switchedOn(TransportFactory factory, const char* name, std::string Config::*setting) {
  factory.name = name;
  factory.configure = [configure = factory.configure, setting](Config& config) {
    configure(config);
    config.*setting = "on";
  };
  return factory;
}

#ifdef GOSS_TEST_TLS
/// The same through TLS, with credentials that last as long as the program's list of transports.
TransportFactory tls(const char* name, const std::shared_ptr<const test::CredentialFiles>& files, bool certificates,
                     int connections) {
  return {name,
          [](const TransportContext& context) {
            return std::make_unique<transports::TcpTransport>(
                context, [config = context.config] { return security::openSecurity(*config); });
          },
          true,
          [files, certificates, connections](Config& config) {
            config.interface = "127.0.0.1";
            config.tls = certificates ? files->certificates() : files->sharedKey();
            config.connections_per_peer = connections;
          }};
}

#endif

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
  std::vector<TransportFactory> all{
      shm("shmRing", "ring", true),
      shm("shmMapped", "mapped", true),
      shm("shmAddresses", "addresses", false),
      tcp("tcp", "127.0.0.1", 1),
      tcp("tcpOverIpv6", "::1", 1),
      tcp("tcpStriped", "127.0.0.1", 4),
      switchedOn(tcp("", "127.0.0.1", 1), "tcpResumable", &Config::reconnect),
      switchedOn(tcp("", "127.0.0.1", 1), "tcpChecked", &Config::tcp_checksum),
      switchedOn(tcp("", "127.0.0.1", 4), "tcpCheckedStriped", &Config::tcp_checksum),
  };
#ifdef GOSS_TEST_TLS
  static const auto files = std::make_shared<const test::CredentialFiles>(); // Made once, because there are many tests.
  all.push_back(tls("tls", files, false, 1));
  all.push_back(tls("tlsStriped", files, true, 3));
  all.push_back(switchedOn(tls("", files, true, 2), "tlsResumableStriped", &Config::reconnect));
#endif
#ifdef GOSS_HAVE_UCX
  all.push_back({"ucx",
                 [](const TransportContext& context) { return std::make_unique<transports::UcxTransport>(context); },
                 true});
#endif
  // Every other transport of the library, as it is without settings.
  for (const TransportEntry& entry : builtinTransports()) {
    const auto named = [&](const TransportFactory& factory) { return factory.name == entry.name; };
    if (entry.make == nullptr || entry.encrypts || std::any_of(all.begin(), all.end(), named)) continue;
    all.push_back({std::string(entry.name), entry.make, entry.reach != Reach::process});
  }
  return all;
}

} // namespace goss::tests
