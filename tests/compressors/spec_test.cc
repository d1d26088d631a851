/// Spec strings: what is read, and what is refused with which words.
#include <gtest/gtest.h>

#include "compressors/chain.h"
#include "compressors/spec.h"

namespace goss::compressors {
namespace {

TEST(Spec, ReadsStagesAndParameters) {
  const auto parsed = parseSpec("topk:ratio=0.01+int4:block=128,mode=minmax+ef");
  ASSERT_TRUE(parsed.isOk());
  ASSERT_EQ(parsed.value().size(), 3u);
  EXPECT_EQ(parsed.value()[0].name, "topk");
  EXPECT_EQ(parsed.value()[1].parameters[1].key, "mode");
  EXPECT_EQ(parsed.value()[1].parameters[1].value, "minmax");
  EXPECT_TRUE(parsed.value()[2].parameters.empty());
}

TEST(Spec, SaysTheCanonicalForm) {
  const auto made = makeCompression("int8+ef");
  ASSERT_TRUE(made.isOk());
  EXPECT_EQ(made.value().spec, "int8:block=256,mode=symmetric,round=nearest+ef:decay=1,at=both");
  EXPECT_TRUE(made.value().feedback.worker);
  EXPECT_TRUE(made.value().feedback.server);
  const auto worker = makeCompression("int4:block=64+ef:decay=0.5,at=worker");
  ASSERT_TRUE(worker.isOk());
  EXPECT_FALSE(worker.value().feedback.server);
  EXPECT_EQ(worker.value().feedback.decay, 0.5f);
}

struct Refusal {
  const char* spec;
  const char* words;
};

TEST(Spec, RefusesWithTheReason) {
  const Refusal refusals[] = {
      {"", "is no stage"},
      {"int8+", "is no stage"},
      {"Int8", "is no stage"},
      {"int8:", "is no parameter"},
      {"int8:block", "is no parameter"},
      {"int8:block=", "is no parameter"},
      {"int8:block=1=2", "is no parameter"},
      {"int8:block=64,block=64", "given twice"},
      {"int8:block=48", "no power of two"},
      {"int8:block=16", "no number from"},
      {"int8:block=1e999", "no number from"},
      {"int8:block=32.5", "no whole number"},
      {"int8:block=64x", "no number from"},
      {"int8:mode=other", "none of: symmetric, minmax"},
      {"int8:width=3", "has no parameter 'width'; it has: block, mode, round"},
      {"zip", "unknown here; this build has: "},
      {"topk+ef21", "is a synchronizer, ef21:codec=SPEC"},
      {"int8+int4", "may follow"},
      {"int8+ef+ef", "unknown"},
      {"topk:ratio=0", "no number from"},
      {"int8+topk", "may follow"},
      {"topk+powersgd", "stands alone"},
      {"dct:chunk=8,keep=9", "more than a chunk has"},
      {"terngrad:scale=1,agree=max", "agree on a scale"},
      {"cocktail:mask=0.1", "stands for 'randk"},
      {"int8+ef:decay=2", "no number from"},
      {"int8+ef:at=home", "none of: both"},
  };
  for (const Refusal& refusal : refusals) {
    const auto made = makeCompression(refusal.spec);
    ASSERT_FALSE(made.isOk()) << refusal.spec;
    EXPECT_EQ(made.status().kind(), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_NE(made.status().text().find(refusal.words), std::string::npos)
        << refusal.spec << ": " << made.status().text();
  }
}

} // namespace
} // namespace goss::compressors
