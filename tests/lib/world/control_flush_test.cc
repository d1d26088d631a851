#include "world/control_flush.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>

#include "tests/lib/mesh/fake_transport.h"

namespace goss {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using namespace std::chrono_literals;

/// A flush of few turns takes less, also on a busy machine.
constexpr auto kWait = 1000ms;

/// Rank 0 of three, whose messages to the others the fake transport holds back.
class Flush : public ::testing::Test {
 protected:
  void postAbort(int peer) {
    ControlMessage abort;
    abort.type = ControlMessage::Type::abort;
    control_.sendOnLoop(peer, abort);
  }
  [[nodiscard]] test::FakeTransport& transport() { return *world_.transport; }
  /// The turns that a flush takes.
  int flush(int except = -1) {
    transport().turns = 0;
    flush_.runOnLoop(except);
    return transport().turns;
  }
  /// Makes rank 1 slow.
  void waitInVain() {
    transport().at(1).blocked = -1;
    postAbort(1);
    EXPECT_GT(flush(), 1);
    ASSERT_THAT(control_.unsentOnLoop(), ElementsAre(1));
  }

  test::FakeWorld world_{3};
  ControlChannel control_{world_.mesh, [](int, const ControlMessage&) {}};
  ControlFlush flush_{world_.mesh, control_, [](int) { return true; }, {kWait, 1h}};
};

TEST_F(Flush, TakesAsManyTurnsAsThePeersNeed) {
  EXPECT_EQ(flush(), 0) << "There is nothing to send.";
  transport().at(1).blocked = 3;
  transport().at(2).blocked = 1;
  postAbort(1);
  postAbort(2);
  EXPECT_EQ(flush(), 3);
  EXPECT_THAT(control_.unsentOnLoop(), IsEmpty());
}

TEST_F(Flush, DoesNotWaitForProbesNorForThePeerThatIsExcepted) {
  transport().at(1).blocked = -1;
  ControlMessage probe;
  control_.sendOnLoop(1, probe);
  EXPECT_EQ(flush(), 0);
  postAbort(1);
  EXPECT_EQ(flush(1), 1);
}

TEST_F(Flush, ASlowPeerGetsOneTurnUntilItHasTakenEverything) {
  waitInVain();
  postAbort(1);
  EXPECT_EQ(flush(), 1);
  transport().at(2).blocked = 3;
  postAbort(2);
  EXPECT_EQ(flush(), 3) << "Rank 2 is not slow.";
  EXPECT_THAT(control_.unsentOnLoop(), ElementsAre(1));
  transport().at(1).blocked = 0;
  world_.mesh.progressOnLoop();
  flush_.sweepOnLoop();
  transport().at(1).blocked = 3;
  postAbort(1);
  EXPECT_EQ(flush(), 3);
  EXPECT_THAT(control_.unsentOnLoop(), IsEmpty());
}

TEST_F(Flush, APeerWhoseBytesMoveIsWaitedForAndAtTheEndEveryPeerIs) {
  for (const bool is_end : {false, true}) {
    waitInVain();
    if (is_end)
      flush_.forgetSlowOnLoop();
    else
      ++transport().at(1).statistics.movements;
    transport().at(1).blocked = 3;
    EXPECT_EQ(flush(), 3);
    EXPECT_THAT(control_.unsentOnLoop(), IsEmpty());
  }
}

TEST_F(Flush, NoPeerStaysSlowForLong) {
  ControlFlush forgetful(world_.mesh, control_, [](int) { return true; }, {kWait, 0ms});
  transport().at(1).blocked = -1;
  postAbort(1);
  forgetful.runOnLoop(-1);
  transport().at(1).blocked = 3;
  forgetful.runOnLoop(-1);
  EXPECT_THAT(control_.unsentOnLoop(), IsEmpty());
}

} // namespace
} // namespace goss
