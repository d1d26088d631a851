/// What every codec of the catalogue must do (multi-phase ones have tests of their own): the promises of
/// gossamer/codec.h and of its own traits.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "tests/compressors/harness.h"

namespace goss::test {
namespace {

using compressors::availableLoops;
using compressors::builtinCodecs;
using compressors::CodecEntry;
using compressors::Loops;

/// Around the sizes where blocks, vectors, tiles and bytes end.
constexpr std::size_t kCounts[] = {0,   1,   2,   3,   7,   8,    31,   32,   33,   63,   64,   127,  128,  129,
                                   255, 256, 257, 511, 513, 1000, 2049, 4095, 4096, 4097, 6001, 8192, 12289};

/// Values of many magnitudes and both signs, without zeros.
Floats mixed(std::size_t count, std::uint32_t seed = 5) {
  Floats values = gaussian(count, seed);
  for (std::size_t i = 0; i < count; ++i) {
    values[i] = std::ldexp(values[i], static_cast<int>(i / 97 % 9) - 4);
  }
  return values;
}

/// With an agreed scale the ranks see an overflow when they agree on the scale.
bool sharesScale(const CodecEntry& entry) { return entry.example.find(",scale=") != std::string_view::npos; }

/// DeMo's mean is one of coefficients: tests of its own.
bool meansCoefficients(const CodecEntry& entry) { return entry.name == "dct"; }

class EveryCodec : public testing::TestWithParam<CodecEntry> {
 protected:
  void SetUp() override {
    codec_ = codecOf(GetParam().example);
    ASSERT_NE(codec_, nullptr);
  }
  std::shared_ptr<const Codec> codec_;
};

TEST_P(EveryCodec, HasACanonicalSpecThatMakesItAgain) {
  EXPECT_EQ(codec_->spec(), GetParam().example);
  EXPECT_EQ(codecOf(codec_->spec())->spec(), codec_->spec());
}

TEST_P(EveryCodec, KeepsItsBoundAndRoundTripsAllCounts) {
  for (const std::size_t count : kCounts) {
    SCOPED_TRACE(count);
    const Floats values = mixed(count);
    const Bytes payload = encode(*codec_, values);
    if (codec_->traits().fixed_size) {
      EXPECT_EQ(payload.size(), codec_->maxBytes(count));
    }
    EXPECT_TRUE(codec_->check(payload, count).isOk());
    Bytes followed = payload;
    followed.resize(codec_->maxBytes(count) + 9, std::byte{0xff});
    EXPECT_EQ(codec_->lengthOf(followed, count), payload.size());
    for (const std::size_t cut : {std::size_t{0}, std::size_t{1}, payload.size() / 2, payload.size()}) {
      EXPECT_LE(codec_->lengthOf(Bytes(followed.begin(), followed.begin() + static_cast<std::ptrdiff_t>(cut)), count),
                cut);
    }
    const Floats out = decode(*codec_, payload, count);
    for (const float value : out) {
      ASSERT_TRUE(std::isfinite(value));
    }
    if (codec_->traits().lossless) {
      expectSameBits(values, out, "lossless");
    }
  }
}

TEST_P(EveryCodec, GivesTheSameBytesWithEveryInstructionSet) {
  for (const Loops& loops : availableLoops()) {
    SCOPED_TRACE(loops.isa);
    const auto other = codecOf(GetParam().example, loops);
    for (const std::size_t count : {std::size_t{1}, std::size_t{33}, std::size_t{1000}, std::size_t{12289}}) {
      const Floats values = mixed(count), reference = gaussian(count, 9);
      Floats residual = gaussian(count, 11), other_residual = residual;
      const Bytes plain = encode(*codec_, values);
      EXPECT_EQ(plain, encode(*other, values));
      EXPECT_EQ(encode(*codec_, {values, &reference, &residual, 0.5f}),
                encode(*other, {values, &reference, &other_residual, 0.5f}));
      expectSameBits(residual, other_residual, "residual");
      const DecodeCase add{{plain, plain}, gaussian(count, 13), DecodeMode::axpy, 0.3f};
      expectSameBits(decode(*codec_, add), decode(*other, add), "decoded");
    }
  }
}

TEST_P(EveryCodec, DoesNotDependOnAlignment) {
  const Floats values = mixed(5001);
  const Bytes aligned = encode(*codec_, values);
  for (const std::size_t misalign : {std::size_t{1}, std::size_t{3}, std::size_t{4}, std::size_t{17}}) {
    SCOPED_TRACE(misalign);
    EncodeCase what{values};
    what.misalign = misalign;
    EXPECT_EQ(encode(*codec_, what), aligned);
    DecodeCase back{{aligned}, Floats(values.size())};
    back.misalign = misalign;
    expectSameBits(decode(*codec_, back), decode(*codec_, aligned, values.size()), "decoded");
  }
}

TEST_P(EveryCodec, DeliversSetAddAxpyAndMean) {
  const std::size_t count = 4500;
  const Bytes one = encode(*codec_, mixed(count, 5)), two = encode(*codec_, mixed(count, 6));
  const Floats x = decode(*codec_, one, count), y = decode(*codec_, two, count);
  const Floats before = gaussian(count, 3);
  const Floats set = decode(*codec_, {{one, two}, before, DecodeMode::set});
  const Floats add = decode(*codec_, {{one, two}, before, DecodeMode::add});
  const Floats axpy = decode(*codec_, {{one, two}, before, DecodeMode::axpy, 0.375f});
  const Floats mean = decode(*codec_, {{one, two}, before, DecodeMode::meanOfPresent});
  const Floats none = decode(*codec_, {{}, before, DecodeMode::set});
  for (std::size_t i = 0; i < count; ++i) {
    ASSERT_EQ(set[i], x[i] + y[i]);
    ASSERT_EQ(add[i], (before[i] + x[i]) + y[i]);
    ASSERT_EQ(axpy[i], (before[i] + 0.375f * x[i]) + 0.375f * y[i]);
    ASSERT_EQ(none[i], 0.0f);
    if (meansCoefficients(GetParam())) {
      continue;
    }
    if (!codec_->traits().sparse) {
      ASSERT_EQ(mean[i], (x[i] + y[i]) / 2.0f);
    } else if (x[i] != 0 || y[i] != 0) {
      ASSERT_TRUE(mean[i] == (x[i] + y[i]) / 2.0f || mean[i] == x[i] + y[i]) << i;
    }
  }
}

TEST_P(EveryCodec, LeavesInTheResidualExactlyWhatWasLost) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{777}, std::size_t{9000}}) {
    const Floats values = mixed(count), before = gaussian(count, 21);
    Floats residual = before;
    const Bytes payload = encode(*codec_, {values, nullptr, &residual, 0.5f});
    const Floats decoded = decode(*codec_, payload, count);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_EQ(residual[i], (values[i] + 0.5f * before[i]) - decoded[i]) << i;
    }
  }
}

