/// The trainer's one exception. It never leaves the program: main() prints it, aborts the other ranks and exits with 1.
#ifndef GOSS_TRAINER_BASE_ERROR_H_
#define GOSS_TRAINER_BASE_ERROR_H_

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace goss::trainer {

/// One sentence that names who and what, and what to do next.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

template <typename... Args>
[[noreturn]] void fail(fmt::format_string<Args...> text, Args&&... args) {
  throw Error(fmt::format(text, std::forward<Args>(args)...));
}

} // namespace goss::trainer

#endif // GOSS_TRAINER_BASE_ERROR_H_
