/// LoCo's errors on the device beside FeedbackEncoder's, bit for bit, over several encodings.
#include "compressors/chain.h"
#include "compressors/cuda/device/arithmetic.h"
#include "compressors/feedback.h"
#include "tests/compressors/cuda/harness.h"

namespace goss::test {
namespace {

/// What the host's payload of eight bits says.
Floats errorOf(const Bytes& state, std::size_t count) {
  const auto codec = compressors::makeCompression("int8").take().codec;
  Floats error(count);
  const PayloadView payload(state);
  DecodeJob job;
  job.payloads = {&payload, 1};
  job.out = error;
  EXPECT_TRUE(codec->decode(job).isOk());
  return error;
}

/// Encodes six vectors with `spec` on both sides; the device's vectors begin `misalign` bytes after an aligned address.
void expectHostsErrors(const std::string& spec, std::size_t count, std::size_t misalign, Kind kind = Kind::plain) {
  const Compression compression = compressors::makeCompression(spec).take();
  const compressors::FeedbackEncoder host(compression, count);
  const auto device = makeDeviceCodec(compression.codec->spec()).take();
  Bytes state(host.stateBytes()), payload(compression.codec->maxBytes(count));
  HostScratch scratch(host.scratchBytes());
  const Lent error(Floats(count), misalign), lost(Floats(count, 7.0f), misalign);
  const Lent device_payload(payload.data(), payload.size()), device_scratch(Floats(device->scratchBytes(count) / 4));
  for (std::uint32_t step = 0; step < 6; ++step) {
    const std::string what = spec + ", " + std::to_string(count) + " elements, step " + std::to_string(step);
    const Floats values = valuesOf(count, step, kind);
    EncodeSegment segment{0, count, payload, 0};
    EncodeJob job;
    job.values = values;
    job.random = randomness(step);
    job.segments = {&segment, 1};
    ASSERT_TRUE(host.encode(job, state, scratch.span(), step).isOk());

    const ErrorFeedback& feedback = compression.feedback;
    const bool forgets = feedback.reset_steps != 0 && step % feedback.reset_steps == 0;
    const ErrorJob kept{error.floats(), lost.floats(), count, feedback.keep, forgets};
    ASSERT_EQ(compressors::cuda::launchOpenError(kept, nullptr), 0);
    const Lent given(values);
    job.values = given.span();
    job.residual = lost.floats();
    job.decay = feedback.decay;
    job.scratch = device_scratch.bytes();
    segment.out = device_payload.bytes();
    ASSERT_TRUE(device->encode(job, nullptr).isOk());
    ASSERT_EQ(compressors::cuda::launchKeepError(kept, nullptr), 0);
    expectSame(payload, device_payload.back(payload.size()), what);
    expectSame(errorOf(state, count), error.backFloats(), what);
    (void)lost.backFloats(); // nothing was written behind it
  }
}

TEST(DeviceErrors, AreTheHosts) {
  GOSS_NEED_DEVICE();
  for (const std::size_t count : {1u, 3u, 255u, 256u, 257u, 511u, 4096u + 37u})
    for (const std::size_t misalign : {0u, 4u})
      expectHostsErrors("int4+loco:reset=4", count, misalign);
}

TEST(DeviceErrors, AreTheHostsForEveryShareAndCodec) {
  GOSS_NEED_DEVICE();
  for (const char* spec : {"int4+loco:beta=0.25", "sign+loco:beta=0.99,reset=0", "int2:round=stochastic+loco:reset=2"})
    expectHostsErrors(spec, 3000, 0);
}

TEST(DeviceErrors, AreTheHostsWhereValuesAreNotFinite) {
  GOSS_NEED_DEVICE();
  expectHostsErrors("int8+loco", 9000, 0, Kind::special);
}

// As after a re-sharding: the steps of the blocks in which it was kept are not those of the blocks that it is in now.
TEST(DeviceErrors, AreRoundedInTheBlocksThatTheyAreInNow) {
  GOSS_NEED_DEVICE();
  constexpr std::size_t kCount = 1000;
  constexpr float kKeep = 0.75f;
  const auto codec = compressors::makeCompression("int8").take().codec;
  const Floats before = valuesOf(kCount, 1), lost = valuesOf(kCount, 2);
  const auto rounded = [&](const Floats& values) {
    Bytes payload(codec->maxBytes(kCount));
    EncodeSegment segment{0, kCount, payload, 0};
    EncodeJob job;
    job.values = values;
    job.segments = {&segment, 1};
    EXPECT_TRUE(codec->encode(job).isOk());
    return errorOf(payload, kCount);
  };
  Floats expected = rounded(before);
  for (std::size_t i = 0; i < kCount; ++i)
    expected[i] = (1.0f - kKeep) * lost[i] + kKeep * expected[i];
  const Lent error(before), left(lost);
  ASSERT_EQ(compressors::cuda::launchKeepError({error.floats(), left.floats(), kCount, kKeep, false}, nullptr), 0);
  expectSame(rounded(expected), error.backFloats(), "error");
}

TEST(DeviceMomenta, HaveTheHostsBitsAndForgetOverflows) {
  GOSS_NEED_DEVICE();
  for (const std::size_t shift : {std::size_t{0}, std::size_t{4}}) {
    const Floats values = valuesOf(6001, 1, Kind::special);
    Floats momentum = valuesOf(6001, 2);
    const Lent at_values(values, shift), at_momentum(momentum, shift);
    ASSERT_EQ(
        compressors::cuda::launchAddMomentum({at_momentum.floats(), at_values.floats(), values.size(), 0.9f}, nullptr),
        0);
    for (std::size_t i = 0; i < values.size(); ++i) {
      momentum[i] = 0.9f * momentum[i] + values[i];
    }
    expectSame(momentum, at_momentum.backFloats(), "added");
    ASSERT_EQ(compressors::cuda::launchAddMomentum({at_momentum.floats(), nullptr, values.size(), 0}, nullptr), 0);
    for (float& value : momentum) {
      value = std::isfinite(value) ? value : 0.0f;
    }
    expectSame(momentum, at_momentum.backFloats(), "finite");
  }
}

} // namespace
} // namespace goss::test
