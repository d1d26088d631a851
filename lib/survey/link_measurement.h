/// Round trip and bandwidth of every link of a communicator, measured while other traffic goes on.
#ifndef GOSS_LIB_SURVEY_LINK_MEASUREMENT_H_
#define GOSS_LIB_SURVEY_LINK_MEASUREMENT_H_

#include <cstdint>
#include <string>
#include <vector>

#include "communicator/communicator.h"
#include "schedule/links.h"

namespace goss {

/// MeasuredLink::relay of a link that no rank relays, and of one that a rank outside of the communicator relays.
inline constexpr double kNoRelay = -1;
inline constexpr double kRelayElsewhere = -2;

/// The measured link from one rank to another. Ranks exchange it as numbers.
struct MeasuredLink {
  double latency_s = 0; ///< Half a round trip; 0 for a rank to itself.
  double bandwidth_bytes_per_s = 0;
  double relay = kNoRelay; ///< The rank that relays the link.
  /// Bandwidth, as the receiver saw it, while all ranks sent to all that are far away; 0 where that was not measured. A
  /// link that was not measured alone has its bandwidth_bytes_per_s from the same time.
  double together_bytes_per_s = 0;
  double alone_bytes_per_s = 0; ///< Bandwidth while the pair sent to nobody else; 0: it was not measured.
  double spread = 0;            ///< SteadyRate::spread of the bandwidth.
  double round_trip_spread = 0; ///< RoundTrip::spread.
  double together_spread = 0;   ///< SteadyRate::spread of together_bytes_per_s.
  double resent = 0;            ///< SteadyRate::resent, while the pair sent to nobody else.
};

/// The time that a measurement may take beside some round trips, and longer only where a line is very slow.
struct MeasurementTime {
  double alone_s = 10;   ///< For all rounds of pairs whose round trips are long, together.
  double together_s = 6; ///< For the streams between all.
};

/// Collective, blocking, over a communicator that nothing else uses. All ranks exchange a few small messages with all
/// others; then, in size - 1 rounds (size, when it is odd), every rank has one partner: they stream to each other
/// (link_stream.h) until their rates have settled, and where they are near, exchange more small messages. Pairs for
/// whose round trips the time is too short do not stream alone, but for one of each rank, however long that takes: it
/// tells whether the rank's links share a line. With three ranks or more, ranks that are far from each
/// other then all stream at once, all for the same time. Returns the links to this rank, by peer. After an error the
/// communicator has failed.
Result<std::vector<MeasuredLink>> measureLinks(Communicator& communicator, const MeasurementTime& time,
                                               std::int64_t timeout_ms);

/// All measurements as a link file (docs/formats.md). `measured`: links of rank 0 to all ranks, then of rank 1, and so
/// on. What was not measured (overheads, processors, which ranks are one node) is taken from `before`. The port of
/// several ranks is as fast as the pairs were together that used it in one round, or as all that were measured
/// together. The port of a rank all of whose links were measured together, and some alone, is as fast as they were
/// together, if that was much less than alone; if not, and some links are much faster than others, the text names a
/// port that does not limit them; otherwise none. Figures that are equal for all ranks except for noise are made equal,
/// so that the planner sees equal ranks. Comments name each relayed link and its relay, links whose rates had not
/// settled or whose round trips varied, and for each shared line how much its links together had of what they had
/// alone. Numbers have two digits: more would be noise.
[[nodiscard]] std::string linksText(const std::vector<MeasuredLink>& measured, const schedule::Links& before);

/// The partner of `rank` in `round`, such that all pairs meet in as few rounds as possible; -1: none.
[[nodiscard]] int partnerInRound(int size, int rank, int round);

/// The most seconds that a pair of ranks with this round trip streams alone in `round`; 0: it does not.
[[nodiscard]] double timeAlone(double round_trip_s, int size, int round, const MeasurementTime& time = {});

} // namespace goss

#endif // GOSS_LIB_SURVEY_LINK_MEASUREMENT_H_
