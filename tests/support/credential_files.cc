#include "tests/support/credential_files.h"

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>

namespace goss::test {

CredentialFiles::CredentialFiles() : owner_(::getpid()) {
  std::string name = (std::filesystem::temp_directory_path() / "goss-credentials-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) ADD_FAILURE() << "no folder " << name;
  folder_ = name;
  EXPECT_TRUE(keys::makeSharedKey(path("swarm.key")).isOk());
  EXPECT_TRUE(keys::makeAuthority(path("ca"), "test authority", 2).isOk());
  issue("peer", "any");
}

CredentialFiles::~CredentialFiles() {
  std::error_code ignored; // The system cleans up what cannot be removed.
  if (owner_ == ::getpid()) std::filesystem::remove_all(folder_, ignored);
}

void CredentialFiles::issue(const std::string& name, const std::string& ranks, std::int64_t days) const {
  const Status issued = keys::issue(path("ca"), path(name), {name, ranks, days});
  EXPECT_TRUE(issued.isOk()) << issued.text();
}

} // namespace goss::test
