/// The meeting over TLS, as a whole world of threads sees it.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>

#include <algorithm>
#include <mutex>
#include <thread>
#include <utility>

#include "bootstrap/bootstrap.h"
#include "bootstrap/wire.h"
#include "platform/socket.h"
#include "platform/stream.h"
#include "tests/lib/platform/listening.h"
#include "tests/support/credential_files.h"

namespace goss {
namespace {

using ::testing::HasSubstr;
using Cards = Result<std::vector<std::string>>;

/// `tls` by rank, "" for in clear; what every rank got.
std::vector<Cards> meet(const std::vector<std::string>& tls, std::int64_t timeout_ms = 20000) {
  auto listener = platform::listenOn(*platform::SocketAddress::parse("127.0.0.1", 0), {});
  const std::uint16_t port = platform::localAddress(listener.value().get())->port();
  std::vector<Cards> all(tls.size(), Cards(Status::error(GOSS_ERR_INTERNAL, "did not run")));
  std::vector<std::thread> threads;
  for (std::size_t rank = 0; rank < tls.size(); ++rank)
    threads.emplace_back([&, rank] {
      Launch launch;
      launch.rank = static_cast<int>(rank);
      launch.ranks = static_cast<int>(tls.size());
      launch.host = "127.0.0.1";
      launch.port = port;
      launch.job.fill(std::byte{42});
      if (rank == 0) launch.listener = listener.take();
      Config config;
      config.tls = tls[rank];
      config.bootstrap_timeout_ms = timeout_ms;
      all[rank] = rendezvous(std::move(launch), std::to_string(rank), config);
    });
  for (std::thread& thread : threads)
    thread.join();
  return all;
}

TEST(SecuredRendezvous, RanksWithOneKeyOrOneAuthorityMeet) {
  const test::CredentialFiles files;
  for (const std::string& tls : {files.sharedKey(), files.certificates()})
    for (const Cards& cards : meet({tls, tls, tls, tls})) {
      ASSERT_TRUE(cards.isOk()) << cards.status().text();
      EXPECT_THAT(cards.value(), ::testing::ElementsAre("0", "1", "2", "3"));
    }
}

TEST(SecuredRendezvous, ARankThatItsCertificateDoesNotAllowIsRefused) {
  const test::CredentialFiles files;
  files.issue("site", "0-1");
  const std::string site = files.certificates("site");
  const auto cards = meet({site, site, site}, 3000);
  ASSERT_FALSE(cards[2].isOk());
  EXPECT_THAT(cards[2].status().text(), HasSubstr("rank 2"));
  EXPECT_FALSE(cards[0].isOk());
  EXPECT_THAT(cards[0].status().text(), HasSubstr("2"));
}

TEST(SecuredRendezvous, AnotherKeyIsRefusedLongBeforeTheDeadline) {
  const test::CredentialFiles files;
  const test::CredentialFiles others;
  const auto cards = meet({files.sharedKey(), others.sharedKey()}, 3000);
  ASSERT_FALSE(cards[1].isOk());
  EXPECT_EQ(cards[1].status().kind(), GOSS_ERR_BOOTSTRAP) << cards[1].status().text();
}

TEST(SecuredRendezvous, ARankInClearIsToldThatTlsIsSpoken) {
  const test::CredentialFiles files;
  const auto cards = meet({files.sharedKey(), ""}, 3000);
  ASSERT_FALSE(cards[1].isOk());
  EXPECT_THAT(cards[1].status().text(), HasSubstr("GOSS_TLS"));
}

TEST(SecuredRendezvous, ASecuredRankIsToldThatRankZeroIsInClear) {
  const test::CredentialFiles files;
  const auto cards = meet({"", files.sharedKey()}, 3000);
  ASSERT_FALSE(cards[1].isOk());
  ASSERT_FALSE(cards[0].isOk());
  EXPECT_THAT(cards[0].status().text(), HasSubstr("1"));
}

/// Where three ranks meet; who comes when is up to the test.
class Meeting {
 public:
  Meeting() {
    auto listener = platform::listenOn(*platform::SocketAddress::parse("127.0.0.1", 0), {});
    port_ = platform::localAddress(listener.value().get())->port();
    listener_ = listener.take();
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] Launch launch(int rank, std::uint16_t port) {
    Launch launch;
    launch.rank = rank;
    launch.ranks = 3;
    launch.host = "127.0.0.1";
    launch.port = port;
    launch.job.fill(std::byte{42});
    if (rank == 0) launch.listener = std::move(listener_);
    return launch;
  }
  [[nodiscard]] Launch launch(int rank) { return launch(rank, port_); }
  [[nodiscard]] platform::UniqueFd stranger() const {
    auto fd = platform::dial(*platform::SocketAddress::parse("127.0.0.1", port_));
    EXPECT_TRUE(platform::waitWritable(fd.value().get(), platform::Deadline::after(kLong)));
    return fd.take();
  }
  static constexpr std::chrono::milliseconds kLong{20000};

 private:
  std::uint16_t port_ = 0;
  platform::UniqueFd listener_; ///< Until rank 0 has its Launch.
};

TEST(SecuredRendezvous, Rank0WithoutItsKeyStopsListening) {
  Meeting meeting;
  Launch launch = meeting.launch(0);
  const int fd = launch.listener.get();
  Config config;
  config.tls = "psk:/nonexistent";
  EXPECT_FALSE(rendezvous(std::move(launch), "0", config).isOk());
  EXPECT_FALSE(test::isListening(fd));
}

/// Stands between one caller and the meeting, and remembers what the caller said.
class Recorder {
 public:
  explicit Recorder(const Meeting& meeting)
      : listener_(platform::listenOn(*platform::SocketAddress::parse("127.0.0.1", 0), {}).take()),
        there_(meeting.stranger()),
        thread_([this] { run(); }) {}
  ~Recorder() { thread_.join(); }
  [[nodiscard]] std::uint16_t port() const { return platform::localAddress(listener_.get())->port(); }
  std::string said() {
    const std::lock_guard lock(mutex_);
    return said_;
  }

