// Random programs of sends, receives from some or any rank and of some or any tag, and probes: what met what is checked
// against MPI's rules (MPI 4.1, 3.5), which leave more than one answer.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "tests/support/calls.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

constexpr int kRanks = 4;
constexpr std::int32_t kNothing = -9;
constexpr std::array<std::size_t, 5> kCounts{3, 40, 900, 5000, 60000};

struct Message {
  int tag = 0;
  std::size_t count = 0; ///< Number of int32: the source, the serial number, and more.
};

struct Pattern {
  int source = GOSS_ANY_SOURCE;
  int tag = GOSS_ANY_TAG;
  [[nodiscard]] bool accepts(int from, int with_tag) const {
    return (source == GOSS_ANY_SOURCE || source == from) && (tag == GOSS_ANY_TAG || tag == with_tag);
  }
};

/// A receive, as it was started among those of its rank, and what it got.
struct Receive {
  Pattern pattern;
  std::vector<std::int32_t> data;
  goss_request_t request = nullptr;
  bool done = false;
  int source = -1;
  std::size_t serial = 0;
};

/// What every rank knows of a round: who sends what to whom, in which order.
class Plan {
 public:
  explicit Plan(unsigned seed) : random_(seed) {
    for (int i = 0; i < 60; ++i) {
      const auto from = below(kRanks), to = below(kRanks);
      const bool is_long = below(8) == 0;
      messages_[{from, to}].push_back({below(3), kCounts[static_cast<std::size_t>(below(is_long ? 5 : 3))]});
      order_.push_back({from, to});
    }
  }
  int below(int limit) { return static_cast<int>(random_() % static_cast<unsigned>(limit)); }

  [[nodiscard]] const std::vector<std::pair<int, int>>& order() const { return order_; }
  std::vector<Message>& between(int from, int to) { return messages_[{from, to}]; }
  [[nodiscard]] std::size_t countTo(int to) {
    std::size_t count = 0;
    for (int from = 0; from < kRanks; ++from)
      count += between(from, to).size();
    return count;
  }

 private:
  std::mt19937 random_;
  std::map<std::pair<int, int>, std::vector<Message>> messages_;
  std::vector<std::pair<int, int>> order_;
};

/// The answer of MPI's rules: of the receives of one rank each must have met its message after all that had to come
/// first, so "after" may have no circle.
class Rules {
 public:
  Rules(const std::vector<std::unique_ptr<Receive>>& receives, Plan& plan, int rank)
      : receives_(receives), plan_(plan), rank_(rank), after_(receives.size()) {}

  /// The error, or "".
  std::string check() {
    for (std::size_t i = 0; i < receives_.size(); ++i) {
      const Receive& receive = *receives_[i];
      if (!got_.emplace(std::pair(receive.source, receive.serial), i).second) return "a message came twice";
    }
    for (std::size_t i = 0; i < receives_.size(); ++i) {
      if (std::string wrong = orderOf(i); !wrong.empty()) return wrong;
    }
    return hasCircle() ? "no order of meetings explains what was received" : "";
  }

  /// The received messages in the order of the receives: pattern, source and number of the message, and its tag.
  std::string describe() {
    std::string text;
    for (const auto& receive : receives_)
      text += "\n(" + std::to_string(receive->pattern.source) + ", " + std::to_string(receive->pattern.tag) + ") got " +
              std::to_string(receive->source) + " #" + std::to_string(receive->serial) + " tag " +
              std::to_string(plan_.between(receive->source, rank_)[receive->serial].tag) + ", " +
              std::to_string(plan_.between(receive->source, rank_)[receive->serial].count) + " elements";
    return text;
  }

 private:
  std::string orderOf(std::size_t i) {
    const Receive& receive = *receives_[i];
    const std::vector<Message>& sent = plan_.between(receive.source, rank_);
    const int tag = sent[receive.serial].tag;
    if (!receive.pattern.accepts(receive.source, tag)) return "a receive got a message that it does not accept";
    for (std::size_t j = 0; j < i; ++j) {
      if (receives_[j]->pattern.accepts(receive.source, tag)) after_[i].push_back(j);
    }
    for (std::size_t serial = 0; serial < receive.serial; ++serial) {
      if (!receive.pattern.accepts(receive.source, sent[serial].tag)) continue;
      const auto got = got_.find({receive.source, serial});
      if (got == got_.end()) return "a message was overtaken and never received";
      after_[i].push_back(got->second);
    }
    return "";
  }

