/// Compares the state of encoders with feedback to their definitions written out.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "compressors/feedback.h"
#include "tests/compressors/harness.h"

namespace goss::test {
namespace {

using compressors::FeedbackEncoder;
using compressors::makeCompression;

Compression compressionOf(std::string_view spec) {
  auto made = makeCompression(spec);
  EXPECT_TRUE(made.isOk()) << made.status().text();
  return made.take();
}

/// One tensor with its state.
class Sender {
 public:
  Sender(std::string_view spec, std::size_t count)
      : compression_(compressionOf(spec)),
        encoder_(compression_, count),
        state_((encoder_.stateBytes() + 3) / 4),
        scratch_(encoder_.scratchBytes()) {}

  /// Encodes the vector in two segments and returns what they decode to.
  Floats send(const Floats& values) {
    const std::size_t half = values.size() / 3;
    Bytes first(compression_.codec->maxBytes(half)), second(compression_.codec->maxBytes(values.size() - half));
    EncodeSegment segments[] = {{0, half, first, 0}, {half, values.size() - half, second, 0}};
    EncodeJob job;
    job.values = values;
    job.random = randomness(0, step_);
    job.segments = segments;
    const Status status = encoder_.encode(job, stateBytes(), scratch_.span(), step_++);
    EXPECT_TRUE(status.isOk()) << status.text();
    first.resize(segments[0].bytes);
    second.resize(segments[1].bytes);
    Floats out = decode(*compression_.codec, first, half);
    const Floats rest = decode(*compression_.codec, second, values.size() - half);
    out.insert(out.end(), rest.begin(), rest.end());
    return out;
  }
  std::span<std::byte> stateBytes() { return std::as_writable_bytes(std::span(state_)).first(encoder_.stateBytes()); }
  [[nodiscard]] const Floats& stateFloats() const { return state_; }
  [[nodiscard]] const FeedbackEncoder& encoder() const { return encoder_; }
  std::span<std::byte> scratch() { return scratch_.span(); }

