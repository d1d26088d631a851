// Everything that goss-train can be told to do, with the model in memory that the host cannot touch: the same bits.
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/trainer/far_ops.h"
#include "tests/trainer/pipeline/pipeline_runs.h"

namespace goss::trainer {
namespace {

TEST(FarMemory, EverySynchronizerGoesThroughTheHost) {
  for (const char* sync : {"ddp", "ddp:codec=int8", "diloco:h=2,codec=int4",
                           "streaming:h=4,fragments=2,tau=1,alpha=0.5", "demo", "diloco:h=2,islands=2", "dpsgd"}) {
    SCOPED_TRACE(sync);
    TrainOptions options = withoutPipeline(pipelineOptions(0, ""));
    options.sync = sync;
    expectSameRun(runCopies<FarOps>(2, options), runCopies(2, options));
  }
}

TEST(FarMemory, PipelinesAddTheirGradientsAndMeetThroughTheHost) {
  for (const char* schedule : {"1f1b", "zb-v", "2bw"}) {
    SCOPED_TRACE(schedule);
    TrainOptions options = pipelineOptions(2, schedule);
    options.clip = 0;
    options.recompute = true;
    options.sample = 3;
    expectSameRun(runPipeline<FarOps>(4, options), runPipeline(4, options)); // two pipelines
  }
  TrainOptions options = pipelineOptions(2, "1f1b");
  options.sync = "dpsgd";
  expectSameRun(runPipeline<FarOps>(4, options), runPipeline(4, options));
  options = pipelineOptions(2, "zb-h1");
  options.sync = "diloco:h=2,codec=int8";
  options.islands = 2;
  options.activation_codec = "int8";
  options.gradient_codec = "int8";
  expectSameRun(runPipeline<FarOps>(4, options), runPipeline(4, options));
}

} // namespace
} // namespace goss::trainer
