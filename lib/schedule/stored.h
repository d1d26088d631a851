/// Messages that receivers only store, and how much faster shared memory carries them than others.
#ifndef GOSS_LIB_SCHEDULE_STORED_H_
#define GOSS_LIB_SCHEDULE_STORED_H_

#include <cstdint>

#include "gossamer/schedule.h"
#include "schedule/links.h"

namespace goss::schedule {

/// Whether receivers only store the messages of this schedule, which runs once for each of `fragments` fragments: a
/// schedule that moves blocks of ranks without adding or encoding, or a broadcast of the vector in one piece. A
/// broadcast in pieces gains nothing, because a rank forwards one piece while it receives another. The results of
/// reductions gain nothing, because through a ring the sender's copy overlaps the receiver's.
[[nodiscard]] bool storesMessages(const Schedule& schedule, std::uint32_t fragments);

/// By how much a message that is only stored is faster than others of its length over a link of this price; 1: not at
/// all. Over shared memory (a link faster than any network) the receiver copies such a message once, out of the
/// sender's buffer. Short ones go through a ring like all others. Long ones gain nothing, because a ring copies one
/// part in while it copies another out.
[[nodiscard]] double storedGain(const LinkPrice& price, double bytes);

} // namespace goss::schedule

#endif // GOSS_LIB_SCHEDULE_STORED_H_
