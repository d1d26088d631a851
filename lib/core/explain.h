/// The planner's reasoning as a text for people and tools.
#ifndef GOSS_LIB_CORE_EXPLAIN_H_
#define GOSS_LIB_CORE_EXPLAIN_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "gossamer/status.h"

namespace goss::core {

/// JSON: the candidates for `collective` ("allreduce", "all_reduce", "bcast", ...) of `bytes` (of the vector, or of one
/// rank's block) over `ranks` ranks, their prices, the choice and why. `links`: text of a link file; empty: one host's
/// shared memory. `codec`: a spec, with which float32 is compressed; empty: none. Errors: invalidArgument (names and
/// limits), naming what is accepted. Pure.
Result<std::string> explainJson(std::string_view collective, int ranks, std::size_t bytes, std::string_view links,
                                std::string_view codec = {});

} // namespace goss::core

#endif // GOSS_LIB_CORE_EXPLAIN_H_
