// Ranks that die while the others wait for somebody who never comes: the others hear of it, long before the deadline.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <latch>
#include <map>
#include <optional>
#include <thread>
#include <utility>

#include "base/wire.h"
#include "bootstrap/bootstrap.h"
#include "bootstrap/unique_id.h"
#include "bootstrap/wire.h"
#include "platform/socket.h"
#include "platform/stream.h"

namespace goss {
namespace {

using ::testing::HasSubstr;
using Cards = Result<std::vector<std::string>>;
using platform::Deadline;

/// Longer than any test waits: the test fails first.
constexpr std::int64_t kTimeoutMs = 120000;
constexpr std::chrono::seconds kSoon(30);

Config patientConfig() {
  Config config;
  config.interface = "127.0.0.1";
  config.bootstrap_timeout_ms = kTimeoutMs;
  return config;
}

/// Places of the ranks that are `present` in a world of `ranks`, which is to meet by a unique id of its own.
std::map<int, Launch> placesOf(std::initializer_list<int> present, int ranks) {
  std::map<int, Launch> places;
  const auto id = makeUniqueId(patientConfig());
  EXPECT_TRUE(id.isOk()) << id.status().text();
  if (!id.isOk()) return places;
  for (const int rank : present) {
    goss_config fields{};
    fields.rank = rank;
    fields.ranks = ranks;
    fields.unique_id = &id.value();
    auto launch = detectLaunch(patientConfig(), &fields);
    EXPECT_TRUE(launch.isOk()) << launch.status().text();
    places[rank] = launch.take();
  }
  return places;
}

/// A pipe from the ranks that have joined to whoever counts them.
class Roll {
 public:
  Roll() { EXPECT_EQ(::pipe2(ends_, O_NONBLOCK), 0); }
  ~Roll() { ::close(ends_[0]), ::close(ends_[1]); }
  void join() const { EXPECT_EQ(::write(ends_[1], "x", 1), 1); }
  /// Number of ranks that have joined since the last call.
  int count() const {
    char bytes[16];
    return static_cast<int>(std::max<ssize_t>(0, ::read(ends_[0], bytes, sizeof bytes)));
  }

