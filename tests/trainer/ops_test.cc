// Every operation against the double-precision reference: its value, and its gradient against numeric differences of
// the reference. The scalar function of each check is a weighted sum of the outputs with fixed random weights `d`.
//
// Tolerance: inputs are of order 1 and every sum has at most 64 terms, so float rounding (6e-8 a term) stays below
// 64 * 6e-8 = 4e-6 relative to the largest output; exp and tanh add 3e-7. kTolerance leaves a factor of about 5.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "tests/trainer/ops_under_test.h"
#include "tests/trainer/reference_gpt.h"
#include "trainer/compute/vector_math.h"

namespace goss::trainer {
namespace {

using namespace reference;

constexpr double kTolerance = 2e-5;

void expectClose(const std::vector<float>& got, const Vec& want) {
  ASSERT_EQ(got.size(), want.size());
  double largest = 1.0;
  for (const double v : want)
    largest = std::max(largest, std::abs(v));
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], want[i], kTolerance * largest) << "element " << i;
}

TEST(VectorMath, ExpAndTanhAreWithinTheirStatedErrors) {
  for (double x = -86.0; x < 87.0; x += 0.00137) {
    const auto f = static_cast<float>(x);
    const double exact = std::exp(static_cast<double>(f));
    ASSERT_NEAR(fastExp(f) / exact, 1.0, 3e-7) << x;
    ASSERT_NEAR(fastTanh(f), std::tanh(static_cast<double>(f)), 3e-7) << x;
  }
}

TEST(VectorMath, ExtremesSaturateAndNanSurvives) {
  EXPECT_LT(fastExp(-1000.0f), 1e-37f);
  EXPECT_GT(fastExp(1000.0f), 1e38f);
  EXPECT_EQ(fastTanh(1000.0f), 1.0f);
  EXPECT_EQ(fastTanh(-1000.0f), -1.0f);
  EXPECT_TRUE(std::isnan(fastExp(std::nanf(""))));
  EXPECT_TRUE(std::isnan(fastTanh(std::nanf(""))));
}

TEST(Ops, GemmMatchesForEveryTranspositionAlphaAndBeta) {
  const std::unique_ptr<Ops> made = opsUnderTest();
  Ops& ops = *made;
  constexpr std::size_t m = 7, n = 5, k = 9;
  const std::vector<float> a = randomValues(m * k, 1), b = randomValues(k * n, 2), c0 = randomValues(m * n, 3);
  const auto transpose = [](const std::vector<float>& x, std::size_t rows) {
    const std::size_t cols = x.size() / rows;
    std::vector<float> y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      y[i % cols * rows + i / cols] = x[i];
    return y;
  };
  Vec want = matmul(toDouble(a), toDouble(b), m, n);
  for (std::size_t i = 0; i < want.size(); ++i)
    want[i] = 0.5 * want[i] + 2.0 * static_cast<double>(c0[i]);
  for (const bool trans_a : {false, true}) {
    for (const bool trans_b : {false, true}) {
      std::vector<float> c = c0;
      ops.gemm({trans_a, trans_b, m, n, k, 0.5f, 2.0f}, (trans_a ? transpose(a, m) : a).data(),
               (trans_b ? transpose(b, k) : b).data(), c.data());
      expectClose(c, want);
    }
  }
}

TEST(Ops, VectorOperationsDoWhatTheySay) {
  const std::unique_ptr<Ops> made = opsUnderTest();
  Ops& ops = *made;
  std::vector<float> x = {1, 2, 3, 4, 5}, y = {10, 20, 30, 40, 50};
  ops.axpy(2.0f, x.data(), y.data(), 5);
  EXPECT_EQ(y, (std::vector<float>{12, 24, 36, 48, 60}));
  ops.scale(0.5f, y.data(), 5);
  EXPECT_EQ(y, (std::vector<float>{6, 12, 18, 24, 30}));
  EXPECT_DOUBLE_EQ(ops.squaredNorm(x.data(), 5), 55.0);
  ops.fill(x.data(), 7.0f, 5);
  EXPECT_EQ(x, (std::vector<float>{7, 7, 7, 7, 7}));
  ops.copy(x.data(), y.data(), 5);
  EXPECT_EQ(x, y);
}

