#include "trainer/run/train_options.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <sstream>

#include "tools/commandline/command_line.h"
#include "trainer/base/error.h"
#include "trainer/files/pretrained.h"

namespace goss::trainer {

namespace {

constexpr int kUsageError = 2;

bool isDevice(const std::string& text) {
  constexpr std::string_view kNumbered = "cuda:";
  if (text == "cpu" || text == "cuda") return true;
  const std::string number = text.starts_with(kNumbered) ? text.substr(kNumbered.size()) : "";
  return !number.empty() && number.size() <= 3 && number.find_first_not_of("0123456789") == std::string::npos;
}

constexpr const char* kLlama = "llama";

void addModelFlags(CommandLine& line, TrainOptions& o, std::string& arch) {
  line.option("--arch", arch, "gpt2, or llama: RMSNorm, rotary positions, SwiGLU, no biases")
      .oneOf({"gpt2", kLlama})
      .group("Model");
  line.option("--layers", o.model.layers, "blocks").group("Model");
  line.option("--channels", o.model.channels, "width of the residual stream").group("Model");
  line.option("--heads", o.model.heads, "attention heads; must divide --channels").group("Model");
  line.option("--context", o.model.context, "tokens a sample").group("Model");
  line.option("--init", o.init, "start from the weights in this folder, in Hugging Face's form; its sizes hold")
      .group("Model");
  line.option("--vocab", o.model.vocab,
              "tokens of the vocabulary; 0: the tokenizer's, 256 for text, 50257 for token files")
      .group("Model");
}

void addTrainingFlags(CommandLine& line, TrainOptions& o) {
  line.option("--data", o.data, "text or GPT-2 .bin files, or folders of them; default: the King James Bible")
      .repeatable()
      .group("Training");
  line.option("--tokenizer", o.tokenizer, "folder with GPT-2's vocab.json and merges.txt; default: tokens are bytes")
      .group("Training");
  line.option("--steps", o.steps, "optimiser steps").group("Training");
  line.option("--batch", o.batch, "samples a step, over all ranks").group("Training");
  line.option("--micro-batch", o.micro_batch, "samples a pass; must divide --batch").group("Training");
  line.option("--lr", o.lr, "peak learning rate").group("Training");
  line.option("--final-lr", o.final_lr, "learning rate at the end, as a fraction of --lr").group("Training");
  line.option("--warmup", o.warmup, "steps of linear warm-up before the cosine").group("Training");
  line.option("--weight-decay", o.weight_decay, "of matrices").group("Training");
  line.option("--optimizer", o.optimizer, "adamw, or muon: Muon for the matrices of blocks, AdamW for the rest")
      .oneOf({"adamw", "muon"})
      .group("Training");
  line.option("--muon-momentum", o.muon_momentum, "part of Muon's momentum that a step keeps").group("Training");
  line.option("--beta1", o.beta1, "part of AdamW's first moment that a step keeps").group("Training");
  line.option("--beta2", o.beta2, "the same of its second moment").group("Training");
  line.option("--adam-eps", o.adam_eps, "added to the root of AdamW's second moment").group("Training");
  line.option("--clip", o.clip, "global gradient norm; 0: off").group("Training");
  line.option("--seed", o.seed, "of parameters, data order and sampling").group("Training");
  line.option("--samples", o.samples, "train on so many windows of the text, again and again; 0: any")
      .group("Training");
  line.option("--time-limit", o.time_limit_s, "seconds after which to stop cleanly; 0: off").group("Training");
  line.option("--sync", o.sync, "how the ranks are kept together, such as diloco:h=50 (docs/synchronizers.md)")
      .group("Training");
  line.option("--slow", o.slow, "RANK:FACTOR,...: steps of these ranks take longer; with --sync ...:steps=dynamic")
      .group("Training");
  line.option("--islands", o.islands, "groups of ranks that --sync keeps together; each adds its gradients; 0: none")
      .group("Training");
}

void addBackendFlags(CommandLine& line, TrainOptions& o) {
  line.option("--backend", o.backend, "what computes: cpu (OpenBLAS) or aten (LibTorch: a GPU, or the CPU)")
      .oneOf({"cpu", "aten"})
      .group("Backend");
  line.option("--device", o.device,
              "of --backend aten: cpu, cuda (this host's devices in turn) or cuda:N; default: cuda if there is one")
      .check([](const std::string& text) { return isDevice(text) ? "" : text + " is not cpu, cuda or cuda:N"; })
      .group("Backend");
  line.option("--precision", o.precision, "of --backend aten's matrix products: f32, or bf16 with sums in float32")
      .oneOf({"f32", "bf16"})
      .group("Backend");
}

void addPipelineFlags(CommandLine& line, TrainOptions& o) {
  line.option("--pipeline", o.pipeline, "ranks that share one model, in stages; 0: every rank has all of it")
      .group("Pipeline");
  line.option("--schedule", o.schedule,
              "gpipe, 1f1b, interleaved, zb-h1, zb-h2, zb-v, pipedream, 2bw, or a .csv file (docs/pipeline.md)")
      .group("Pipeline");
  line.option("--micro-batches", o.micro_batches, "of a step and pipeline; 0: as --micro-batch says").group("Pipeline");
  line.option("--activation-codec", o.activation_codec, "of activations between stages, such as int4:block=128")
      .group("Pipeline");
  line.option("--gradient-codec", o.gradient_codec, "of their gradients, such as int8").group("Pipeline");
  line.flag("--activation-deltas", o.activation_deltas,
            "AQ-SGD: encode the change of each sample's activations; with --samples")
      .group("Pipeline");
  line.option("--activation-cache", o.activation_cache, "directory for what AQ-SGD keeps; default: memory")
      .group("Pipeline");
  line.flag("--recompute", o.recompute, "keep only the inputs of stages, and compute activations twice")
      .group("Pipeline");
}

void addOutputFlags(CommandLine& line, TrainOptions& o) {
  line.option("--val-every", o.val_every, "steps between validations; 0: only at the end").group("Output");
  line.option("--val-samples", o.val_samples, "samples of a validation").group("Output");
  line.option("--print-every", o.print_every, "steps between progress lines").group("Output");
  line.option("--log", o.log, "append one JSON object a step to this file").group("Output");
  line.option("--csv", o.csv, "append a row for each step and each validation to this table").group("Output");
  line.option("--run", o.run, "directory for run.json, report.md and pictures, written at the end").group("Output");
  line.option("--checkpoint", o.checkpoint, "directory for checkpoints; default: none").group("Output");
  line.option("--checkpoint-every", o.checkpoint_every, "steps between checkpoints; 0: only at the end")
      .group("Output");
  line.option("--keep", o.keep, "checkpoints to keep").group("Output");
  line.flag("--resume", o.resume, "go on from the latest checkpoint, if there is one").group("Output");
  line.option("--sample", o.sample, "tokens to generate at the end; 0: none").group("Output");
  line.option("--temperature", o.temperature, "of the sampling; 0: always the likeliest token").group("Output");
  line.option("--prompt", o.prompt, "text that the sample continues").group("Output");
}

/// Inserts before the other parameters, because a codec takes the rest of the text.
std::string withParameter(const std::string& sync, const char* name, std::size_t value) {
  const std::size_t colon = sync.find(':');
  return fmt::format("{}:{}={}{}{}", sync.substr(0, colon), name, value, colon == std::string::npos ? "" : ",",
                     colon == std::string::npos ? "" : sync.substr(colon + 1));
}

void require(bool holds, const char* text) {
  if (!holds) fail("{}", text);
}

} // namespace

void checkTrainOptions(const TrainOptions& o, std::size_t ranks) {
  constexpr double kMaxLr = 100;
  constexpr std::size_t kMaxRanks = std::size_t{1} << 20; // sizes of grids are ints
  require(o.steps > 0 && o.print_every > 0, "--steps and --print-every must be positive");
  require(o.batch > 0 && o.batch <= std::size_t{1} << 24, "--batch must be between 1 and 16777216");
  require(o.micro_batch > 0 && o.batch % o.micro_batch == 0, "--micro-batch must be positive and divide --batch");
  require(o.micro_batches <= o.batch, "--micro-batches must be at most --batch");
  require(o.pipeline <= kMaxRanks && o.islands <= kMaxRanks, "--pipeline and --islands must be at most 1048576");
  require(o.lr > 0 && o.lr <= kMaxLr, "--lr must be positive and at most 100");
  require(o.final_lr >= 0 && o.final_lr <= 1, "--final-lr must be between 0 and 1");
  require(o.weight_decay >= 0 && o.weight_decay <= 1, "--weight-decay must be between 0 and 1");
  require(o.adam_eps > 0 && o.adam_eps <= 1, "--adam-eps must be above 0 and at most 1");
  require(o.beta1 >= 0 && o.beta1 < 1, "--beta1 must be at least 0 and below 1");
  require(o.beta2 >= 0 && o.beta2 < 1, "--beta2 must be at least 0 and below 1");
  require(o.optimizer == "adamw" || o.optimizer == "muon", "--optimizer is adamw or muon");
  require(o.muon_momentum >= 0 && o.muon_momentum < 1, "--muon-momentum must be at least 0 and below 1");
  require(o.clip >= 0, "--clip must not be negative");
  require(o.time_limit_s >= 0, "--time-limit must not be negative");
  require(!o.sync.empty(), "--sync must not be empty");
  require(o.val_samples > 0 && o.val_samples <= std::size_t{1} << 24, "--val-samples must be between 1 and 16777216");
  require(o.keep > 0, "--keep must be positive");
  require(o.temperature >= 0, "--temperature must not be negative");
  require(!o.prompt.empty(), "--prompt must not be empty");
  require(!o.resume || !o.checkpoint.empty(), "--resume needs --checkpoint DIR");
  require(!o.activation_deltas || !o.activation_codec.empty(), "--activation-deltas needs --activation-codec SPEC");
  require(!o.activation_deltas || o.samples != 0, "--activation-deltas needs --samples N: it learns by returning");
  require(o.activation_cache.empty() || o.activation_deltas, "--activation-cache is of --activation-deltas");
  require(o.pipeline != 0 || (o.activation_codec.empty() && o.gradient_codec.empty()),
          "--activation-codec and --gradient-codec need --pipeline P");
  require(o.pipeline != 0 || (!o.recompute && o.micro_batches == 0 && o.schedule == TrainOptions().schedule),
          "--schedule, --micro-batches and --recompute are of a pipeline: give --pipeline P");
  require(o.micro_batches == 0 || o.micro_batch == 1, "--micro-batch and --micro-batches say the same: give one");
  require(o.backend == "aten" || o.device.empty() || o.device == "cpu", "--device cuda needs --backend aten");
  require(o.backend == "aten" || o.precision == "f32", "--precision bf16 needs --backend aten");
  slownessOf(o, 0);
  require(o.slow.empty() || o.pipeline == 0, "--slow is for ranks that hold the whole model: leave out --pipeline");
  if (o.batch / o.micro_batch < ranks) {
    fail("--batch {} is {} micro-batches, too few for {} ranks; raise it or start fewer ranks", o.batch,
         o.batch / o.micro_batch, ranks);
  }
}

void requireOptimizerActs(const TrainOptions& o, bool descends, const std::string& sync) {
  if (!descends || o.optimizer == TrainOptions().optimizer) return;
  fail(
      "--optimizer {} would do nothing: the optimizer of --sync {} is plain descent along what the ranks agree on. "
      "Leave --optimizer out, or give another --sync, such as diloco",
      o.optimizer, sync);
}

ModelConfig modelOfInit(const TrainOptions& o) {
  const ModelConfig usual = TrainOptions().model;
  ModelConfig model = readPretrainedConfig(o.init);
  const auto checkFlag = [&](const char* flag, std::size_t given, std::size_t usual_value, std::size_t found) {
    if (given != usual_value && given != found)
      fail("{} {}: the model in --init {} has {}; leave the flag out", flag, given, o.init, found);
  };
  checkFlag("--layers", o.model.layers, usual.layers, model.layers);
  checkFlag("--channels", o.model.channels, usual.channels, model.channels);
  checkFlag("--heads", o.model.heads, usual.heads, model.heads);
  checkFlag("--vocab", o.model.vocab, 0, model.vocab);
  if (o.model.arch != usual.arch && o.model.arch != model.arch) fail("--init {} holds no llama", o.init);
  if (o.model.context > model.context)
    fail("--context {}: the model in --init {} takes at most {} tokens", o.model.context, o.init, model.context);
  model.context = o.model.context;
  return model;
}

double slownessOf(const TrainOptions& o, int rank) {
  double result = 1;
  std::istringstream list(o.slow);
  for (std::string item; std::getline(list, item, ',');) {
    std::istringstream text(item);
    int of = -1;
    double factor = 0;
    char colon = 0;
    const bool is_read = static_cast<bool>(text >> of >> colon >> factor) && text.peek() == EOF && colon == ':';
    if (!is_read || of < 0 || factor < 1 || factor > 1000)
      fail("--slow {}: '{}' is not RANK:FACTOR with a factor from 1 to 1000", o.slow, item);
    if (of == rank) result = factor;
  }
  return result;
}

std::string syncOfRun(const TrainOptions& o) {
  std::string sync = o.sync;
  if (sync.substr(0, sync.find(':')) != "qsr") return sync;
  for (const auto& [name, value] : {std::pair{"warmup", o.warmup}, {"total", o.steps}})
    if (sync.find(fmt::format("{}=", name)) == std::string::npos) sync = withParameter(sync, name, value);
  return sync;
}

std::string syncWithIslands(const TrainOptions& o) {
  return o.islands == 0 ? o.sync : withParameter(o.sync, "islands", o.islands);
}

std::string trajectorySettings(const TrainOptions& o, std::uint64_t data_fingerprint) {
  nlohmann::json settings{{"steps", o.steps},
                          {"batch", o.batch},
                          {"micro_batch", o.micro_batch},
                          {"lr", o.lr},
                          {"final_lr", o.final_lr},
                          {"warmup", o.warmup},
                          {"weight_decay", o.weight_decay},
                          {"adam_eps", o.adam_eps},
                          {"clip", o.clip},
                          {"seed", o.seed},
                          {"samples", o.samples},
                          {"sync", o.sync},
                          {"layers", o.model.layers},
                          {"channels", o.model.channels},
                          {"heads", o.model.heads},
                          {"context", o.model.context},
                          {"vocab", o.model.vocab},
                          {"data", fmt::format("{:016x}", data_fingerprint)}};
  if (o.beta1 != TrainOptions().beta1) settings["beta1"] = o.beta1;
  if (o.beta2 != TrainOptions().beta2) settings["beta2"] = o.beta2;
  if (!o.init.empty()) settings["init"] = o.init;
  if (o.model.isLlama()) settings["arch"] = kLlama;
  if (o.optimizer != "adamw") settings["optimizer"] = fmt::format("{} {}", o.optimizer, o.muon_momentum);
  if (o.backend != "cpu") settings["backend"] = o.backend; // other backends round differently
  if (o.precision != "f32") settings["precision"] = o.precision;
  // Stages alone change no bit; these settings do.
  const bool is_unflushed = o.schedule == "pipedream" || o.schedule == "2bw" || o.schedule.ends_with(".csv");
  const bool is_coded = !o.activation_codec.empty() || !o.gradient_codec.empty();
  if (o.pipeline == 0 || (!is_unflushed && !is_coded && o.islands == 0)) return settings.dump();
  settings["pipeline"] = o.pipeline;
  settings["islands"] = o.islands;
  settings["schedule"] = o.schedule; // with codecs the schedule decides where stages are cut
  settings["activation_codec"] = o.activation_codec;
  settings["gradient_codec"] = o.gradient_codec;
  settings["activation_deltas"] = o.activation_deltas;
  return settings.dump();
}

bool haveEqualSamples(const std::string& settings, const std::string& others) {
  const nlohmann::json one = nlohmann::json::parse(settings, nullptr, false);
  const nlohmann::json other = nlohmann::json::parse(others, nullptr, false);
  if (!one.is_object() || !other.is_object()) return false;
  return std::ranges::all_of(std::array{"seed", "samples", "context", "data"}, [&](const char* name) {
    return one.contains(name) && other.contains(name) && one[name] == other[name];
  });
}

ParsedCommandLine parseCommandLine(int argc, const char* const* argv) {
  TrainOptions options;
  options.model.vocab = 0;
  CommandLine line(
      "Trains a GPT or Llama on text, its copies on all ranks kept together by Gossamer.\n"
      "Start it alone, with 'mpirun -np N goss-train ...', or with torchrun-style variables.\n"
      "'goss-train compare RUN...' compares runs; 'goss-train generate FOLDER' and 'goss-train logits FOLDER' show "
      "what a checkpoint's model says.",
      "goss-train");
  line.showDefaults();
  line.lastValueHolds();
  std::string arch = "gpt2";
  addModelFlags(line, options, arch);
  addTrainingFlags(line, options);
  addBackendFlags(line, options);
  addPipelineFlags(line, options);
  addOutputFlags(line, options);
  line.refuseNegativeNumbers();
  line.configurationFile("--config",
                         "TOML file of flags without dashes, such as lr = 1e-3; the command line overrides it");
  if (const auto ending = line.parse(argc, argv))
    return {std::nullopt, ending->text, ending->status == 0 ? 0 : kUsageError};
  if (arch == kLlama) options.model.arch = Architecture::llama;
  return {options, "", 0};
}

} // namespace goss::trainer