 private:
  void run() {
    const auto deadline = platform::Deadline::after(Meeting::kLong);
    platform::UniqueFd here;
    while (!here.valid() && platform::waitReadable(listener_.get(), deadline))
      here = platform::acceptFrom(listener_.get()).take().fd;
    while (!deadline.expired()) {
      pollfd fds[] = {{here.get(), POLLIN, 0}, {there_.get(), POLLIN, 0}};
      ::poll(fds, 2, 100);
      if (fds[0].revents != 0 && !pass(here.get(), there_.get(), true)) return;
      if (fds[1].revents != 0 && !pass(there_.get(), here.get(), false)) return;
    }
  }
  bool pass(int from, int to, bool remembered) {
    char bytes[4096];
    const platform::StreamResult got = platform::readSome(from, bytes, sizeof bytes);
    if (got.ended) return false;
    if (remembered) {
      const std::lock_guard lock(mutex_);
      said_.append(bytes, got.bytes);
    }
    return platform::writeAll(to, {bytes, got.bytes}, platform::Deadline::after(Meeting::kLong)).isOk();
  }

  platform::UniqueFd listener_;
  platform::UniqueFd there_;
  std::mutex mutex_;
  std::string said_;
  std::thread thread_;
};

Config configOf(const std::string& tls) {
  Config config;
  config.tls = tls;
  config.bootstrap_timeout_ms = 20000;
  return config;
}

/// Rank 0 in a thread, which is to end with all cards.
std::thread rankZero(Meeting& meeting, const std::string& tls) {
  return std::thread([launch = meeting.launch(0), tls]() mutable {
    const Cards cards = rendezvous(std::move(launch), "0", configOf(tls));
    ASSERT_TRUE(cards.isOk()) << cards.status().text();
    EXPECT_THAT(cards.value(), ::testing::ElementsAre("0", "1", "2"));
  });
}

TEST(SecuredRendezvous, ReplayedCallsGetNowhere) {
  const test::CredentialFiles files;
  for (const std::string& tls : {files.sharedKey(), files.certificates()}) {
    Meeting meeting;
    ::testing::internal::CaptureStderr();
    std::thread zero = rankZero(meeting, tls);
    std::string said;
    {
      Recorder recorder(meeting);
      auto one = connectRendezvous(meeting.launch(1, recorder.port()), configOf(tls));
      ASSERT_TRUE(one.isOk()) << one.status().text();
      said = recorder.said();
      EXPECT_EQ(said.find("GOSSBOOT"), std::string::npos) << "the greeting was in clear";
      for (int i = 0; i < 3; ++i) {
        const platform::UniqueFd thief = meeting.stranger();
        ASSERT_TRUE(platform::writeAll(thief.get(), said, platform::Deadline::after(Meeting::kLong)).isOk());
        char bytes[4096];
        bool ended = false;
        while (!ended && platform::waitReadable(thief.get(), platform::Deadline::after(Meeting::kLong)))
          ended = platform::readSome(thief.get(), bytes, sizeof bytes).ended;
        EXPECT_TRUE(ended) << "it was kept";
      }
      std::thread two([&] { EXPECT_TRUE(rendezvous(meeting.launch(2), "2", configOf(tls)).isOk()); });
      EXPECT_TRUE(one.value()->allGather("1", 0).isOk()) << "the true rank 1 still is";
      two.join();
      one.value().reset();
    }
    zero.join();
    const std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(log, HasSubstr("bootstrap caller 127.0.0.1:"));
    EXPECT_EQ(log.find("refused"), log.rfind("refused")) << "logged more than once: " << log;
  }
}

TEST(SecuredRendezvous, FloodsAndHalfOpenCallersDoNotHoldUpTheRanks) {
  const test::CredentialFiles files;
  for (const std::string& tls : {files.sharedKey(), std::string()}) {
    Meeting meeting;
    ::testing::internal::CaptureStderr();
    std::thread zero = rankZero(meeting, tls);
    std::vector<platform::UniqueFd> strangers;
    const std::string hello = encodeHello({1, 3, 1, {}}); // Another job's.
    for (int i = 0; i < 1000; ++i) {
      strangers.push_back(meeting.stranger());
      const std::string_view bytes = i % 2 == 0 ? std::string_view(hello) : tls.empty() ? "GOSS" : "\x16\x03\x01";
      platform::writeSome(strangers.back().get(), bytes.data(), bytes.size());
    }
    std::thread one([&] { EXPECT_TRUE(rendezvous(meeting.launch(1), "1", configOf(tls)).isOk()); });
    const Cards cards = rendezvous(meeting.launch(2), "2", configOf(tls));
    EXPECT_TRUE(cards.isOk()) << cards.status().text();
    one.join();
    zero.join();
    const std::string log = ::testing::internal::GetCapturedStderr();
    EXPECT_THAT(log, HasSubstr(tls.empty() ? "the caller belongs to another job" : "does not speak TLS"));
    EXPECT_LE(std::count(log.begin(), log.end(), '\n'), 8) << "a line a reason and host: " << log;
  }
}

} // namespace
} // namespace goss