TEST(Ops, BiasesAndResiduals) {
  const std::unique_ptr<Ops> made = opsUnderTest();
  Ops& ops = *made;
  const std::vector<float> bias = {1, 2}, x = {10, 20, 30, 40};
  std::vector<float> y = {0, 0, 5, 5};
  ops.addBias(y.data(), bias.data(), 2, 2);
  EXPECT_EQ(y, (std::vector<float>{1, 2, 6, 7}));
  ops.addBiasResidual(y.data(), bias.data(), x.data(), 2, 2);
  EXPECT_EQ(y, (std::vector<float>{12, 24, 37, 49}));
  std::vector<float> dbias = {9, 9};
  ops.biasGrad(dbias.data(), y.data(), 2, 2);
  EXPECT_EQ(dbias, (std::vector<float>{49, 73}));
}

TEST(Ops, GeluAndItsGradient) {
  const std::unique_ptr<Ops> made = opsUnderTest();
  Ops& ops = *made;
  constexpr std::size_t rows = 3, n = 11;
  const std::vector<float> x = randomValues(rows * n, 1), bias = randomValues(n, 2), d = randomValues(rows * n, 3);
  std::vector<float> pre = x, out(rows * n), dpre = d;
  ops.biasGelu(pre.data(), bias.data(), out.data(), rows, n);
  ops.geluGrad(dpre.data(), pre.data(), rows, n);
  expectClose(out, gelu(addBias(toDouble(x), toDouble(bias))));
  expectClose(dpre, numericGradient([&](const Vec& v) { return dot(gelu(v), toDouble(d)); },
                                    addBias(toDouble(x), toDouble(bias))));
}

TEST(Ops, LayerNormAndItsGradientsWhichAddToDx) {
  const std::unique_ptr<Ops> made = opsUnderTest();
  Ops& ops = *made;
  constexpr std::size_t rows = 4, n = 19;
  const std::vector<float> x = randomValues(rows * n, 1), w = randomValues(n, 2), b = randomValues(n, 3);
  const std::vector<float> d = randomValues(rows * n, 4), before = randomValues(rows * n, 5);
  std::vector<float> y(rows * n), mean(rows), rstd(rows), dx = before, dw(n, 9.0f), db(n, 9.0f);
  ops.layerNorm({x.data(), w.data(), b.data(), y.data(), mean.data(), rstd.data()}, rows, n);
  ops.layerNormGrad({d.data(), x.data(), w.data(), mean.data(), rstd.data(), dx.data(), dw.data(), db.data()}, rows, n);
  const Vec vx = toDouble(x), vw = toDouble(w), vb = toDouble(b), vd = toDouble(d);
  expectClose(y, layerNorm(vx, vw, vb, rows));
  Vec want_dx = numericGradient([&](const Vec& v) { return dot(layerNorm(v, vw, vb, rows), vd); }, vx);
  for (std::size_t i = 0; i < want_dx.size(); ++i)
    want_dx[i] += static_cast<double>(before[i]);
  expectClose(dx, want_dx);
  expectClose(dw, numericGradient([&](const Vec& v) { return dot(layerNorm(vx, v, vb, rows), vd); }, vw));
  expectClose(db, numericGradient([&](const Vec& v) { return dot(layerNorm(vx, vw, v, rows), vd); }, vb));
}

TEST(Ops, RmsNormAndItsGradientsWhichAddToDx) {
  const std::unique_ptr<Ops> made = opsUnderTest();
  Ops& ops = *made;
  constexpr std::size_t rows = 4, n = 19;
  const std::vector<float> x = randomValues(rows * n, 1), w = randomValues(n, 2);
  const std::vector<float> d = randomValues(rows * n, 4), before = randomValues(rows * n, 5);
  std::vector<float> y(rows * n), rstd(rows), dx = before, dw(n, 9.0f);
  ops.rmsNorm({x.data(), w.data(), nullptr, y.data(), nullptr, rstd.data()}, rows, n);
  ops.rmsNormGrad({d.data(), x.data(), w.data(), nullptr, rstd.data(), dx.data(), dw.data(), nullptr}, rows, n);
  const Vec vx = toDouble(x), vw = toDouble(w), vd = toDouble(d);
  expectClose(y, rmsNorm(vx, vw));
  Vec want_dx = numericGradient([&](const Vec& v) { return dot(rmsNorm(v, vw), vd); }, vx);
  for (std::size_t i = 0; i < want_dx.size(); ++i)
    want_dx[i] += static_cast<double>(before[i]);
  expectClose(dx, want_dx);
  expectClose(dw, numericGradient([&](const Vec& v) { return dot(rmsNorm(vx, v), vd); }, vw));
}

