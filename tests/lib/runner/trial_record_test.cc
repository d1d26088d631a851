// What comparisons of plans have found.
#include "runner/trial_record.h"

#include <gtest/gtest.h>

#include <string>

namespace goss {
namespace {

TEST(TrialRecord, CountsWhatItDrops) {
  TrialRecord record;
  for (std::uint64_t call = 0; call < TrialRecord::kMaxFindings + 10; ++call)
    record.add({1 << 20, call, "direct", "ring", 1, 2, call % 2 == 0});
  EXPECT_EQ(record.tried(), TrialRecord::kMaxFindings + 10);
  EXPECT_EQ(record.adopted(), TrialRecord::kMaxFindings / 2 + 5);
  EXPECT_EQ(record.findings().size(), TrialRecord::kMaxFindings);
  EXPECT_EQ(record.findings().front().call, 10u);
}

TEST(TrialRecord, FindingsTravel) {
  const TrialFinding sent{0, 0, "direct", "ring", 0.25, 1.5, true};
  base::WireWriter writer;
  sent.write(writer);
  const std::string bytes = writer.take();
  base::WireReader reader(bytes);
  const TrialFinding read = TrialFinding::read(reader);
  EXPECT_TRUE(reader.complete());
  EXPECT_EQ(read.tried, "direct");
  EXPECT_EQ(read.against, "ring");
  EXPECT_NEAR(read.tried_s, 0.25, 1e-6);
  EXPECT_NEAR(read.against_s, 1.5, 1e-6);
  EXPECT_TRUE(read.adopted);
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    base::WireReader cut(std::string_view(bytes).substr(0, size));
    TrialFinding::read(cut);
    EXPECT_FALSE(cut.complete()) << size;
  }
}

} // namespace
} // namespace goss
