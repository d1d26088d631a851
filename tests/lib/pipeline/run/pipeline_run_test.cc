// Pipeline schedules through the C interface: run over communicators of threads, and every way to misuse a call.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <new>
#include <string>
#include <vector>

#include "gossamer/pipeline.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {
namespace {

using ::testing::HasSubstr;

goss_pipeline_t generated(const char* name, int ranks, int micro_batches, int batches = 1) {
  goss_pipeline_request request = GOSS_PIPELINE_REQUEST_INIT;
  request.name = name;
  request.ranks = ranks;
  request.micro_batches = micro_batches;
  request.batches = batches;
  goss_pipeline_t pipeline = nullptr;
  EXPECT_EQ(goss_pipeline_generate(&request, &pipeline), GOSS_SUCCESS) << goss_last_error();
  return pipeline;
}

constexpr std::size_t kBoundary = 40000; // bytes, above what transports send early

/// What micro-batch k looks like behind `stage` stages of the forward pass; gradients are its negatives.
std::uint32_t valueOf(int stage, int k) { return static_cast<std::uint32_t>(1000 * k + stage + 1); }

/// One rank's computations: looks at every input, fills every output.
struct Work {
  int stages = 0;
  std::map<std::pair<int, int>, int> seen; // (kind, stage) -> how often
  int fail_at_micro_batch = -1;
  int throw_at_micro_batch = -1;

  static void fill(void* output, std::uint32_t value) {
    auto* words = static_cast<std::uint32_t*>(output);
    std::fill(words, words + kBoundary / sizeof(std::uint32_t), value);
  }
  static void expectAll(const void* input, std::uint32_t value) {
    const auto* words = static_cast<const std::uint32_t*>(input);
    for (std::size_t i = 0; i < kBoundary / sizeof(std::uint32_t); ++i)
      ASSERT_EQ(words[i], value) << i;
  }