TEST_P(EveryCodec, CodesTheDifferenceToAReference) {
  const std::size_t count = 5000;
  const Floats values = mixed(count), reference = mixed(count, 8);
  Floats difference(count);
  for (std::size_t i = 0; i < count; ++i) {
    difference[i] = values[i] - reference[i];
  }
  EXPECT_EQ(encode(*codec_, {values, &reference}), encode(*codec_, difference));
}

TEST_P(EveryCodec, EncodesEachSegmentByItself) {
  const Floats values = mixed(9000);
  std::vector<EncodeSegment> segments(3);
  std::vector<Bytes> out(3);
  const std::size_t firsts[] = {4096, 0, 8999}, counts[] = {4903, 4001, 1};
  Scratch scratch(codec_->scratchBytes(4903));
  for (std::size_t s = 0; s < 3; ++s) {
    out[s].resize(codec_->maxBytes(counts[s]));
    segments[s] = {firsts[s], counts[s], out[s], 0};
  }
  Floats residual = gaussian(9000, 2);
  const Floats before = residual;
  EncodeJob job;
  job.values = values;
  job.residual = residual.data();
  job.random = randomness(4);
  job.first_element = 1000;
  job.scratch = scratch.span();
  job.segments = segments;
  ASSERT_TRUE(codec_->encode(job).isOk());
  for (std::size_t s = 0; s < 3; ++s) {
    const auto cut = [&](const Floats& whole) {
      const auto begin = whole.begin() + static_cast<std::ptrdiff_t>(firsts[s]);
      return Floats(begin, begin + static_cast<std::ptrdiff_t>(counts[s]));
    };
    Floats lost = cut(before);
    EncodeCase alone{cut(values), nullptr, &lost};
    alone.rank = 4;
    alone.first_element = 1000 + firsts[s];
    out[s].resize(segments[s].bytes);
    EXPECT_EQ(out[s], encode(*codec_, alone));
    expectSameBits(cut(residual), lost, "residual");
  }
}

