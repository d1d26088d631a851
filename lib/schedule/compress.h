/// Rewrites a schedule so that its messages are encoded: every algorithm serves compressed collectives too, and the
/// checker and the simulator see the schedule that will run.
///
/// A value is encoded when it is first sent, into a payload slot, and **from then on the payload is the value**: it is
/// forwarded unchanged, and its owner too continues with the decoded payload. So all ranks that get a result have
/// decoded the same bytes. Received payloads are kept and decoded only where numbers are needed: a sum of payloads is
/// one step, and a sum that is sent on is decoded, added, finished and encoded in one step (Codec::merge).
///
/// Direct exchange becomes the two-shot all-reduce: encode every chunk, exchange, merge the own one in a fixed order,
/// send its bytes to all, decode. "flat" becomes an all-gather of payloads that every rank adds in rank order. A ring
/// encodes at every hop.
///
/// With an additive codec sums are made of payloads as they are (a reduce step of payload slots, Codec::addPayload):
/// each rank encodes its own contribution once, nothing is encoded again whatever the algorithm, and the finish comes
/// with the decoding at the end.
#ifndef GOSS_LIB_SCHEDULE_COMPRESS_H_
#define GOSS_LIB_SCHEDULE_COMPRESS_H_

#include <cstdint>
#include <span>
#include <vector>

#include "gossamer/schedule.h"

namespace goss::schedule {

struct Compressed {
  Schedule schedule;
  /// Decoded values are encoded again before the sum is complete: a lossy codec's error grows with the ranks.
  bool requantizes = false;
};

/// How sums of encoded values are computed.
enum class Sums : std::uint8_t {
  decoded,  ///< Payloads are decoded and added as numbers.
  payloads, ///< The codec adds payloads, and all messages are encoded. Without meaning in collectives without sums.
};

/// Rewrites `plain`, which a builder made. `encoded_peers`: by rank, whether messages to and from it are encoded, the
/// same at both ends; empty: all. A message of several slots becomes one message for each.
Compressed compressed(const Schedule& plain, const std::vector<bool>& encoded_peers = {}, Sums sums = Sums::decoded);

/// Whether ranks may end with different results: some keep a sum that others have decoded, or two encode the same one.
/// ranks[r] is rank r's compressed schedule of an all_reduce. `draws`: sums are encoded again at hops, with random
/// numbers of each rank's own, so that two ranks which encode the same incomplete sum send different bytes.
bool resultsDiverge(std::span<const Schedule> ranks, bool draws = false);

/// Whether compressed() takes schedules of this collective: all but scans and barriers.
bool canCompress(Collective collective);

} // namespace goss::schedule

#endif // GOSS_LIB_SCHEDULE_COMPRESS_H_
