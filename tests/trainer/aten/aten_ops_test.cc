// Every operation of backend aten against the CPU's, from the same inputs, over random shapes.
//
// Tolerance: both compute in float32 with sums of `terms` products of numbers of order 1. A sum of n floats in any
// order is within n u of the sum of their sizes (u = 2^-24), so two of them differ by at most 2 n u times that; signs
// are random here, so it is taken once, times the largest result. exp, tanh and the divisions around them add a few u:
// kFewRoundings. What divides by a standard deviation multiplies errors by it, which `amplified` says.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <limits>
#include <random>

#include "tests/trainer/aten/device.h"
#include "tests/trainer/ops_under_test.h"
#include "tests/trainer/reference_gpt.h"
#include "trainer/base/error.h"
#include "trainer/compute/buffer.h"
#include "trainer/compute/cpu_ops.h"

namespace goss::trainer {

std::unique_ptr<Ops> opsUnderTest() { return makeOps("aten", "cpu"); }

namespace {

using reference::randomValues;
using Tensors = std::vector<std::vector<float>>;
using Work = std::function<void(Ops& ops, const std::vector<float*>& at)>;

constexpr double kFewRoundings = 16;
const float kNan = std::numeric_limits<float>::quiet_NaN();

/// The tensors after `work`, which gets them in the backend's memory.
Tensors resultOf(Ops& ops, const Tensors& tensors, const Work& work) {
  std::vector<Buffer<float>> memory;
  std::vector<float*> at;
  for (const std::vector<float>& tensor : tensors) {
    memory.emplace_back(ops, tensor.size());
    memory.back().upload(tensor);
    at.push_back(memory.back().data());
  }
  work(ops, at);
  Tensors result;
  for (const Buffer<float>& tensor : memory)
    result.push_back(tensor.download());
  return result;
}

bool haveSameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// Tokens in a backend's memory.
class Tokens {
 public:
  Tokens(Ops& ops, const std::vector<std::int32_t>& tokens) : memory_(ops, tokens.size()) { memory_.upload(tokens); }
  const std::int32_t* data() { return memory_.data(); }

 private:
  Buffer<std::int32_t> memory_;
};

class AtenOps : public testing::Test {
 protected:
  /// A number from 1 to `most`: the ends, and odd ones, come often.
  std::size_t pick(std::size_t most) {
    const std::size_t n = random_() % most + 1;
    return random_() % 4 == 0 ? 1 : random_() % 4 == 0 ? most : n | 1u;
  }
  std::vector<float> values(std::size_t count) { return randomValues(count, ++seed_); }
  std::vector<std::int32_t> tokens(std::size_t count, std::size_t vocab) {
    std::vector<std::int32_t> result(count);
    for (std::int32_t& token : result)
      token = static_cast<std::int32_t>(random_() % vocab);
    return result;
  }

  /// Inputs stay as they are, outputs are equal within rounding, and a second call gives the same bits.
  void expectSame(const Tensors& tensors, const Work& work, std::size_t terms, double amplified = 1) {
    const Tensors want = resultOf(cpu_, tensors, work), got = resultOf(*aten_, tensors, work);
    const Tensors again = resultOf(*aten_, tensors, work);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      double largest = 1;
      for (const float v : want[i])
        largest = std::max(largest, std::abs(static_cast<double>(v)));
      const double tolerance = (static_cast<double>(terms) + kFewRoundings) * 0x1p-24 * largest * amplified;
      for (std::size_t k = 0; k < want[i].size(); ++k)
        ASSERT_NEAR(got[i][k], want[i][k], tolerance) << "tensor " << i << ", element " << k;
      EXPECT_TRUE(haveSameBits(got[i], again[i])) << "tensor " << i;
    }
  }