  [[nodiscard]] bool hasCircle() const {
    std::vector<bool> met(after_.size());
    std::size_t left = after_.size();
    for (bool any = true; any && left > 0;) {
      any = false;
      for (std::size_t i = 0; i < after_.size(); ++i) {
        if (met[i] || !std::all_of(after_[i].begin(), after_[i].end(), [&](std::size_t j) { return met[j]; })) continue;
        met[i] = any = true;
        --left;
      }
    }
    return left > 0;
  }

  const std::vector<std::unique_ptr<Receive>>& receives_;
  Plan& plan_;
  int rank_;
  std::map<std::pair<int, std::size_t>, std::size_t> got_; ///< Which receive got a message.
  std::vector<std::vector<std::size_t>> after_;
};

/// One rank in one round.
class Player {
 public:
  Player(goss_comm_t comm, int rank, unsigned seed)
      : comm_(comm), rank_(rank), plan_(seed), own_(seed * 31 + static_cast<unsigned>(rank)) {}

  void play() {
    const std::size_t expected = plan_.countTo(rank_);
    std::size_t next = 0;
    std::array<std::size_t, kRanks> serials{};
    const bool receives_first = below(3) == 0;
    while (receives_first && below(20) != 0 && receives_.size() < expected)
      start(anyPattern());
    for (; next < plan_.order().size(); ++next) {
      const auto [from, to] = plan_.order()[next];
      if (from == rank_) send(to, serials[static_cast<std::size_t>(to)]++);
      if (below(3) == 0 && receives_.size() < expected) start(anyPattern());
      if (below(6) == 0) receiveWhatIsThere();
      if (below(10) == 0) std::this_thread::yield();
    }
    while (received() < expected && !::testing::Test::HasFailure())
      receiveWhatIsThere();
    fill();
    EXPECT_OK(goss_wait_all(sends_.data(), sends_.size()));
    int found = 1;
    EXPECT_OK(goss_iprobe(comm_, GOSS_ANY_SOURCE, GOSS_ANY_TAG, &found, nullptr));
    EXPECT_EQ(found, 0) << "all was received";
    if (!::testing::Test::HasFailure()) {
      Rules rules(receives_, plan_, rank_);
      EXPECT_EQ(rules.check(), "") << "rank " << rank_ << rules.describe();
    }
    EXPECT_OK(goss_barrier(comm_, nullptr, nullptr));
  }

 private:
  int below(int limit) { return static_cast<int>(own_() % static_cast<unsigned>(limit)); }
  Pattern anyPattern() { return {below(2) == 0 ? GOSS_ANY_SOURCE : below(kRanks), below(3) == 0 ? -1 : below(3)}; }

  void send(int to, std::size_t serial) {
    const Message& message = plan_.between(rank_, to)[serial];
    kept_.emplace_back(message.count, rank_);
    kept_.back()[1] = static_cast<std::int32_t>(serial);
    sends_.push_back(nullptr);
    EXPECT_OK(
        goss_send(comm_, kept_.back().data(), message.count, GOSS_INT32, to, message.tag, nullptr, &sends_.back()));
  }

  Receive& start(const Pattern& pattern, bool blocking = false) {
    receives_.push_back(std::make_unique<Receive>());
    Receive& receive = *receives_.back();
    receive.pattern = pattern;
    receive.data.assign(kCounts.back(), kNothing);
    EXPECT_OK(goss_recv(comm_, receive.data.data(), receive.data.size(), GOSS_INT32, pattern.source, pattern.tag,
                        nullptr, blocking ? nullptr : &receive.request));
    return receive;
  }

  void finish(Receive& receive, const goss_message* message) {
    receive.done = true;
    receive.source = receive.data[0];
    receive.serial = static_cast<std::size_t>(receive.data[1]);
    ASSERT_TRUE(receive.source >= 0 && receive.source < kRanks);
    const std::vector<Message>& sent = plan_.between(receive.source, rank_);
    ASSERT_LT(receive.serial, sent.size());
    const Message& whole = sent[receive.serial];
    EXPECT_EQ(receive.data[whole.count - 1], whole.count > 2 ? receive.source : receive.data[1]);
    EXPECT_TRUE(whole.count == receive.data.size() || receive.data[whole.count] == kNothing);
    if (message == nullptr) return;
    EXPECT_EQ(message->source, receive.source);
    EXPECT_EQ(message->tag, whole.tag);
    EXPECT_EQ(message->bytes, whole.count * sizeof(std::int32_t));
  }