TEST_P(EveryCodec, MergesAsDecodingAddingAndEncodingWould) {
  for (const bool feedback : {false, true}) {
    const std::size_t count = 6000;
    const Bytes one = encode(*codec_, mixed(count, 5)), two = encode(*codec_, mixed(count, 6));
    const Floats own = mixed(count, 7), before = gaussian(count, 8);
    Floats expected = decode(*codec_, {{one, two}, own, DecodeMode::add});
    for (float& value : expected) {
      value *= 0.25f;
    }
    Floats expected_residual = before;
    EncodeCase again{expected, nullptr, feedback ? &expected_residual : nullptr, 0.5f};
    const Bytes payload = encode(*codec_, again);

    Floats values = own, residual = before;
    Bytes out(codec_->maxBytes(count));
    Scratch scratch(codec_->scratchBytes(count));
    const std::vector<PayloadView> payloads = {one, two};
    MergeJob job{payloads, values, 0.25f, feedback ? residual.data() : nullptr, 0.5f, randomness(0), 0, {}, {}, 0};
    job.scratch = scratch.span();
    job.out = out;
    ASSERT_TRUE(codec_->merge(job).isOk());
    out.resize(job.bytes);
    EXPECT_EQ(out, payload);
    expectSameBits(values, decode(*codec_, payload, count), "own shard");
    if (feedback) {
      expectSameBits(residual, expected_residual, "residual");
    }
  }
}

TEST(Sparsifiers, WriteOneNanOfElementsThatNoPayloadHolds) {
  constexpr std::size_t kCount = 100, kHeld = 2;
  const std::shared_ptr<const Codec> codec = codecOf("topk:ratio=0.02+none");
  Floats theirs(kCount), values(kCount, std::bit_cast<float>(0xffc12345u));
  theirs[kCount - 2] = theirs[kCount - 1] = 1;
  const Bytes payload = encode(*codec, theirs);
  Bytes out(codec->maxBytes(kCount));
  Scratch scratch(codec->scratchBytes(kCount));
  const PayloadView payloads[] = {payload};
  MergeJob job{payloads, values, 0.5f, nullptr, 1, randomness(0), 0, scratch.span(), out, 0};
  ASSERT_TRUE(codec->merge(job).isOk());
  ASSERT_EQ(job.bytes, out.size());
  Floats held(kHeld); // the last of the payload: of equal magnitudes the first elements
  std::memcpy(held.data(), out.data() + out.size() - sizeof(float) * kHeld, sizeof(float) * kHeld);
  for (const float value : held) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(value), 0x7fc00000u);
  }
}

TEST_P(EveryCodec, IsIdempotentIfItSaysSo) {
  if (!codec_->traits().idempotent) {
    return;
  }
  for (std::uint32_t seed = 1; seed <= 20; ++seed) {
    const Floats values = seed % 2 == 0 ? mixed(3000, seed) : studentT(3000, 3, seed);
    const Floats once = decode(*codec_, encode(*codec_, values), values.size());
    expectSameBits(once, decode(*codec_, encode(*codec_, once), once.size()), "second time");
  }
}

TEST_P(EveryCodec, UsesTheStreamsThatItSays) {
  const Floats values = mixed(4096);
  EncodeCase what{values};
  const Bytes first = encode(*codec_, what);
  EXPECT_EQ(first, encode(*codec_, what));
  what.rank = 1;
  EXPECT_EQ(first != encode(*codec_, what), codec_->traits().stochastic);
  what.rank = 0;
  what.step = 8; // of both streams
  EXPECT_EQ(first != encode(*codec_, what), codec_->traits().stochastic || codec_->traits().shared_random);
}

TEST_P(EveryCodec, IsUnbiasedIfItSaysSo) {
  if (!codec_->traits().unbiased) {
    return;
  }
  constexpr int kRounds = 400;
  const Floats values = gaussian(1024, 31);
  std::vector<double> sum(values.size()), squares(values.size());
  double largest_loss = 0;
  for (std::uint32_t rank = 0; rank < kRounds; ++rank) {
    EncodeCase what{values};
    what.rank = rank;
    const Floats decoded = decode(*codec_, encode(*codec_, what), values.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
      sum[i] += decoded[i];
      squares[i] += static_cast<double>(decoded[i]) * decoded[i];
      largest_loss = std::max(largest_loss, std::abs(static_cast<double>(decoded[i]) - values[i]));
    }
  }
  double bias = 0, bias_variance = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const double mean = sum[i] / kRounds;
    const double variance = std::max(squares[i] / kRounds - mean * mean, 0.0) / kRounds;
    // Six standard errors; and what happens with a chance below 15 in kRounds may not have happened.
    EXPECT_NEAR(mean, values[i], 6 * std::sqrt(variance) + 15 * largest_loss / kRounds) << i;
    bias += values[i] * (mean - values[i]);
    bias_variance += values[i] * values[i] * variance;
  }
  EXPECT_LT(std::abs(bias), 6 * std::sqrt(bias_variance)); // shrinking or growing as a whole
}

