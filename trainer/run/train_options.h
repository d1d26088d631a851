/// All settings of a run, and goss-train's command line.
#ifndef GOSS_TRAINER_RUN_TRAIN_OPTIONS_H_
#define GOSS_TRAINER_RUN_TRAIN_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "trainer/model/model_config.h"
#include "trainer/model/optimizer.h"

namespace goss::trainer {

struct TrainOptions {
  ModelConfig model; // vocab 0 in options: 256 for text, 50257 for token files

  std::vector<std::string> data; // files and folders; empty: the King James Bible
  std::string tokenizer;         // folder with vocab.json and merges.txt; empty: tokens of text are bytes
  std::size_t steps = 500;
  std::size_t batch = 16;      // samples a step, over all ranks
  std::size_t micro_batch = 1; // samples a forward and backward pass; divides batch
  double lr = 2e-3;
  double final_lr = 0.1; // part of lr that is left at the last step
  std::size_t warmup = 20;
  double weight_decay = 0.1;
  double adam_eps = 1e-8;
  double beta1 = 0.9; // of AdamW's first moment
  double beta2 = 0.95;
  std::string optimizer = "adamw"; // adamw, or muon for the matrices of blocks
  double muon_momentum = 0.95;
  double clip = 1.0; // bound of the global gradient norm; 0: off
  std::uint64_t seed = 1;
  double time_limit_s = 0;  // stop cleanly after the step in which it passes; 0: off
  std::string slow;         // "RANK:FACTOR,...": steps of these ranks take longer, to test ranks of different speed
  std::string sync = "ddp"; // synchronizer spec: how the ranks are kept together

  std::string init; // folder of a model in Hugging Face's form, whose weights the run starts from; empty: the seed's

  std::string backend = "cpu";   // the table of tensor operations: cpu or aten
  std::string precision = "f32"; // of aten's matrix products: f32 or bf16
  std::string device;            // device of aten: cpu, cuda, cuda:N; empty: cuda where there is one

  std::size_t pipeline = 0;       // ranks of a pipeline; 0: every rank has the whole model
  std::string schedule = "1f1b";  // schedule of the pipeline: a generator's name, or a CSV file
  std::size_t islands = 0;        // groups of ranks between which `sync` works; 0: every replica is an island
  std::string activation_codec;   // codec of the activations that stages send forward; empty: none
  std::string gradient_codec;     // codec of the gradients that stages send back
  bool activation_deltas = false; // AQ-SGD: differences to what the receiver has of the same sample
  std::string activation_cache;   // directory for the samples that AQ-SGD keeps; empty: memory
  std::size_t samples = 0;        // number of windows that training repeats; 0: any window
  bool recompute = false;         // forward passes of a pipeline keep their input only
  std::size_t micro_batches = 0;  // micro-batches of a step and pipeline; 0: as many as micro_batch makes of batch

  std::size_t val_every = 100; // steps; 0: only at the end
  std::size_t val_samples = 32;
  std::size_t print_every = 10;
  std::string log;
  std::string csv;
  std::string run; // directory for the run card; empty: none

  std::string checkpoint; // directory; empty: none
  std::size_t checkpoint_every = 100;
  std::size_t keep = 2;
  bool resume = false;

  std::size_t sample = 400; // tokens; 0: none
  double temperature = 0.8;
  std::string prompt = "And ";
};

/// Throws Error that names the flag of the first value that is invalid for `ranks` ranks.
void checkTrainOptions(const TrainOptions& options, std::size_t ranks);

/// The optimiser's settings.
inline OptimizerConfig optimizerOf(const TrainOptions& o) {
  return {o.beta1, o.beta2, o.adam_eps, o.weight_decay, o.optimizer == "muon", o.muon_momentum};
}

/// Throws Error if --optimizer would be ignored because the synchronizer `sync` (canonical spec) leaves directions for
/// plain descent.
void requireOptimizerActs(const TrainOptions& options, bool descends, const std::string& sync);

/// How many times as long as its computation a step of `rank` takes, from --slow; 1 for other ranks. Throws Error if
/// the text is no list of RANK:FACTOR.
double slownessOf(const TrainOptions& options, int rank);

/// The model of --init's config.json with the context of the options. Throws Error that names a flag of the model that
/// says otherwise, or a context that the model cannot take.
ModelConfig modelOfInit(const TrainOptions& options);

/// `sync` with the parameters that its method takes from the run unless the user gave them: for `qsr`, --warmup and
/// --steps.
std::string syncOfRun(const TrainOptions& options);

/// `sync` with --islands K in it: the synchronizer of ranks that hold the whole model makes the islands itself.
std::string syncWithIslands(const TrainOptions& options);

/// The settings that decide the numbers of a run, as JSON text: equal texts give equal trajectories. `data_fingerprint`
/// is Dataset's.
std::string trajectorySettings(const TrainOptions& options, std::uint64_t data_fingerprint);

/// Whether two such texts number their samples alike; false if one is no such text.
bool haveEqualSamples(const std::string& settings, const std::string& others);

/// What the command line asked for: options to run with, or a text to print and an exit code (--help, a wrong flag).
struct ParsedCommandLine {
  std::optional<TrainOptions> options;
  std::string text;
  int exit_code = 0;
};

ParsedCommandLine parseCommandLine(int argc, const char* const* argv);

} // namespace goss::trainer

#endif // GOSS_TRAINER_RUN_TRAIN_OPTIONS_H_
