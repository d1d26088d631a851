/// The one list of built-in transports, algorithms and codecs. Nothing registers itself elsewhere.
#ifndef GOSS_LIB_BUILTINS_BUILTINS_H_
#define GOSS_LIB_BUILTINS_BUILTINS_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "gossamer/algorithm.h"
#include "gossamer/codec.h"
#include "gossamer/config.h"
#include "gossamer/device.h"
#include "gossamer/transport.h"

namespace goss {

/// Which ranks a transport joins.
enum class Reach : std::uint8_t { process, host, network };

struct TransportEntry {
  std::string_view name;
  std::string_view summary; ///< As docs/environment.md shows it.
  Reach reach;
  bool by_default; ///< Used when no transport is named.
  bool encrypts;
  /// Null: libgossamer_NAME.so makes it, where the build found what it needs.
  std::unique_ptr<Transport> (*make)(const TransportContext& context);
};

/// All transports, best first.
std::span<const TransportEntry> builtinTransports();
/// Their names, in the same order.
std::vector<std::string_view> transportNames();

/// Transports that config.transport allows, best first: loopback, shm and tcp, or exactly the named one.
/// Errors: invalidArgument listing the names; unsupported where the named one lies in a shared object that is not
/// there.
Result<std::vector<std::unique_ptr<Transport>>> makeTransports(const Config& config, const TransportContext& context);

/// The provider of GPU buffers that libgossamer_NAME.so makes (DevicePlug::make). Errors: unsupported, where that is
/// not there or there are no such devices.
Result<std::unique_ptr<DeviceProvider>> makeDeviceProvider(std::string_view name, bool only_if_used);

Catalogue makeCatalogue();

/// The stages of codec specs, as the JSON text of goss_codecs().
std::string describeCodecs();

/// Why no device can run the codec of a canonical spec; empty: one may, or a user has registered the codec.
std::string_view whyNoKernels(std::string_view spec);

/// Makes the codec of a spec string. Errors: invalidArgument naming the stage or parameter that is wrong.
Result<Compression> makeCodec(std::string_view spec);

} // namespace goss

#endif // GOSS_LIB_BUILTINS_BUILTINS_H_
