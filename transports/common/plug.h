/// How the library finds a transport that lies in a shared object of its own.
#ifndef GOSS_TRANSPORTS_COMMON_PLUG_H_
#define GOSS_TRANSPORTS_COMMON_PLUG_H_

#include <cstdint>

#include "gossamer/transport.h"

namespace goss::transports {

/// A plug exports `const TransportPlug` under the name kPlugSymbol; it and the library that loads it must come from one
/// build.
struct TransportPlug {
  const char* version;                                 ///< kPlugVersion of the plug.
  Transport* (*make)(const TransportContext& context); ///< The caller owns what it returns.
};

inline constexpr const char* kPlugSymbol = "goss_transport_plug";
/// Changes whenever the transport seam or a type in it does.
inline constexpr const char* kPlugVersion = "gossamer 0.1.0 transport 1";

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_PLUG_H_
