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

struct Entry {
  std::string_view name;
  bool by_default; ///< Used when no transport is named.
  std::unique_ptr<Transport> (*make)(const TransportContext& context);
};

template <typename T>
std::unique_ptr<Transport> make(const TransportContext& context) {
  return std::make_unique<T>(context);
}

std::unique_ptr<Transport> makeTls(const TransportContext& context) {
  return std::make_unique<transports::TcpTransport>(
      context, [config = context.config] { return security::openSecurity(*config); });
}

/// Transports, best first.
constexpr std::array kTransports{
    Entry{"loopback", true, make<transports::LoopbackTransport>},
    Entry{"shm", true, make<transports::ShmTransport>},
    Entry{"tls", true, makeTls},
    Entry{"tcp", true, make<transports::TcpTransport>},
    Entry{"sim", false, make<transports::SimTransport>},
};

/// Whether this transport is secure enough for the run. Without GOSS_TLS every transport is; with it no bytes may leave
/// a process unencrypted, or none may leave a host. sim is no network: it joins ranks of one process.
bool isAllowed(std::string_view name, const Config& config) {
  if (config.tls.empty()) return name != "tls";
  if (name == "shm") return config.tls_scope == "hosts";
  return name == "loopback" || name == "tls" || name == "sim";
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

/// Transports in shared objects of their own, libgossamer_NAME.so: used only when named, and where the build found what
/// they need.
constexpr std::array<std::string_view, 2> kPlugs{"ucx", "mpi"};

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

} // namespace

Result<std::vector<std::unique_ptr<Transport>>> makeTransports(const Config& config, const TransportContext& context) {
  std::vector<std::unique_ptr<Transport>> transports;
  std::string names;
  for (const Entry& entry : kTransports) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
    if (config.transport.empty() ? !entry.by_default : config.transport != entry.name) continue;
    if (isAllowed(entry.name, config))
      transports.push_back(entry.make(context));
    else if (!config.transport.empty())
      return refuseClear(config);
  }
  for (const std::string_view name : kPlugs) {
    names += fmt::format(", {}", name);
    if (config.transport != name) continue;
    if (!isAllowed(name, config)) return refuseClear(config);
    Result<std::unique_ptr<Transport>> plugged = makePlugged(name, context);
    if (!plugged.isOk()) return plugged.status();
    transports.push_back(plugged.take());
  }
  if (transports.empty()) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("unknown transport '{}'; this build has: {}", config.transport, names));
  }
  return transports;
}

Catalogue makeCatalogue() { return collectives::builtinAlgorithms(); }

Result<Compression> makeCodec(std::string_view spec) { return compressors::makeCompression(spec); }

} // namespace goss
