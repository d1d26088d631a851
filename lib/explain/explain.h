/// The planner's reasoning as a text for people and tools.
#ifndef GOSS_LIB_EXPLAIN_EXPLAIN_H_
#define GOSS_LIB_EXPLAIN_EXPLAIN_H_

#include <cstddef>
#include <string>
#include <string_view>

#include "gossamer/config.h"
#include "gossamer/status.h"
#include "planner/tuning.h"

namespace goss {

/// What a choice depends on besides the call.
struct Circumstances {
  std::string_view links; ///< Text of a link file; empty: one host.
  std::string_view codec; ///< With which float32 is compressed; empty: none.
  /// Its algorithm, fragment_bytes, codec, transport and tls count, as they do for a communicator; not its files.
  Config config;
  int processors = 0; ///< Of the host; 0: as many as ranks.
  Tuning tuning = Tuning::builtIn();
};

/// JSON: the candidates for `collective` ("allreduce", "all_reduce", "bcast", ...) of `bytes` (of the vector, or of one
/// rank's block) over `ranks` ranks, their prices, the choice and why. The candidates are those that the planner is
/// free to take, and one that is asked for by name. Errors: invalidArgument (names and limits), naming what is
/// accepted. Pure.
/// A codec that works in phases runs once, on a vector of ones: "phases" holds each phase's candidates, and the one
/// candidate is what is taken for all of them together.
Result<std::string> explainJson(std::string_view collective, int ranks, std::size_t bytes,
                                const Circumstances& circumstances);
Result<std::string> explainJson(std::string_view collective, int ranks, std::size_t bytes, std::string_view links,
                                std::string_view codec = {});
/// The same with the environment's settings, the files that they name and this host's processors. Links that are given
/// win over GOSS_LINKS, and a codec over GOSS_CODEC. Errors: those of Config::fromEnvironment and of the files too.
Result<std::string> explainHere(std::string_view collective, int ranks, std::size_t bytes, Circumstances circumstances);

} // namespace goss

#endif // GOSS_LIB_EXPLAIN_EXPLAIN_H_
