/// Whether the ranks of a host share processors.
#ifndef GOSS_LIB_PLANNER_PROCESSOR_SHARE_H_
#define GOSS_LIB_PLANNER_PROCESSOR_SHARE_H_

#include <string>
#include <string_view>
#include <vector>

#include "mesh/mesh.h"

namespace goss {

struct ProcessorShare {
  /// The ranks cannot all run at the same time, each on a processor of its own. Also true where processors are left
  /// over that the ranks which share one may not use.
  bool oversubscribed = false;
  double ranks_per_processor = 1; ///< Number of ranks over the number of processors that any of them may use.
};

/// The share of ranks that may run on these processors, each a set as platform::usableProcessors(). Pure: ranks that
/// know the same sets get the same answer. A rank with an empty set has no processor of its own.
ProcessorShare shareOfProcessors(const std::vector<std::string_view>& usable);
/// The share of the ranks on `host`.
ProcessorShare shareOfProcessors(const std::vector<PeerCard>& cards, std::string_view host);

} // namespace goss

#endif // GOSS_LIB_PLANNER_PROCESSOR_SHARE_H_
