// Codecs of the caller's own, what error feedback leaves for a checkpoint, and what the planner says of codecs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <string>

#include "gossamer/compression.h"
#include "tests/lib/execution/compressed/harness.h"

namespace goss::test {
namespace {

using testing::HasSubstr;

/// Whole numbers in a byte, with a leading byte that must be 7.
std::size_t maxBytes(void*, std::size_t count) { return count + 1; }

std::size_t encode(void* calls, const float* values, std::size_t count, void* payload) {
  if (calls != nullptr) ++*static_cast<int*>(calls);
  auto* to = static_cast<std::int8_t*>(payload);
  to[0] = 7;
  for (std::size_t i = 0; i < count; ++i)
    to[i + 1] = static_cast<std::int8_t>(values[i]);
  return count + 1;
}

int decode(void*, const void* payload, std::size_t bytes, std::size_t count, float* values) {
  const auto* from = static_cast<const std::int8_t*>(payload);
  if (bytes != count + 1 || from[0] != 7) return 1;
  for (std::size_t i = 0; i < count; ++i)
    values[i] = from[i + 1];
  return 0;
}

int decodeNothing(void*, const void*, std::size_t, std::size_t, float*) { return 1; }

TEST(OwnCodec, RunsByItsName) {
  runRanks(4, [](goss_comm_t comm, int rank) {
    int calls = 0;
    const goss_codec_functions whole = {sizeof whole, &calls, 16, maxBytes, encode, decode};
    ASSERT_EQ(goss_codec_register(comm, "whole", &whole), GOSS_SUCCESS) << goss_last_error();
    Floats values(1000, static_cast<float>(rank + 1));
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = "whole";
    ASSERT_EQ(goss_all_reduce(comm, values.data(), values.data(), 1000, GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
              GOSS_SUCCESS)
        << goss_last_error();
    EXPECT_EQ(values, Floats(1000, 10.0f));
    EXPECT_GT(calls, 0);
  });
}

TEST(OwnCodec, TakesErrorFeedback) {
  runRanks(2, [](goss_comm_t comm, int) {
    const goss_codec_functions whole = {sizeof whole, nullptr, 1, maxBytes, encode, decode};
    ASSERT_EQ(goss_codec_register(comm, "whole", &whole), GOSS_SUCCESS);
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = "whole+ef";
    options.tensor = 5;
    float total = 0;
    for (int step = 0; step < 40; ++step) {
      float value = 0.25f; // Cut to nothing each time, without feedback.
      ASSERT_EQ(goss_all_reduce(comm, &value, &value, 1, GOSS_FLOAT32, GOSS_SUM, &options, nullptr), GOSS_SUCCESS);
      total += value;
    }
    EXPECT_NEAR(total, 20.0f, 2.0f);
  });
}

TEST(OwnCodec, ThatFailsFailsTheCall) {
  runRanks(2, [](goss_comm_t comm, int) {
    const goss_codec_functions broken = {sizeof broken, nullptr, 1, maxBytes, encode, decodeNothing};
    ASSERT_EQ(goss_codec_register(comm, "broken", &broken), GOSS_SUCCESS);
    Floats values(10);
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = "broken";
    EXPECT_EQ(goss_all_reduce(comm, values.data(), values.data(), 10, GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
              GOSS_ERR_PROTOCOL);
    EXPECT_THAT(goss_last_error(), HasSubstr("'broken'"));
  });
}

TEST(OwnCodec, NeedsAFreeNameAndAllFunctions) {
  runRanks(1, [](goss_comm_t comm, int) {
    goss_codec_functions whole = {sizeof whole, nullptr, 1, maxBytes, encode, decode};
    for (const char* name : {"int8", "Capital", ""})
      EXPECT_EQ(goss_codec_register(comm, name, &whole), GOSS_ERR_INVALID_ARGUMENT) << name;
    whole.decode = nullptr;
    EXPECT_EQ(goss_codec_register(comm, "whole", &whole), GOSS_ERR_INVALID_ARGUMENT);
  });
}

TEST(CodecState, GoesThroughACheckpoint) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = "topk:ratio=0.05+ef";
    options.tensor = 9;
    const auto step = [&](int number) {
      Floats values = contribution(rank + 10 * number, 2000);
      EXPECT_EQ(goss_all_reduce(comm, values.data(), values.data(), 2000, GOSS_FLOAT32, GOSS_AVG, &options, nullptr),
                GOSS_SUCCESS);
      return values;
    };
    step(1);
    void* bytes = nullptr;
    std::size_t size = 0;
    ASSERT_EQ(goss_codec_state_export(comm, &bytes, &size), GOSS_SUCCESS);
    EXPECT_GT(size, 2000 * sizeof(float));
    const Floats expected = step(2);
    ASSERT_EQ(goss_codec_state_reset(comm, 9), GOSS_SUCCESS);
    EXPECT_NE(step(2), expected) << "nothing is left of step 1";
    ASSERT_EQ(goss_codec_state_import(comm, bytes, size), GOSS_SUCCESS);
    EXPECT_EQ(step(2), expected);
    EXPECT_EQ(goss_codec_state_import(comm, bytes, size - 1), GOSS_ERR_PROTOCOL);
    goss_free(bytes);
  });
}

TEST(CodecState, TellsWhatWasLostAndNothingElse) {
  constexpr std::size_t kCount = 500;
  runRanks(2, [](goss_comm_t comm, int rank) {
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = "topk:ratio=0.1+ef:at=worker";
    options.tensor = 9;
    Floats values = contribution(rank, kCount), lost(kCount, 7.0f);
    const auto read = [&](std::uint64_t tensor) { return goss_codec_state_read(comm, tensor, lost.data(), kCount); };
    EXPECT_EQ(read(9), GOSS_SUCCESS) << goss_last_error();
    EXPECT_EQ(lost, Floats(kCount)) << "nothing is kept yet";
    ASSERT_EQ(goss_all_reduce(comm, values.data(), values.data(), kCount, GOSS_FLOAT32, GOSS_AVG, &options, nullptr),
              GOSS_SUCCESS);
    EXPECT_EQ(read(9), GOSS_SUCCESS) << goss_last_error();
    const Floats own = contribution(rank, kCount);
    std::size_t sent = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      sent += lost[i] == 0 ? 1 : 0;
      EXPECT_TRUE(lost[i] == 0 || lost[i] == own[i]) << i;
    }
    EXPECT_EQ(sent, kCount / 10);
    EXPECT_EQ(read(8), GOSS_SUCCESS);
    EXPECT_EQ(lost, Floats(kCount)) << "another tensor";
    EXPECT_EQ(read(0), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("tensor 0"));
    EXPECT_EQ(goss_codec_state_read(nullptr, 9, lost.data(), kCount), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_codec_state_read(comm, 9, nullptr, kCount), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_codec_state_read(comm, 9, nullptr, 0), GOSS_SUCCESS);
  });
}

