/// Implements goss_comm_measure_links on the public interface of Communicator alone.
#ifndef GOSS_LIB_SURVEY_SURVEY_H_
#define GOSS_LIB_SURVEY_SURVEY_H_

#include <cstdint>
#include <string>

#include "communicator/communicator.h"

namespace goss {

/// Collective, blocking: as goss_comm_measure_links. Measures all links of `communicator`, which plans later calls by
/// them, and returns them as the text of a link file, equal on all ranks. `timeout_ms`: of each message; 0: the
/// communicator's. Errors: as a collective's; `communicator` has failed then. Takes the engine's lock: the caller must
/// not hold it.
Result<std::string> surveyLinks(Communicator& communicator, std::int64_t timeout_ms);

/// For the communicator of all ranks that has just been made, where World::measuresLinks() says so; otherwise does
/// nothing. The lowest rank of each host measures while the others wait: its flows show what the hosts' lines carry, so
/// that all pairs of ranks of two hosts get their price. Says in the log how long it took.
Status surveyNewLinks(Communicator& communicator);

} // namespace goss

#endif // GOSS_LIB_SURVEY_SURVEY_H_
