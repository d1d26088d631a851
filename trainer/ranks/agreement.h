/// Settings that must be equal on all ranks before they train.
#ifndef GOSS_TRAINER_RANKS_AGREEMENT_H_
#define GOSS_TRAINER_RANKS_AGREEMENT_H_

#include <cstdint>
#include <string>

#include "trainer/compute/ops.h"
#include "trainer/ranks/group.h"

namespace goss::trainer {

/// Collective. `data` is the fingerprint of the text, `calls` all options that decide which numbers come out and which
/// collectives are called when. Throws Error on every rank, which says what to make equal.
void requireAgreement(Group& group, std::uint64_t data, const std::string& calls);

/// Collective. Throws Error on every rank unless all of them compute in the host's memory, or none: differences in
/// rounding would otherwise grow into different models.
void requireSameKindOfDevice(Group& group, const Ops& ops);

} // namespace goss::trainer

#endif // GOSS_TRAINER_RANKS_AGREEMENT_H_