TEST(Codecs, AreListed) {
  char* json = nullptr;
  ASSERT_EQ(goss_codecs(&json), GOSS_SUCCESS) << goss_last_error();
  const std::string text = json;
  goss_free(json);
  EXPECT_THAT(text, HasSubstr(R"({"name": "int8", "stage": "values"})"));
  EXPECT_THAT(text, HasSubstr(R"({"name": "topk", "stage": "sparsifier"})"));
  EXPECT_THAT(text, HasSubstr(R"({"name": "ef", "stage": "feedback"})"));
  EXPECT_EQ(goss_codecs(nullptr), GOSS_ERR_INVALID_ARGUMENT);
}

TEST(Explain, PricesACodec) {
  const char* wan = nullptr;
  char* json = nullptr;
  ASSERT_EQ(goss_explain_codec("allreduce", 4, 64 << 20, "int8", wan, &json), GOSS_SUCCESS) << goss_last_error();
  const std::string text = json;
  goss_free(json);
  EXPECT_THAT(text, HasSubstr("\"codec\": \"int8:block=256"));
  EXPECT_THAT(text, HasSubstr("\"algorithm\": \"direct\""));
  EXPECT_THAT(text, testing::Not(HasSubstr("\"algorithm\": \"ring\""))) << "it would encode at every hop";
  EXPECT_EQ(goss_explain_codec("scan", 4, 64, "int8", wan, &json), GOSS_ERR_UNSUPPORTED);
  EXPECT_EQ(goss_explain_codec("allreduce", 4, 64, "int9", wan, &json), GOSS_ERR_INVALID_ARGUMENT);
}

} // namespace
} // namespace goss::test
