// How the end of a secured stream is understood.
#include <errno.h>
#include <gtest/gtest.h>

#include <string>

#include "gossamer/config.h"
#include "platform/filtered_stream.h"
#include "platform/socket.h"
#include "platform/stream.h"
#include "security/security.h"
#include "tests/support/connected_sockets.h"
#include "tests/support/credential_files.h"

namespace goss::test {
namespace {

/// A stream whose other end has gone, orderly or by a reset, without this end having read that.
class SecuredEnd : public ::testing::Test {
 protected:
  void SetUp() override {
    Config config;
    config.tls = files_.sharedKey();
    for (auto& security : securities_) { // A process refuses itself.
      auto opened = security::openSecurity(config);
      ASSERT_TRUE(opened.isOk()) << opened.status().text();
      security = opened.take();
    }
    auto [here, there] = connectedSockets();
    here_ = platform::Stream(std::move(here), securities_[0]->caller("").take());
    there_ = platform::Stream(std::move(there), securities_[1]->callee().take());
    const auto deadline = platform::Deadline::after(std::chrono::seconds(20));
    bool ready = false;
    while (!ready && !deadline.expired()) {
      ready = here_.greet() == platform::Greeting::ready;
      ready = there_.greet() == platform::Greeting::ready && ready;
    }
    ASSERT_TRUE(ready);
    char none = 0;
    here_.read(&none, 1); // Takes what the handshake has left.
  }

  /// Writes, and returns what reading then says.
  platform::StreamResult endAfterAWrite() {
    EXPECT_TRUE(platform::waitReadable(here_.fd(), platform::Deadline::after(std::chrono::seconds(20))));
    here_.write(std::string(1000, 'x'));
    platform::StreamResult end;
    char byte = 0;
    for (int i = 0; i < 100 && !end.ended; ++i)
      end = here_.read(&byte, 1);
    EXPECT_TRUE(end.ended);
    return end;
  }

  CredentialFiles files_;
  std::unique_ptr<platform::StreamSecurity> securities_[2];
  platform::Stream here_;
  platform::Stream there_;
};

TEST_F(SecuredEnd, AResetThatAWriteFindsIsNoOrderlyEnd) {
  platform::resetOnClose(there_.fd());
  there_.close();
  EXPECT_EQ(endAfterAWrite().error, ECONNRESET);
}

TEST_F(SecuredEnd, AnOrderlyEndIsOneAlsoWhenItIsWrittenTo) {
  there_.close();
  EXPECT_EQ(endAfterAWrite().error, 0);
}

} // namespace
} // namespace goss::test
