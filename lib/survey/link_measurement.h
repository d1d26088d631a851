/// Round trip and bandwidth of every link of a communicator, measured while other traffic goes on.
#ifndef GOSS_LIB_SURVEY_LINK_MEASUREMENT_H_
#define GOSS_LIB_SURVEY_LINK_MEASUREMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "communicator/communicator.h"
#include "schedule/links.h"

namespace goss {

/// MeasuredLink::relay of a link that nobody relays, and of one that a rank outside of the communicator does.
inline constexpr double kNoRelay = -1;
inline constexpr double kRelayElsewhere = -2;

/// From one rank to another. Ranks tell it each other as numbers.
struct MeasuredLink {
  double latency_s = 0; ///< Half a round trip; 0 of a rank to itself.
  double bandwidth_bytes_per_s = 0;
  double relay = kNoRelay; ///< The rank that passes on what is sent.
  /// While all ranks sent to all that are far away; 0 where that was not measured. One that was measured only so has
  /// it as its bandwidth, too.
  double together_bytes_per_s = 0;
};

/// Collective, blocking, over a communicator that nothing else uses. All ranks exchange two small messages with all
/// others; then, in size - 1 rounds (size, when it is odd), every rank has one partner: they stream to each other
/// (link_stream.h), and where they are near, exchange more small messages. Of three ranks or more those that are far
/// from each other then all stream at once, and do not before where TCP finds no speed in so short a time. Returns the
/// links to this rank, by peer. After an error the communicator has failed.
Result<std::vector<MeasuredLink>> measureLinks(Communicator& communicator, std::int64_t timeout_ms);

/// What all ranks have measured as a link file (docs/formats.md). `measured`: of rank 0 to all ranks, then of rank 1,
/// and so on. What was not measured (overheads, processors, which ranks are one node) is as `before`. The port of
/// several ranks is as fast as the pairs were together that used it in one round, or all that were measured together.
/// Of a rank all of whose links were measured together it is as fast as they were then, where that was much less than
/// alone; where it was not, and some links are much faster than others, a port is named that does not hold them up;
/// otherwise none is. What is alike for all ranks is equal, so that the planner sees equals. A comment names each link
/// that is relayed, and by whom. Numbers have two digits: more would be noise.
[[nodiscard]] std::string linksText(const std::vector<MeasuredLink>& measured, const schedule::Links& before);

/// Whom `rank` meets in `round` so that all meet all in as few rounds as can be; -1: nobody.
[[nodiscard]] int partnerInRound(int size, int rank, int round);

} // namespace goss

#endif // GOSS_LIB_SURVEY_LINK_MEASUREMENT_H_
