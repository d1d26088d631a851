// Compressed activations against a single process that quantises what would cross between its stages.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "compressors/chain.h"
#include "tests/trainer/pipeline/pipeline_runs.h"
#include "tests/trainer/temporary_directory.h"
#include "trainer/base/error.h"

namespace goss::trainer {
namespace {

using testing::HasSubstr;

/// `values` encoded and decoded by a codec.
std::vector<float> quantised(const std::string& spec, const std::vector<float>& values) {
  const Compression compression = compressors::makeCompression(spec).take();
  const Codec& codec = *compression.codec;
  std::vector<std::byte> payload(codec.maxBytes(values.size()));
  std::vector<std::byte> memory(codec.scratchBytes(values.size()) + 64);
  void* aligned = memory.data();
  std::size_t room = memory.size();
  const std::span<std::byte> scratch(
      static_cast<std::byte*>(std::align(64, codec.scratchBytes(values.size()), aligned, room)),
      codec.scratchBytes(values.size()));
  EncodeSegment segment{0, values.size(), payload};
  EncodeJob encode;
  encode.values = values;
  encode.scratch = scratch;
  encode.segments = {&segment, 1};
  EXPECT_TRUE(codec.encode(encode).isOk());
  const PayloadView view = std::span(payload).first(segment.bytes);
  std::vector<float> result(values.size());
  DecodeJob decode;
  decode.payloads = {&view, 1};
  decode.out = result;
  decode.scratch = scratch;
  EXPECT_TRUE(codec.decode(decode).isOk());
  return result;
}

/// All stages in one process, one micro-batch after the other.
class Emulation {
 public:
  Emulation(const TrainOptions& options, std::size_t stages)
      : options_(options),
        stages_(static_cast<int>(stages)),
        micro_batches_(options.micro_batches == 0 ? options.batch : options.micro_batches),
        samples_(options.batch / micro_batches_),
        windows_{options.seed, options.samples, smallData().training().size(), options.model.context},
        whole_(options.model),
        rank_(setup(), ops_),
        schedule_{options.lr, options.lr * options.final_lr, options.warmup, options.steps} {
    const std::vector<float> initial = whole_.initialValues(options.seed);
    forTensors([&](PipelineRank::Stage& stage, std::size_t own, std::size_t whole, std::size_t count) {
      ops_.upload(stage.model.parameters() + own, initial.data() + whole, count * sizeof(float));
    });
    shareHead();
  }

  RunResult run() {
    RunResult result;
    for (step_ = 0; step_ < options_.steps; ++step_)
      result.losses.push_back(step());
    result.state.step = options_.steps;
    for (std::vector<float>* vector :
         {&result.state.parameters, &result.state.first_moments, &result.state.second_moments})
      vector->resize(whole_.count());
    forTensors([&](PipelineRank::Stage& stage, std::size_t own, std::size_t whole, std::size_t count) {
      const std::size_t bytes = count * sizeof(float);
      ops_.download(result.state.parameters.data() + whole, stage.model.parameters() + own, bytes);
      ops_.download(result.state.first_moments.data() + whole, stage.optimizer.firstMoments().data() + own, bytes);
      ops_.download(result.state.second_moments.data() + whole, stage.optimizer.secondMoments().data() + own, bytes);
    });
    return result;
  }

 private:
  PipelineRankSetup setup() const {
    PipelineRankSetup setup{options_.model, stages_, {}, samples_, micro_batches_, {}};
    setup.optimizer = {.eps = options_.adam_eps, .weight_decay = options_.weight_decay};
    for (int stage = 0; stage < stages_; ++stage)
      setup.owned.push_back(stage);
    return setup;
  }

  template <typename Body>
  void forTensors(Body body) {
    for (const auto& stage : rank_.stages()) {
      for (const Parameter& own : stage->model.table().parameters()) {
        for (const Parameter& whole : whole_.parameters()) {
          if (whole.name == own.name) body(*stage, own.offset, whole.offset, own.count);
        }
      }
    }
  }

  void shareHead() {
    StageModel& last = rank_.lastStage()->model;
    ops_.copy(last.headWeight(), rank_.firstStage()->model.headWeight(), last.embeddingCount());
  }

  double step() {
    rank_.begin(
        [this](std::size_t k, std::span<std::int32_t> inputs, std::span<std::int32_t> targets) {
          const std::size_t context = options_.model.context;
          for (std::size_t i = 0; i < samples_; ++i) {
            readWindow(smallData().training(), windows_.startOf(step_, k * samples_ + i),
                       inputs.subspan(i * context, context), targets.subspan(i * context, context));
          }
        },
        1.0f / static_cast<float>(options_.batch * options_.model.context), {});
    for (std::size_t k = 0; k < micro_batches_; ++k)
      microBatch(k);
    for (std::size_t k = 0; k < micro_batches_; ++k)
      rank_.addHeadGrad(k, rank_.headGrads()[k]);
    for (const auto& stage : rank_.stages()) {
      rank_.finishGradient(*stage);
      stage->optimizer.update(step_, schedule_.at(step_), stage->model.parameters(), stage->gradient.data(), 1.0);
    }
    shareHead();
    double loss = 0;
    for (const double sample : rank_.losses())
      loss += sample;
    return loss / static_cast<double>(options_.batch * options_.model.context);
  }