  void receiveWhatIsThere() {
    for (auto& receive : receives_) {
      if (receive->done) continue;
      int done = 0;
      goss_message message{};
      ASSERT_OK(goss_test(&receive->request, &done, &message));
      if (done != 0) finish(*receive, &message);
    }
    int found = 0;
    goss_message message{};
    const Pattern looked = below(2) == 0 ? Pattern{} : anyPattern();
    ASSERT_OK(goss_iprobe(comm_, looked.source, looked.tag, &found, &message));
    if (found == 0) return std::this_thread::yield();
    ASSERT_TRUE(looked.accepts(message.source, message.tag));
    Receive& receive = start({message.source, message.tag}, true);
    finish(receive, nullptr);
    const Message& got = plan_.between(receive.source, rank_)[receive.serial];
    EXPECT_EQ(got.count * sizeof(std::int32_t), message.bytes) << "the probe told of another message";
  }

  [[nodiscard]] std::size_t received() const {
    return static_cast<std::size_t>(std::count_if(receives_.begin(), receives_.end(), [](auto& r) { return r->done; }));
  }

  /// Receives that are left over, because others have taken what they accept, get a message more, one at a time.
  void fill() {
    for (;;) {
      const auto open = std::find_if(receives_.begin(), receives_.end(), [](auto& r) { return !r->done; });
      std::array<std::int32_t, 2> mine{kNothing, kNothing};
      if (open != receives_.end()) mine = {(*open)->pattern.source, (*open)->pattern.tag};
      std::array<std::array<std::int32_t, 2>, kRanks> all{};
      ASSERT_OK(goss_all_gather(comm_, mine.data(), all.data(), 2, GOSS_INT32, nullptr, nullptr));
      bool any = false;
      for (int to = 0; to < kRanks; ++to) {
        const auto [source, tag] = all[static_cast<std::size_t>(to)];
        if (source == kNothing) continue;
        any = true;
        const int from = source == GOSS_ANY_SOURCE ? (to + 1) % kRanks : source;
        std::vector<Message>& sent = plan_.between(from, to);
        sent.push_back({tag == GOSS_ANY_TAG ? 0 : tag, 3});
        if (from == rank_) send(to, sent.size() - 1);
      }
      if (!any) return;
      if (open == receives_.end()) continue;
      goss_message message{};
      ASSERT_OK(goss_wait(&(*open)->request, &message));
      finish(**open, &message);
    }
  }

  goss_comm_t comm_;
  int rank_;
  Plan plan_;
  std::mt19937 own_;
  std::vector<std::unique_ptr<Receive>> receives_;
  std::vector<std::vector<std::int32_t>> kept_;
  std::vector<goss_request_t> sends_;
};

class Matching : public ::testing::TestWithParam<const char*> {};
INSTANTIATE_TEST_SUITE_P(All, Matching, ::testing::Values("loopback", "shm", "tcp", "sim"),
                         [](const auto& test) { return std::string(test.param); });

TEST_P(Matching, OfRandomProgramsFollowsTheRules) {
  RanksSetup setup;
  setup.ranks = kRanks;
  setup.transport = GetParam();
  setup.timeout_ms = 60000;
  runRanks(setup, [](goss_comm_t comm, int rank) {
    for (unsigned seed = 1; seed <= 40 && !::testing::Test::HasFailure(); ++seed) {
      SCOPED_TRACE("seed " + std::to_string(seed));
      Player(comm, rank, seed).play();
    }
  });
}

/// The checker itself: with two messages of one rank, and a receive for each.
TEST(MatchingRules, TellRightFromWrong) {
  const auto verdict = [](const Pattern& first, const Pattern& second, std::size_t first_got, std::size_t second_got) {
    Plan plan(0);
    plan.between(1, 0) = {{5, 3}, {5, 3}};
    std::vector<std::unique_ptr<Receive>> receives;
    for (const auto& [pattern, got] : {std::pair(first, first_got), std::pair(second, second_got)}) {
      receives.push_back(std::make_unique<Receive>());
      receives.back()->pattern = pattern;
      receives.back()->source = 1;
      receives.back()->serial = got;
    }
    return Rules(receives, plan, 0).check();
  };
  EXPECT_EQ(verdict({-1, 5}, {1, 5}, 0, 1), "");
  EXPECT_EQ(verdict({-1, 5}, {1, 5}, 1, 0), "no order of meetings explains what was received");
  EXPECT_EQ(verdict({1, -1}, {-1, -1}, 1, 0), "no order of meetings explains what was received");
  EXPECT_EQ(verdict({-1, 5}, {1, 5}, 0, 0), "a message came twice");
  EXPECT_EQ(verdict({-1, 6}, {1, 5}, 0, 1), "a receive got a message that it does not accept");
}

} // namespace
} // namespace goss::test
