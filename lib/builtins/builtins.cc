#include "builtins/builtins.h"

#include <fmt/format.h>

#include <array>

#include "collectives/catalogue.h"
#include "compressors/chain.h"
#include "platform/plug.h"
#include "security/security.h"
#include "transports/common/plug.h"
#include "transports/loopback/loopback.h"
#include "transports/shm/shm.h"
#include "transports/sim/sim.h"
#include "transports/tcp/tcp.h"

namespace goss {

namespace {

template <typename T>
std::unique_ptr<Transport> make(const TransportContext& context) {
  return std::make_unique<T>(context);
}

std::unique_ptr<Transport> makeTls(const TransportContext& context) {
  return std::make_unique<transports::TcpTransport>(
      context, [config = context.config] { return security::openSecurity(*config); });
}

constexpr std::array kTransports{
    TransportEntry{"loopback", "threads of one process exchange pointers", Reach::process, true, false,
                   make<transports::LoopbackTransport>},
    TransportEntry{"shm", "shared memory", Reach::host, true, false, make<transports::ShmTransport>},
    TransportEntry{"tls", "TCP through TLS 1.3; only with `GOSS_TLS`", Reach::network, true, true, makeTls},
    TransportEntry{"tcp", "TCP; only without `GOSS_TLS`", Reach::network, true, false, make<transports::TcpTransport>},
    TransportEntry{"sim", "a simulated network, for tests", Reach::process, false, false,
                   make<transports::SimTransport>},
    TransportEntry{"ucx", "[UCX](#over-ucx)", Reach::network, false, false, nullptr},
    TransportEntry{"mpi", "[messages of MPI](#over-mpi)", Reach::network, false, false, nullptr},
};

/// Whether this transport is secure enough for the run. Without GOSS_TLS every transport is; with it no bytes may leave
/// a process unencrypted, or none may leave a host.
bool isAllowed(const TransportEntry& entry, const Config& config) {
  if (config.tls.empty()) return !entry.encrypts;
  if (entry.reach == Reach::host) return config.tls_scope == "hosts";
  return entry.encrypts || entry.reach == Reach::process;
}

Status refuseClear(const Config& config) {
  if (config.tls.empty())
    return Status::error(
        GOSS_ERR_INVALID_ARGUMENT,
        "GOSS_TRANSPORT is \"tls\", but there are no credentials; set GOSS_TLS to psk:FILE or certs:DIR");
  return Status::error(
      GOSS_ERR_INVALID_ARGUMENT,
      fmt::format("GOSS_TRANSPORT is \"{}\", which sends in clear what GOSS_TLS with GOSS_TLS_SCOPE={} "
                  "secures; leave GOSS_TRANSPORT unset, or set it to tls",
                  config.transport, config.tls_scope));
}

Result<std::unique_ptr<Transport>> makePlugged(std::string_view name, const TransportContext& context) {
  const std::string file = fmt::format("libgossamer_{}.so", name);
  const Result<void*> symbol = platform::loadPlug(file, transports::kPlugSymbol);
  if (!symbol.isOk())
    return Status::error(
        GOSS_ERR_UNSUPPORTED,
        fmt::format("GOSS_TRANSPORT={}: {}; was Gossamer built and installed with it?", name, symbol.status().text()));
  const auto& plug = *static_cast<const transports::TransportPlug*>(symbol.value());
  if (std::string_view(plug.version) != transports::kPlugVersion)
    return Status::error(GOSS_ERR_UNSUPPORTED, fmt::format("'{}' is of '{}', this library of '{}'; install both anew",
                                                           file, plug.version, transports::kPlugVersion));
  return std::unique_ptr<Transport>(plug.make(context));
}

Result<std::unique_ptr<Transport>> makeEntry(const TransportEntry& entry, const TransportContext& context) {
  return entry.make == nullptr ? makePlugged(entry.name, context) : entry.make(context);
}

} // namespace

std::span<const TransportEntry> builtinTransports() { return kTransports; }

std::vector<std::string_view> transportNames() {
  std::vector<std::string_view> names;
  for (const TransportEntry& entry : kTransports)
    names.push_back(entry.name);
  return names;
}

Result<std::vector<std::unique_ptr<Transport>>> makeTransports(const Config& config, const TransportContext& context) {
  std::vector<std::unique_ptr<Transport>> transports;
  for (const TransportEntry& entry : kTransports) {
    if (config.transport.empty() ? !entry.by_default : config.transport != entry.name) continue;
    if (!isAllowed(entry, config)) {
      if (!config.transport.empty()) return refuseClear(config);
      continue;
    }
    Result<std::unique_ptr<Transport>> made = makeEntry(entry, context);
    if (!made.isOk()) return made.status();
    transports.push_back(made.take());
  }
  if (transports.empty()) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("unknown transport '{}'; this build has: {}",
                                                                config.transport, fmt::join(transportNames(), ", ")));
  }
  return transports;
}

Catalogue makeCatalogue() { return collectives::builtinAlgorithms(); }

Result<Compression> makeCodec(std::string_view spec) { return compressors::makeCompression(spec); }

} // namespace goss
