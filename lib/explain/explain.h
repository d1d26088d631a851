/// Explains the planner's choice as text for people and tools.
#ifndef GOSS_LIB_EXPLAIN_EXPLAIN_H_
#define GOSS_LIB_EXPLAIN_EXPLAIN_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "gossamer/config.h"
#include "gossamer/status.h"
#include "planner/tuning.h"

namespace goss {

/// The circumstances, besides the call, on which a choice depends.
struct Circumstances {
  std::string_view links; ///< Contents of a link file; empty: one host.
  std::string_view codec; ///< Codec of float32 vectors; empty: none.
  /// Only algorithm, fragment_bytes, codec, transport and tls are used, as a communicator uses them; not the files.
  Config config;
  int processors = 0; ///< Processors of the host; 0: as many as ranks.
  Tuning tuning = Tuning::builtIn();
};

/// Returns JSON: the candidates for `collective` ("allreduce", "all_reduce", "bcast", ...) of `bytes` (of the vector,
/// or of one rank's block) over `ranks` ranks, their prices, the choice and why. The candidates are those among which
/// the planner may choose, and one that is asked for by name. Errors: invalidArgument (names and limits), naming what
/// is accepted. Pure. A codec that works in phases runs once, on a vector of ones: "phases" holds each phase's
/// candidates, and the only candidate is the sum of the choices.
Result<std::string> explainJson(std::string_view collective, int ranks, std::size_t bytes,
                                const Circumstances& circumstances);
Result<std::string> explainJson(std::string_view collective, int ranks, std::size_t bytes, std::string_view links,
                                std::string_view codec = {});
/// explainJson() with the environment's settings, the files that they name and this host's processors. `links` wins
/// over GOSS_LINKS, and a codec over GOSS_CODEC. Errors: also those of Config::fromEnvironment and of the files.
Result<std::string> explainHere(std::string_view collective, int ranks, std::size_t bytes, Circumstances circumstances);

} // namespace goss

#endif // GOSS_LIB_EXPLAIN_EXPLAIN_H_
