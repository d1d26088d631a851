/// Small runs of pipelines whose ranks are threads.
#ifndef GOSS_TESTS_TRAINER_PIPELINE_PIPELINE_RUNS_H_
#define GOSS_TESTS_TRAINER_PIPELINE_PIPELINE_RUNS_H_

#include <cstdlib>
#include <string>

#include "tests/support/quick.h"
#include "tests/support/thread_ranks.h"
#include "tests/trainer/library_group.h"
#include "tests/trainer/small_run.h"
#include "trainer/pipeline/pipeline_engine.h"

namespace goss::trainer {

inline TrainOptions pipelineOptions(std::size_t pipeline, const std::string& schedule) {
  TrainOptions options = smallOptions(test::fullOr(5u, 2u));
  options.model.layers = 4;
  options.pipeline = pipeline;
  options.schedule = schedule;
  return options;
}

inline TrainOptions withoutPipeline(TrainOptions options) {
  options.pipeline = 0;
  options.schedule = TrainOptions().schedule;
  options.micro_batches = 0;
  options.recompute = false;
  return options;
}

/// Trains on `ranks` threads, each with a backend of its own, and gives what rank 0 has in the end.
template <typename Backend = CpuOps>
RunResult runPipeline(int ranks, const TrainOptions& options) {
  ThreadBoard board(ranks, SumOrder::tree);
  RunResult result;
  test::runRanks(ranks, [&](goss_comm_t comm, int rank) {
    try {
      ThreadGroup group(board, rank);
      Backend ops;
      Report report(false, "");
      PipelineEngine engine(options, smallData(), {group, comm}, ops, report);
      TrainingLoop loop(engine);
      loop.run();
      const double validation = engine.validationLoss();
      TrainingState state = engine.state();
      if (rank == 0) result = {loop.lossHistory(), validation, std::move(state)};
      group.barrier();
    } catch (const std::exception& error) {
      ADD_FAILURE() << "rank " << rank << ": " << error.what();
      std::abort(); // the other threads wait at a barrier
    }
  });
  return result;
}

/// Trains the whole model on each of `ranks` threads and gives what rank 0 has in the end.
template <typename Backend = CpuOps>
RunResult runCopies(int ranks, const TrainOptions& options) {
  ThreadBoard board(ranks, SumOrder::tree);
  RunResult result;
  test::runRanks(ranks, [&](goss_comm_t comm, int rank) {
    try {
      LibraryGroup group(board, rank, comm);
      RunResult mine = runOn<Backend>(group, options);
      if (rank == 0) result = std::move(mine);
    } catch (const std::exception& error) {
      ADD_FAILURE() << "rank " << rank << ": " << error.what();
      std::abort();
    }
  });
  return result;
}

inline void expectSameRun(const RunResult& a, const RunResult& b) {
  EXPECT_EQ(a.losses, b.losses);
  EXPECT_EQ(a.validation, b.validation);
  expectSameState(a.state, b.state);
}

} // namespace goss::trainer

#endif // GOSS_TESTS_TRAINER_PIPELINE_PIPELINE_RUNS_H_
