/// The error of a wrong argument or setting.
#ifndef GOSS_LIB_BASE_INVALID_H_
#define GOSS_LIB_BASE_INVALID_H_

#include <string>
#include <utility>

#include "gossamer/status.h"

namespace goss::base {

/// GOSS_ERR_INVALID_ARGUMENT. `text` is one sentence: what was given, and what is accepted.
inline Status invalid(std::string text) { return Status::error(GOSS_ERR_INVALID_ARGUMENT, std::move(text)); }

} // namespace goss::base

#endif // GOSS_LIB_BASE_INVALID_H_
