/// The one list of built-in transports, algorithms and codecs. Nothing registers itself elsewhere.
#ifndef GOSS_LIB_BUILTINS_BUILTINS_H_
#define GOSS_LIB_BUILTINS_BUILTINS_H_

#include <memory>
#include <vector>

#include "gossamer/algorithm.h"
#include "gossamer/codec.h"
#include "gossamer/config.h"
#include "gossamer/transport.h"

namespace goss {

/// Transports that config.transport allows, best first: loopback, shm and tcp, or exactly the named one.
/// Errors: invalidArgument listing the names; unsupported where the named one lies in a shared object that is not
/// there.
Result<std::vector<std::unique_ptr<Transport>>> makeTransports(const Config& config, const TransportContext& context);

Catalogue makeCatalogue();

/// Makes the codec of a spec string. Errors: invalidArgument naming the stage or parameter that is wrong.
Result<Compression> makeCodec(std::string_view spec);

} // namespace goss

#endif // GOSS_LIB_BUILTINS_BUILTINS_H_
