#include "capi/structs.h"

#include <fmt/format.h>

namespace goss::capi {

Status checkSize(const std::string& what, std::size_t size, std::size_t known) {
  constexpr std::size_t kUnit = sizeof(std::size_t); // No field crosses a multiple of this.
  if (size >= kUnit && size <= known && size % kUnit == 0) return Status::ok();
  if (size > known && size % kUnit == 0 && size < 2 * known) {
    return invalid(
        fmt::format("{}.size is {}, but {} here: the program's headers are newer than the library", what, size, known));
  }
  return invalid(fmt::format("{}.size is {}; start from its initialiser or goss_..._init function", what, size));
}

} // namespace goss::capi