TEST(Ops, RotationTurnsQueriesAndKeysAndItsInverseIsItsGradient) {
  const std::unique_ptr<Ops> made = opsUnderTest();
  Ops& ops = *made;
  for (const ModelConfig& config :
       {ModelConfig{.channels = 12, .heads = 2, .context = 5}, ModelConfig{.channels = 4, .heads = 2, .context = 3}}) {
    constexpr std::size_t batch = 2;
    const AttentionShape shape{batch, config.context, config.channels, config.heads};
    const std::vector<float> qkv = randomValues(batch * config.context * 3 * config.channels, 1);
    const std::vector<float> d = randomValues(qkv.size(), 2);
    std::vector<float> turned = qkv, gradient = d;
    ops.rotate(shape, turned.data(), false);
    expectClose(turned, rotate(toDouble(qkv), config));
    ops.rotate(shape, gradient.data(), true);
    expectClose(gradient,
                numericGradient([&](const Vec& v) { return dot(rotate(v, config), toDouble(d)); }, toDouble(qkv)));
  }
}

TEST(Ops, SwigluAndItsGradient) {
  const std::unique_ptr<Ops> made = opsUnderTest();
  Ops& ops = *made;
  constexpr std::size_t rows = 3, width = 11;
  const std::vector<float> pre = randomValues(rows * 2 * width, 1), d = randomValues(rows * width, 2);
  std::vector<float> out(rows * width), dpre(pre.size(), 9.0f);
  ops.swiglu(pre.data(), out.data(), rows, width);
  ops.swigluGrad({d.data(), pre.data(), dpre.data()}, rows, width);
  expectClose(out, swiglu(toDouble(pre), rows));
  expectClose(dpre, numericGradient([&](const Vec& v) { return dot(swiglu(v, rows), toDouble(d)); }, toDouble(pre)));
}

void checkAttention(const ModelConfig& config, std::size_t batch, bool with_gradient) {
  const std::unique_ptr<Ops> made = opsUnderTest();
  Ops& ops = *made;
  const std::size_t count = batch * config.context * config.channels;
  const std::vector<float> qkv = randomValues(3 * count, 1), d = randomValues(count, 2);
  std::vector<float> probs(batch * config.heads * config.context * config.context, 9.0f), out(count), dqkv(3 * count);
  const AttentionShape shape{batch, config.context, config.channels, config.heads};
  ops.attention(shape, {qkv.data(), probs.data(), out.data()});
  expectClose(out, attention(toDouble(qkv), batch, config));
  ops.attentionGrad(shape, {d.data(), qkv.data(), probs.data(), dqkv.data()});
  if (!with_gradient) return;
  expectClose(dqkv, numericGradient([&](const Vec& v) { return dot(attention(v, batch, config), toDouble(d)); },
                                    toDouble(qkv)));
}

TEST(Ops, AttentionAndItsGradient) {
  checkAttention({.channels = 6, .heads = 2, .context = 5}, 2, true);
  checkAttention({.channels = 4, .heads = 1, .context = 1}, 1, true);
}

TEST(Ops, AttentionOfSeveralQueryBlocks) { checkAttention({.channels = 4, .heads = 2, .context = 300}, 1, false); }

