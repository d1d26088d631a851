#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include "bootstrap/bootstrap.h"
#include "bootstrap/unique_id.h"
#include "bootstrap/wire.h"
#include "platform/socket.h"
#include "platform/stream.h"
#include "tests/lib/platform/descriptor_limit.h"
#include "world/world.h"

namespace goss {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using Cards = Result<std::vector<std::string>>;
using platform::Deadline;

constexpr std::chrono::milliseconds kLong(20000);

/// A meeting point on loopback; hands every rank its Launch.
class Place {
 public:
  explicit Place(int ranks, const char* host = "127.0.0.1") : ranks_(ranks) {
    auto listener = platform::listenOn(*platform::SocketAddress::parse(host, 0), {});
    host_ = host;
    port_ = platform::localAddress(listener.value().get())->port();
    listener_ = listener.take();
  }
  Launch launch(int rank) {
    Launch launch;
    launch.rank = rank;
    launch.ranks = ranks_;
    launch.host = host_;
    launch.port = port_;
    launch.job.fill(std::byte{42});
    if (rank == 0) launch.listener = std::move(listener_);
    return launch;
  }
  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// A connected socket, as any stranger may have it.
  platform::UniqueFd stranger() const {
    auto fd = platform::dial(*platform::SocketAddress::parse(host_, port_));
    EXPECT_TRUE(platform::waitWritable(fd.value().get(), Deadline::after(kLong)));
    return fd.take();
  }

