// The properties of a pair of codecs for the collective that uses it.
#include "call/codec_pair.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "capi/user_codec.h"
#include "schedule/layout.h"

namespace goss {
namespace {

std::shared_ptr<const Codec> plainCodec(const std::string& name, std::size_t block) {
  goss_codec_functions functions{};
  functions.size = sizeof functions;
  functions.block = block;
  functions.max_bytes = [](void*, std::size_t count) { return count * sizeof(float); };
  functions.encode = [](void*, const float* values, std::size_t count, void* payload) {
    std::memcpy(payload, values, count * sizeof(float));
    return count * sizeof(float);
  };
  functions.decode = [](void*, const void* payload, std::size_t bytes, std::size_t count, float* values) {
    if (bytes != count * sizeof(float)) return 1;
    std::memcpy(values, payload, bytes);
    return 0;
  };
  return std::make_shared<UserCodec>(name, functions);
}

TEST(CodecPair, CutsWhereBothCodecsBeginABlock) {
  CodecRegistry registry;
  ASSERT_TRUE(registry.add("six", plainCodec("six", 6)).isOk());
  ASSERT_TRUE(registry.add("four", plainCodec("four", 4)).isOk());
  EXPECT_EQ(registry.find("six", "four").value()->alignElems(), 12u);
  EXPECT_EQ(registry.find("four", "six").value()->alignElems(), 12u);
  EXPECT_EQ(registry.find("six", "topk").value()->alignElems(), 6u) << "which has no blocks";
  EXPECT_EQ(registry.find("int8:block=256", "int4:block=128").value()->alignElems(), 256u);
}

TEST(CodecPair, ChunksOfLargeVectorsKeepToOddBlocks) {
  Schedule schedule;
  schedule.size = 7;
  schedule.collective = Collective::allReduce;
  schedule.chunk_count = 7;
  schedule::Shape shape;
  shape.element_bytes = 4;
  shape.count = 1000003;
  shape.align_elems = 12;
  const schedule::Layout layout(schedule, shape);
  for (std::uint32_t chunk = 0; chunk < 7; ++chunk)
    EXPECT_EQ(layout.inputChunk(chunk).offset_elems % 12, 0u) << chunk;
}

TEST(CodecPair, AddsPayloadsWhereNothingIsLost) {
  CodecRegistry registry;
  const auto adds = [&](const char* spec, int ranks, const char* back = "") {
    return registry.find(spec, back).value()->addsPayloads(ranks);
  };
  EXPECT_TRUE(adds("randk:ratio=0.1", 64));
  EXPECT_TRUE(adds("randk:ratio=0.1+ef", 64));
  EXPECT_TRUE(adds("terngrad:clip=0,scale=1,ranks=7", 7));
  EXPECT_FALSE(adds("terngrad:clip=0,scale=1,ranks=7", 8)) << "they would not fit the words";
  EXPECT_FALSE(adds("terngrad", 2)) << "each has a scale of its own";
  EXPECT_FALSE(adds("fp16", 2)) << "each addition would round";
  EXPECT_FALSE(adds("randk:ratio=0.1+fp16", 2));
  EXPECT_FALSE(adds("randk:ratio=0.1", 2, "int8"));
  EXPECT_FALSE(adds("int8", 2));
}

TEST(CodecPair, RefusesAWayBackForCodecsWithPhases) {
  CodecRegistry registry;
  EXPECT_TRUE(registry.find("powersgd", "").isOk());
  EXPECT_TRUE(registry.find("powersgd", "powersgd").isOk());
  EXPECT_EQ(registry.find("powersgd", "int8").status().kind(), GOSS_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(registry.find("int8", "powersgd").status().text(), testing::HasSubstr("return_codec"));
}

TEST(CodecPair, RefusesWhatWouldKeepNothing) {
  CodecRegistry registry;
  struct Pair {
    const char* there;
    const char* back;
    const char* why; ///< Null: the pair is accepted.
  };
  for (const Pair& pair :
       {Pair{"powersgd+ef:at=server", "", "at=server"}, Pair{"terngrad:agree=max+loco:at=server", "", "at=server"},
        Pair{"powersgd+ef:at=worker", "", nullptr}, Pair{"powersgd+ef", "", nullptr}, Pair{"int8", "dgc", "momentum"},
        Pair{"dgc", "int8", "momentum"}, Pair{"dgc", "dgc", nullptr}, Pair{"dgc", "", nullptr},
        Pair{"int8+ef:at=server", "int4", "at=server"}, Pair{"int8", "int4+ef:at=worker", "at=worker"},
        Pair{"int8+ef:at=worker", "int4+ef:at=server", nullptr}, Pair{"int8+ef:at=server", "", nullptr},
        Pair{"int8+ef", "int4+ef", nullptr}}) {
    const auto found = registry.find(pair.there, pair.back);
    EXPECT_EQ(found.isOk(), pair.why == nullptr) << pair.there << " " << pair.back;
    if (pair.why == nullptr) continue;
    EXPECT_EQ(found.status().kind(), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(found.status().text(), testing::HasSubstr(pair.why));
  }
}

} // namespace
} // namespace goss