  CpuOps cpu_;
  std::unique_ptr<Ops> aten_ = makeAten();
  std::mt19937 random_{1};
  std::uint64_t seed_ = 0;
};

constexpr int kShapes = 12;

TEST_F(AtenOps, CopiesGoInAndOut) {
  EXPECT_EQ(aten_->isHostMemory(), testDevice() == "cpu");
  for (const std::size_t n : {1u, 7u, 1000u}) {
    const std::vector<float> host = values(n);
    EXPECT_EQ(resultOf(*aten_, {host}, [](Ops&, const std::vector<float*>&) {})[0], host);
  }
  Buffer<float> empty(*aten_, 0), other(*aten_, 0);
  EXPECT_NE(empty.data(), other.data());
  EXPECT_TRUE(empty.download().empty());
}

TEST_F(AtenOps, MemoryThatThereIsNotIsAnErrorThatSaysSo) {
  try {
    aten_->allocate(std::size_t{1} << 60);
    FAIL() << "there cannot be so much";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("out of memory: cannot allocate 1099511627776 MiB on "), std::string::npos)
        << error.what();
  }
}

TEST_F(AtenOps, Vectors) {
  for (int i = 0; i < kShapes; ++i) {
    const std::size_t n = pick(3000);
    expectSame(
        {values(n), values(n), values(n)},
        [n](Ops& ops, const std::vector<float*>& at) {
          ops.axpy(0.7f, at[0], at[1], n);
          ops.scale(-1.3f, at[2], n);
          ops.copy(at[2], at[0], n / 2);
          ops.fill(at[2], 0.25f, n / 4);
        },
        2);
    const std::vector<float> x = values(n);
    const auto norm = [&x, n](Ops& ops) {
      Buffer<float> memory(ops, n);
      memory.upload(x);
      return ops.squaredNorm(memory.data(), n);
    };
    EXPECT_NEAR(norm(*aten_), norm(cpu_), 1e-12 * norm(cpu_)); // in double: 3000 terms of 1e-16
    EXPECT_EQ(aten_->squaredNorm(nullptr, 0), 0.0);
  }
}

TEST_F(AtenOps, Gemm) {
  for (int i = 0; i < 4 * kShapes; ++i) {
    const bool trans_a = i % 2 != 0, trans_b = i / 2 % 2 != 0, overwrites = i / 4 % 2 != 0;
    const GemmShape shape{
        trans_a, trans_b, pick(70), pick(70), pick(200), overwrites ? 1.0f : 0.5f, overwrites ? 0.0f : -2.0f};
    const std::vector<float> before =
        overwrites ? std::vector<float>(shape.m * shape.n, kNan) : values(shape.m * shape.n);
    expectSame(
        {values(shape.m * shape.k), values(shape.k * shape.n), before},
        [&shape](Ops& ops, const std::vector<float*>& at) { ops.gemm(shape, at[0], at[1], at[2]); }, shape.k);
  }
}

// Whole numbers below 256 and their products' sums are exact in bfloat16 and float32; 257 is neither as a factor.
TEST(AtenProducts, RoundFactorsAndResultsToBfloat16) {
  const std::unique_ptr<Ops> ops = makeAten("bf16");
  const std::vector<float> a = {1, 2, 3, 4, 5, 6}, b = {1, -1, 2, 0, 3, 7};
  const auto multiply = [&](const GemmShape& shape, const std::vector<float>& left, const std::vector<float>& before) {
    return resultOf(*ops, {left, b, before},
                    [&shape](Ops& on, const std::vector<float*>& at) { on.gemm(shape, at[0], at[1], at[2]); })[2];
  };
  const GemmShape shape{.m = 2, .n = 2, .k = 3};
  EXPECT_EQ(multiply(shape, a, {kNan, kNan, kNan, kNan}), (std::vector<float>{14, 20, 32, 38}));
  const GemmShape added{.trans_b = true, .m = 2, .n = 2, .k = 3, .alpha = 2, .beta = 1};
  EXPECT_EQ(multiply(added, a, {0.5f, 1, 2, 3}), (std::vector<float>{10.5f, 55, 24, 117}));
  std::vector<float> rounded = a;
  rounded[0] = 257;                                          // becomes 256
  EXPECT_EQ(multiply(shape, rounded, {0, 0, 0, 0})[0], 268); // 256 + 4 + 9 = 269 has nine bits
}

