#include "security/openssl/files.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/fd.h"

namespace goss::security {

namespace {

constexpr std::size_t kMostBytes = 1u << 20;

Status cannotRead(const std::string& path, const std::string& why) {
  return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("GOSS_TLS: cannot use {}: {}", path, why));
}

Result<std::string> readFrom(const std::string& path, bool secret) {
  const platform::UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd.valid()) return cannotRead(path, platform::errnoText(errno));
  struct stat about {};
  if (::fstat(fd.get(), &about) != 0) return cannotRead(path, platform::errnoText(errno));
  if (!S_ISREG(about.st_mode)) return cannotRead(path, "it is no ordinary file");
  if (secret && (about.st_mode & 077) != 0)
    return cannotRead(path, "it holds a secret that others may read; run chmod 600 on it");
  if (static_cast<std::size_t>(about.st_size) > kMostBytes) return cannotRead(path, "it is too long");
  std::string text(static_cast<std::size_t>(about.st_size), '\0');
  std::size_t filled = 0;
  while (filled < text.size()) {
    const ssize_t got = ::read(fd.get(), text.data() + filled, text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannotRead(path, platform::errnoText(errno));
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
  }
  text.resize(filled);
  return text;
}

} // namespace

bool fileExists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

Result<std::string> readFile(const std::string& path) { return readFrom(path, false); }

Result<SecretText> readSecretFile(const std::string& path) {
  auto text = readFrom(path, true);
  if (!text.isOk()) return text.status();
  return SecretText(text.take());
}

std::string fileStamp(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return "-";
  return fmt::format("{}.{}.{}.{}", about.st_ino, about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
}

} // namespace goss::security