// The numeric gradient of 300 tokens would take minutes. Instead: the gradient along one random direction.
TEST(Ops, AttentionGradientOfSeveralQueryBlocksAlongADirection) {
  const std::unique_ptr<Ops> made = opsUnderTest();
  Ops& ops = *made;
  const ModelConfig config{.channels = 4, .heads = 2, .context = 300};
  const std::size_t count = config.context * config.channels;
  const std::vector<float> qkv = randomValues(3 * count, 1), d = randomValues(count, 2),
                           along = randomValues(3 * count, 3);
  std::vector<float> probs(config.heads * config.context * config.context), out(count), dqkv(3 * count, 9.0f);
  const AttentionShape shape{1, config.context, config.channels, config.heads};
  ops.attention(shape, {qkv.data(), probs.data(), out.data()});
  ops.attentionGrad(shape, {d.data(), qkv.data(), probs.data(), dqkv.data()});
  const auto f = [&](const Vec& t) {
    Vec moved = toDouble(qkv);
    for (std::size_t i = 0; i < moved.size(); ++i)
      moved[i] += t[0] * static_cast<double>(along[i]);
    return dot(attention(moved, 1, config), toDouble(d));
  };
  const double want = numericGradient(f, {0.0}).front();
  // 3600 products of order 1 are added on each side: 3600 * 6e-8 = 2e-4 at the very most.
  EXPECT_NEAR(dot(toDouble(dqkv), toDouble(along)), want, 2e-4);
}

TEST(Ops, SoftmaxCrossEntropyAndItsScaledGradient) {
  const std::unique_ptr<Ops> made = opsUnderTest();
  Ops& ops = *made;
  constexpr std::size_t rows = 3, vocab = 13;
  const std::vector<float> logits = randomValues(rows * vocab, 1);
  const std::vector<std::int32_t> targets = {0, 12, 5};
  std::vector<float> with = logits, without = logits, losses(rows), losses2(rows);
  ops.softmaxXent({rows, vocab, true, 0.25f}, {with.data(), targets.data(), losses.data()});
  ops.softmaxXent({rows, vocab, false, 0.25f}, {without.data(), targets.data(), losses2.data()});
  expectClose(losses, xent(toDouble(logits), targets));
  expectClose(losses2, xent(toDouble(logits), targets));
  EXPECT_EQ(without, logits);
  const auto f = [&](const Vec& v) { return 0.25 * dot(xent(v, targets), Vec(rows, 1.0)); };
  expectClose(with, numericGradient(f, toDouble(logits)));
}

TEST(Ops, SoftmaxCrossEntropyOfHugeLogitsStaysFinite) {
  const std::unique_ptr<Ops> made = opsUnderTest();
  Ops& ops = *made;
  std::vector<float> logits = {1e30f, -1e30f, 0.0f}, losses(1);
  const std::vector<std::int32_t> targets = {0};
  ops.softmaxXent({1, 3, true, 1.0f}, {logits.data(), targets.data(), losses.data()});
  EXPECT_NEAR(losses[0], 0.0f, 1e-6f);
  for (const float v : logits)
    EXPECT_TRUE(std::isfinite(v));
}

TEST(Ops, EmbeddingGathersAndItsGradientScatters) {
  const std::unique_ptr<Ops> made = opsUnderTest();
  Ops& ops = *made;
  const EmbedShape shape{2, 2, 1, 3};
  const std::vector<std::int32_t> tokens = {2, 0, 2, 2};
  const std::vector<float> wte = {10, 20, 30}, wpe = {1, 2}, d = {1, 10, 100, 1000};
  std::vector<float> out(4), dwte = {5, 5, 5}, dwpe = {9, 9};
  ops.embed(shape, tokens.data(), wte.data(), wpe.data(), out.data());
  EXPECT_EQ(out, (std::vector<float>{31, 12, 31, 32}));
  ops.embedGrad(shape, tokens.data(), d.data(), dwte.data(), dwpe.data());
  EXPECT_EQ(dwte, (std::vector<float>{15, 5, 1106})); // added to what the output projection left there
  EXPECT_EQ(dwpe, (std::vector<float>{101, 1010}));
  ops.embed(shape, tokens.data(), wte.data(), nullptr, out.data()); // without positions
  EXPECT_EQ(out, (std::vector<float>{30, 10, 30, 30}));
}

} // namespace
} // namespace goss::trainer