TEST_P(EveryCodec, AddsPayloadsIfItSaysSo) {
  const std::size_t count = 5000;
  const Floats x = mixed(count, 5), y = mixed(count, 6);
  const Bytes one = encode(*codec_, x);
  Bytes sum = encode(*codec_, y);
  const Floats separate = decode(*codec_, {{sum, one}, Floats(count)});
  const Status status = codec_->addPayload(one, count, sum);
  if (!codec_->traits().additive) {
    EXPECT_EQ(status.kind(), GOSS_ERR_UNSUPPORTED);
    return;
  }
  ASSERT_TRUE(status.isOk()) << status.text();
  EXPECT_GT(codec_->sumBits(2), 0u);
  const Floats added = decode(*codec_, sum, count);
  for (std::size_t i = 0; i < count; ++i) { // e5m2 keeps three bits
    ASSERT_NEAR(added[i], separate[i], std::abs(separate[i]) / 8 + 1e-2) << i;
  }
}

TEST_P(EveryCodec, KeepsZerosAndEqualValues) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{100}, std::size_t{5000}}) {
    const Floats zeros(count), negative_zeros(count, -0.0f);
    for (const Floats& values : {zeros, negative_zeros}) {
      for (const float value : decode(*codec_, encode(*codec_, values), count)) {
        ASSERT_EQ(value, 0.0f);
      }
    }
    for (const float equal : {1.0f, -3.0f, 0.7f}) {
      if (sharesScale(GetParam())) continue;
      const Floats values(count, equal);
      for (const float value : decode(*codec_, encode(*codec_, values), count)) {
        ASSERT_TRUE(std::isfinite(value));
        ASSERT_LE(std::abs(value), 2 * std::abs(equal)); // twice: rounding to powers of two
      }
    }
  }
}

TEST_P(EveryCodec, StaysSmallOnSubnormalsAndFiniteOnHugeValues) {
  Floats tiny(600), huge(600);
  for (std::size_t i = 0; i < tiny.size(); ++i) {
    tiny[i] = std::numeric_limits<float>::denorm_min() * static_cast<float>(i) * (i % 2 == 0 ? 1.0f : -1.0f);
    huge[i] = std::ldexp(1.0f + static_cast<float>(i) / 600, 50) * (i % 2 == 0 ? 1.0f : -1.0f);
  }
  for (const float value : decode(*codec_, encode(*codec_, tiny), tiny.size())) {
    ASSERT_LE(std::abs(value), 1e-6f);
  }
  // Narrow casts overflow to infinity, or saturate; nothing becomes a NaN, and residuals stay finite.
  Floats residual(huge.size());
  for (const float value : decode(*codec_, encode(*codec_, {huge, nullptr, &residual}), huge.size())) {
    ASSERT_FALSE(std::isnan(value));
  }
  for (const float value : residual) {
    ASSERT_TRUE(std::isfinite(value));
  }
}

TEST_P(EveryCodec, ShowsOverflowsAndForgetsThem) {
  const float infinity = std::numeric_limits<float>::infinity();
  for (const float bad : {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}) {
    for (const std::size_t place : {std::size_t{0}, std::size_t{700}, std::size_t{4999}}) {
      Floats values = mixed(5000), residual(5000);
      values[place] = bad;
      const Bytes payload = encode(*codec_, {values, nullptr, &residual});
      ASSERT_TRUE(codec_->check(payload, values.size()).isOk());
      const Floats decoded = decode(*codec_, payload, values.size());
      if (!codec_->traits().shared_random && !sharesScale(GetParam())) { // a mask may leave it out
        EXPECT_FALSE(std::isfinite(decoded[place])) << decoded[place];
      }
      for (const float value : residual) {
        ASSERT_TRUE(std::isfinite(value));
      }
    }
  }
}

