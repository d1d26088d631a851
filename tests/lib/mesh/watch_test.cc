// Which ranks of its host a rank watches and tells news, as others are lost.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <thread>
#include <utility>
#include <vector>

#include "mesh/control.h"
#include "tests/lib/mesh/fake_transport.h"

namespace goss {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;
using namespace std::chrono_literals;

TEST(MeshNeighbours, AreTheNextRanksThatAreNotLost) {
  test::FakeWorld world(12);
  ASSERT_TRUE(world.connected.isOk());
  EXPECT_THAT(world.mesh.neighbours(), ElementsAre(1, 2, 11, 10));
  EXPECT_THAT(world.mesh.newsTargets(), UnorderedElementsAre(1, 2, 11, 10, 4, 8));
  for (const int peer : {1, 3, 4, 10, 11})
    world.lose(peer, PeerLoss::ended);
  EXPECT_THAT(world.mesh.neighbours(), ElementsAre(2, 5, 9, 8));
  EXPECT_THAT(world.mesh.newsTargets(), UnorderedElementsAre(2, 5, 9, 8));
  for (const int peer : {2, 5, 7, 8, 9})
    world.lose(peer, PeerLoss::departed);
  EXPECT_THAT(world.mesh.neighbours(), ElementsAre(6)) << "Rank 6 is the next one on both sides.";
  world.lose(6, PeerLoss::silent);
  EXPECT_THAT(world.mesh.neighbours(), IsEmpty());
}

TEST(MeshNeighbours, AreNoneWhereAllLinksAreMadeAtTheStart) {
  test::FakeWorld world(8);
  ASSERT_TRUE(world.connected.isOk());
  EXPECT_THAT(world.mesh.neighbours(), IsEmpty());
  EXPECT_THAT(world.mesh.newsTargets(), IsEmpty());
}

TEST(MeshLosses, AreToldToAHandlerThatComesAfterThem) {
  test::FakeWorld world(4);
  world.lose(2, PeerLoss::ended);
  std::vector<std::pair<int, PeerLoss>> told;
  world.mesh.setPeerLostHandler([&](int peer, const Status&, PeerLoss how) { told.emplace_back(peer, how); });
  world.lose(3, PeerLoss::silent);
  world.lose(2, PeerLoss::silent);
  EXPECT_THAT(told, ElementsAre(std::pair(2, PeerLoss::ended), std::pair(3, PeerLoss::silent)));
}

/// Rank 0 of 12, which probes ranks 1, 2, 10 and 11, and later those behind them.
class Watch : public ::testing::Test {
 protected:
  Watch() : control_(world_.mesh, [](int, const ControlMessage&) {}) {
    for (const int neighbour : {1, 2, 10, 11}) // They have links, and have sent something.
      world_.transport->at(neighbour).statistics.messages_received = 1;
  }
  void lose(int peer, PeerLoss how) {
    world_.lose(peer, how);
    control_.noteLossOnLoop(peer, how);
  }
  std::vector<int> probed() {
    control_.drainOnLoop();
    return world_.transport->takeSentTo();
  }
  /// The probes that come, after a while.
  std::vector<int> awaitProbes() {
    const auto limit = std::chrono::steady_clock::now() + 20s;
    std::vector<int> ranks = probed();
    while (ranks.empty() && std::chrono::steady_clock::now() < limit) {
      std::this_thread::sleep_for(10ms);
      ranks = probed();
    }
    return ranks;
  }

  test::FakeWorld world_{12};
  ControlChannel control_;
};

TEST_F(Watch, ProbesThoseAloneFromWhichNothingHasCome) {
  lose(1, PeerLoss::departed);
  EXPECT_THAT(awaitProbes(), ElementsAre(3));
  lose(2, PeerLoss::departed);
  EXPECT_THAT(awaitProbes(), ElementsAre(3, 4)) << "Rank 3, to which there is a link now, has not answered.";
  world_.transport->at(3).statistics.messages_received = 1;
  lose(11, PeerLoss::ended);
  EXPECT_THAT(awaitProbes(), ElementsAre(4, 9));
}

TEST_F(Watch, GoesOnAtOnceWhereAProbedRankHadEnded) {
  lose(1, PeerLoss::departed);
  lose(2, PeerLoss::departed);
  EXPECT_THAT(awaitProbes(), ElementsAre(3, 4));
  lose(3, PeerLoss::absent);
  EXPECT_THAT(probed(), ElementsAre(4, 5));
  lose(4, PeerLoss::absent);
  lose(5, PeerLoss::absent);
  EXPECT_THAT(probed(), ElementsAre(6, 7));
}

TEST_F(Watch, IsNotPutOffByRanksThatAreLostMeanwhile) {
  const auto began = std::chrono::steady_clock::now();
  lose(1, PeerLoss::ended);
  while (std::chrono::steady_clock::now() - began < 600ms) {
    std::this_thread::sleep_for(50ms);
    lose(2, PeerLoss::ended);
  }
  EXPECT_THAT(probed(), ElementsAre(3, 4));
}

} // namespace
} // namespace goss
