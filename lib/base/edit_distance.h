/// The number of letters by which two words differ; errors about a misspelt name propose the nearest known one.
#ifndef GOSS_LIB_BASE_EDIT_DISTANCE_H_
#define GOSS_LIB_BASE_EDIT_DISTANCE_H_

#include <cstddef>
#include <string_view>

namespace goss::base {

/// The least number of letters to insert, delete or replace that turns `a` into `b` (Levenshtein 1966).
std::size_t editDistance(std::string_view a, std::string_view b);

} // namespace goss::base

#endif // GOSS_LIB_BASE_EDIT_DISTANCE_H_