 private:
  const Compression compression_;
  const FeedbackEncoder encoder_;
  Floats state_;
  Scratch scratch_;
  std::uint32_t step_ = 0;
};

constexpr std::size_t kCount = 3000;

TEST(Feedback, WithoutAnyKeepsNothing) {
  Sender sender("int4:block=128", kCount);
  EXPECT_EQ(sender.encoder().stateBytes(), 0u);
  const Floats values = gaussian(kCount);
  EXPECT_LT(normalizedError(values, sender.send(values)), 0.05);
}

TEST(Feedback, KeepsResidualsAsTheCodecLeavesThem) {
  Sender sender("int2:block=64+ef:decay=0.5", kCount);
  Floats residual(kCount);
  for (std::uint32_t step = 0; step < 3; ++step) {
    const Floats values = gaussian(kCount, step + 1), sent = sender.send(values);
    for (std::size_t i = 0; i < kCount; ++i) {
      residual[i] = (values[i] + 0.5f * residual[i]) - sent[i];
    }
    expectSameBits(residual, sender.stateFloats(), "residual");
  }
}

// LoCo: h = x + e; e = beta e + (1 - beta) (h - sent), in 8 bits, and zero again every third step.
TEST(Feedback, LocoAveragesErrorsInEightBitsAndForgetsThem) {
  Sender sender("int2:block=64+loco:beta=0.75,reset=3", kCount);
  EXPECT_LT(sender.encoder().stateBytes(), kCount + kCount / 32);
  const auto eight = codecOf("int8:block=256");
  Floats error(kCount);
  for (std::uint32_t step = 0; step < 7; ++step) {
    const Floats values = gaussian(kCount, step + 1);
    if (step % 3 == 0) {
      error.assign(kCount, 0.0f);
    }
    const Floats sent = sender.send(values);
    Floats kept(kCount);
    for (std::size_t i = 0; i < kCount; ++i) {
      kept[i] = 0.25f * ((values[i] + error[i]) - sent[i]) + 0.75f * error[i];
    }
    const Bytes stored = encode(*eight, kept);
    ASSERT_TRUE(std::equal(stored.begin(), stored.end(), sender.stateBytes().begin())) << "step " << step;
    error = decode(*eight, stored, kCount);
  }
}

/// Sum of what was delivered of the same gradient, beside the sum of what was given.
double driftOf(std::string_view spec) {
  Sender sender(spec, kCount);
  const Floats gradient = studentT(kCount, 3, 9);
  Floats given(kCount), delivered(kCount);
  for (int step = 0; step < 100; ++step) {
    const Floats sent = sender.send(gradient);
    for (std::size_t i = 0; i < kCount; ++i) {
      given[i] += gradient[i];
      delivered[i] += sent[i];
    }
  }
  return normalizedError(given, delivered);
}

TEST(Feedback, DeliversInTheEndWhatQuantisersLose) {
  const double without = driftOf("int2:block=256");
  EXPECT_GT(without, 0.1);
  EXPECT_LT(driftOf("int2:block=256+ef"), 0.01 * without);
  EXPECT_LT(driftOf("int2:block=256+loco:beta=0.5,reset=0"), 0.1 * without); // 8 bits of the error lose some again
}

// DGC, section 3: u = m u + g; v = v + u; the largest of v are sent, and u and v are zero there.
TEST(Feedback, MomentumIsCorrectedAndMasked) {
  Sender sender("topk:ratio=0.05+none+momentum:factor=0.5", kCount);
  Floats u(kCount), v(kCount);
  for (std::uint32_t step = 0; step < 4; ++step) {
    const Floats gradient = gaussian(kCount, step + 3), sent = sender.send(gradient);
    std::size_t held = 0;
    for (std::size_t i = 0; i < kCount; ++i) {
      u[i] = 0.5f * u[i] + gradient[i];
      v[i] = u[i] + v[i];
      if (sent[i] != 0) {
        ASSERT_EQ(sent[i], v[i]);
        u[i] = v[i] = 0;
        ++held;
      }
    }
    EXPECT_EQ(held, 150u);
    const Floats& state = sender.stateFloats();
    expectSameBits(v, Floats(state.begin(), state.begin() + kCount), "velocity");
    expectSameBits(u, Floats(state.begin() + kCount, state.end()), "momentum");
  }
}

TEST(Feedback, UnmaskedMomentumGoesOn) {
  Sender sender("topk:ratio=1+none+momentum:factor=0.5,mask=0", 4);
  EXPECT_EQ(sender.send(Floats(4, 1.0f)), Floats(4, 1.0f));
  EXPECT_EQ(sender.send(Floats(4, 0.0f)), Floats(4, 0.5f)); // of the momentum alone
}

TEST(Feedback, ForgetsOverflows) {
  for (const char* spec : {"topk:ratio=0.1+none+momentum", "int4:block=128+loco", "int8+ef"}) {
    Sender sender(spec, kCount);
    Floats values = gaussian(kCount);
    values[7] = std::numeric_limits<float>::infinity();
    EXPECT_FALSE(std::isfinite(sender.send(values)[7])) << spec;
    for (const float value : sender.send(gaussian(kCount, 2))) {
      ASSERT_TRUE(std::isfinite(value)) << spec;
    }
  }
}

TEST(Feedback, OfAServerActsInMerges) {
  for (const char* spec : {"int2:block=64+ef", "int2:block=64+loco:beta=0,reset=0"}) {
    Sender sender(spec, kCount);
    const auto codec = codecOf("int2:block=64");
    Floats residual(kCount);
    for (std::uint32_t step = 0; step < 2; ++step) {
      const Bytes other = encode(*codec, gaussian(kCount, step + 5));
      const PayloadView views[] = {other};
      Floats values = gaussian(kCount, step + 9), own = values, lost = residual;
      Bytes out(codec->maxBytes(kCount)), expected = out;
      MergeJob plain{views, own, 0.5f, lost.data(), 1, randomness(0), 0, {}, expected, 0};
      ASSERT_TRUE(codec->merge(plain).isOk());
      MergeJob job{views, values, 0.5f, nullptr, 1, randomness(0), 0, {}, out, 0};
      ASSERT_TRUE(sender.encoder().merge(job, sender.stateBytes(), sender.scratch(), step).isOk());
      EXPECT_EQ(out, expected) << spec;
      expectSameBits(values, own, spec);
      residual = std::string_view(spec).ends_with("+ef") ? lost : [&] {
        const auto eight = codecOf("int8:block=256");
        return decode(*eight, encode(*eight, lost), kCount);
      }();
    }
  }
}

TEST(Feedback, HasCanonicalSpecsAndRefusesWrongOnes) {
  EXPECT_EQ(compressionOf("int4:block=128+loco").spec,
            "int4:block=128,mode=symmetric,round=nearest+loco:beta=0.8,reset=1024,at=both");
  EXPECT_EQ(compressionOf("dgc").spec, "topk:ratio=0.001,select=sampled+none+momentum:factor=0.9,mask=1");
  EXPECT_EQ(compressionOf(compressionOf("dgc").spec).spec, compressionOf("dgc").spec);
  EXPECT_FALSE(makeCompression("int8+momentum").isOk());
  EXPECT_TRUE(makeCompression("int8+momentum:mask=0").isOk());
  EXPECT_FALSE(makeCompression("int8+loco:beta=2").isOk());
  EXPECT_FALSE(makeCompression("int8+ef+loco").isOk());
  Sender sender("int8+ef", 10);
  EncodeJob job;
  const Floats values(11);
  job.values = values;
  EXPECT_EQ(sender.encoder().encode(job, sender.stateBytes(), sender.scratch(), 0).kind(), GOSS_ERR_INVALID_ARGUMENT);
  job.values = std::span(values).first(10);
  EXPECT_EQ(sender.encoder().encode(job, sender.stateBytes().first(8), sender.scratch(), 0).kind(),
            GOSS_ERR_INVALID_ARGUMENT);
}

} // namespace
} // namespace goss::test
