#include "health/failure_detector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>
#include <set>

#include "gossamer/config.h"
#include "tests/lib/engine/operations.h"
#include "tests/lib/mesh/fake_transport.h"

namespace goss {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using namespace std::chrono_literals;

/// Waits for rank 1, and may wait for ranks 2 and 3 next, as a shrink among many.
class ShrinkLike final : public Operation {
 public:
  explicit ShrinkLike(OperationHost& host) : Operation(host, Failure::alone) { timeout_ms = 60000; }
  void startOnLoop() override {}
  void advanceOnLoop() override {}
  void withdrawOnLoop() override {}
  [[nodiscard]] bool outlivesFailure() const override { return true; }
  [[nodiscard]] std::string describe() const override { return "shrink"; }
  [[nodiscard]] std::vector<int> waitingForRanks() const override { return {1}; }
  [[nodiscard]] std::vector<int> ranksToProbe() const override { return {1, 2, 3}; }
};

/// Rank 0 of 12, of which the last six are on another host.
class Detector : public ::testing::Test {
 protected:
  static std::vector<int> ranks() {
    std::vector<int> all(12);
    std::iota(all.begin(), all.end(), 0);
    return all;
  }
  void answer(int rank, int waits_for) {
    ControlMessage reply = peers_.message(ControlMessage::Type::reply);
    reply.culprit = waits_for;
    detector_.heard(rank, reply);
  }
  Status expiry() { return detector_.expiry(operation_, now_); }

  test::FakeWorld world_{12};
  ControlChannel control_{world_.mesh, [](int, const ControlMessage&) {}};
  const Group group_{ranks(), 0, 12};
  const Peers peers_{group_, 3, world_.mesh, control_};
  Engine engine_{Config()};
  LoggingHost host_;
  OperationTable operations_{engine_, host_};
  std::set<int> stopped_;
  FailureDetector detector_{
      peers_,
      operations_,
      {10s, [this](int rank) { return rank < 6 && !stopped_.contains(rank); }, [](int rank) { return rank < 6; }}};
  ShrinkLike operation_{host_};
  TimePoint now_ = std::chrono::steady_clock::now();
};

TEST_F(Detector, ProbesAlsoTheRanksThatAnOperationMayWaitForNext) {
  detector_.probe(operation_, now_);
  EXPECT_THAT(world_.transport->takeSentTo(), ElementsAre(1, 2, 3));
}

TEST_F(Detector, ARankThatIsOnlyLateIsNotBlamedForWhatItWaitsFor) {
  detector_.probe(operation_, now_);
  answer(1, 5);
  now_ += 500ms;
  detector_.probe(operation_, now_);
  now_ += 400ms; // Neither rank 1 nor ranks 2 and 3, which have never answered, have answered this probe.
  EXPECT_EQ(expiry().peer(), 5);
  EXPECT_THAT(expiry().text(), AllOf(HasSubstr("waiting for rank 1, which itself waits for rank 5"),
                                     Not(HasSubstr("no answer")), Not(HasSubstr("rank 2"))));
  stopped_ = {1};
  EXPECT_EQ(expiry().peer(), 1);
  EXPECT_THAT(expiry().text(), HasSubstr("no answer from rank 1"));
}

TEST_F(Detector, ARankThatHasNeverAnsweredIsBlamed) {
  detector_.probe(operation_, now_);
  now_ += 400ms;
  EXPECT_EQ(expiry().peer(), 1);
  EXPECT_THAT(expiry().text(), AllOf(HasSubstr("no answer from rank 1"), Not(HasSubstr("rank 2"))));
}

/// As a collective, it concerns all others.
class Collective final : public Operation {
 public:
  explicit Collective(OperationHost& host) : Operation(host) { timeout_ms = 60000; }
  void startOnLoop() override {}
  void advanceOnLoop() override {}
  void withdrawOnLoop() override {}
  [[nodiscard]] std::string describe() const override { return "collective"; }
  [[nodiscard]] std::vector<int> waitingForRanks() const override { return {1, 7}; }
};

TEST_F(Detector, ARankOfAnotherHostMayHaveStoppedWhenItIsLateByASecond) {
  Collective collective(host_);
  detector_.probe(collective, now_);
  now_ += 400ms;
  EXPECT_FALSE(detector_.mayHaveStopped(1, now_));
  EXPECT_FALSE(detector_.mayHaveStopped(7, now_));
  stopped_ = {1};
  EXPECT_TRUE(detector_.mayHaveStopped(1, now_));
  now_ += 700ms;
  EXPECT_TRUE(detector_.mayHaveStopped(7, now_));
  answer(7, -1);
  EXPECT_FALSE(detector_.mayHaveStopped(7, now_));
}

} // namespace
} // namespace goss