TEST_F(AtenOps, BiasesAndResiduals) {
  for (int i = 0; i < kShapes; ++i) {
    const std::size_t rows = pick(40), n = pick(130);
    expectSame(
        {values(rows * n), values(n), values(rows * n), std::vector<float>(n, kNan)},
        [=](Ops& ops, const std::vector<float*>& at) {
          ops.biasGrad(at[3], at[2], rows, n);
          ops.addBias(at[0], at[1], rows, n);
          ops.addBiasResidual(at[0], at[1], at[2], rows, n);
        },
        rows);
  }
}

TEST_F(AtenOps, Gelu) {
  // The CPU's tanh is within 3e-7 = 5 u (trainer/compute/vector_math.h). The derivative has 0.5 x (1 - tanh^2) i(x),
  // with i(x) = 0.8 (1 + 0.134 x^2) and |x| up to 7: it is off by 7 * 5 u * i(7) = 212 u.
  constexpr std::size_t kTanhRoundings = 212;
  for (int i = 0; i < kShapes; ++i) {
    const std::size_t rows = pick(20), n = pick(130);
    std::vector<float> pre = values(rows * n);
    for (float& v : pre)
      v *= 6; // far into both ends
    expectSame(
        {pre, values(n), std::vector<float>(rows * n, kNan), values(rows * n)},
        [=](Ops& ops, const std::vector<float*>& at) {
          ops.biasGelu(at[0], at[1], at[2], rows, n);
          ops.geluGrad(at[3], at[0], rows, n);
        },
        kTanhRoundings);
  }
}

TEST_F(AtenOps, Embeddings) {
  for (int i = 0; i < kShapes; ++i) {
    const EmbedShape s{pick(4), pick(30), pick(70), pick(40)};
    const std::size_t rows = s.batch * s.context;
    const std::vector<std::int32_t> ids = tokens(rows, s.vocab);
    expectSame(
        {values(s.vocab * s.channels), values(s.context * s.channels), std::vector<float>(rows * s.channels, kNan),
         values(rows * s.channels), values(s.vocab * s.channels), std::vector<float>(s.context * s.channels, kNan),
         values(s.vocab * s.channels), std::vector<float>(s.context * s.channels, 3.0f)},
        [&](Ops& ops, const std::vector<float*>& at) {
          Tokens memory(ops, ids);
          ops.embed(s, memory.data(), at[0], at[1], at[2]);
          ops.embedGrad(s, memory.data(), at[3], at[4], at[5]);
          ops.embedGrad(s, memory.data(), at[3], at[6], nullptr); // each alone
          ops.embedGrad(s, memory.data(), at[3], nullptr, at[7]);
        },
        rows);
  }
}

TEST_F(AtenOps, LayerNorms) {
  for (int i = 0; i < kShapes; ++i) {
    const std::size_t rows = pick(30), n = pick(150) + 2;
    const std::vector<float> x = values(rows * n);
    std::vector<float> mean(rows), rstd(rows), y(rows * n);
    cpu_.layerNorm({x.data(), y.data(), y.data(), std::vector<float>(rows * n).data(), mean.data(), rstd.data()}, rows,
                   n);
    const double steepest = *std::max_element(rstd.begin(), rstd.end());
    const Tensors tensors{x,
                          values(n),
                          values(n),
                          std::vector<float>(rows * n, kNan),
                          std::vector<float>(rows, kNan),
                          std::vector<float>(rows, kNan),
                          values(rows * n),
                          values(rows * n),
                          std::vector<float>(n, kNan),
                          std::vector<float>(n, kNan)};
    expectSame(
        tensors,
        [=](Ops& ops, const std::vector<float*>& at) {
          ops.layerNorm({at[0], at[1], at[2], at[3], at[4], at[5]}, rows, n);
          ops.layerNormGrad({at[6], at[0], at[1], at[4], at[5], at[7], at[8], at[9]}, rows, n);
        },
        2 * n + rows, std::max(1.0, steepest * steepest));
  }
}

