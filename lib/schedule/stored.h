/// Messages that their receivers only store.
#ifndef GOSS_LIB_SCHEDULE_STORED_H_
#define GOSS_LIB_SCHEDULE_STORED_H_

#include <cstdint>

#include "gossamer/schedule.h"
#include "schedule/links.h"

namespace goss::schedule {

/// Whether receivers only store what the schedule sends, run once for each of so many fragments: blocks of ranks, or a
/// broadcast that is not cut. What is cut is passed on in parts while others are on their way. Results of reductions
/// gain nothing: through a ring the sender's copy overlaps the receiver's.
[[nodiscard]] bool storesMessages(const Schedule& schedule, std::uint32_t fragments);

/// How many times as fast as others such a message goes. In memory that processes share, as which count links that are
/// faster than any network's, the receiver copies it out of the sender's: a short one through a ring all the same, and
/// of a long one a ring copies one part in while it copies another out.
[[nodiscard]] double storedGain(const LinkPrice& price, double bytes);

} // namespace goss::schedule

#endif // GOSS_LIB_SCHEDULE_STORED_H_