  int run(const goss_pipeline_action& a, const void* input, void* output) {
    ++seen[{a.kind, a.stage}];
    if (a.micro_batch == fail_at_micro_batch && a.kind == GOSS_PIPELINE_FORWARD) return 1;
    if (a.micro_batch == throw_at_micro_batch && a.kind == GOSS_PIPELINE_FORWARD) throw std::bad_alloc();
    const bool is_backward = a.kind == GOSS_PIPELINE_BACKWARD || a.kind == GOSS_PIPELINE_BACKWARD_INPUT;
    if (a.kind == GOSS_PIPELINE_FORWARD) {
      EXPECT_EQ(input == nullptr, a.stage == 0);
      EXPECT_EQ(output == nullptr, a.stage + 1 == stages);
      if (input != nullptr) expectAll(input, valueOf(a.stage - 1, a.micro_batch));
      if (output != nullptr) fill(output, valueOf(a.stage, a.micro_batch));
    } else if (is_backward) {
      EXPECT_EQ(input == nullptr, a.stage + 1 == stages);
      EXPECT_EQ(output == nullptr, a.stage == 0);
      if (input != nullptr) expectAll(input, ~valueOf(a.stage + 1, a.micro_batch));
      if (output != nullptr) fill(output, ~valueOf(a.stage, a.micro_batch));
    } else {
      EXPECT_TRUE(input == nullptr && output == nullptr);
    }
    return 0;
  }
  static int32_t call(void* context, const goss_pipeline_action* action, const void* input, void* output) {
    return static_cast<Work*>(context)->run(*action, input, output);
  }
  goss_pipeline_work c() { return {sizeof(goss_pipeline_work), kBoundary, this, &Work::call, nullptr, nullptr}; }
};

TEST(PipelineRun, EverySchedulePassesItsValuesAlong) {
  for (std::size_t i = 0; goss_pipeline_name(i) != nullptr; ++i) {
    SCOPED_TRACE(goss_pipeline_name(i));
    goss_pipeline_t pipeline = generated(goss_pipeline_name(i), 3, 6, 2);
    ASSERT_NE(pipeline, nullptr);
    std::int32_t stages = 0;
    std::int32_t micro_batches = 0;
    ASSERT_EQ(goss_pipeline_size(pipeline, nullptr, &stages, &micro_batches), GOSS_SUCCESS);
    EXPECT_EQ(micro_batches, 12);
    runRanks(3, [&](goss_comm_t comm, int rank) {
      Work work;
      work.stages = stages;
      const goss_pipeline_work c = work.c();
      ASSERT_EQ(goss_pipeline_run(pipeline, comm, &c), GOSS_SUCCESS) << goss_last_error();
      for (int stage = 0; stage < stages; ++stage) {
        std::int32_t owner = -1;
        ASSERT_EQ(goss_pipeline_stage_rank(pipeline, stage, &owner), GOSS_SUCCESS);
        EXPECT_EQ((work.seen[{GOSS_PIPELINE_FORWARD, stage}]), owner == rank ? 12 : 0);
      }
    });
    goss_pipeline_destroy(pipeline);
  }
}

TEST(PipelineRun, WorkOverSharedMemoryAndTcp) {
  for (const char* transport : {"shm", "tcp"}) {
    RanksSetup setup;
    setup.ranks = 4;
    setup.transport = transport;
    goss_pipeline_t pipeline = generated("zb-v", 4, 8);
    runRanks(setup, [&](goss_comm_t comm, int) {
      Work work;
      work.stages = 8;
      const goss_pipeline_work c = work.c();
      EXPECT_EQ(goss_pipeline_run(pipeline, comm, &c), GOSS_SUCCESS) << goss_last_error();
    });
    goss_pipeline_destroy(pipeline);
  }
}

TEST(PipelineRun, ARankThatGivesUpLeavesNobodyWaiting) {
  goss_pipeline_t pipeline = generated("1f1b", 3, 6);
  runRanks(3, [&](goss_comm_t comm, int rank) {
    Work work;
    work.stages = 3;
    if (rank == 1) work.fail_at_micro_batch = 2;
    const goss_pipeline_work c = work.c();
    EXPECT_EQ(goss_pipeline_run(pipeline, comm, &c), GOSS_ERR_ABORTED);
    EXPECT_THAT(goss_last_error(), HasSubstr("rank 1 gave up at 1F2"));
  });
  goss_pipeline_destroy(pipeline);
}

TEST(PipelineRun, ARankThatRunsOutOfMemoryLeavesNobodyWaiting) {
  goss_pipeline_t pipeline = generated("1f1b", 3, 6);
  runRanks(3, [&](goss_comm_t comm, int rank) {
    Work work;
    work.stages = 3;
    if (rank == 1) work.throw_at_micro_batch = 2;
    const goss_pipeline_work c = work.c();
    EXPECT_EQ(goss_pipeline_run(pipeline, comm, &c), rank == 1 ? GOSS_ERR_RESOURCE : GOSS_ERR_ABORTED);
    EXPECT_THAT(goss_last_error(), HasSubstr("rank 1 is out of memory"));
  });
  goss_pipeline_destroy(pipeline);
}

TEST(PipelineRun, ACommunicatorOfAnotherSizeIsRefused) {
  goss_pipeline_t pipeline = generated("1f1b", 3, 6);
  runRanks(2, [&](goss_comm_t comm, int) {
    Work work;
    const goss_pipeline_work c = work.c();
    EXPECT_EQ(goss_pipeline_run(pipeline, comm, &c), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("the schedule has 3 ranks, the communicator 2"));
  });
  goss_pipeline_destroy(pipeline);
}

std::string taken(char* text) {
  std::string result = text;
  goss_free(text);
  return result;
}

TEST(PipelineCalls, WriteReadPriceAndDraw) {
  goss_pipeline_t pipeline = generated("zb-h1", 4, 8);
  ASSERT_EQ(goss_pipeline_check(pipeline, 4, 1), GOSS_SUCCESS);
  EXPECT_EQ(goss_pipeline_check(pipeline, 3, 0), GOSS_ERR_INVALID_ARGUMENT);
  char* text = nullptr;
  ASSERT_EQ(goss_pipeline_write(pipeline, 1, &text), GOSS_SUCCESS);
  const std::string csv = taken(text);
  goss_pipeline_t again = nullptr;
  ASSERT_EQ(goss_pipeline_read(csv.c_str(), &again), GOSS_SUCCESS) << goss_last_error();
  ASSERT_EQ(goss_pipeline_write(again, 1, &text), GOSS_SUCCESS);
  EXPECT_EQ(taken(text), csv);
  ASSERT_EQ(goss_pipeline_simulate(again, nullptr, &text), GOSS_SUCCESS);
  EXPECT_THAT(taken(text), HasSubstr("\"makespan_s\": 27, \"bubble_s\": 3"));
  goss_pipeline_costs costs = GOSS_PIPELINE_COSTS_INIT;
  const double times[4][3] = {{2, 2, 2}, {2, 2, 2}, {2, 2, 2}, {2, 2, 2}};
  costs.stage_times_s = &times[0][0];
  ASSERT_EQ(goss_pipeline_simulate(again, &costs, &text), GOSS_SUCCESS);
  EXPECT_THAT(taken(text), HasSubstr("\"makespan_s\": 54, \"bubble_s\": 6"));
  ASSERT_EQ(goss_pipeline_draw(again, nullptr, 0, &text), GOSS_SUCCESS);
  EXPECT_THAT(taken(text), HasSubstr("rank 0   F0 F1 F2 F3 "));
  ASSERT_EQ(goss_pipeline_draw(again, nullptr, 1, &text), GOSS_SUCCESS);
  EXPECT_THAT(taken(text), HasSubstr("<svg "));
  const goss_pipeline_action* actions = nullptr;
  std::size_t count = 0;
  ASSERT_EQ(goss_pipeline_actions(again, 3, &actions, &count), GOSS_SUCCESS);
  EXPECT_EQ(actions[count - 1].kind, GOSS_PIPELINE_STEP);
  EXPECT_EQ(actions[count - 1].version, 1);
  goss_pipeline_destroy(pipeline);
  goss_pipeline_destroy(again);
}

TEST(PipelineCalls, MisuseIsRefusedAndNamed) {
  goss_pipeline_t pipeline = generated("1f1b", 2, 2);
  goss_pipeline_t made = nullptr;
  goss_pipeline_request request = GOSS_PIPELINE_REQUEST_INIT;
  char* text = nullptr;
  const goss_pipeline_action* actions = nullptr;
  std::size_t count = 0;
  std::int32_t rank = 0;
  goss_pipeline_costs costs = GOSS_PIPELINE_COSTS_INIT;
  const auto expectRefused = [](goss_status status, const char* says) {
    EXPECT_EQ(status, GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr(says));
  };
  expectRefused(goss_pipeline_generate(nullptr, &made), "request is NULL");
  expectRefused(goss_pipeline_generate(&request, nullptr), "must not be NULL");
  request.name = "nonsense";
  expectRefused(goss_pipeline_generate(&request, &made), "no pipeline schedule 'nonsense'");
  request.size = 1;
  expectRefused(goss_pipeline_generate(&request, &made), "request.size is 1; start from its initialiser");
  expectRefused(goss_pipeline_read("0F0,what", &made), "'what'");
  expectRefused(goss_pipeline_read(nullptr, &made), "must not be NULL");
  EXPECT_EQ(made, nullptr);
  expectRefused(goss_pipeline_write(nullptr, 0, &text), "must not be NULL");
  expectRefused(goss_pipeline_size(nullptr, &rank, nullptr, nullptr), "is NULL");
  expectRefused(goss_pipeline_stage_rank(pipeline, 2, &rank), "no stage 2");
  expectRefused(goss_pipeline_actions(pipeline, -1, &actions, &count), "no rank -1");
  expectRefused(goss_pipeline_check(nullptr, 0, 0), "is NULL");
  expectRefused(goss_pipeline_check(pipeline, -1, 0), "negative");
  costs.forward_s = -1;
  expectRefused(goss_pipeline_simulate(pipeline, &costs, &text), "not negative");
  costs.size = 3;
  expectRefused(goss_pipeline_draw(pipeline, &costs, 0, &text), "costs.size");
  expectRefused(goss_pipeline_draw(nullptr, nullptr, 0, &text), "is NULL");
  expectRefused(goss_pipeline_run(pipeline, nullptr, nullptr), "the communicator is NULL");
  EXPECT_EQ(text, nullptr);
  EXPECT_EQ(goss_pipeline_destroy(nullptr), GOSS_SUCCESS);
  goss_pipeline_destroy(pipeline);
}

TEST(PipelineCodec, MisuseIsRefusedAndLeavesNobodyWaiting) {
  goss_pipeline_t pipeline = generated("1f1b", 2, 4);
  runRanks(2, [&](goss_comm_t comm, int) {
    const auto expectRefused = [](goss_status status, const char* says) {
      EXPECT_EQ(status, GOSS_ERR_INVALID_ARGUMENT);
      EXPECT_THAT(goss_last_error(), HasSubstr(says));
    };
    goss_pipeline_codec_t codec = nullptr;
    goss_pipeline_codec_request request = GOSS_PIPELINE_CODEC_REQUEST_INIT;
    expectRefused(goss_pipeline_codec_create(comm, nullptr, &codec), "request is NULL");
    expectRefused(goss_pipeline_codec_create(comm, &request, &codec), "at least one element");
    request.sample_elems = 100;
    request.deltas = 1;
    expectRefused(goss_pipeline_codec_create(comm, &request, &codec), "deltas a forward codec");
    request.forward = "int8+ef";
    expectRefused(goss_pipeline_codec_create(comm, &request, &codec), "keeps feedback");
    request.forward = "int8";
    request.cache_directory = "/dev/null/nowhere";
    EXPECT_EQ(goss_pipeline_codec_create(comm, &request, &codec), GOSS_ERR_RESOURCE);
    EXPECT_THAT(goss_last_error(), HasSubstr("/dev/null/nowhere"));
    EXPECT_EQ(codec, nullptr);
    request.cache_directory = nullptr;
    request.sample_elems = 3000; // kBoundary is 3 and a third of these
    ASSERT_EQ(goss_pipeline_codec_create(comm, &request, &codec), GOSS_SUCCESS) << goss_last_error();
    Work work;
    work.stages = 2;
    goss_pipeline_work c = work.c();
    c.codec = codec;
    expectRefused(goss_pipeline_run(pipeline, comm, &c), "needs work.sample");
    c.sample = [](void*, std::int32_t micro_batch, std::size_t) { return static_cast<std::uint64_t>(micro_batch); };
    expectRefused(goss_pipeline_run(pipeline, comm, &c), "no whole samples of 3000 floats");
    void* bytes = nullptr;
    std::size_t size = 0;
    expectRefused(goss_pipeline_codec_export(nullptr, &bytes, &size), "must not be NULL");
    expectRefused(goss_pipeline_codec_import(codec, nullptr, 0), "must not be NULL");
    EXPECT_EQ(goss_pipeline_codec_import(codec, "x", 1), GOSS_ERR_PROTOCOL);
    EXPECT_THAT(goss_last_error(), HasSubstr("no exported activations: too short"));
    EXPECT_EQ(goss_pipeline_codec_destroy(codec), GOSS_SUCCESS);
  });
  EXPECT_EQ(goss_pipeline_codec_destroy(nullptr), GOSS_SUCCESS);
  goss_pipeline_destroy(pipeline);
}

/// Stages that pass small whole numbers on, which 8 bits and a scale say exactly enough to be told apart.
struct Counting {
  static constexpr std::size_t kElems = 256;