TEST_F(AtenOps, Attention) {
  const std::size_t contexts[] = {1, 2, 3, 16, 17, 64, 127, 128, 129, 150, 1, 31}; // a block of the CPU's has 128
  for (const std::size_t context : contexts) {
    const std::size_t heads = pick(4), batch = pick(3), channels = heads * pick(20);
    const AttentionShape s{batch, context, channels, heads};
    const std::size_t count = batch * context * channels;
    // Probabilities are compared apart: those above the diagonal are unspecified.
    expectSame(
        {values(3 * count), std::vector<float>(count, kNan), values(count), std::vector<float>(3 * count, kNan)},
        [&s, heads](Ops& ops, const std::vector<float*>& at) {
          Buffer<float> probs(ops, s.batch * heads * s.context * s.context);
          ops.attention(s, {at[0], probs.data(), at[1]});
          ops.attentionGrad(s, {at[2], at[0], probs.data(), at[3]});
        },
        2 * (context + channels / heads));
  }
}

TEST_F(AtenOps, AttentionReadsNoProbabilityAboveTheDiagonal) {
  const AttentionShape s{2, 9, 6, 2};
  const std::size_t count = s.batch * s.context * s.channels, square = s.context * s.context;
  const Tensors tensors{values(3 * count), std::vector<float>(s.batch * s.heads * square, kNan), values(count),
                        values(count), std::vector<float>(3 * count, kNan)};
  const auto forward = [&s](Ops& ops, const std::vector<float*>& at) { ops.attention(s, {at[0], at[1], at[2]}); };
  const auto both = [&](Ops& ops, const std::vector<float*>& at, bool spoils) {
    forward(ops, at);
    std::vector<float> probs(s.batch * s.heads * square);
    ops.download(probs.data(), at[1], probs.size() * sizeof(float));
    for (std::size_t i = 0; spoils && i < probs.size(); ++i) {
      if (i % s.context > i % square / s.context) probs[i] = kNan;
    }
    ops.upload(at[1], probs.data(), probs.size() * sizeof(float));
    ops.attentionGrad(s, {at[3], at[0], at[1], at[4]});
  };
  const Tensors whole =
      resultOf(*aten_, tensors, [&](Ops& ops, const std::vector<float*>& at) { both(ops, at, false); });
  const Tensors spoiled =
      resultOf(*aten_, tensors, [&](Ops& ops, const std::vector<float*>& at) { both(ops, at, true); });
  EXPECT_TRUE(haveSameBits(whole[4], spoiled[4]));
  const Tensors cpu = resultOf(cpu_, tensors, forward);
  for (std::size_t i = 0; i < whole[1].size(); ++i) {
    if (i % s.context > i % square / s.context) continue;
    EXPECT_NEAR(whole[1][i], cpu[1][i], 25 * 0x1p-24) << i;
  }
}

TEST_F(AtenOps, CrossEntropy) {
  for (int i = 0; i < 2 * kShapes; ++i) {
    const XentShape s{pick(20), pick(300), i % 2 == 0, 0.125f};
    const std::vector<std::int32_t> ids = tokens(s.rows, s.vocab);
    expectSame(
        {values(s.rows * s.vocab), std::vector<float>(s.rows, kNan)},
        [&](Ops& ops, const std::vector<float*>& at) {
          Tokens memory(ops, ids);
          ops.softmaxXent(s, {at[0], memory.data(), at[1]});
        },
        s.vocab);
  }
}

TEST_F(AtenOps, Adamw) {
  for (int i = 0; i < kShapes; ++i) {
    const std::size_t n = pick(500);
    std::vector<float> second = values(n);
    for (float& v : second)
      v = std::abs(v) + 0.01f;
    const AdamwSettings settings{0.01f, 0.9f, 0.95f, 1e-8f, i % 2 == 0 ? 0.1f : 0.0f, 0.5f, 0.19f, 0.0975f};
    expectSame(
        {values(n), values(n), values(n), second},
        [&](Ops& ops, const std::vector<float*>& at) {
          ops.adamw(settings, {at[0], at[1], at[2], at[3]}, n);
        },
        4);
  }
}

} // namespace
} // namespace goss::trainer
