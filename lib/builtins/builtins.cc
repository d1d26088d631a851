#include "builtins/builtins.h"

#include <fmt/format.h>

#include <array>

#include "collectives/catalogue.h"
#include "compressors/chain.h"
#include "gossamer/transport_names.h"
#include "platform/plug.h"
#include "security/security.h"
#include "transports/common/plug.h"
#include "transports/loopback/loopback.h"
#include "transports/shm/shm.h"
#include "transports/sim/sim.h"
#include "transports/tcp/tcp.h"

namespace goss {

namespace {

namespace names = transport_names;

template <typename T>
std::unique_ptr<Transport> make(const TransportContext& context) {
  return std::make_unique<T>(context);
}

std::unique_ptr<Transport> makeTls(const TransportContext& context) {
  return std::make_unique<transports::TcpTransport>(
      context, [config = context.config] { return security::openSecurity(*config); });
}

constexpr std::array kTransports{
    TransportEntry{names::kLoopback, "threads of one process exchange pointers", Reach::process, true, false,
                   make<transports::LoopbackTransport>},
    TransportEntry{names::kShm, "shared memory", Reach::host, true, false, make<transports::ShmTransport>},
    TransportEntry{names::kTls, "TCP through TLS 1.3; only with `GOSS_TLS`", Reach::network, true, true, makeTls},
    TransportEntry{names::kTcp, "TCP; only without `GOSS_TLS`", Reach::network, true, false,
                   make<transports::TcpTransport>},
    TransportEntry{names::kSim, "a simulated network, for tests", Reach::process, false, false,
                   make<transports::SimTransport>},
    TransportEntry{names::kUcx, "[UCX](#over-ucx)", Reach::network, false, false, nullptr},
    TransportEntry{names::kMpi, "[messages of MPI](#over-mpi)", Reach::network, false, false, nullptr},
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

/// Loads libgossamer_NAME.so, which `setting` names, and returns its plug: a struct that begins with a version.
template <typename Plug>
Result<const Plug*> loadVersioned(std::string_view setting, std::string_view name, const char* symbol,
                                  const char* version) {
  const std::string file = fmt::format("libgossamer_{}.so", name);
  const Result<void*> found = platform::loadPlug(file, symbol);
  if (!found.isOk())
    return Status::error(GOSS_ERR_UNSUPPORTED, fmt::format("{}={}: {}; was Gossamer built and installed with it?",
                                                           setting, name, found.status().text()));
  const auto* plug = static_cast<const Plug*>(found.value());
  if (std::string_view(plug->version) != version)
    return Status::error(GOSS_ERR_UNSUPPORTED, fmt::format("'{}' is of '{}', this library of '{}'; install both anew",
                                                           file, plug->version, version));
  return plug;
}

Result<std::unique_ptr<Transport>> makePlugged(std::string_view name, const TransportContext& context) {
  const auto plug = loadVersioned<transports::TransportPlug>("GOSS_TRANSPORT", name, transports::kPlugSymbol,
                                                             transports::kPlugVersion);
  if (!plug.isOk()) return plug.status();
  return std::unique_ptr<Transport>(plug.value()->make(context));
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

Result<std::unique_ptr<DeviceProvider>> makeDeviceProvider(std::string_view name, bool only_if_used) {
  const auto plug = loadVersioned<DevicePlug>("GOSS_DEVICE", name, kDevicePlugSymbol, kDevicePlugVersion);
  if (!plug.isOk()) return plug.status();
  return plug.value()->make(only_if_used);
}

Catalogue makeCatalogue() { return collectives::builtinAlgorithms(); }

std::string describeCodecs() { return compressors::describeStages(); }

std::string_view whyNoKernels(std::string_view spec) { return compressors::whyNoKernels(spec); }

Result<Compression> makeCodec(std::string_view spec) { return compressors::makeCompression(spec); }

} // namespace goss
