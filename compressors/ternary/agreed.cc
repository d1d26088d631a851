#include "compressors/ternary/agreed.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

#include "compressors/common/element.h"
#include "compressors/stage.h"

namespace goss::compressors {

namespace {

constexpr int kMaxRanks = 127;

class AgreedRun final : public CodecRun {
 public:
  AgreedRun(float clip, const CommonLoops& common, const TernaryLoops& loops, const RunJob& job)
      : clip_(clip), common_(common), loops_(loops), job_(job) {}

  Result<CodecPhase> next() override {
    switch (phase_++) {
      case 0:
        return propose();
      case 1:
        if (!(scale_ > 0)) { // all values of all ranks are zero, or one of them is not finite
          settle(scale_);
          return CodecPhase{};
        }
        if (job_.residual != nullptr) {
          return proposeGain();
        }
        ++phase_;
        [[fallthrough]];
      case 2:
        return encodeWithAgreedScale();
      default:
        return finish();
    }
  }

 private:
  CodecPhase propose() {
    if (job_.residual != nullptr) {
      for (std::size_t i = 0; i < job_.values.size(); ++i) {
        job_.values[i] += job_.decay * job_.residual[i];
      }
    }
    scale_ = TernaryCodec({clip_, 0, 1}, common_, loops_).scaleOf(job_.values.data(), job_.values.size());
    if (job_.residual != nullptr) {
      std::copy(job_.values.begin(), job_.values.end(), job_.residual);
    }
    return {PhaseWant::max, {&scale_, 1}};
  }

  /// With the smallest gain of all ranks (ternaryGain(), of values clipped to the agreed scale) each rank loses less
  /// than it has. The ranks agree on the inverse, whose maximum wins.
  CodecPhase proposeGain() {
    double squares = 0, magnitudes = 0;
    for (const float value : job_.values) {
      const double cut = std::min(1.0, static_cast<double>(std::fabs(value)) / static_cast<double>(scale_));
      squares += cut * cut;
      magnitudes += cut;
    }
    inverse_gain_ = squares > 0 ? static_cast<float>(magnitudes / squares) : 1;
    return {PhaseWant::max, {&inverse_gain_, 1}};
  }

  /// Multiplies the values and the scale by the gain. If the ranks' magnitudes differ much, the agreed gain is smaller
  /// than needed. Then the least gain of one vector of all ranks' elements, with the agreed scale as its peak, is used:
  /// with it the ranks together lose less than they have.
  void applyGain() {
    const auto ranks = static_cast<std::size_t>(job_.ranks);
    const double least = minTernaryGain(job_.values.size() * ranks);
    const auto gain = static_cast<float>(std::clamp(1 / static_cast<double>(inverse_gain_), least, 1.0));
    for (float& value : job_.values) {
      value *= gain;
    }
    scale_ = scaleFor(scale_ * gain, 1).step;
  }

  Result<CodecPhase> encodeWithAgreedScale() {
    if (job_.residual != nullptr) {
      applyGain();
    }
    const std::size_t count = job_.values.size();
    codec_.emplace(TernarySettings{0, scale_, static_cast<unsigned>(job_.ranks)}, common_, loops_);
    payload_.resize(codec_->maxBytes(count));
    codec_->encodeVector({job_.values.data(), count, job_.random, 0, {}}, bytes());
    if (job_.residual != nullptr) {
      codec_->decodeVector(payload_, {job_.residual, count, {DecodeMode::axpy, -1}, {}, 0, {}});
    }
    return CodecPhase{PhaseWant::add, {}, payload_, &*codec_, count, kTileElems};
  }

  CodecPhase finish() {
    codec_->decodeVector(payload_, {job_.values.data(), job_.values.size(), {}, {}, 0, {}});
    const float share = 1.0f / static_cast<float>(job_.ranks);
    for (float& value : job_.values) {
      value *= share;
    }
    return {};
  }

  void settle(float value) const {
    std::fill(job_.values.begin(), job_.values.end(), value);
    if (job_.residual != nullptr) {
      std::fill_n(job_.residual, job_.values.size(), 0.0f);
    }
  }
  unsigned char* bytes() { return reinterpret_cast<unsigned char*>(payload_.data()); }

  const float clip_;
  const CommonLoops& common_;
  const TernaryLoops& loops_;
  const RunJob job_;
  int phase_ = 0;
  float scale_ = 0;
  float inverse_gain_ = 1;            ///< Used with feedback.
  std::optional<TernaryCodec> codec_; ///< Codec with the agreed scale.
  std::vector<std::byte> payload_;
};

} // namespace

std::string AgreedTernaryCodec::spec() const { return fmt::format("terngrad:clip={},agree=max", clip_); }

CodecTraits AgreedTernaryCodec::traits() const {
  CodecTraits traits;
  traits.stochastic = true;
  traits.unbiased = clip_ == 0;
  traits.multi_phase = true;
  traits.block = 0;
  return traits;
}

Result<std::unique_ptr<CodecRun>> AgreedTernaryCodec::start(const RunJob& job) const {
  if (job.ranks < 1 || job.ranks > kMaxRanks) {
    return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                         fmt::format("codec '{}': sums of {} ranks do not fit its words; it takes 1 to {}", spec(),
                                     job.ranks, kMaxRanks));
  }
  return std::unique_ptr<CodecRun>(std::make_unique<AgreedRun>(clip_, common_, loops_, job));
}

LossBound AgreedTernaryCodec::lossBound(std::size_t count, bool feedback) const {
  return TernaryCodec({clip_, 0, 1}, common_, loops_).lossBound(count, feedback);
}

namespace {

ValueCodec made(const TernarySettings& settings) {
  return {
      [settings](const Loops& loops) { return std::make_shared<TernaryCodec>(settings, loops.common, loops.ternary); },
      settings};
}

ValueCodec madeAgreed(float clip) {
  return {
      [clip](const Loops& loops) { return std::make_shared<AgreedTernaryCodec>(clip, loops.common, loops.ternary); },
      NoKernels{"its ranks agree on a scale between its phases, which the host must know"}};
}

ValueCodec read(StageReader& reader) {
  TernarySettings settings;
  settings.clip = static_cast<float>(reader.number("clip", 2.5, {0, 1000}));
  settings.scale = static_cast<float>(reader.number("scale", 0, {0, 1e30}));
  settings.ranks = static_cast<unsigned>(reader.integer("ranks", 1, {1, 127}));
  if (settings.scale == 0 && settings.ranks != 1) {
    reader.refuse("payloads are only added with a shared scale; give scale=, or agree=max alone");
  }
  if (reader.choice("agree", {"none", "max"}) == 0) return made(settings);
  if (settings.scale != 0) {
    reader.refuse("the ranks agree on a scale, so scale= and ranks= are not given");
  }
  return madeAgreed(settings.clip);
}

} // namespace

std::span<const ValueStage> ternaryStages() {
  static const std::array kStages = {
      ValueStage{
          "terngrad",
          {"1/4",
           "-1, 0, 1 times a scale, clipped at `clip` deviations (0: none); with a `scale` that is given, or "
           "that the ranks agree on in a phase of their own, payloads are added, in words of 2, 4 or 8 bits for "
           "1, 7 or 127 `ranks`",
           "Wen 2017", "a plane of 2, 4 or 8 bits for each tile, two's complement; float32 scale, unless shared"},
          {"terngrad:clip=2.5", "terngrad:clip=0", "terngrad:clip=0,scale=64,ranks=7", "terngrad:clip=2.5,agree=max"},
          read},
  };
  return kStages;
}

} // namespace goss::compressors
