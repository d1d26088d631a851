/// Random blocks: payloads that hold the same blocks are added up before they are laid out.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "tests/compressors/harness.h"

namespace goss::test {
namespace {

/// Numbers with what sums may stumble over: zeros of both signs, infinities, NaNs.
Floats withSpecials(std::size_t count, std::uint32_t seed) {
  Floats values = gaussian(count, seed);
  for (std::size_t i = seed; i < count; i += 1000) {
    values[i] = -0.0f;
  }
  values[count - 1] = std::numeric_limits<float>::infinity();
  values[count / 2] = std::numeric_limits<float>::quiet_NaN();
  return values;
}

void expectSumOfDecodings(const std::string& spec, std::size_t count) {
  const auto reference = codecOf(spec);
  std::vector<Bytes> payloads;
  Floats expected;
  for (std::uint32_t sender = 0; sender < 3; ++sender) {
    payloads.push_back(encode(*reference, withSpecials(count, sender + 1)));
    const DecodeMode mode = sender == 0 ? DecodeMode::set : DecodeMode::add;
    expected = decode(*reference, {{payloads.back()}, sender == 0 ? Floats(count, 7.0f) : expected, mode});
  }
  for (const compressors::Loops& loops : compressors::availableLoops()) {
    const auto codec = codecOf(spec, loops);
    const std::string what = spec + ", " + std::to_string(count) + " elements, " + loops.isa;
    for (const std::size_t misalign : {0u, 4u}) { // whole lines pass the caches only where they begin at one
      DecodeCase all{payloads, Floats(count, 7.0f), DecodeMode::set};
      all.misalign = misalign;
      expectSameBits(decode(*codec, all), expected, what);
    }
  }
}

TEST(RandomBlocks, AddUpToTheSameBitsTogetherAsOneByOne) {
  constexpr std::size_t kLong = (1u << 20) + 17; // Past the caches, and the last block is a short one.
  for (const std::size_t count : {std::size_t{1}, std::size_t{31}, std::size_t{5000}, kLong}) {
    expectSumOfDecodings("cocktail", count);
    expectSumOfDecodings("randk:ratio=0.5,block=8+none", count);
  }
  expectSumOfDecodings("randk:ratio=1,block=32+topk:ratio=0.001+int8", kLong); // indices, no bit map
}

// 6 of 10 blocks are one of each run of 1, 2, 2, 1, 2 and 2: those of runs of one are always sent, as the catalogue
// says.
TEST(RandomBlocks, AreDrawnUniformlyFromTheirRunsAtHighRatiosToo) {
  constexpr std::size_t kBlocks = 10, kBlock = 8;
  constexpr std::uint32_t kSteps = 4000;
  const auto codec = codecOf("randk:ratio=0.6,block=8+none");
  const Floats ones(kBlocks * kBlock, 1.0f);
  Floats sums(ones.size());
  for (std::uint32_t step = 0; step < kSteps; ++step) {
    EncodeCase whole{ones};
    whole.step = step;
    DecodeCase payload{{encode(*codec, whole)}, Floats(ones.size())};
    payload.step = step;
    const Floats sent = decode(*codec, payload);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      sums[i] += sent[i];
    }
  }
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::size_t block = i / kBlock;
    const double expected = block == 0 || block == 5 ? kSteps : kSteps / 2.0;
    EXPECT_NEAR(sums[i], expected, 6 * std::sqrt(kSteps / 4.0)) << "block " << block;
    EXPECT_EQ(sums[i], sums[block * kBlock]);
  }
}

TEST(RandomBlocks, AreLaidOutOnWholeLinesAsAnywhere) {
  constexpr std::size_t kLong = 1u << 20;
  const auto codec = codecOf("randk:ratio=0.1,block=32+none");
  const Floats values = gaussian(kLong, 9);
  const Bytes payload = encode(*codec, values);
  Scratch scratch(codec->scratchBytes(kLong)), aligned(kLong * sizeof(float));
  std::vector<std::uint32_t> held(kLong);
  const auto some = codec->selected(payload, kLong, randomness(0).shared, 0, held);
  ASSERT_TRUE(some.isOk()) << some.status().text();
  Floats expected(kLong);
  for (std::size_t i = 0; i < some.value(); ++i) {
    expected[held[i]] = values[held[i]];
  }
  const PayloadView view(payload);
  DecodeJob job;
  job.payloads = {&view, 1};
  job.out = {reinterpret_cast<float*>(aligned.span().data()), kLong};
  job.shared = randomness(0).shared;
  job.scratch = scratch.span();
  std::memset(job.out.data(), 0xff, job.out.size_bytes());
  ASSERT_TRUE(codec->decode(job).isOk());
  expectSameBits(Floats(job.out.begin(), job.out.end()), expected, "decoded to whole lines");
}

} // namespace
} // namespace goss::test
