#include "tests/compressors/harness.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <random>

namespace goss::test {

namespace {

constexpr std::byte kGuard{0xa5};
constexpr std::size_t kGuardBytes = 64;

std::byte* aligned(Bytes& memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  return memory.data() + (64 - address % 64) % 64;
}

} // namespace

std::span<std::byte> Scratch::span() { return {aligned(memory_), memory_.size() - 64}; }

std::shared_ptr<const Codec> codecOf(std::string_view spec, const compressors::Loops& loops) {
  Result<Compression> made = compressors::makeCompression(spec, loops);
  EXPECT_TRUE(made.isOk()) << made.status().text();
  return made.isOk() ? made.value().codec : nullptr;
}

std::shared_ptr<const Codec> codecOf(std::string_view spec) {
  return codecOf(spec, compressors::availableLoops().back());
}

Randomness randomness(std::uint32_t rank, std::uint32_t step) {
  const RandomContext context{42, 1, step, 3};
  return {PrivateStream(context, rank), SharedStream(context)};
}

Bytes encode(const Codec& codec, const EncodeCase& what) {
  const std::size_t count = what.values.size();
  const std::size_t most = codec.maxBytes(count);
  Bytes memory(most + 2 * kGuardBytes + 64 + what.misalign, kGuard);
  std::byte* out = aligned(memory) + what.misalign;
  Scratch scratch(codec.scratchBytes(count));
  EncodeSegment segment{0, count, {out, most}, 0};
  EncodeJob job;
  job.values = what.values;
  job.reference = what.reference == nullptr ? nullptr : what.reference->data();
  job.residual = what.residual == nullptr ? nullptr : what.residual->data();
  job.decay = what.decay;
  job.random = randomness(what.rank, what.step);
  job.first_element = what.first_element;
  job.scratch = scratch.span();
  job.segments = {&segment, 1};
  const Status status = codec.encode(job);
  EXPECT_TRUE(status.isOk()) << status.text();
  EXPECT_LE(segment.bytes, most);
  for (std::byte* at = memory.data(); at < out; ++at) {
    EXPECT_EQ(*at, kGuard) << "written before the payload";
  }
  for (const std::byte* at = out + most; at < out + most + kGuardBytes; ++at) {
    EXPECT_EQ(*at, kGuard) << "written behind the payload";
  }
  return {out, out + segment.bytes};
}

Floats decode(const Codec& codec, const DecodeCase& what) {
  const std::size_t count = what.out.size();
  std::vector<Bytes> copies;
  std::vector<PayloadView> views;
  for (const Bytes& payload : what.payloads) {
    // Exactly as long as the payload, so that the sanitizers see a read behind it.
    Bytes& copy = copies.emplace_back(payload.size() + what.misalign);
    std::copy(payload.begin(), payload.end(), copy.begin() + static_cast<std::ptrdiff_t>(what.misalign));
  }
  for (const Bytes& copy : copies) {
    views.push_back(PayloadView(copy).subspan(what.misalign));
  }
  Floats guarded(what.out);
  guarded.insert(guarded.end(), 16, 1.25f);
  Scratch scratch(codec.scratchBytes(count));
  DecodeJob job;
  job.payloads = views;
  job.out = std::span(guarded).first(count);
  job.mode = what.mode;
  job.weight = what.weight;
  job.shared = randomness(0, what.step).shared;
  job.first_element = what.first_element;
  job.scratch = scratch.span();
  const Status status = codec.decode(job);
  EXPECT_TRUE(status.isOk()) << status.text();
  for (std::size_t i = count; i < guarded.size(); ++i) {
    EXPECT_EQ(guarded[i], 1.25f) << "written behind the output";
  }
  guarded.resize(count);
  return guarded;
}

Floats gaussian(std::size_t count, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::normal_distribution<float> normal;
  Floats values(count);
  for (float& value : values) {
    value = normal(engine);
  }
  return values;
}

Floats studentT(std::size_t count, int freedom, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::student_t_distribution<float> student(static_cast<float>(freedom));
  Floats values(count);
  for (float& value : values) {
    value = student(engine);
  }
  return values;
}

Floats layered(std::size_t count, std::uint32_t seed) {
  std::mt19937 engine(seed);
  std::lognormal_distribution<float> scales(0.0f, 1.5f);
  std::student_t_distribution<float> student(4.0f);
  Floats values(count);
  const std::size_t layer = (count + 63) / 64;
  float scale = 1;
  for (std::size_t i = 0; i < count; ++i) {
    scale = i % layer == 0 ? scales(engine) : scale;
    values[i] = scale * student(engine);
  }
  return values;
}

double normalizedError(const Floats& x, const Floats& y) {
  double lost = 0, whole = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double difference = static_cast<double>(x[i]) - static_cast<double>(y[i]);
    lost += difference * difference;
    whole += static_cast<double>(x[i]) * static_cast<double>(x[i]);
  }
  return whole == 0 ? 0 : lost / whole;
}

void expectSameBits(const Floats& a, const Floats& b, const std::string& what) {
  ASSERT_EQ(a.size(), b.size()) << what;
  for (std::size_t i = 0; i < a.size(); ++i) {
    ASSERT_EQ(std::bit_cast<std::uint32_t>(a[i]), std::bit_cast<std::uint32_t>(b[i]))
        << what << ": element " << i << " is " << a[i] << " and " << b[i];
  }
}

} // namespace goss::test
