#include "platform/file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace goss::platform {
namespace {

using ::testing::HasSubstr;

class OrdinaryFile : public ::testing::Test {
 protected:
  OrdinaryFile() : folder_(::mkdtemp(std::string("/tmp/goss-file-XXXXXX").data())) {}
  ~OrdinaryFile() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] std::string write(const std::string& name, const std::string& text) const {
    std::ofstream(path(name)) << text;
    return path(name);
  }
  static void expectRefused(const Result<std::string>& text, const std::string& why) {
    ASSERT_FALSE(text.isOk());
    EXPECT_EQ(text.status().kind(), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(text.status().text(), HasSubstr(why));
  }

 private:
  const std::string folder_;
};

TEST_F(OrdinaryFile, IsReadToItsEnd) {
  const std::string text(100000, 'x');
  EXPECT_EQ(readOrdinaryFile(write("a", text), text.size()).value(), text);
  EXPECT_EQ(readOrdinaryFile(write("b", ""), 1).value(), "");
}

TEST_F(OrdinaryFile, ThatIsTooLongIsRefused) {
  expectRefused(readOrdinaryFile(write("a", "12345"), 4), "it has 5 bytes, and at most 4 are read");
}

TEST_F(OrdinaryFile, NothingElseIsReadOrWaitedFor) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  for (const std::string& other : {std::string("/dev/urandom"), std::string("/dev/zero"), path("pipe"), path("")})
    expectRefused(readOrdinaryFile(other, 100), "it is no ordinary file");
  expectRefused(readOrdinaryFile(path("nothing"), 100), "No such file");
}

TEST_F(OrdinaryFile, SecretIsRefusedWhenOthersMayReadIt) {
  const std::string secret = write("secret", "s");
  ::chmod(secret.c_str(), 0640);
  expectRefused(readOrdinaryFile(secret, 100, FileSecrecy::secret), "chmod 600");
  ::chmod(secret.c_str(), 0600);
  EXPECT_EQ(readOrdinaryFile(secret, 100, FileSecrecy::secret).value(), "s");
}

} // namespace
} // namespace goss::platform
