#include "platform/file.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/invalid.h"
#include "platform/fd.h"

namespace goss::platform {

namespace {

Status judge(const struct stat& about, std::size_t most_bytes, FileSecrecy secrecy) {
  if (!S_ISREG(about.st_mode)) return base::invalid("it is no ordinary file");
  if (secrecy == FileSecrecy::secret && (about.st_mode & 077) != 0)
    return base::invalid("it holds a secret that others may read; run chmod 600 on it");
  if (static_cast<std::size_t>(about.st_size) > most_bytes)
    return base::invalid(fmt::format("it has {} bytes, and at most {} are read", about.st_size, most_bytes));
  return Status::ok();
}

} // namespace

Result<std::string> readOrdinaryFile(const std::string& path, std::size_t most_bytes, FileSecrecy secrecy) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat about {};
  if (!fd.valid() || ::fstat(fd.get(), &about) != 0) return base::invalid(errnoText(errno));
  Status judged = judge(about, most_bytes, secrecy);
  if (!judged.isOk()) return judged;
  std::string text(static_cast<std::size_t>(about.st_size), '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got = ::read(fd.get(), text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return base::invalid(errnoText(errno));
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  text.resize(filled);
  return text;
}

} // namespace goss::platform
