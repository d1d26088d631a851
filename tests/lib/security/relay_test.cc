// Two secured ranks that only call: who relays between them learns nothing and changes nothing.
#include <gtest/gtest.h>
#include <sys/socket.h>

#include <errno.h>

#include "platform/filtered_stream.h"
#include "security/security.h"
#include "tests/support/credential_files.h"
#include "tests/transports/tcp/world.h"

namespace goss::test {
namespace {

const CredentialFiles& files() {
  static const CredentialFiles made; // Made once, because that is slow.
  return made;
}

platform::SecurityMaker makerOf(const Config& config) {
  return [&config] { return security::openSecurity(config); };
}

TEST(SecureRelay, TwoThatOnlyCallAreRelayedEndToEnd) {
  int rank = 0;
  // Two ranks with certificates of their own, and a third in the middle.
  World world(
      3, 3,
      [&rank](Config& config) {
        config.tls = files().certificates();
        config.connections_per_peer = rank++;
      },
      makerOf);
  world.setPatience({std::chrono::milliseconds(100), std::chrono::milliseconds(600)});
  world.hide(1);
  world.hide(2);
  ASSERT_TRUE(world.connectAll());
  EXPECT_EQ(world.transport(1).relayedBy(2), 0);
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{10}, std::size_t{3000000}})
    for (int from = 0; from < 3; ++from)
      for (int to = 0; to < 3; ++to)
        if (from != to) {
          EXPECT_TRUE(world.exchange(from, to, bytes)) << from << " to " << to;
        }
  EXPECT_GT(world.transport(0).relayedBytes(), 6000000u) << "with what their own encryption adds";
  EXPECT_TRUE(world.deliversBeforeLeaving(1, 2));
}

/// Streams from an end to the middle and from there, and within them one from end to end.
class Nested : public ::testing::Test {
 protected:
  void SetUp() override {
    config_.tls = files().sharedKey();
    for (auto& security : securities_) {
      auto made = security::openSecurity(config_);
      ASSERT_TRUE(made.isOk()) << made.status().text();
      security = made.take();
    }
    for (std::size_t end = 0; end < 2; ++end) {
      int fds[2];
      ASSERT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
      ends_[end] = platform::Stream(platform::UniqueFd(fds[0]), securities_[end]->caller("").take());
      middle_[end] = platform::Stream(platform::UniqueFd(fds[1]), securities_[2]->callee().take());
    }
    greet(ends_[0], middle_[0], false);
    greet(ends_[1], middle_[1], false);
    ends_[0].nest(securities_[0]->caller(securities_[1]->identity()).take());
    ends_[1].nest(securities_[1]->callee().take());
    greet(ends_[0], ends_[1], true);
  }

  void greet(platform::Stream& one, platform::Stream& other, bool through_middle) {
    for (int i = 0; i < 100; ++i) {
      const bool ready = one.greet() == platform::Greeting::ready;
      if ((other.greet() == platform::Greeting::ready) && ready) return;
      if (through_middle) pass({});
    }
    FAIL() << one.failure() << other.failure();
  }

  /// Passes on what has come, both ways, and keeps it; `change` sees it first.
  void pass(const std::function<void(std::string&)>& change) {
    for (std::size_t end = 0; end < 2; ++end) {
      std::string bytes(100000, '\0');
      bytes.resize(middle_[end].read(bytes.data(), bytes.size()).bytes);
      if (change) change(bytes);
      seen_ += bytes;
      if (!bytes.empty()) {
        EXPECT_EQ(middle_[1 - end].write(bytes).bytes, bytes.size());
      }
    }
  }

  Config config_;
  std::unique_ptr<platform::StreamSecurity> securities_[3]; ///< The two ends and the relay.
  platform::Stream ends_[2];
  platform::Stream middle_[2];
  std::string seen_;
};

const std::string kSecret(2000, 'g');

TEST_F(Nested, WhoRelaysSeesRecordsAlone) {
  EXPECT_EQ(ends_[0].filter()->identity(), securities_[1]->identity()) << "the other end's, not the middle's";
  EXPECT_EQ(ends_[1].filter()->identity(), securities_[0]->identity());
  EXPECT_EQ(ends_[0].write(kSecret).bytes, kSecret.size());
  pass({});
  std::string got(kSecret.size(), '\0');
  EXPECT_EQ(ends_[1].read(got.data(), got.size()).bytes, got.size());
  EXPECT_EQ(got, kSecret);
  EXPECT_EQ(seen_.find(kSecret.substr(0, 16)), std::string::npos);
  EXPECT_EQ(seen_.substr(0, 2), "\x16\x03") << "a handshake record of TLS";
}

TEST_F(Nested, WhatIsChangedOnTheWayEndsTheStream) {
  EXPECT_EQ(ends_[0].write(kSecret).bytes, kSecret.size());
  pass([](std::string& bytes) {
    if (!bytes.empty()) bytes[bytes.size() / 2] ^= 1;
  });
  std::string got(kSecret.size(), '\0');
  const platform::StreamResult result = ends_[1].read(got.data(), got.size());
  EXPECT_EQ(result.bytes, 0u);
  EXPECT_TRUE(result.ended);
  EXPECT_EQ(result.error, EBADMSG);
}

} // namespace
} // namespace goss::test