 private:
  int ends_[2] = {-1, -1};
};

/// Each `body` in a process of its own, which ends with what it returns; -1 where a signal ended it.
std::map<int, int> inProcesses(const std::map<int, std::function<int()>>& bodies) {
  std::map<int, pid_t> processes;
  for (const auto& [rank, body] : bodies) {
    processes[rank] = ::fork();
    if (processes[rank] != 0) continue;
    ::alarm(static_cast<unsigned>(kSoon.count()));
    ::_exit(body());
  }
  std::map<int, int> codes;
  for (const auto& [rank, process] : processes) {
    int status = 0;
    EXPECT_EQ(::waitpid(process, &status, 0), process);
    codes[rank] = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  return codes;
}

/// Exit code of a rank that waits for the others and must hear `expected`.
int waitAndHear(Launch& launch, const Roll& roll, const std::string& expected) {
  const int rank = launch.rank;
  auto meeting = connectRendezvous(std::move(launch), patientConfig());
  if (!meeting.isOk()) return 2;
  roll.join();
  const Cards cards = meeting.value()->allGather("card", 0);
  if (cards.isOk()) return 3;
  if (cards.status().text().find(expected) != std::string::npos) return 0;
  std::fprintf(stderr, "rank %d heard: %s\n", rank, cards.status().text().c_str());
  return 4;
}

/// Joins and then waits until all `joined` have come, and is killed.
int waitAndDie(Launch& launch, const Roll& roll, int joined) {
  auto meeting = connectRendezvous(std::move(launch), patientConfig());
  if (!meeting.isOk()) return 2;
  const auto look = [&roll, left = joined]() mutable {
    left -= roll.count();
    if (left <= 0) ::raise(SIGKILL);
  };
  meeting.value()->whileWaiting(look);
  return meeting.value()->allGather("card", 0).isOk() ? 3 : 4;
}

TEST(Death, OfAMemberWhileRanksMeetIsToldToAllByName) {
  auto places = placesOf({0, 1, 2}, 4);
  const Roll roll;
  const std::string expected = "rank 2 left during start-up";
  const auto codes = inProcesses({{0, [&] { return waitAndHear(places[0], roll, expected); }},
                                  {1, [&] { return waitAndHear(places[1], roll, expected); }},
                                  {2, [&] { return waitAndDie(places[2], roll, 2); }}});
  places[0].listener.reset();
  EXPECT_THAT(codes, ::testing::ElementsAre(testing::Pair(0, 0), testing::Pair(1, 0), testing::Pair(2, -1)));
}

TEST(Death, OfRank0WhileRanksMeetIsToldToAllByName) {
  auto places = placesOf({0, 1, 2}, 4);
  const Roll roll;
  const std::string expected = "left during start-up";
  // Rank 0 alone is to listen, or the others would reach the copies of its socket after its death.
  const auto as = [&](int rank, const std::function<int(Launch&)>& body) {
    return [&places, rank, body] {
      if (rank != 0) places[0].listener.reset();
      return body(places[rank]);
    };
  };
  const auto hear = [&](Launch& launch) { return waitAndHear(launch, roll, expected); };
  const auto codes = inProcesses(
      {{0, as(0, [&](Launch& launch) { return waitAndDie(launch, roll, 2); })}, {1, as(1, hear)}, {2, as(2, hear)}});
  places[0].listener.reset();
  EXPECT_THAT(codes, ::testing::ElementsAre(testing::Pair(0, -1), testing::Pair(1, 0), testing::Pair(2, 0)));
}

TEST(Death, OfRank0BeforeACallIsToldWhereItListenedBefore) {
  auto places = placesOf({0, 1}, 2);
  places[0].listener.reset(); // As when its process ends.
  const auto begin = std::chrono::steady_clock::now();
  const Cards cards = rendezvous(std::move(places[1]), "x", patientConfig());
  ASSERT_FALSE(cards.isOk());
  EXPECT_THAT(cards.status().text(), HasSubstr("left during start-up"));
  EXPECT_LT(std::chrono::steady_clock::now() - begin, kSoon);
}

/// A member made by hand.
class Caller {
 public:
  Caller(const Launch& launch, int rank, int ranks, std::uint64_t process) {
    auto fd = platform::dial(*platform::SocketAddress::parse(launch.host, launch.port));
    EXPECT_TRUE(platform::waitWritable(fd.value().get(), Deadline::after(kSoon)));
    fd_ = fd.take();
    write(encodeHello({rank, ranks, process, launch.job}));
    const std::string ends = encodeWelcome({std::string(4, '\0'), std::string(4, '\0')});
    std::string welcome = encodeFrame(BootstrapFrame::welcome, 0, ends);
    EXPECT_TRUE(platform::readAll(fd_.get(), welcome.data(), welcome.size(), Deadline::after(kSoon)).isOk());
  }
  /// `left_ms` is the time that it gives the others.
  void sendCard(std::uint32_t round, std::uint32_t left_ms = 0x7fffffff) {
    base::WireWriter card;
    card.integer(left_ms).raw("card");
    write(encodeFrame(BootstrapFrame::card, round, card.take()));
  }

 private:
  void write(const std::string& bytes) {
    EXPECT_TRUE(platform::writeAll(fd_.get(), bytes, Deadline::after(kSoon)).isOk());
  }
  platform::UniqueFd fd_;
};

TEST(Death, OfAMemberIsForgottenWhereItIsStartedAnewAtOnce) {
  auto places = placesOf({0, 1}, 3);
  std::optional<Caller> second;
  std::thread root([&] {
    const Cards cards = rendezvous(std::move(places[0]), "zero", patientConfig());
    EXPECT_TRUE(cards.isOk()) << cards.status().text();
  });
  { Caller first(places[1], 1, 3, 1); }
  second.emplace(places[1], 1, 3, 2);
  second->sendCard(0);
  Caller last(places[1], 2, 3, 3);
  last.sendCard(0);
  root.join();
}

TEST(Death, OfAMemberEndsTheDeadlineThatItBrought) {
  constexpr std::uint32_t kShortMs = 500;
  auto places = placesOf({0, 1}, 3);
  std::thread root([&] {
    const Cards cards = rendezvous(std::move(places[0]), "zero", patientConfig());
    EXPECT_TRUE(cards.isOk()) << cards.status().text();
  });
  {
    Caller first(places[1], 1, 3, 1);
    first.sendCard(0, kShortMs);
  }
  Caller second(places[1], 1, 3, 2);
  second.sendCard(0);
  std::this_thread::sleep_for(std::chrono::milliseconds(2 * kShortMs));
  Caller last(places[1], 2, 3, 3);
  last.sendCard(0);
  root.join();
}

TEST(Death, BetweenRoundsIsSeenByWhoChecks) {
  auto places = placesOf({0, 1, 2}, 3);
  std::latch all_well(3);
  const auto hear = [&](int rank) {
    auto meeting = connectRendezvous(std::move(places[rank]), patientConfig());
    ASSERT_TRUE(meeting.isOk()) << meeting.status().text();
    ASSERT_TRUE(meeting.value()->allGather("card", 0).isOk());
    Status status = meeting.value()->check();
    EXPECT_TRUE(status.isOk()) << status.text();
    all_well.arrive_and_wait();
    for (const auto end = Deadline::after(kSoon); status.isOk() && !end.expired();
         std::this_thread::sleep_for(std::chrono::milliseconds(1)))
      status = meeting.value()->check();
    EXPECT_THAT(status.text(), HasSubstr("rank 2 left during start-up"));
    EXPECT_FALSE(meeting.value()->allGather("card", 0).isOk());
  };
  std::thread root([&] { hear(0); });
  std::thread member([&] { hear(1); });
  {
    Caller victim(places[2], 2, 3, 7);
    victim.sendCard(0);
    all_well.arrive_and_wait();
  }
  root.join();
  member.join();
}

} // namespace
} // namespace goss
