// A caller of a secured rank without the right credentials is refused and logged, and the run goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "platform/filtered_stream.h"
#include "security/openssl/handles.h"
#include "security/security.h"
#include "tests/support/credential_files.h"
#include "tests/transports/tcp/world.h"

namespace goss::test {
namespace {

using ::testing::HasSubstr;

platform::SecurityMaker makerOf(const Config& config) {
  return [&config] { return security::openSecurity(config); };
}

/// "": in clear.
std::function<platform::SecurityMaker(const Config&)> makersFor(const std::string& tls) {
  if (tls.empty()) return nullptr;
  return makerOf;
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

  /// Somebody who calls; the security outlives the stream over it.
  struct Caller {
    Config config;
    std::unique_ptr<platform::StreamSecurity> security;
    platform::Stream stream;
  };
  /// Calls rank 0 with those credentials ("": in clear) as rank 2; true when it was welcomed.
  static bool getsIn(World& world, const std::string& tls) {
    Caller caller;
    return callsAsRankTwo(world, tls, caller);
  }
  static bool callsAsRankTwo(World& world, const std::string& tls, Caller& caller) {
    std::unique_ptr<platform::StreamFilter> filter;
    if (!tls.empty()) {
      caller.config.tls = tls;
      auto mine = security::openSecurity(caller.config);
      EXPECT_TRUE(mine.isOk()) << mine.status().text();
      caller.security = mine.take();
      filter = caller.security->caller({}).take();
    }
    platform::Stream& stream = caller.stream;
    stream = platform::Stream(world.call(0), std::move(filter));
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

  /// A socket from the `number`-th address of this host to where `connected` leads; any number up to 60000.
  static platform::UniqueFd callFrom(int number, int connected) {
    sockaddr_in to{};
    socklen_t length = sizeof to;
    EXPECT_EQ(::getpeername(connected, reinterpret_cast<sockaddr*>(&to), &length), 0);
    sockaddr_in from{};
    from.sin_family = AF_INET;
    from.sin_addr.s_addr = htonl(0x7f000001u + 0x100u + static_cast<unsigned>(number));
    platform::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&from), sizeof from), 0);
    EXPECT_EQ(::connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    return fd;
  }
  static std::ptrdiff_t openDescriptors() {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
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
  // An authority with the same name as the run's: only the signature distinguishes them.
  ASSERT_TRUE(keys::makeAuthority(files_.path("namesake"), "test authority", 2).isOk());
  ASSERT_TRUE(keys::issue(files_.path("namesake"), files_.path("impostor"), {"impostor", "any", 1}).isOk());
  World world(3, 2, with(files_.certificates("member")), makerOf);
  ASSERT_TRUE(world.connectAll());
  for (const char* name : {"expired", "revoked", "stranger", "impostor"}) {
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

TEST_F(Hostile, ARevokedPeerIsRefusedWhileTheListOfRevokedOnesIsGone) {
  files_.issue("other", "any");
  ASSERT_TRUE(keys::revoke(files_.path("ca"), files_.path("other/cert.pem")).isOk());
  files_.issue("member", "any"); // Gets the list that names the revoked one.
  World world(3, 2, with(files_.certificates("member")), makerOf);
  ASSERT_TRUE(world.connectAll());
  EXPECT_FALSE(getsIn(world, files_.certificates("other")));
  ASSERT_EQ(::rename(files_.path("member/crl.pem").c_str(), files_.path("kept").c_str()), 0);
  EXPECT_FALSE(getsIn(world, files_.certificates("other")));
  ASSERT_EQ(::rename(files_.path("kept").c_str(), files_.path("member/crl.pem").c_str()), 0);
  EXPECT_FALSE(getsIn(world, files_.certificates("other")));
  EXPECT_TRUE(world.exchange(0, 1, 100000));
  EXPECT_THAT(log(), HasSubstr("are not taken over: crl.pem is gone"));
}

TEST_F(Hostile, AStrangerOfTheAuthorityIsRefusedWhileTheListOfPeersIsGone) {
  files_.issue("member", "any");
  files_.issue("other", "any");
  const auto fingerprint = keys::fingerprintOf(files_.path("member/cert.pem"));
  ASSERT_TRUE(fingerprint.isOk());
  std::filesystem::remove(files_.path("member/crl.pem"));
  std::ofstream(files_.path("member/peers")) << fingerprint.value() << " 0-2\n";
  World world(3, 2, with(files_.certificates("member")), makerOf);
  ASSERT_TRUE(world.connectAll());
  EXPECT_FALSE(getsIn(world, files_.certificates("other")));
  std::filesystem::remove(files_.path("member/peers"));
  EXPECT_FALSE(getsIn(world, files_.certificates("other")));
  EXPECT_TRUE(world.exchange(0, 1, 100000));
  EXPECT_THAT(log(), HasSubstr("are not taken over: peers is gone"));
}

TEST_F(Hostile, AThousandHalfOpenCallersDisturbNobody) {
  for (const std::string& tls : {files_.sharedKey(), std::string()}) {
    World world(2, 2, with(tls), makersFor(tls));
    std::vector<platform::UniqueFd> silent;
    for (int i = 0; i < 500; ++i) {
      silent.push_back(world.call(0));
      platform::writeSome(silent.back().get(), tls.empty() ? "GOS" : "\x16\x03\x01", 3);
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
}

TEST_F(Hostile, AFloodOfJoinsCostsABoundedNumberOfSocketsAndLines) {
  constexpr int kCallers = 1200;
  for (const std::string& tls : {files_.sharedKey(), std::string()}) {
    World world(3, 2, with(tls), makersFor(tls));
    ASSERT_TRUE(world.connectAll());
    const std::ptrdiff_t before = openDescriptors();
    std::vector<platform::UniqueFd> callers;
    const platform::UniqueFd door = world.call(0);
    auto hello = world.hello(2, 0);
    hello.job[0] ^= std::byte{1};
    for (int i = 0; i < kCallers; ++i) {
      // The calls come from many hosts, so that every one of them could be worth a line.
      callers.push_back(callFrom(i, door.get()));
      const std::string bytes = transports::tcp::encodeHello(hello);
      platform::writeSome(callers.back().get(), bytes.data(), bytes.size());
      if (i % 20 == 0) {
        EXPECT_TRUE(world.exchange(0, 1, 10000));
      }
    }
    world.driveFor(std::chrono::milliseconds(20));
    EXPECT_LE(openDescriptors() - before - kCallers, 140) << "the acceptor keeps 128";
    EXPECT_TRUE(world.exchange(1, 0, 100000));
    EXPECT_TRUE(world[0].losses.empty());
  }
  const std::string said = log();
  EXPECT_THAT(said, HasSubstr("it belongs to another job"));
  EXPECT_THAT(said, HasSubstr("does not speak TLS"));
  EXPECT_LE(std::count(said.begin(), said.end(), '\n'), 2 * 66) << "64 a world";
}

/// A member's bytes that are no frame, and the error that they cause.
struct BadBytes {
  const char* name;
  std::function<std::string()> make;
  goss_status kind;
};

class HostileMember : public Hostile, public ::testing::WithParamInterface<BadBytes> {};

TEST_P(HostileMember, LosesItsOwnLinkAloneAlsoOverTls) {
  for (const std::string& tls : {files_.certificates(), std::string()}) {
    World world(3, 2, with(tls), makersFor(tls));
    ASSERT_TRUE(world.connectAll());
    ASSERT_TRUE(world.transport(0).connect(2, world[1].address).isOk());
    Caller caller;
    ASSERT_TRUE(callsAsRankTwo(world, tls, caller));
    platform::Stream& member = caller.stream;
    member.write(transports::tcp::encodeAnswer(transports::tcp::Answer::go));
    member.flush();
    ASSERT_TRUE(world.until([&] { return world.transport(0).link(2) == LinkState::ready; }));
    const std::string bytes = GetParam().make();
    ASSERT_EQ(member.write(bytes).bytes, bytes.size());
    member.flush();
    if (GetParam().kind == GOSS_ERR_PEER_LOST) {
      world.driveFor(std::chrono::milliseconds(5));
      member.close();
    }
    ASSERT_TRUE(world.until([&] { return !world[0].losses.empty(); }));
    EXPECT_EQ(world[0].losses[0].peer, 2);
    EXPECT_NE(world[0].losses[0].how, PeerLoss::departed);
    EXPECT_EQ(world[0].losses[0].status.kind(), GetParam().kind) << world[0].losses[0].status.text();
    EXPECT_TRUE(world.exchange(0, 1, 100000));
    EXPECT_TRUE(world.exchange(1, 0, 100000));
  }
}

std::string frame(std::uint64_t bytes) {
  transports::MessageHeader header;
  header.bytes = bytes;
  const auto encoded = transports::tcp::encodeFrame(transports::tcp::FrameKind::message, header);
  return {encoded.data(), encoded.size()};
}

INSTANTIATE_TEST_SUITE_P(
    Frames, HostileMember,
    ::testing::Values(BadBytes{"garbage", [] { return std::string(48, '\x77'); }, GOSS_ERR_PROTOCOL},
                      BadBytes{"oversized", [] { return frame((std::uint64_t{1} << 48) + 1); }, GOSS_ERR_PROTOCOL},
                      BadBytes{"cutInTheFrame", [] { return frame(100).substr(0, 20); }, GOSS_ERR_PEER_LOST},
                      BadBytes{"cutInThePayload", [] { return frame(100) + std::string(60, 'x'); },
                               GOSS_ERR_PEER_LOST}),
    [](const auto& one) { return std::string(one.param.name); });

} // namespace
} // namespace goss::test
