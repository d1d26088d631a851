/// Every codec loses at most what lossBound() says, and with error feedback delivers in the end what it was given.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>

#include "compressors/feedback.h"
#include "tests/compressors/harness.h"

namespace goss::test {
namespace {

using compressors::builtinCodecs;
using compressors::FeedbackEncoder;
using compressors::makeCompression;

constexpr std::size_t kCount = 1500;

struct NamedVector {
  const char* name;
  Floats values;
};

Floats filled(const std::function<double(std::size_t)>& value) {
  Floats values(kCount);
  for (std::size_t i = 0; i < kCount; ++i) {
    values[i] = static_cast<float>(value(i));
  }
  return values;
}

/// One value of 1 in every `block`, and `rest` elsewhere, with either sign.
Floats peaks(std::size_t block, double rest) {
  return filled([=](std::size_t i) { return i % block == 0 ? 1.0 : i % 3 == 0 ? -rest : rest; });
}

/// Each makes some codec lose as much as it can, or nearly.
std::vector<NamedVector> hardVectors() {
  return {{"gaussian", gaussian(kCount)},
          {"Student-t with 3 degrees of freedom", studentT(kCount, 3)},
          {"layers", layered(kCount)},
          {"one", filled([](std::size_t i) { return i == 700 ? -3.0 : 0.0; })},
          {"one of 64", peaks(64, 0)},
          {"equal", filled([](std::size_t) { return 0.7; })},
          {"equal magnitudes", filled([](std::size_t i) { return i % 2 == 0 ? 0.7 : -0.7; })},
          {"1 and 4/3", filled([](std::size_t i) { return i % 32 == 0 ? 4.0 : 4.0 / 3; })},
          {"between two levels", filled([](std::size_t i) { return i % 32 == 0   ? 1.0
                                                                   : i % 32 == 1 ? -1.0
                                                                                 : 1e-7; })},
          {"half a step of int2", peaks(64, 0.25)},
          {"a ninth", peaks(64, 1.0 / 9)},
          {"one in 128 and a 30th", peaks(128, 1.0 / 30)},
          {"one and a 39th", peaks(kCount, 1.0 / 39.7)},
          {"12 and 5", filled([](std::size_t i) { return i % 32 == 0  ? 5.0
                                                         : i % 2 == 0 ? 0.25
                                                                      : 12.0; })},
          {"far from zero", filled([](std::size_t i) { return 1000 + 0.01 * std::sin(static_cast<double>(i)); })},
          {"1e-6", filled([](std::size_t i) { return 1e-6 * std::cos(static_cast<double>(i)); })}};
}

double squares(const Floats& values) {
  double sum = 0;
  for (const float value : values) {
    sum += static_cast<double>(value) * static_cast<double>(value);
  }
  return sum;
}

double peakOf(const Floats& values) {
  double peak = 0;
  for (const float value : values) {
    peak = std::max(peak, std::abs(static_cast<double>(value)));
  }
  return peak;
}

/// A magnitude within every codec's range: floats of few bits clip larger ones.
constexpr double kInRange = 400;

/// The catalogue, and codecs that scale down with feedback.
std::vector<std::string> specs() {
  std::vector<std::string> all = {"qsgd:bits=2",
                                  "qsgd:bits=4,block=4096",
                                  "int2:block=64,round=stochastic",
                                  "int2:block=64,mode=minmax,round=stochastic",
                                  "topk:ratio=0.25+qsgd:bits=2",
                                  "randk:ratio=0.25+int2:round=stochastic",
                                  "topk:ratio=0.25+terngrad:clip=0",
                                  "sign:norm=l2"};
  for (const auto& entry : builtinCodecs()) {
    if (!makeCompression(entry.example).take().codec->traits().multi_phase) {
      all.emplace_back(entry.example);
    }
  }
  return all;
}

/// What one encode loses of the values.
Floats lossOf(const Codec& codec, const Floats& values, bool feedback, std::uint32_t step) {
  EncodeCase what{values};
  what.step = step;
  Floats residual(values.size());
  what.residual = feedback ? &residual : nullptr;
  const Bytes payload = encode(codec, what);
  if (feedback) {
    return residual;
  }
  DecodeCase back{{payload}, Floats(values.size())};
  back.step = step;
  Floats lost = decode(codec, back);
  for (std::size_t i = 0; i < lost.size(); ++i) {
    lost[i] = values[i] - lost[i];
  }
  return lost;
}

class Loss : public testing::TestWithParam<std::string> {};

/// Both of its norms, over many draws of the random streams.
void expectWithin(const Codec& codec, const NamedVector& x, bool feedback) {
  const LossBound bound = codec.lossBound(kCount, feedback);
  const CodecTraits traits = codec.traits();
  const int draws = traits.stochastic || traits.shared_random ? 40 : 1;
  const double whole = squares(x.values), peak = peakOf(x.values);
  double sum = 0, sum_of_squares = 0;
  for (int draw = 0; draw < draws; ++draw) {
    const Floats lost = lossOf(codec, x.values, feedback, static_cast<std::uint32_t>(draw));
    EXPECT_LE(peakOf(lost), (bound.maximum * peak + bound.floor) * (1 + 1e-5)) << x.name;
    const double share = squares(lost) / whole;
    sum += share;
    sum_of_squares += share * share;
  }
  const double mean = sum / draws, variance = std::max(0.0, sum_of_squares / draws - mean * mean);
  const double noise = 5 * std::sqrt(variance / draws);
  EXPECT_LE(mean, bound.euclidean * (1 + 1e-5) + noise + kCount * bound.floor * bound.floor / whole)
      << x.name << (feedback ? ", with feedback" : "");
}

TEST_P(Loss, IsAtMostWhatTheCodecStates) {
  const auto codec = codecOf(GetParam());
  for (const NamedVector& x : hardVectors()) {
    const bool shared_scale = codec->lossBound(kCount, false).euclidean == 0 && codec->traits().additive;
    if (peakOf(x.values) > (shared_scale ? 64 : kInRange) && codec->spec().find("none") == std::string::npos) {
      continue;
    }
    expectWithin(*codec, x, false);
    expectWithin(*codec, x, true);
  }
}

TEST_P(Loss, DoesNotGrowWithFeedback) {
  const LossBound bound = codecOf(GetParam())->lossBound(kCount, true);
  EXPECT_TRUE(bound.euclidean < 1 || bound.maximum < 1);
}

/// The part of a sum that was not delivered.
struct Missing {
  double squares = 0; ///< Mean over the steps: single ones are as random as what is picked.
  double peak = 0;    ///< Maximum over all steps.
};

/// Encodes the same vector in many steps.
Missing undelivered(const Floats& values, const std::string& spec, int steps) {
  const Compression compression = makeCompression(spec + "+ef").take();
  const FeedbackEncoder encoder(compression, kCount);
  Floats state(encoder.stateBytes() / sizeof(float));
  Scratch scratch(encoder.scratchBytes());
  std::vector<double> missing(kCount);
  Missing all;
  for (int step = 0; step < steps; ++step) {
    Bytes payload(compression.codec->maxBytes(kCount));
    EncodeSegment segment{0, kCount, payload, 0};
    EncodeJob job;
    job.values = values;
    job.random = randomness(0, static_cast<std::uint32_t>(step));
    job.segments = {&segment, 1};
    const auto number = static_cast<std::uint64_t>(step);
    EXPECT_TRUE(encoder.encode(job, std::as_writable_bytes(std::span(state)), scratch.span(), number).isOk());
    payload.resize(segment.bytes);
    DecodeCase back{{payload}, Floats(kCount)};
    back.step = static_cast<std::uint32_t>(step);
    const Floats sent = decode(*compression.codec, back);
    for (std::size_t i = 0; i < kCount; ++i) {
      missing[i] += static_cast<double>(values[i]) - static_cast<double>(sent[i]);
    }
    const Floats now = filled([&](std::size_t i) { return missing[i]; });
    all.squares += squares(now) / steps;
    all.peak = std::max(all.peak, peakOf(now));
  }
  return all;
}

// With e' = x + e - C(x + e), |e| stays below r (|x| + |e|) + floor: after any number of steps at most (r |x| + floor)
// / (1 - r) is missing, r being the root of the Euclidean factor, or the factor of magnitudes.
TEST_P(Loss, LeavesLittleUndeliveredAfterManySteps) {
  constexpr int kSteps = 100;
  const LossBound bound = codecOf(GetParam())->lossBound(kCount, true);
  const double root = std::sqrt(bound.euclidean), floor = bound.floor * std::sqrt(static_cast<double>(kCount));
  for (const NamedVector& x : hardVectors()) {
    if (peakOf(x.values) > 64) {
      continue; // with what was not sent before it would leave the range of some
    }
    const Missing missing = undelivered(x.values, GetParam(), kSteps);
    const double rounding = 1e-5 * kSteps;
    if (root < 1) {
      const double norm = std::sqrt(squares(x.values));
      EXPECT_LE(std::sqrt(missing.squares), (root * norm + floor) / (1 - root) * 1.05 + rounding * norm) << x.name;
    }
    if (bound.maximum < 1) {
      const double peak = peakOf(x.values);
      EXPECT_LE(missing.peak, (bound.maximum * peak + bound.floor) / (1 - bound.maximum) + rounding * peak) << x.name;
    }
  }
}

std::string nameOf(const testing::TestParamInfo<std::string>& spec) {
  std::string name = std::to_string(spec.index) + "_";
  for (const char c : spec.param) {
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return name;
}

INSTANTIATE_TEST_SUITE_P(All, Loss, testing::ValuesIn(specs()), nameOf);

// The worst vector of an unbiased codec, made by what its bound is derived from, loses nearly all that is stated.
TEST(LossBound, IsReached) {
  const auto reaches = [](const char* spec, const Floats& worst) {
    const auto codec = codecOf(spec);
    double sum = 0;
    for (std::uint32_t step = 0; step < 40; ++step) {
      sum += squares(lossOf(*codec, worst, false, step)) / squares(worst) / 40;
    }
    EXPECT_GT(sum, 0.8 * codec->lossBound(kCount, false).euclidean) << spec;
  };
  reaches("qsgd:bits=2", filled([](std::size_t) { return 1; }));
  reaches("qsgd:bits=4,block=1024", filled([](std::size_t) { return 1; }));
  reaches("int2:block=64,round=stochastic", peaks(64, 1.0 / 9));
  reaches("natural", filled([](std::size_t) { return 4.0 / 3; }));
  reaches("terngrad:clip=0", peaks(kCount, 1.0 / 39.7));
  reaches("int2:block=64,mode=minmax", filled([](std::size_t i) {
            return i % 64 == 0 ? 1.0 : i % 64 == 1 ? -1.0 : 0;
          }));
}

// A rank alone: nothing is to be added to what its phases ask for.
TEST(LossBound, HoldsForTheScaleThatRanksAgreeOn) {
  for (const char* spec : {"terngrad:clip=0,agree=max", "terngrad:clip=2.5,agree=max"}) {
    const auto codec = codecOf(spec);
    const Floats x = gaussian(kCount);
    const double root = std::sqrt(codec->lossBound(kCount, true).euclidean);
    ASSERT_LT(root, 1) << spec;
    Floats residual(kCount);
    for (std::uint32_t step = 0; step < 100; ++step) {
      Floats values = x;
      RunJob job;
      job.values = values;
      job.residual = residual.data();
      job.random = randomness(0, step);
      auto run = codec->start(job).take();
      for (auto phase = run->next(); phase.isOk() && phase.value().want != PhaseWant::done;) {
        phase = run->next();
      }
      EXPECT_LE(squares(residual), std::pow(root / (1 - root), 2) * squares(x)) << spec << ", step " << step;
    }
  }
}

} // namespace
} // namespace goss::test
