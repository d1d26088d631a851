// The collectives among neighbours: rank i's result is exactly row i of the mixing matrix, in every round.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "collectives/neighbor_exchange.h"
#include "schedule/channels.h"
#include "schedule/checker.h"
#include "schedule/compress.h"
#include "schedule/links.h"
#include "schedule/simulator.h"
#include "schedule/symbols.h"
#include "topology/topology.h"

namespace goss::collectives {
namespace {

using testing::HasSubstr;
using topology::Topology;

constexpr Collective kAll[] = {Collective::neighborAllReduce, Collective::neighborAllGather,
                               Collective::neighborAllToAll};

Topology made(const std::string& spec, int ranks) {
  auto result = Topology::make(spec, ranks, [](const std::string&) { return Result<std::string>(std::string()); });
  EXPECT_TRUE(result.isOk()) << result.status().text();
  return result.take();
}

std::vector<Neighborhood> roundOf(const Topology& topology, std::uint64_t round) {
  std::vector<Neighborhood> all;
  for (int rank = 0; rank < topology.size(); ++rank)
    all.push_back(topology.neighborhood(round, rank));
  return all;
}

std::vector<Schedule> schedulesOf(Collective collective, const std::vector<Neighborhood>& neighborhoods) {
  PlanRequest request;
  request.collective = collective;
  request.size = static_cast<int>(neighborhoods.size());
  request.partition = collective == Collective::neighborAllReduce ? Partition::even : Partition::byRank;
  std::vector<Schedule> schedules;
  for (; request.rank < request.size; ++request.rank) {
    request.neighborhood = &neighborhoods[static_cast<std::size_t>(request.rank)];
    EXPECT_TRUE(NeighborExchange(collective).supports(request));
    schedules.push_back(NeighborExchange(collective).plan(request));
  }
  return schedules;
}

std::vector<Schedule> compressedOf(const std::vector<Schedule>& plain) {
  std::vector<Schedule> schedules;
  for (const Schedule& schedule : plain)
    schedules.push_back(schedule::compressed(schedule).schedule);
  return schedules;
}

std::string faultOf(const std::vector<Schedule>& schedules) {
  const auto facts = schedule::checkSchedules(schedules);
  return facts.isOk() ? "" : facts.status().text();
}

std::uint64_t arcsOf(const std::vector<Neighborhood>& neighborhoods) {
  std::uint64_t arcs = 0;
  for (const Neighborhood& neighborhood : neighborhoods)
    arcs += neighborhood.destinations.size();
  return arcs;
}

TEST(Neighbors, EveryRoundOfEveryTopologyIsProved) {
  for (const auto& [spec, ranks] : std::map<std::string, int>{{"ring", 2},
                                                              {"torus:3x4", 12},
                                                              {"hypercube", 16},
                                                              {"star", 9},
                                                              {"full", 7},
                                                              {"exponential", 13},
                                                              {"one-peer-exponential", 11},
                                                              {"base:k=1", 12},
                                                              {"base:k=2", 22},
                                                              {"random-regular:d=4", 15},
                                                              {"shift-one", 10},
                                                              {"grid:4x4", 14},
                                                              {"star:weights=push-sum", 6}}) {
    const Topology topology = made(spec, ranks);
    for (std::uint64_t t = 0; t < topology.period(); ++t) {
      const std::vector<Neighborhood> neighborhoods = roundOf(topology, t);
      std::vector<const Neighborhood*> pointers;
      for (const Neighborhood& neighborhood : neighborhoods)
        pointers.push_back(&neighborhood);
      for (int rank = 0; rank < ranks; ++rank) { // what the checker expects is the matrix
        for (const auto& [from, weight] : schedule::promisedWeights(rank, pointers))
          EXPECT_EQ(weight, topology.mixing(t).at(rank, from)) << spec;
      }
      for (const Collective collective : kAll) {
        const std::vector<Schedule> plain = schedulesOf(collective, neighborhoods);
        const auto facts = schedule::checkSchedules(plain);
        ASSERT_TRUE(facts.isOk()) << spec << " round " << t << ": " << facts.status().text();
        EXPECT_EQ(facts.value().messages, arcsOf(neighborhoods)) << spec;
        EXPECT_EQ(faultOf(compressedOf(plain)), "") << spec << " round " << t << ", compressed";
      }
    }
  }
}

TEST(Neighbors, WeightsOfBothEndsMultiply) {
  // BlueFog's explicit weights: rank 0 sends half to rank 1 and a quarter to rank 2.
  std::vector<Neighborhood> all(3);
  all[0] = {0.25, {{2, 2.0}}, {{1, 0.5}, {2, 0.25}}};
  all[1] = {1.0, {{0, 4.0}}, {}};
  all[2] = {0.5, {{0, 1.0}}, {{0, 0.5}}};
  const std::vector<Schedule> schedules = schedulesOf(Collective::neighborAllReduce, all);
  EXPECT_EQ(faultOf(schedules), "");
  EXPECT_EQ(faultOf(compressedOf(schedules)), "");
  const Neighborhood* pointers[] = {&all[0], &all[1], &all[2]};
  EXPECT_EQ(schedule::promisedWeights(0, pointers), (std::map<int, double>{{0, 0.25}, {2, 1.0}}));
  EXPECT_EQ(schedule::promisedWeights(1, pointers), (std::map<int, double>{{0, 2.0}, {1, 1.0}}));
}

TEST(Neighbors, WrongWeightsMissingArcsAndDoubleContributionsAreFound) {
  const std::vector<Neighborhood> ring = roundOf(made("ring", 5), 0);
  std::vector<Schedule> schedules = schedulesOf(Collective::neighborAllReduce, ring);
  schedules[3].weights[0] += 1e-16 + schedules[3].weights[0] * 1e-15;
  EXPECT_THAT(faultOf(schedules), HasSubstr("the contribution of rank 3 has weight"));

  schedules = schedulesOf(Collective::neighborAllReduce, ring);
  schedules[2].neighborhood.sources[0].weight = 0.5;
  EXPECT_THAT(faultOf(schedules), HasSubstr("rank 2 chunk 0: the contribution of rank 1 has weight 0.33"));

  std::vector<Neighborhood> one_way = ring;
  one_way[4].destinations.clear();
  EXPECT_NE(faultOf(schedulesOf(Collective::neighborAllReduce, one_way)), "");

  schedules = schedulesOf(Collective::neighborAllReduce, ring);
  schedules[1].weights.pop_back();
  EXPECT_THAT(faultOf(schedules), HasSubstr("weights"));

  schedules = schedulesOf(Collective::neighborAllReduce, ring);
  for (Step& step : schedules[0].steps) {
    if (step.kind == StepKind::combine)
      schedules[0].slots[step.sources.first + 1] = schedules[0].slots[step.sources.first];
  }
  EXPECT_THAT(faultOf(schedules), HasSubstr("counts rank 0's contribution to chunk 0 twice"));
}

TEST(Neighbors, SizesMatchAtBothEndsAndFollowTheFormula) {
  constexpr std::uint64_t kCount = 1009;
  const std::vector<Neighborhood> neighborhoods = roundOf(made("exponential", 6), 0);
  for (const Collective collective : kAll) {
    std::vector<schedule::Shape> shapes(6);
    std::uint64_t formula = 0;
    const std::vector<Schedule> schedules = schedulesOf(collective, neighborhoods);
    for (std::size_t rank = 0; rank < 6; ++rank) {
      shapes[rank].element_bytes = 4;
      shapes[rank].count = kCount;
      if (collective != Collective::neighborAllReduce) {
        shapes[rank].input_blocks.assign(6, {0, kCount});
        shapes[rank].output_blocks.assign(6, {0, kCount});
      }
      PlanRequest request;
      request.rank = static_cast<int>(rank);
      request.neighborhood = &neighborhoods[rank];
      formula += NeighborExchange(collective).wireElements(request, std::vector<std::uint64_t>(6, kCount));
    }
    EXPECT_EQ(formula, arcsOf(neighborhoods) * kCount);
    const Status status = schedule::checkSizes(schedules, shapes, formula);
    EXPECT_TRUE(status.isOk()) << status.text();
  }
}

TEST(Neighbors, TheSimulatorPricesARoundByItsDegree) {
  const auto price = [](const std::string& spec) {
    const std::vector<Schedule> schedules = schedulesOf(Collective::neighborAllReduce, roundOf(made(spec, 8), 0));
    schedule::Shape shape;
    shape.count = 64 << 20;
    const auto result = schedule::simulate(schedules, shape, schedule::Links::builtIn("lan10g", 8).value());
    EXPECT_TRUE(result.isOk()) << result.status().text();
    return result.value().finish_s;
  };
  const double one = price("one-peer-exponential");
  EXPECT_NEAR(price("ring"), 2 * one, 0.05 * one);
  EXPECT_NEAR(price("exponential"), 3 * one, 0.1 * one);
}

} // namespace
} // namespace goss::collectives