  int run(const goss_pipeline_action& a, const void* input, void* output) const {
    if (a.kind != GOSS_PIPELINE_FORWARD && a.kind != GOSS_PIPELINE_BACKWARD) return 0;
    const auto* in = static_cast<const float*>(input);
    const auto expected = static_cast<float>(a.micro_batch + 1);
    for (std::size_t i = 0; in != nullptr && i < kElems; ++i)
      EXPECT_NEAR(in[i], expected, expected / 254 * 1.01f); // half a level of int8, as peak and value are equal
    if (output != nullptr) std::fill_n(static_cast<float*>(output), kElems, expected);
    return 0;
  }
};

TEST(PipelineCodec, CompressesOverSharedMemoryAndTcp) {
  for (const char* transport : {"shm", "tcp"}) {
    SCOPED_TRACE(transport);
    RanksSetup setup;
    setup.ranks = 3;
    setup.transport = transport;
    goss_pipeline_t pipeline = generated("1f1b", 3, 6);
    runRanks(setup, [&](goss_comm_t comm, int) {
      goss_pipeline_codec_t codec = nullptr;
      goss_pipeline_codec_request request = GOSS_PIPELINE_CODEC_REQUEST_INIT;
      request.sample_elems = Counting::kElems;
      request.forward = request.backward = "int8";
      request.deltas = 1;
      ASSERT_EQ(goss_pipeline_codec_create(comm, &request, &codec), GOSS_SUCCESS) << goss_last_error();
      Counting counting;
      const goss_pipeline_work c{
          sizeof(goss_pipeline_work),
          Counting::kElems * sizeof(float),
          &counting,
          [](void* context, const goss_pipeline_action* action, const void* input, void* output) -> std::int32_t {
            return static_cast<Counting*>(context)->run(*action, input, output);
          },
          codec,
          [](void*, std::int32_t micro_batch, std::size_t) { return static_cast<std::uint64_t>(micro_batch); }};
      for (int epoch = 0; epoch < 2; ++epoch) // the second sends changes only
        EXPECT_EQ(goss_pipeline_run(pipeline, comm, &c), GOSS_SUCCESS) << goss_last_error();
      goss_pipeline_codec_destroy(codec);
    });
    goss_pipeline_destroy(pipeline);
  }
}

} // namespace
} // namespace goss::test
