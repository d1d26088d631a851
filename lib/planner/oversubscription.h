/// Which algorithms run where there are more ranks than processors.
#ifndef GOSS_LIB_PLANNER_OVERSUBSCRIPTION_H_
#define GOSS_LIB_PLANNER_OVERSUBSCRIPTION_H_

#include <cstdint>
#include <string_view>

#include "gossamer/algorithm.h"
#include "gossamer/config.h"
#include "schedule/links.h"

namespace goss {

/// The price of a message over sockets when ranks share processors.
schedule::LinkPrice oversubscribedPrice(schedule::LinkPrice price, double ranks_per_processor);
/// Whether ranks of one host use sockets too.
bool usesSockets(const Config& config);
/// The algorithm that oversubscribed ranks prefer among those of about equal price; "": none.
std::string_view preferredAmongEquals(const Config& config, double ranks_per_processor);

/// Whether `ranks` ranks of one host, each a process, share processors and use shared memory: see
/// algorithmWhenOversubscribed().
bool takesTurns(const Config& config, int ranks, double ranks_per_processor);
/// The algorithm that `size` such ranks run for `bytes` of the vector or of one rank's block, whatever its price: the
/// one in which ranks wait the least. "": prices decide. `fits_board`: boards hold the call (boards/board_channel.h).
std::string_view algorithmWhenOversubscribed(Collective collective, int size, std::uint64_t bytes, bool fits_board);

} // namespace goss

#endif // GOSS_LIB_PLANNER_OVERSUBSCRIPTION_H_
