/// What the network is like, measured by a communicator for its planner. The conventions are those of gossamer.h.
#ifndef GOSSAMER_LINKS_H_
#define GOSSAMER_LINKS_H_

#include "gossamer/gossamer.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Collective, blocking. Measures round trip and bandwidth, both ways at once, of the links of all pairs of ranks,
/// while other traffic goes on; what that takes is missing in the result. Every rank meets every other once, one at a
/// time: for each other rank less than half a second over long paths, a tenth over short ones. Of three ranks or more
/// those with round trips of 2 ms and more then all send to each other at once, and with more than 25 ms only that, for
/// little more than a second, or longer where a line is so slow that 128 KiB to each of them take long. What links
/// carry then and alone tells whether a rank has one line for all of them, whose rate is named (`node RANK up RATE down
/// RATE`), or a path for each; in doubt none is, as beyond 25 ms. Later collectives of `comm`, and of what
/// goss_comm_split and goss_comm_dup make of it later, are planned by the result; persistent requests and what
/// goss_comm_shrink makes are not. First waits for this rank's pending operations with codecs that work in phases.
///
/// *links, equal on all ranks, is the text of a link file (docs/formats.md), which GOSS_LINKS and goss_explain take;
/// free it with goss_free. A comment in it names each link that a third rank relays, and which. Of a path of more than
/// 25 ms it says what it carries beside all others, and less where it is fast and has carried nothing for a while: TCP
/// has not found its speed when the time is over; where packets are lost a bandwidth may be told too high, up to 1.8
/// times as seen so far. Of `options` (may be NULL) only timeout_ms counts, for each message; one of a rank that is
/// more than 25 ms from others may wait until all those have met. Errors: as a collective's; the communicator has
/// failed then, for its ranks may plan differently.
GOSS_API goss_status goss_comm_measure_links(goss_comm_t comm, const goss_options* options, char** links);

#ifdef __cplusplus
}
#endif

#endif // GOSSAMER_LINKS_H_