 private:
  int ranks_;
  std::string host_;
  std::uint16_t port_ = 0;
  platform::UniqueFd listener_; ///< Until rank 0 has its Launch.
};

Config shortConfig(std::int64_t timeout_ms = 20000) {
  Config config;
  config.bootstrap_timeout_ms = timeout_ms;
  return config;
}

/// Runs `body` for each of `ranks` in a thread of its own.
void onThreads(const std::vector<int>& ranks, const std::function<void(int rank)>& body) {
  std::vector<std::thread> threads;
  threads.reserve(ranks.size());
  for (const int rank : ranks)
    threads.emplace_back([&body, rank] { body(rank); });
  for (std::thread& thread : threads)
    thread.join();
}

std::vector<int> upTo(int ranks) {
  std::vector<int> all(static_cast<std::size_t>(ranks));
  for (int rank = 0; rank < ranks; ++rank)
    all[static_cast<std::size_t>(rank)] = rank;
  return all;
}

/// The bytes that a stranger reads until the other end closes.
std::string readToEnd(int fd) {
  std::string all;
  char bytes[256];
  while (platform::waitReadable(fd, Deadline::after(kLong))) {
    const platform::StreamResult got = platform::readSome(fd, bytes, sizeof bytes);
    all.append(bytes, got.bytes);
    if (got.ended) break;
  }
  return all;
}

class Meeting : public ::testing::TestWithParam<int> {};

TEST_P(Meeting, EveryRankGetsAllCardsInThreeRounds) {
  const int ranks = GetParam();
  Place place(ranks);
  onThreads(upTo(ranks), [&](int rank) {
    auto meeting = connectRendezvous(place.launch(rank), shortConfig());
    ASSERT_TRUE(meeting.isOk()) << meeting.status().text();
    for (int round = 0; round < 3; ++round) {
      const std::string card(static_cast<std::size_t>(rank * 1000), static_cast<char>('a' + round));
      const Cards cards = meeting.value()->allGather(card, 0);
      ASSERT_TRUE(cards.isOk()) << cards.status().text();
      ASSERT_EQ(cards.value().size(), static_cast<std::size_t>(ranks));
      for (int other = 0; other < ranks; ++other)
        EXPECT_EQ(cards.value()[static_cast<std::size_t>(other)],
                  std::string(static_cast<std::size_t>(other * 1000), static_cast<char>('a' + round)));
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Meeting, ::testing::Range(1, 9));

TEST(Rendezvous, MeetsOverIpv6AndByUniqueId) {
  for (const char* interface : {"::1", "127.0.0.1", ""}) {
    Config config = shortConfig();
    config.interface = interface;
    const auto id = makeUniqueId(config);
    ASSERT_TRUE(id.isOk()) << id.status().text();
    onThreads({0, 1, 2}, [&](int rank) {
      goss_config fields{};
      fields.rank = rank;
      fields.ranks = 3;
      fields.unique_id = &id.value();
      auto launch = detectLaunch(config, &fields);
      ASSERT_TRUE(launch.isOk()) << launch.status().text();
      const Cards cards = rendezvous(launch.take(), std::to_string(rank), config);
      ASSERT_TRUE(cards.isOk()) << cards.status().text();
      EXPECT_THAT(cards.value(), ::testing::ElementsAre("0", "1", "2"));
    });
  }
}

TEST(Rendezvous, RanksThatNeverArriveAreNamedToAllThatDid) {
  Place place(4);
  const auto begin = std::chrono::steady_clock::now();
  onThreads({0, 1}, [&](int rank) {
    const Cards cards = rendezvous(place.launch(rank), "x", shortConfig(400));
    ASSERT_FALSE(cards.isOk());
    EXPECT_EQ(cards.status().kind(), GOSS_ERR_BOOTSTRAP);
    EXPECT_THAT(cards.status().text(), AllOf(HasSubstr("ranks 2 and 3 of 4 never arrived within 400 ms"),
                                             HasSubstr(fmt::format("127.0.0.1:{}", place.port()))));
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(5));
}

TEST(Rendezvous, TheMostImpatientRankStillLearnsWhoIsMissing) {
  Place place(3);
  onThreads({0, 1}, [&](int rank) {
    const Cards cards = rendezvous(place.launch(rank), "x", shortConfig(rank == 0 ? 20000 : 300));
    ASSERT_FALSE(cards.isOk());
    EXPECT_THAT(cards.status().text(), HasSubstr("rank 2 of 3 never arrived"));
  });
}

TEST(Rendezvous, Rank0ThatNeverArrivesIsNamed) {
  Place place(2);
  { const platform::UniqueFd closed = place.launch(0).listener; }
  const Cards cards = rendezvous(place.launch(1), "x", shortConfig(300));
  ASSERT_FALSE(cards.isOk());
  EXPECT_EQ(cards.status().kind(), GOSS_ERR_BOOTSTRAP);
  EXPECT_THAT(cards.status().text(), AllOf(HasSubstr("rank 0 of 2 was not found at 127.0.0.1 port"),
                                           HasSubstr("within 300 ms"), HasSubstr("refused")));
}

TEST(Rendezvous, RankThatDiesBetweenRoundsIsNamedToAll) {
  Place place(3);
  onThreads({0, 1, 2}, [&](int rank) {
    auto meeting = connectRendezvous(place.launch(rank), shortConfig());
    ASSERT_TRUE(meeting.isOk()) << meeting.status().text();
    ASSERT_TRUE(meeting.value()->allGather("x", 0).isOk());
    if (rank == 2) return;
    const Cards cards = meeting.value()->allGather("y", 0);
    ASSERT_FALSE(cards.isOk());
    EXPECT_THAT(cards.status().text(), HasSubstr("rank 2 left during start-up"));
  });
}

TEST(Rendezvous, RankThatHangsBetweenRoundsIsNamed) {
  Place place(3);
  std::unique_ptr<Rendezvous> hangs;
  onThreads({0, 1, 2}, [&](int rank) {
    auto meeting = connectRendezvous(place.launch(rank), shortConfig());
    ASSERT_TRUE(meeting.isOk()) << meeting.status().text();
    ASSERT_TRUE(meeting.value()->allGather("x", 0).isOk());
    if (rank == 2) {
      hangs = meeting.take();
      return;
    }
    const Cards cards = meeting.value()->allGather("y", 300);
    ASSERT_FALSE(cards.isOk());
    EXPECT_THAT(cards.status().text(), HasSubstr("rank 2 of 3 arrived but did not finish within 300 ms"));
  });
}

/// Two ranks meet while `disturb` does its worst; returns what rank 0 logged.
std::string meetWhile(Place& place, const std::function<void()>& disturb) {
  ::testing::internal::CaptureStderr();
  std::thread root([&] {
    const Cards cards = rendezvous(place.launch(0), "zero", shortConfig());
    EXPECT_TRUE(cards.isOk()) << cards.status().text();
  });
  disturb();
  const Cards cards = rendezvous(place.launch(1), "one", shortConfig());
  EXPECT_TRUE(cards.isOk()) << cards.status().text();
  root.join();
  return ::testing::internal::GetCapturedStderr();
}

TEST(Rendezvous, GarbageIsDroppedAndLoggedWithItsAddress) {
  Place place(2);
  const std::string log = meetWhile(place, [&] {
    for (int i = 0; i < 3; ++i) {
      const platform::UniqueFd stranger = place.stranger();
      ASSERT_TRUE(platform::writeAll(stranger.get(), std::string(100, '\x5a'), Deadline::after(kLong)).isOk());
      EXPECT_THAT(readToEnd(stranger.get()), HasSubstr("the caller speaks no protocol that it knows"));
    }
  });
  EXPECT_THAT(log, HasSubstr("bootstrap caller 127.0.0.1:"));
  EXPECT_EQ(log.find("refused"), log.rfind("refused")) << "logged more than once: " << log;
}

TEST(Rendezvous, HttpIsRecognised) {
  Place place(2);
  const std::string log = meetWhile(place, [&] {
    const platform::UniqueFd stranger = place.stranger();
    ASSERT_TRUE(platform::writeAll(stranger.get(), "GET / HTTP/1.0\r\n\r\n", Deadline::after(kLong)).isOk());
    EXPECT_THAT(readToEnd(stranger.get()), HasSubstr("HTTP"));
  });
  EXPECT_THAT(log, HasSubstr("the caller speaks HTTP, not Gossamer's bootstrap"));
}

TEST(Rendezvous, SilentCallersDoNotStallTheOthers) {
  Place place(2);
  std::vector<platform::UniqueFd> silent;
  const auto begin = std::chrono::steady_clock::now();
  meetWhile(place, [&] {
    for (int i = 0; i < 300; ++i)
      silent.push_back(place.stranger());
  });
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(4));
}

struct Impostor {
  const char* name;
  int rank;
  int ranks;
  unsigned char job;
  const char* reason;
};

class WrongCaller : public ::testing::TestWithParam<Impostor> {};

TEST_P(WrongCaller, IsRefusedWithTheReasonAndTheOthersGoOn) {
  Place place(2);
  const Impostor& impostor = GetParam();
  const std::string log = meetWhile(place, [&] {
    Launch wrong = place.launch(impostor.rank == 0 ? 1 : impostor.rank);
    wrong.ranks = impostor.ranks;
    wrong.job.fill(std::byte{impostor.job});
    const platform::UniqueFd stranger = place.stranger();
    const std::string hello = encodeHello({impostor.rank, impostor.ranks, 1, wrong.job});
    ASSERT_TRUE(platform::writeAll(stranger.get(), hello, Deadline::after(kLong)).isOk());
    EXPECT_THAT(readToEnd(stranger.get()), HasSubstr(impostor.reason));
  });
  EXPECT_THAT(log, HasSubstr(impostor.reason));
}

INSTANTIATE_TEST_SUITE_P(Callers, WrongCaller,
                         ::testing::Values(Impostor{"job", 1, 2, 41, "the caller belongs to another job"},
                                           Impostor{"size", 1, 3, 42, "rank 1 says that there are 3 ranks"},
                                           Impostor{"root", 0, 2, 42, "a second process says that it is rank 0"}),
                         [](const auto& one) { return one.param.name; });

TEST(Rendezvous, SecondProcessOfOneRankIsRefusedByName) {
  Place place(3);
  ::testing::internal::CaptureStderr();
  std::thread root([&] { EXPECT_TRUE(rendezvous(place.launch(0), "0", shortConfig()).isOk()); });
  std::thread first([&] { EXPECT_TRUE(rendezvous(place.launch(1), "1", shortConfig()).isOk()); });
  // Whichever of the two comes second is refused; the test must not depend on which, so it uses a third one that is
  // late.
  auto meeting = connectRendezvous(place.launch(2), shortConfig());
  ASSERT_TRUE(meeting.isOk());
  const Cards twin = rendezvous(place.launch(2), "2", shortConfig());
  ASSERT_FALSE(twin.isOk());
  EXPECT_THAT(twin.status().text(), HasSubstr("two processes say that they are rank 2"));
  EXPECT_TRUE(meeting.value()->allGather("2", 0).isOk());
  root.join();
  first.join();
  ::testing::internal::GetCapturedStderr();
}

TEST(Rendezvous, WithoutDescriptorsTheOldestCallersGoAndTheRanksMeet) {
  Place place(2);
  std::vector<platform::UniqueFd> strangers;
  for (int i = 0; i < 60; ++i)
    strangers.push_back(place.stranger());
  ::testing::internal::CaptureStderr();
  {
    // Two ends of the meeting, with what they wait with, and a few strangers.
    const test::DescriptorLimit limit(12);
    onThreads({0, 1}, [&](int rank) {
      const auto cards = rendezvous(place.launch(rank), fmt::format("card {}", rank), shortConfig());
      EXPECT_TRUE(cards.isOk()) << cards.status().text();
    });
  }
  EXPECT_THAT(::testing::internal::GetCapturedStderr(), HasSubstr("Too many open files"));
}

TEST(Rendezvous, ProcessThatTookARankAndSaysNothingMakesWay) {
  Place place(2);
  const platform::UniqueFd silent = place.stranger();
  const std::string hello = encodeHello({1, 2, 99, place.launch(1).job});
  ASSERT_TRUE(platform::writeAll(silent.get(), hello, Deadline::after(kLong)).isOk());
  ::testing::internal::CaptureStderr();
  onThreads({0, 1}, [&](int rank) {
    if (rank == 0) {
      EXPECT_TRUE(rendezvous(place.launch(0), "0", shortConfig()).isOk());
      return;
    }
    ASSERT_TRUE(platform::waitReadable(silent.get(), Deadline::after(kLong))) << "rank 0 has welcomed it";
    const Deadline deadline = Deadline::after(kLong);
    Cards cards = rendezvous(place.launch(1), "1", shortConfig());
    EXPECT_THAT(cards.status().text(), HasSubstr("two processes say that they are rank 1"));
    while (!cards.isOk() && !deadline.expired()) {
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      cards = rendezvous(place.launch(1), "1", shortConfig());
    }
    EXPECT_TRUE(cards.isOk()) << cards.status().text();
  });
  ::testing::internal::GetCapturedStderr();
}

TEST(Rendezvous, OversizedCardsAreRefused) {
  Place place(2);
  onThreads({0, 1}, [&](int rank) {
    const std::string card(rank == 1 ? Rendezvous::kMaxCardBytes + 1 : 1, 'x');
    const Cards cards = rendezvous(place.launch(rank), card, shortConfig(500));
    ASSERT_FALSE(cards.isOk());
    EXPECT_THAT(cards.status().text(), HasSubstr(rank == 1 ? "card has 65537 bytes; at most 65536 fit" : "rank 1"));
  });
}

TEST(Rendezvous, AWorldNamesTheRankWhoseCardMakesNoSense) {
  Place place(3);
  std::vector<std::thread> others;
  for (const int rank : {1, 2}) {
    others.emplace_back([rank, launch = place.launch(rank)]() mutable {
      EXPECT_TRUE(rendezvous(std::move(launch), rank == 1 ? PeerCard().encode() : "no card", shortConfig()).isOk());
    });
  }
  const auto world = World::create(shortConfig(), place.launch(0));
  for (std::thread& other : others)
    other.join();
  ASSERT_FALSE(world.isOk());
  EXPECT_EQ(world.status().kind(), GOSS_ERR_PROTOCOL);
  EXPECT_THAT(world.status().text(), HasSubstr("rank 2 sent a malformed address card"));
  EXPECT_EQ(world.status().peer(), 2);
}

TEST(Rendezvous, OversizedFrameOfAMemberEndsTheMeetingWithItsName) {
  Place place(2);
  std::thread root([&] {
    const Cards cards = rendezvous(place.launch(0), "0", shortConfig());
    ASSERT_FALSE(cards.isOk());
    EXPECT_EQ(cards.status().kind(), GOSS_ERR_PROTOCOL);
    EXPECT_THAT(cards.status().text(), HasSubstr("rank 1 sent no valid card"));
  });
  const platform::UniqueFd member = place.stranger();
  std::string bytes = encodeHello({1, 2, 1, place.launch(1).job}) + encodeFrame(BootstrapFrame::card, 0, "");
  bytes.back() = '\x7f';
  ASSERT_TRUE(platform::writeAll(member.get(), bytes, Deadline::after(kLong)).isOk());
  EXPECT_THAT(readToEnd(member.get()), HasSubstr("rank 1 sent no valid card"));
  root.join();
}

} // namespace
} // namespace goss
