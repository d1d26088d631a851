/// Parameters that methods over a topology share.
#ifndef GOSS_LIB_SYNC_GOSSIP_TOPOLOGY_PARAMETERS_H_
#define GOSS_LIB_SYNC_GOSSIP_TOPOLOGY_PARAMETERS_H_

#include <memory>

#include "sync/methods.h"
#include "sync/rule.h"

namespace goss::sync {

inline constexpr ParameterInfo kRingParameter = {"topology", "ring", "who averages with whom (gossip.h), ';' for ','"};
inline constexpr ParameterInfo kEveryStepParameter = {"h", "1", "steps between exchanges"};
inline constexpr ParameterInfo kGammaParameter = {"gamma", "1", "step size of the consensus"};

/// A composition of `rule` alone, with the `codec` parameter read.
inline Composition composeRule(SpecReader& reader, std::unique_ptr<Rule> rule) {
  Composition made;
  made.rule = std::move(rule);
  made.layout.codec = reader.text("codec");
  return made;
}

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_GOSSIP_TOPOLOGY_PARAMETERS_H_
