/// Credentials for tests of TLS, in a folder that goes with the object.
#ifndef GOSS_TESTS_SUPPORT_CREDENTIAL_FILES_H_
#define GOSS_TESTS_SUPPORT_CREDENTIAL_FILES_H_

#include <string>

#include "tools/keys/authority.h"

namespace goss::test {

/// A swarm key, an authority, and a peer that may be any rank; more on request. Made by the functions behind goss-keys.
class CredentialFiles {
 public:
  CredentialFiles();
  ~CredentialFiles();
  CredentialFiles(const CredentialFiles&) = delete;
  CredentialFiles& operator=(const CredentialFiles&) = delete;

  /// Values for Config::tls.
  [[nodiscard]] std::string sharedKey() const { return "psk:" + path("swarm.key"); }
  [[nodiscard]] std::string certificates() const { return certificates("peer"); }
  [[nodiscard]] std::string certificates(const std::string& folder) const { return "certs:" + path(folder); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  /// Makes a peer of the authority in the folder "ca", in a folder with the peer's name.
  void issue(const std::string& name, const std::string& ranks, std::int64_t days = 1) const;

 private:
  std::string folder_;
  int owner_ = 0; ///< Forked children leave the files alone.
};

} // namespace goss::test

#endif // GOSS_TESTS_SUPPORT_CREDENTIAL_FILES_H_
