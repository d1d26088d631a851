/// What goss_comm_shrink takes: the library's agreement (health/agreement.h) over simulated links.
#ifndef GOSS_BENCH_SIM_RECOVERY_H_
#define GOSS_BENCH_SIM_RECOVERY_H_

#include <cstdint>
#include <vector>

#include "bench/sim/network.h"

namespace goss::bench::sim {

struct AgreementCost {
  double time_s = 0;
  double messages = 0; ///< Messages of all ranks.
  bool goes_on = true; ///< The survivors are enough.
};

/// `members`: world ranks of the communicator; `gone`: those that have died. The messages of up to kAgreeing ranks are
/// simulated. With more members, kAgreeing of them are simulated, and each of their messages counts for those of
/// several members.
[[nodiscard]] AgreementCost agree(const Network& network, const std::vector<int>& members,
                                  const std::vector<int>& gone);
inline constexpr int kAgreeing = 32;

} // namespace goss::bench::sim

#endif // GOSS_BENCH_SIM_RECOVERY_H_
