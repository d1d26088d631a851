#include "core/builtins.h"

#include <fmt/format.h>

#include <array>

#include "collectives/catalogue.h"
#include "compressors/catalogue.h"
#include "transports/loopback/loopback.h"
#include "transports/shm/shm.h"
#include "transports/sim/sim.h"
#include "transports/tcp/tcp.h"

namespace goss::core {

namespace {

struct Entry {
  std::string_view name;
  bool by_default; ///< Considered when no transport is named.
  std::unique_ptr<Transport> (*make)(const TransportContext& context);
};

template <typename T>
std::unique_ptr<Transport> make(const TransportContext& context) {
  return std::make_unique<T>(context);
}

/// Best first.
constexpr std::array kTransports{
    Entry{"loopback", true, make<transports::LoopbackTransport>},
    Entry{"shm", true, make<transports::ShmTransport>},
    Entry{"tcp", true, make<transports::TcpTransport>},
    Entry{"sim", false, make<transports::SimTransport>},
};

} // namespace

Result<std::vector<std::unique_ptr<Transport>>> makeTransports(const Config& config, const TransportContext& context) {
  std::vector<std::unique_ptr<Transport>> transports;
  std::string names;
  for (const Entry& entry : kTransports) {
    names += fmt::format("{}{}", names.empty() ? "" : ", ", entry.name);
    if (config.transport.empty() ? entry.by_default : config.transport == entry.name) {
      transports.push_back(entry.make(context));
    }
  }
  if (transports.empty()) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("unknown transport '{}'; this build has: {}", config.transport, names));
  }
  return transports;
}

Catalogue makeCatalogue() { return collectives::builtinAlgorithms(); }

Result<Compression> makeCodec(std::string_view spec) { return compressors::makeCompression(spec); }

} // namespace goss::core
