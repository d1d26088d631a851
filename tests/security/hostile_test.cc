// Who calls a secured rank without the right credentials is refused and logged, and the run goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platform/filtered_stream.h"
#include "security/openssl/handles.h"
#include "security/security.h"
#include "tests/support/credential_files.h"
#include "tests/tcp/world.h"

namespace goss::test {
namespace {

using ::testing::HasSubstr;

platform::SecurityMaker makerOf(const Config& config) {
  return [&config] { return security::openSecurity(config); };
}

std::function<void(Config&)> with(const std::string& tls) {
  return [tls](Config& config) { config.tls = tls; };
}

/// Two ranks of three; strangers play the third.
class Hostile : public ::testing::Test {
 protected:
  void SetUp() override { ::testing::internal::CaptureStderr(); }
  void TearDown() override {
    if (capturing_) ::testing::internal::GetCapturedStderr();
  }
  std::string log() {
    capturing_ = false;
    return ::testing::internal::GetCapturedStderr();
  }

  /// Calls rank 0 with those credentials as rank 2; true when it was welcomed.
  static bool getsIn(World& world, const std::string& tls) {
    Config config;
    config.tls = tls;
    auto mine = security::openSecurity(config);
    EXPECT_TRUE(mine.isOk()) << mine.status().text();
    auto filter = mine.value()->caller();
    platform::Stream stream(world.call(0), filter.take());
    platform::Greeting greeting = platform::Greeting::underway;
    EXPECT_TRUE(world.until([&] { return (greeting = stream.greet()) != platform::Greeting::underway; }));
    if (greeting != platform::Greeting::ready) return false;
    stream.write(transports::tcp::encodeHello(world.hello(2, 0)));
    std::string answer;
    EXPECT_TRUE(world.until([&] {
      char bytes[transports::tcp::kAnswerBytes];
      const platform::StreamResult got = stream.read(bytes, sizeof bytes - answer.size());
      answer.append(bytes, got.bytes);
      return got.ended || answer.size() == sizeof bytes;
    }));
    return answer == transports::tcp::encodeAnswer(transports::tcp::Answer::welcome);
  }

  /// A client of OpenSSL's own, without credentials, of that version of TLS; true when the handshake succeeds and the
  /// other end then says something.
  static bool handshakes(World& world, int version) {
    const security::SslContextPtr context(SSL_CTX_new(TLS_client_method()));
    SSL_CTX_set_min_proto_version(context.get(), version);
    SSL_CTX_set_max_proto_version(context.get(), version);
    const security::SslPtr ssl(SSL_new(context.get()));
    const platform::UniqueFd fd = world.call(0);
    SSL_set_fd(ssl.get(), fd.get());
    char byte = 0;
    int error = SSL_ERROR_WANT_READ;
    EXPECT_TRUE(world.until([&] {
      int result = SSL_connect(ssl.get());
      if (result == 1) result = SSL_read(ssl.get(), &byte, 1);
      error = SSL_get_error(ssl.get(), result);
      return error != SSL_ERROR_WANT_READ && error != SSL_ERROR_WANT_WRITE;
    }));
    return error == SSL_ERROR_NONE;
  }

