/// Reads the files of credentials.
#ifndef GOSS_LIB_SECURITY_OPENSSL_FILES_H_
#define GOSS_LIB_SECURITY_OPENSSL_FILES_H_

#include <string>

#include "gossamer/status.h"
#include "security/openssl/handles.h"

namespace goss::security {

/// A secret text, which is erased from memory.
class SecretText {
 public:
  explicit SecretText(std::string text) : text_(std::move(text)) {}
  ~SecretText() { OPENSSL_cleanse(text_.data(), text_.size()); }
  SecretText(SecretText&& other) noexcept : text_(std::move(other.text_)) { other.text_.clear(); }
  SecretText& operator=(SecretText&&) = delete;
  SecretText(const SecretText&) = delete;
  SecretText& operator=(const SecretText&) = delete;
  [[nodiscard]] const std::string& get() const { return text_; }

 private:
  std::string text_;
};

bool fileExists(const std::string& path);
/// Reads at most 1 MiB. Errors: invalidArgument naming GOSS_TLS and the file.
Result<std::string> readFile(const std::string& path);
/// As readFile(), for a file that only its owner may read or write.
Result<SecretText> readSecretFile(const std::string& path);
/// A text that changes when a file is written, replaced, added or removed.
std::string fileStamp(const std::string& path);

} // namespace goss::security

#endif // GOSS_LIB_SECURITY_OPENSSL_FILES_H_
