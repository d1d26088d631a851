// What algorithms say of their symmetry, held against the schedules of all ranks and against prices of all ranks.
#include <gtest/gtest.h>

#include <numeric>

#include "collectives/catalogue.h"
#include "planner/candidates.h"
#include "planner/planned_ranks.h"
#include "tests/support/quick.h"

namespace goss {
namespace {

using schedule::Links;
using test::fullOr;

/// The rank that stands for `rank`.
int standIn(int rank, const Symmetry& symmetry) { return rank % symmetry.period / symmetry.local * symmetry.local; }

/// What `rank` is for the rank `other`, if it is that for other's stand-in.
int moved(int rank, int other, const Symmetry& symmetry, int size) {
  const int count = size / symmetry.period;
  const int from = rank / symmetry.period;
  const int block = other / symmetry.period;
  const int to = symmetry.exclusive_or ? from ^ block : (from + block) % count;
  const int local = (rank + other) % symmetry.local;
  return to * symmetry.period + standIn(rank, symmetry) + local;
}

void expectAlike(const Schedule& first, const Schedule& other, const Symmetry& symmetry) {
  ASSERT_EQ(first.steps.size(), other.steps.size());
  for (std::size_t i = 0; i < first.steps.size(); ++i) {
    const Step& a = first.steps[i];
    const Step& b = other.steps[i];
    ASSERT_EQ(a.kind, b.kind) << "step " << i;
    ASSERT_EQ(a.ordinal, b.ordinal) << "step " << i;
    ASSERT_EQ(a.targets.count, b.targets.count) << "step " << i;
    ASSERT_EQ(a.sources.count, b.sources.count) << "step " << i;
    ASSERT_EQ(a.peer < 0 ? a.peer : moved(a.peer, other.rank, symmetry, first.size), b.peer) << "step " << i;
    const auto of_a = first.dependenciesOf(a);
    const auto of_b = other.dependenciesOf(b);
    ASSERT_TRUE(std::equal(of_a.begin(), of_a.end(), of_b.begin(), of_b.end())) << "step " << i;
  }
}

/// Calls visit(candidate, question, symmetry) for every algorithm that is symmetric among `size` ranks.
template <typename Visit>
void forEachSymmetric(const Catalogue& catalogue, int size, std::uint64_t bytes, Visit visit) {
  for (const CatalogueEntry& entry : catalogue.entries()) {
    for (int group = entry.algorithm->traits().takes_group ? 2 : 0; group == 0 || group <= size / 2; ++group) {
      Candidate candidate;
      candidate.algorithm = entry.algorithm.get();
      candidate.group_size = group;
      const Question question{entry.collective, 0, false, bytes};
      const PlanRequest request = requestFor(question, candidate, size, 0);
      if (entry.algorithm->supports(request)) {
        const Symmetry symmetry = entry.algorithm->symmetry(request);
        if (symmetry.period > 0) visit(candidate, question, symmetry);
      }
      if (group == 0) break;
    }
  }
}

TEST(Symmetry, IsThatOfTheSchedules) {
  const Catalogue catalogue = collectives::builtinAlgorithms();
  int found = 0;
  for (int size = 1; size <= fullOr(64, 20); ++size) {
    forEachSymmetric(catalogue, size, 64, [&](const Candidate& candidate, const Question& question, Symmetry symmetry) {
      SCOPED_TRACE(testing::Message() << candidate.algorithm->name() << ", " << size << " ranks, groups of "
                                      << candidate.group_size);
      ++found;
      ASSERT_EQ(size % symmetry.period, 0);
      ASSERT_EQ(symmetry.period % symmetry.local, 0);
      for (int rank = 1; rank < size; ++rank) {
        const auto plan = [&](int of) { return candidate.algorithm->plan(requestFor(question, candidate, size, of)); };
        expectAlike(plan(standIn(rank, symmetry)), plan(rank), symmetry);
        if (testing::Test::HasFatalFailure()) return;
      }
    });
  }
  EXPECT_GT(found, fullOr(600, 120));
}

double priceOfAllRanks(const Question& question, const Candidate& candidate, const Links& links) {
  std::vector<Schedule> schedules;
  for (int rank = 0; rank < links.size(); ++rank)
    schedules.push_back(scheduleFor(question, candidate, links, rank).schedule);
  return schedule::simulate(schedules, shapeFor(question, candidate, links.size()), links,
                            optionsFor(question, candidate))
      .value()
      .finish_s;
}

/// Nodes of `node` ranks over a slower network.
Links twoLevels(int size, int node) {
  Links links(size, {25e-6, 1.15e9, 5e-6, 1e12}, {});
  std::vector<int> ranks(static_cast<std::size_t>(node));
  for (int first = 0; first < size; first += node) {
    std::iota(ranks.begin(), ranks.end(), first);
    links.setNode(ranks, {1.15e9, 1.15e9});
    for (const int from : ranks)
      for (const int to : ranks)
        if (from != to) links.setPrice(from, to, {});
  }
  return links;
}

/// `least`: the smallest part of the price that is right.
void expectPriceOfAllRanks(const Links& links, std::uint64_t bytes, std::uint32_t fragments, double least = 1) {
  const Catalogue catalogue = collectives::builtinAlgorithms();
  const int size = links.size();
  forEachSymmetric(catalogue, size, bytes, [&](Candidate candidate, const Question& question, Symmetry) {
    candidate.fragments = fragments;
    candidate.window = kWindow;
    const double all = priceOfAllRanks(question, candidate, links);
    const Result<double> few = priceOver(question, candidate, links);
    ASSERT_TRUE(few.isOk()) << few.status().text();
    EXPECT_LE(few.value(), all * (1 + 1e-6));
    EXPECT_GE(few.value(), all * (least - 1e-6))
        << candidate.algorithm->name() << ", " << size << " ranks, groups of " << candidate.group_size << ", " << bytes
        << " bytes in " << fragments << " fragments";
  });
}

TEST(Symmetry, GivesThePriceOfAllRanks) {
  for (const int size : {2, 3, 6, 8, 15, 16, 32}) {
    if (size > fullOr(32, 8)) break;
    const auto blocks = static_cast<std::uint64_t>(size) * 4096;
    for (const std::string_view name : {"shm", "ucx", "tcp", "wan"}) {
      expectPriceOfAllRanks(Links::builtIn(name, size).value(), blocks, 1);
      expectPriceOfAllRanks(Links::builtIn(name, size).value(), 64 * blocks, 4);
    }
  }
}

// A port that ranks share serves them in their order when all are simulated, which differs from node to node.
TEST(Symmetry, GivesNearlyThePriceOfAllRanksOfNodes) {
  for (const auto& [size, node] : {std::pair(8, 2), {36, 4}, {48, 8}}) {
    if (size > fullOr(48, 8)) break;
    ASSERT_EQ(twoLevels(size, node).period(), node);
    expectPriceOfAllRanks(twoLevels(size, node), static_cast<std::uint64_t>(size) * 4096, 1, 0.7);
    expectPriceOfAllRanks(twoLevels(size, node), static_cast<std::uint64_t>(size) * (64 << 10), 4, 0.8);
  }
}

TEST(Symmetry, LinksThatDifferDoNotRepeat) {
  Links links = twoLevels(12, 4);
  links.setPrice(3, 7, {1e-3, 1e9, 1e-6, 0});
  EXPECT_EQ(links.period(), 12);
  Links ports(8, {}, {});
  const int pair[] = {0, 1};
  ports.setNode(pair, {1e9, 1e9});
  EXPECT_EQ(ports.period(), 8);
  EXPECT_EQ(Links(8, {}, {}).period(), 1);
}

} // namespace
} // namespace goss
