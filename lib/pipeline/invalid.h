/// The error of a schedule that cannot be.
#ifndef GOSS_LIB_PIPELINE_INVALID_H_
#define GOSS_LIB_PIPELINE_INVALID_H_

#include <fmt/format.h>

#include <utility>

#include "base/invalid.h"

namespace goss::pipeline {

/// As base::invalid(); the text is made as fmt::format() does.
template <typename... Args>
Status invalid(fmt::format_string<Args...> text, Args&&... args) {
  return base::invalid(fmt::format(text, std::forward<Args>(args)...));
}

} // namespace goss::pipeline

#endif // GOSS_LIB_PIPELINE_INVALID_H_