TEST(None, CopiesTheBitsOfNansAndWritesOneNanOfSums) {
  const std::shared_ptr<const Codec> codec = codecOf("none");
  Floats values(200), residual(200, 1.0f);
  for (std::size_t i = 0; i < values.size(); ++i) { // quiet and signalling, of both signs
    values[i] =
        std::bit_cast<float>(static_cast<std::uint32_t>(0x7f800001u + 40961u * i) | (i % 2 == 0 ? 0u : 1u << 31));
  }
  expectSameBits(decode(*codec, encode(*codec, values), values.size()), values, "copied");
  const Floats one(values.size(), std::bit_cast<float>(0x7fc00000u));
  expectSameBits(decode(*codec, encode(*codec, {values, nullptr, &residual}), values.size()), one, "with a residual");
  Floats reference(values.size(), 1.0f);
  expectSameBits(decode(*codec, encode(*codec, {values, &reference}), values.size()), one, "with a reference");
  const Bytes payload = encode(*codec, values);
  const PayloadView view(payload);
  Bytes merged(payload.size());
  MergeJob job{{&view, 1}, reference, 0.5f, nullptr, 1, randomness(0), 0, {}, merged, 0};
  ASSERT_TRUE(codec->merge(job).isOk());
  expectSameBits(decode(*codec, merged, values.size()), one, "merged");
  expectSameBits(reference, one, "merged, own shard");
}

TEST_P(EveryCodec, RefusesShortAndLongPayloads) {
  for (const std::size_t count : {std::size_t{1}, std::size_t{300}, std::size_t{5000}}) {
    const Bytes payload = encode(*codec_, mixed(count));
    for (const std::size_t bytes : {std::size_t{0}, payload.size() / 2, payload.size() - 1}) {
      const Status status = codec_->check(PayloadView(payload).first(bytes), count);
      ASSERT_EQ(status.kind(), GOSS_ERR_PROTOCOL) << count << " elements, " << bytes << " bytes";
      EXPECT_NE(status.text().find(codec_->spec()), std::string::npos);
    }
    Bytes longer = payload;
    longer.push_back(std::byte{0});
    EXPECT_EQ(codec_->check(longer, count).kind(), GOSS_ERR_PROTOCOL);
    Floats out(count);
    const std::vector<PayloadView> views = {PayloadView(longer)};
    Scratch scratch(codec_->scratchBytes(count));
    DecodeJob job;
    job.payloads = views;
    job.out = out;
    job.scratch = scratch.span();
    EXPECT_EQ(codec_->decode(job).kind(), GOSS_ERR_PROTOCOL);
  }
}

/// Under the address sanitizer this finds a decoder that believes its input.
TEST_P(EveryCodec, SurvivesDamagedPayloads) {
  std::uint32_t state = 12345;
  const auto next = [&state] { return state = state * 1664525u + 1013904223u, state >> 8; };
  for (int round = 0; round < 200; ++round) {
    const std::size_t count = round < 100 ? 1 + next() % 40 : 1 + next() % 5000;
    Bytes payload = encode(*codec_, mixed(count));
    const bool all = round % 4 == 0;
    for (std::size_t damage = all ? payload.size() : 1 + next() % 4; damage > 0 && !payload.empty(); --damage) {
      const std::size_t place = all ? damage - 1 : next() % payload.size();
      payload[place] = static_cast<std::byte>(next());
    }
    if (round % 3 == 0) {
      payload.resize(next() % (payload.size() + 8));
    }
    if (codec_->check(payload, count).isOk()) {
      decode(*codec_, {{payload}, Floats(count), DecodeMode::add});
    }
  }
}

TEST_P(EveryCodec, RefusesJobsThatDoNotFit) {
  const Floats values = mixed(100);
  Bytes out(codec_->maxBytes(100));
  Scratch scratch(codec_->scratchBytes(100));
  EncodeSegment segment{50, 51, out, 0};
  EncodeJob job;
  job.values = values;
  job.scratch = scratch.span();
  job.segments = {&segment, 1};
  EXPECT_EQ(codec_->encode(job).kind(), GOSS_ERR_INVALID_ARGUMENT);
  segment = {0, 100, std::span(out).first(out.size() - 1), 0};
  EXPECT_EQ(codec_->encode(job).kind(), GOSS_ERR_INVALID_ARGUMENT);
}

std::string nameOf(const testing::TestParamInfo<CodecEntry>& info) {
  std::string name;
  for (const char c : info.param.example) {
    name += std::isalnum(static_cast<unsigned char>(c)) != 0 ? c : '_';
  }
  return name;
}

std::vector<CodecEntry> singlePhaseCodecs() {
  std::vector<CodecEntry> entries;
  for (const CodecEntry& entry : builtinCodecs()) {
    if (!codecOf(entry.example)->traits().multi_phase) {
      entries.push_back(entry);
    }
  }
  return entries;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryCodec, testing::ValuesIn(singlePhaseCodecs()), nameOf);

} // namespace
} // namespace goss::test
