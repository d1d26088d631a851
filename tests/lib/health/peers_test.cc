#include "health/peers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "tests/lib/mesh/fake_transport.h"

namespace goss {
namespace {

using ::testing::UnorderedElementsAre;

TEST(Peers, SpreadNewsToRanksWithLinksAndAtPowersOf2AndToTheNextThatAreNotLost) {
  test::FakeWorld world(12);
  ControlChannel control(world.mesh, [](int, const ControlMessage&) {});
  std::vector<int> ranks(12);
  std::iota(ranks.begin(), ranks.end(), 0);
  const Group group(ranks, 0, 12);
  const Peers peers{group, 3, world.mesh, control};
  peers.spread(peers.message(ControlMessage::Type::abort));
  EXPECT_THAT(world.transport->takeSentTo(), UnorderedElementsAre(1, 2, 10, 11, 4, 8));
  for (const int lost : {1, 2, 3, 4, 5, 8, 10, 11})
    world.lose(lost, PeerLoss::departed);
  peers.spread(peers.message(ControlMessage::Type::abort));
  EXPECT_THAT(world.transport->takeSentTo(), UnorderedElementsAre(6, 7, 9));
}

} // namespace
} // namespace goss