  CredentialFiles files_;
  bool capturing_ = true;
};

TEST_F(Hostile, CertificatesThatAreNotOursAreRefused) {
  files_.issue("expired", "any", -1);
  files_.issue("revoked", "any");
  ASSERT_TRUE(keys::revoke(files_.path("ca"), files_.path("revoked/cert.pem")).isOk());
  files_.issue("member", "any"); // Gets the list that names the revoked one.
  ASSERT_TRUE(keys::makeAuthority(files_.path("foreign"), "another authority", 2).isOk());
  ASSERT_TRUE(keys::issue(files_.path("foreign"), files_.path("stranger"), {"stranger", "any", 1}).isOk());
  World world(3, 2, with(files_.certificates("member")), makerOf);
  ASSERT_TRUE(world.connectAll());
  for (const char* name : {"expired", "revoked", "stranger"}) {
    EXPECT_FALSE(getsIn(world, files_.certificates(name))) << name;
    EXPECT_TRUE(world.exchange(0, 1, 100000)) << name;
  }
  const std::string said = log();
  EXPECT_THAT(said, HasSubstr("certificate has expired"));
  EXPECT_THAT(said, HasSubstr("certificate revoked"));
  EXPECT_THAT(said, HasSubstr("TCP caller 127.0.0.1:"));
}

TEST_F(Hostile, NoCertificateOldTlsAndPlainTextAreRefused) {
  World world(3, 2, with(files_.certificates()), makerOf);
  ASSERT_TRUE(world.connectAll());
  EXPECT_FALSE(handshakes(world, TLS1_3_VERSION));
  EXPECT_FALSE(handshakes(world, TLS1_2_VERSION));
  const platform::UniqueFd plain = world.call(0);
  const std::string hello = transports::tcp::encodeHello(world.hello(2, 0));
  platform::writeSome(plain.get(), hello.data(), hello.size());
  EXPECT_THAT(world.readToEnd(plain.get()), ::testing::Not(HasSubstr("GOSS"))) << "an alert at most";
  EXPECT_TRUE(world.exchange(1, 0, 100000));
  const std::string said = log();
  EXPECT_THAT(said, HasSubstr("the other end has no certificate"));
  EXPECT_THAT(said, HasSubstr("does not offer TLS 1.3"));
  EXPECT_THAT(said, HasSubstr("does not speak TLS"));
}

TEST_F(Hostile, AnotherSwarmKeyIsRefused) {
  ASSERT_TRUE(keys::makeSharedKey(files_.path("other.key")).isOk());
  World world(3, 2, with(files_.sharedKey()), makerOf);
  ASSERT_TRUE(world.connectAll());
  EXPECT_FALSE(getsIn(world, "psk:" + files_.path("other.key")));
  EXPECT_FALSE(getsIn(world, files_.certificates())) << "certificates are no key";
  EXPECT_FALSE(handshakes(world, TLS1_3_VERSION));
  EXPECT_TRUE(world.exchange(0, 1, 100000));
}

TEST_F(Hostile, AMemberMayOnlyBeWhoItIs) {
  files_.issue("one", "1");
  World world(3, 2, with(files_.certificates()), makerOf);
  ASSERT_TRUE(world.connectAll());
  EXPECT_FALSE(getsIn(world, files_.certificates("one"))) << "rank 1's certificate as rank 2";
  // Any rank, by its certificate, but the list says that rank 2 has another key.
  files_.issue("other", "any");
  ASSERT_TRUE(world.transport(0).connect(2, world[1].address).isOk());
  EXPECT_FALSE(getsIn(world, files_.certificates("other")));
  EXPECT_TRUE(getsIn(world, files_.certificates())) << "the key of the list";
  const std::string said = log();
  EXPECT_THAT(said, HasSubstr("it claims rank 2, which the credentials of \"one\" do not allow"));
  EXPECT_THAT(said, HasSubstr("it claims rank 2, which is another process"));
}

TEST_F(Hostile, ARevokedPeerIsRefusedWithoutARestart) {
  files_.issue("other", "any");
  World world(3, 2, with(files_.certificates()), makerOf);
  ASSERT_TRUE(world.connectAll());
  ASSERT_TRUE(keys::revoke(files_.path("ca"), files_.path("other/cert.pem")).isOk());
  files_.issue("renewed", "any");
  ASSERT_EQ(::rename(files_.path("renewed/crl.pem").c_str(), files_.path("peer/crl.pem").c_str()), 0);
  EXPECT_FALSE(getsIn(world, files_.certificates("other")));
  EXPECT_TRUE(world.exchange(0, 1, 100000));
  EXPECT_THAT(log(), HasSubstr("certificate revoked"));
}

TEST_F(Hostile, AThousandHalfOpenCallersDisturbNobody) {
  World world(2, 2, with(files_.sharedKey()), makerOf);
  std::vector<platform::UniqueFd> silent;
  for (int i = 0; i < 500; ++i) {
    silent.push_back(world.call(0));
    platform::writeSome(silent.back().get(), "\x16\x03\x01", 3);
  }
  const auto begin = platform::Clock::now();
  ASSERT_TRUE(world.connectAll());
  EXPECT_LT(platform::Clock::now() - begin, std::chrono::seconds(10));
  for (int i = 0; i < 500; ++i) {
    silent.push_back(world.call(0));
    if (i % 50 == 0) {
      EXPECT_TRUE(world.exchange(i % 100 == 0 ? 0 : 1, i % 100 == 0 ? 1 : 0, 100000));
    }
  }
  EXPECT_TRUE(world.exchange(0, 1, 1000000));
  EXPECT_TRUE(world[0].losses.empty());
}

} // namespace
} // namespace goss::test
