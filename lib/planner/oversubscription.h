/// Which algorithms run where there are more ranks than processors.
#ifndef GOSS_LIB_PLANNER_OVERSUBSCRIPTION_H_
#define GOSS_LIB_PLANNER_OVERSUBSCRIPTION_H_

#include <cstdint>
#include <string_view>

#include "gossamer/algorithm.h"
#include "schedule/links.h"

namespace goss {

/// The price of a message over sockets when ranks share processors.
schedule::LinkPrice oversubscribedPrice(schedule::LinkPrice price, double ranks_per_processor);
/// The algorithm that oversubscribed ranks prefer among those of about equal price; "": none. `use_sockets`: some of
/// them use sockets within their host.
std::string_view preferredAmongEquals(bool use_sockets, double ranks_per_processor);

/// Whether `ranks` ranks of one host, each a process, share processors, so that algorithmWhenOversubscribed() decides.
/// `use_memory`: all of them use shared memory.
bool takesTurns(bool use_memory, int ranks, double ranks_per_processor);
/// The algorithm that `size` such ranks run for `bytes` of the vector or of one rank's block, whatever its price: the
/// one in which ranks wait the least. "": prices decide. `fits_board`: boards hold the call (boards/board_channel.h).
std::string_view algorithmWhenOversubscribed(Collective collective, int size, std::uint64_t bytes, bool fits_board);

} // namespace goss

#endif // GOSS_LIB_PLANNER_OVERSUBSCRIPTION_H_
