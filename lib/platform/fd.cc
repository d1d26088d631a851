#include "platform/fd.h"

#include <fmt/format.h>
#include <unistd.h>

#include <system_error>

namespace goss::platform {

void UniqueFd::reset(int fd) {
  // close() is not repeated on EINTR: on Linux the descriptor is gone by then and its number may belong to another
  // thread.
  if (fd_ >= 0) ::close(fd_);
  fd_ = fd;
}

std::string errnoText(int error) { return fmt::format("{} (errno {})", std::generic_category().message(error), error); }

} // namespace goss::platform