  void microBatch(std::size_t k) {
    const int number = static_cast<int>(k);
    std::vector<float> input, output(samples_ * sampleElems());
    for (int stage = 0; stage < stages_; ++stage) {
      rank_.forward(stage, number, input.data(), output.data());
      if (stage + 1 < stages_) input = forwardAcross(stage + 1, k, output);
    }
    std::vector<float> gradient;
    for (int stage = stages_ - 1; stage >= 0; --stage) {
      rank_.inputGrad(stage, number, gradient.data(), output.data());
      rank_.weightGrad(stage, number);
      gradient = perSample(output, [this](std::size_t, const std::vector<float>& sample) {
        return options_.gradient_codec.empty() ? sample : quantised(options_.gradient_codec, sample);
      });
    }
  }

  std::vector<float> forwardAcross(int stage, std::size_t k, const std::vector<float>& values) {
    return perSample(values, [&](std::size_t i, const std::vector<float>& sample) {
      if (!options_.activation_deltas) return quantised(options_.activation_codec, sample);
      const auto [known, is_new] =
          known_.try_emplace({stage, windows_.numberOf(step_, k * samples_ + i)}, sample); // the first time as it is
      std::vector<float>& replica = known->second;
      if (is_new) return replica;
      std::vector<float> change(sample.size());
      for (std::size_t e = 0; e < sample.size(); ++e)
        change[e] = sample[e] - replica[e];
      change = quantised(options_.activation_codec, change);
      for (std::size_t e = 0; e < sample.size(); ++e)
        replica[e] += change[e];
      ++returns_;
      return replica;
    });
  }

  template <typename Make>
  std::vector<float> perSample(const std::vector<float>& values, Make make) {
    std::vector<float> result;
    for (std::size_t i = 0; i < samples_; ++i) {
      const auto from = values.begin() + static_cast<std::ptrdiff_t>(i * sampleElems());
      const std::vector<float> made =
          make(i, std::vector<float>(from, from + static_cast<std::ptrdiff_t>(sampleElems())));
      result.insert(result.end(), made.begin(), made.end());
    }
    return result;
  }

  [[nodiscard]] std::size_t sampleElems() const { return options_.model.context * options_.model.channels; }

 public:
  [[nodiscard]] std::size_t returns() const { return returns_; } ///< samples that were sent as a change

 private:
  TrainOptions options_;
  int stages_;
  std::size_t micro_batches_;
  std::size_t samples_; // of a micro-batch
  Windows windows_;
  ParameterTable whole_;
  CpuOps ops_;
  PipelineRank rank_;
  LrSchedule schedule_;
  std::size_t step_ = 0;
  std::map<std::pair<int, std::uint64_t>, std::vector<float>> known_;
  std::size_t returns_ = 0;
};

TrainOptions compressedOptions(std::size_t pipeline, const std::string& schedule) {
  TrainOptions options = pipelineOptions(pipeline, schedule);
  options.clip = 0;
  options.samples = 12;
  options.activation_codec = "int4:block=64";
  options.gradient_codec = "int8:block=64";
  return options;
}

void expectRun(const RunResult& run, const RunResult& emulated) {
  EXPECT_EQ(run.losses, emulated.losses);
  expectSameState(run.state, emulated.state);
}

TEST(CompressedBoundary, ActivationDeltasHaveTheBitsOfTheirUpdateRule) {
  for (const int stages : {2, 4}) {
    for (const char* schedule : {"1f1b", "zb-h1"}) {
      TrainOptions options = compressedOptions(static_cast<std::size_t>(stages), schedule);
      options.activation_deltas = true;
      Emulation emulation(options, static_cast<std::size_t>(stages));
      expectRun(runPipeline(stages, options), emulation.run());
      EXPECT_GT(emulation.returns(), 0u);
    }
  }
}

TEST(CompressedBoundary, DirectQuantisationHasTheBitsOfItsRule) {
  TrainOptions options = compressedOptions(2, "gpipe");
  options.activation_codec = "int2:block=64";
  expectRun(runPipeline(2, options), Emulation(options, 2).run());
}

TEST(CompressedBoundary, MicroBatchesOfSeveralSamplesAndACacheInAFileChangeNothing) {
  TemporaryDirectory directory;
  TrainOptions options = compressedOptions(2, "1f1b");
  options.activation_deltas = true;
  options.micro_batches = 4;
  const RunResult emulated = Emulation(options, 2).run();
  expectRun(runPipeline(2, options), emulated);
  options.activation_cache = directory / "cache";
  expectRun(runPipeline(2, options), emulated);
}

TEST(CompressedBoundary, RefusesCodecsThatBoundariesCannotUse) {
  const auto refusal = [](const std::string& spec) {
    TrainOptions options = compressedOptions(1, "1f1b");
    options.activation_codec = spec;
    std::string text;
    ThreadBoard board(1, SumOrder::tree);
    test::runRanks(1, [&](goss_comm_t comm, int rank) {
      ThreadGroup group(board, rank);
      CpuOps ops;
      Report report(false, "");
      try {
        PipelineEngine engine(options, smallData(), {group, comm}, ops, report);
        const TrainingLoop loop(engine);
      } catch (const Error& error) {
        text = error.what();
      }
    });
    return text;
  };
  EXPECT_THAT(refusal("int4+ef"), HasSubstr("keeps feedback"));
  EXPECT_THAT(refusal("topk:ratio=0.1+int8"), HasSubstr("payloads of fixed size"));
  EXPECT_THAT(refusal("int4:round=stochastic"), HasSubstr("round to nearest"));
  EXPECT_THAT(refusal("int5"), HasSubstr("int5"));
}

} // namespace
} // namespace goss::trainer
