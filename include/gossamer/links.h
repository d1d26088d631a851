/// Measuring what the network between the ranks of a communicator is like, for the planner. The conventions are those
/// of gossamer.h.
#ifndef GOSSAMER_LINKS_H_
#define GOSSAMER_LINKS_H_

#include "gossamer/gossamer.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Collective, blocking. Measures the round trip and the bandwidth, in both directions at the same time, of the links
/// between all pairs of ranks. Other traffic may go on; the bandwidth that it takes is missing in the result. A rank
/// measures one link at a time, until the rate has settled: a tenth of a second on a short path, 13 to 26 round trips
/// on a long one, and 10 s for all links of a rank; with more ranks than that allows, long paths are not measured one
/// by one, but for one or two of each rank. With three ranks or more, ranks with round trips of 2 ms or more then all
/// send to each other at the same time, for 16 round trips, at most 6 s. All this takes longer where a line is very
/// slow (32 KiB to each rank). The two measurements show whether one line carries all links of a rank. If so, the
/// result has the rate of the line (`node RANK up RATE down RATE`); in doubt it has none. If the paths limit the rates,
/// it has a rate that limits no link. The rates of long paths are those that the sender's system reports, if it does.
/// The planner uses the result for later collectives of `comm` and of what goss_comm_split and goss_comm_dup make of it
/// later, but not for persistent requests, nor after goss_comm_shrink. The call first waits for this rank's pending
/// multi-phase operations.
///
/// *links, equal on all ranks, is the text of a link file (docs/formats.md), which GOSS_LINKS and goss_explain take;
/// free it with goss_free. Comments name the links that a third rank relays, rates (as receivers saw them) and long
/// round trips that varied by more than 30 % meanwhile, and for each shared line what its links had together. Of
/// `options` (may be NULL) only timeout_ms counts, for each message; some wait while other ranks measure long paths,
/// for up to ten seconds, so give more than that where paths are long. Errors: as a collective's; the communicator has
/// failed then, because its ranks might plan differently.
GOSS_API goss_status goss_comm_measure_links(goss_comm_t comm, const goss_options* options, char** links);

/// Local, from any thread: which plans of large all-reduces over wide-area links were compared (GOSS_MEASURE,
/// docs/wan.md), as JSON text: {"compares" (false: never, or no longer), "plans_tried", "plans_adopted" (counters),
/// "calls": [{"bytes" (of the vector), "started" (calls), "algorithm" (of the last that was planned), "settled" (false:
/// plans are being compared)}], "trials": the last 256 comparisons, [{"bytes", "call" (the number, from 0 among calls
/// of these bytes, of the first after the comparison), "tried" (algorithm), "seconds" (the
/// median over ranks of each one's fastest call), "against" (the algorithm that was in use; perhaps the same, cut or
/// shared out otherwise), "against_seconds" (likewise; perhaps of the first call), "adopted"}]}. All ranks say the
/// same, each as soon as rank 0's last decision has arrived. `goss-explain trials FILE` prints it. Free it with
/// goss_free. Errors: GOSS_ERR_INVALID_ARGUMENT; GOSS_ERR_RESOURCE.
GOSS_API goss_status goss_comm_trials(goss_comm_t comm, char** json);

#ifdef __cplusplus
}
#endif

#endif // GOSSAMER_LINKS_H_
