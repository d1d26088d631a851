/// goss-train: trains a GPT on text over the ranks of a launch. See docs/trainer.md.
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string>

#include "gossamer/gossamer.h"
#include "trainer/base/error.h"
#include "trainer/base/stop_request.h"
#include "trainer/compute/backend.h"
#include "trainer/data/dataset.h"
#include "trainer/data/gpt_tokenizer.h"
#include "trainer/loop/replica_engine.h"
#include "trainer/loop/training_loop.h"
#include "trainer/pipeline/pipeline_engine.h"
#include "trainer/ranks/data_parallel.h"
#include "trainer/run/generate.h"
#include "trainer/run/model_logits.h"
#include "trainer/run/report.h"
#include "trainer/run/run_card.h"
#include "trainer/run/train_options.h"

namespace {

using namespace goss::trainer;

/// True when the launcher says that this process is not the first: usage texts are printed once.
bool isLaterRank() {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "RANK"}) {
    const char* value = std::getenv(name);
    if (value != nullptr) return std::string(value) != "0";
  }
  return false;
}

/// Runs `action`; when it fails, aborts the other ranks with this rank's reason.
template <typename Action>
void runOrAbort(Group& group, const Action& action) {
  try {
    action();
  } catch (const std::exception& error) {
    group.abort(fmt::format("rank {}: {}", group.rank(), error.what()));
    throw;
  }
}

void train(TrainOptions options, DataParallel& group) {
  std::shared_ptr<const Tokenizer> tokenizer;
  if (!options.tokenizer.empty()) tokenizer = std::make_shared<GptTokenizer>(options.tokenizer);
  const Dataset data = Dataset::load(options.data, tokenizer);
  if (!options.init.empty()) options.model = modelOfInit(options);
  const std::size_t bytes = ByteTokenizer().vocab();
  if (!options.init.empty() && data.tokenizer().vocab() == bytes && options.model.vocab > bytes) {
    fail("--init {}: its {} tokens are more than bytes; give --tokenizer with its vocabulary, or token files",
         options.init, options.model.vocab);
  }
  if (options.model.vocab == 0) options.model.vocab = data.tokenizer().vocab();
  options.sync = syncOfRun(options);
  const std::unique_ptr<Ops> ops = makeOps(options.backend, options.device, options.precision);
  Report report(group.rank() == 0, options.log, options.csv);
  if (options.pipeline != 0) {
    PipelineEngine engine(options, data, {group, group.comm()}, *ops, report);
    TrainingLoop loop(engine);
    return runOrAbort(group, [&loop] { loop.run(); });
  }
  options.sync = syncWithIslands(options);
  ReplicaEngine engine(options, data, group, *ops, report);
  TrainingLoop loop(engine);
  // When a step fails, the library may still use the gradient: so the abort comes before the engine is destroyed.
  runOrAbort(group, [&loop] { loop.run(); });
}

} // namespace

int main(int argc, char** argv) {
  // a file that may not grow is then an error with a text instead of the end of the process
  std::signal(SIGXFSZ, SIG_IGN);
  const std::string command = argc > 1 ? argv[1] : "";
  if (command == "compare" || command == "logits" || command == "generate") {
    try {
      return command == "compare"  ? runCompare(argc - 1, argv + 1)
             : command == "logits" ? runLogits(argc - 1, argv + 1)
                                   : runGenerate(argc - 1, argv + 1);
    } catch (const std::exception& error) {
      fmt::print(stderr, "goss-train: {}\n", error.what());
      return 1;
    }
  }
  const ParsedCommandLine command_line = parseCommandLine(argc, argv);
  if (!command_line.options) {
    std::FILE* stream = command_line.exit_code == 0 ? stdout : stderr;
    if (!isLaterRank()) std::fputs(command_line.text.c_str(), stream);
    return command_line.exit_code;
  }
  noticeStopSignals();
  try {
    DataParallel group;
    runOrAbort(group, [&] { train(*command_line.options, group); });
  } catch (const std::exception& error) {
    fmt::print(stderr, "goss-train: {}\n", error.what());
    return 1;
  }
  return 0;
}
