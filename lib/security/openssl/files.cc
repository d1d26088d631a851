#include "security/openssl/files.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/file.h"

namespace goss::security {

namespace {

constexpr std::size_t kMaxBytes = 1u << 20;

Result<std::string> readFrom(const std::string& path, platform::FileSecrecy secrecy) {
  auto text = platform::readOrdinaryFile(path, kMaxBytes, secrecy);
  if (text.isOk()) return text;
  return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                       fmt::format("GOSS_TLS: cannot use {}: {}", path, text.status().text()));
}

} // namespace

bool fileExists(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

Result<std::string> readFile(const std::string& path) { return readFrom(path, platform::FileSecrecy::none); }

Result<SecretText> readSecretFile(const std::string& path) {
  auto text = readFrom(path, platform::FileSecrecy::secret);
  if (!text.isOk()) return text.status();
  return SecretText(text.take());
}

std::string fileStamp(const std::string& path) {
  struct stat about {};
  if (::stat(path.c_str(), &about) != 0) return "-";
  return fmt::format("{}.{}.{}.{}", about.st_ino, about.st_size, about.st_mtim.tv_sec, about.st_mtim.tv_nsec);
}

} // namespace goss::security
