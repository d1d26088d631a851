/// What must be equal on all ranks before they train.
#ifndef GOSS_TRAINER_AGREEMENT_H_
#define GOSS_TRAINER_AGREEMENT_H_

#include <cstdint>
#include <string>

#include "trainer/group.h"

namespace goss::trainer {

/// Collective. `data` is the fingerprint of the text, `calls` all options that decide which numbers come out and which
/// collectives are called when. Throws Error on every rank, which says what to make equal.
void requireAgreement(Group& group, std::uint64_t data, const std::string& calls);

} // namespace goss::trainer

#endif // GOSS_TRAINER_AGREEMENT_H_
