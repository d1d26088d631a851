// Prices that follow from what transfers have carried.
#include "planner/observed_links.h"

#include <gtest/gtest.h>

namespace goss {
namespace {

using schedule::Links;

constexpr double kMegabyte = 1e6;

Links far(int size) { return Links(size, {0.05, 100 * kMegabyte, 0, 0}); }

/// Each rank sends for a second, as fast as `rates` in MB/s say; 0: nothing.
std::vector<ObservedFlow> second(const std::vector<std::vector<double>>& rates) {
  std::vector<ObservedFlow> flows;
  for (const auto& row : rates)
    for (const double rate : row)
      flows.push_back({static_cast<std::uint64_t>(rate * kMegabyte), rate > 0 ? 1.0 + 0.1 : 0.0}); // and a round trip
  return flows;
}

double rateOf(const ObservedLinks& observed, int from, int to) {
  return ObservedLinks::decode(observed.encode(far(3)), far(3))->price(from, to).bandwidth_bytes_per_s / kMegabyte;
}

TEST(ObservedLinks, ArePathsOfTheirOwnWhereTheyDiffer) {
  ObservedLinks observed(3);
  observed.add(second({{0, 10, 40}, {10, 0, 20}, {40, 20, 0}}), far(3));
  const auto links = ObservedLinks::decode(observed.encode(far(3)), far(3));
  ASSERT_TRUE(links.has_value());
  EXPECT_NEAR(links->price(0, 1).bandwidth_bytes_per_s, 10 * kMegabyte, 0.2 * kMegabyte);
  EXPECT_NEAR(links->price(2, 0).bandwidth_bytes_per_s, 40 * kMegabyte, 0.5 * kMegabyte);
  EXPECT_EQ(links->price(2, 0).latency_s, 0.05);
  EXPECT_NEAR(links->node(links->nodeOf(1)).up_bytes_per_s, 30 * kMegabyte, kMegabyte);
}

TEST(ObservedLinks, ShareALineThatIsNoFasterThanOneOfThem) {
  ObservedLinks observed(3);
  observed.add(second({{0, 12, 12}, {12, 0, 12}, {12, 12, 0}}), far(3));
  EXPECT_NEAR(rateOf(observed, 0, 1), 12, 0.2);
  observed.add(second({{0, 24, 0}, {0, 0, 24}, {24, 0, 0}}), far(3)); // A ring: one flow alone on each line.
  const auto links = ObservedLinks::decode(observed.encode(far(3)), far(3));
  ASSERT_TRUE(links.has_value());
  EXPECT_NEAR(links->node(links->nodeOf(0)).up_bytes_per_s, 24 * kMegabyte, kMegabyte);
  EXPECT_NEAR(links->price(1, 0).bandwidth_bytes_per_s, 24 * kMegabyte, kMegabyte) << "never alone, but of that line";
}

TEST(ObservedLinks, AreEqualWhereTheyDifferByNoiseAlone) {
  ObservedLinks observed(3);
  observed.add(second({{0, 11, 12}, {12, 0, 13}, {12, 11, 0}}), far(3));
  auto links = ObservedLinks::decode(observed.encode(far(3)), far(3));
  ASSERT_TRUE(links.has_value());
  EXPECT_TRUE(links->uniform());
  EXPECT_NEAR(links->price(0, 1).bandwidth_bytes_per_s, 12 * kMegabyte, 0.3 * kMegabyte);
  EXPECT_EQ(links->node(links->nodeOf(0)).up_bytes_per_s, 0) << "no line is known";
  observed.add(second({{0, 21, 0}, {0, 0, 24}, {22, 0, 0}}), far(3)); // A ring: one flow alone on each line.
  links = ObservedLinks::decode(observed.encode(far(3)), far(3));
  ASSERT_TRUE(links.has_value());
  EXPECT_TRUE(links->uniform()) << "so that direct exchanges are paced";
  EXPECT_NEAR(links->node(links->nodeOf(0)).up_bytes_per_s, 24 * kMegabyte, 2 * kMegabyte);
  Links unequal = far(3);
  unequal.setPrice(0, 1, {0.1, 100 * kMegabyte, 0, 0});
  EXPECT_FALSE(ObservedLinks::decode(observed.encode(unequal), unequal)->uniform());
}

TEST(ObservedLinks, FollowLinksThatChange) {
  ObservedLinks observed(3);
  observed.add(second({{0, 20, 20}, {20, 0, 20}, {20, 20, 0}}), far(3));
  observed.add(second({{0, 2, 2}, {2, 0, 2}, {2, 2, 0}}), far(3));
  EXPECT_NEAR(rateOf(observed, 0, 1), 20, 0.5) << "the highest of a comparison";
  observed.age();
  observed.add(second({{0, 2, 2}, {2, 0, 2}, {2, 2, 0}}), far(3));
  EXPECT_NEAR(rateOf(observed, 0, 1), 2, 0.1);
}

TEST(ObservedLinks, SayNothingBeforeEveryPathIsKnown) {
  ObservedLinks observed(3);
  observed.add(second({{0, 20, 0}, {0, 0, 20}, {20, 0, 0}}), far(3));
  EXPECT_EQ(observed.encode(far(3)), "");
}

TEST(ObservedLinks, BytesThatMakeNoSenseAreRefused) {
  ObservedLinks observed(3);
  observed.add(second({{0, 10, 40}, {10, 0, 20}, {40, 20, 0}}), far(3));
  const std::string bytes = observed.encode(far(3));
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(ObservedLinks::decode(bytes.substr(0, size), far(3)).has_value()) << size;
  EXPECT_FALSE(ObservedLinks::decode(bytes, far(4)).has_value());
  EXPECT_FALSE(ObservedLinks::decode(bytes + '\0', far(3)).has_value());
  EXPECT_FALSE(ObservedLinks::decode(std::string(bytes.size(), '\0'), far(3)).has_value());
}

} // namespace
} // namespace goss
