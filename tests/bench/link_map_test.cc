// What goss-links shows of a link file.
#include "bench/links/link_map.h"

#include <gtest/gtest.h>

namespace goss::bench {
namespace {

constexpr const char* kText =
    "gossamer-links 1\n"
    "# Measured: half a round trip; bytes per second, both ways at the same time.\n"
    "# The link between rank 1 and rank 2 is relayed by rank 0.\n"
    "# The rate from rank 0 to rank 1 varied by 45 % while it was measured.\n"
    "# The line out of rank 0 is shared: together its links had 34 % of their rates alone, and varied by 9 %.\n"
    "reduce 14000000000B/s\n"
    "node 0 up 24MB/s\n"
    "node 1,2 up 30MB/s down 31MB/s\n"
    "pair 0 -> 1 latency 35000us bandwidth 24MB/s overhead 20us eager 268435456B\n"
    "pair 1 -> 0 latency 35000us bandwidth 2.5MB/s overhead 20us eager 268435456B sender 1MB/s\n"
    "pair 0 -> 9 latency 1us bandwidth 1MB/s\n"
    "pair 2 -> 1\n"
    "pair 1 -> 2 latency 0.6us bandwidth 10000MB/s overhead 0.1us eager 1048576B\n";

TEST(LinkMap, HoldsWhatTheFileSays) {
  const LinkMap map(kText, {"a", "b", "c"});
  EXPECT_DOUBLE_EQ(map.link(0, 1).latency_s, 0.035);
  EXPECT_DOUBLE_EQ(map.link(0, 1).bytes_per_s, 24e6);
  EXPECT_EQ(map.link(0, 1).varied_percent, 45);
  EXPECT_DOUBLE_EQ(map.link(1, 0).bytes_per_s, 2.5e6);
  EXPECT_EQ(map.link(1, 0).varied_percent, 0);
  EXPECT_TRUE(map.link(1, 2).relayed);
  EXPECT_TRUE(map.link(2, 1).relayed);
  EXPECT_FALSE(map.link(0, 1).relayed);
  EXPECT_EQ(map.link(2, 1).bytes_per_s, 0);
  ASSERT_EQ(map.lines().size(), 2U);
  EXPECT_EQ(map.lines()[0].down_bytes_per_s, 0);
  EXPECT_EQ(map.lines()[1].ranks, (std::vector<int>{1, 2}));
  EXPECT_DOUBLE_EQ(map.lines()[1].down_bytes_per_s, 31e6);
}

TEST(LinkMap, IsShownWithWhatIsDoubtful) {
  const LinkMap map(kText, {"a<b", "b", "c"});
  const std::string table = map.table();
  EXPECT_NE(table.find("70 ms, 24 MB/s*"), std::string::npos) << table;
  EXPECT_NE(table.find("varied by 45 %"), std::string::npos) << table;
  EXPECT_NE(table.find("\nThe line out of rank 0 is shared"), std::string::npos) << table;
  EXPECT_NE(table.find("1.2 us, 10 GB/s~"), std::string::npos) << table;
  EXPECT_NE(table.find("rank 0 together: up at most 24 MB/s, down at most ?"), std::string::npos) << table;
  const std::string svg = map.svg();
  EXPECT_NE(svg.find("a&lt;b"), std::string::npos);
  EXPECT_EQ(svg.find("a<b"), std::string::npos);
}

} // namespace
} // namespace goss::bench
