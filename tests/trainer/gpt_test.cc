#include "trainer/model/gpt.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tests/trainer/ops_under_test.h"
#include "tests/trainer/reference_gpt.h"
#include "trainer/base/error.h"

namespace goss::trainer {
namespace {

using namespace reference;

constexpr ModelConfig kTiny{.layers = 2, .channels = 8, .heads = 2, .context = 5, .vocab = 11};
const std::vector<std::int32_t> kTokens = {1, 2, 3, 4, 5, 10, 0, 0, 7, 3};
const std::vector<std::int32_t> kTargets = {2, 3, 4, 5, 6, 0, 0, 7, 3, 9};

/// Larger than the usual initial values, so that every part of the gradient matters.
std::vector<float> bigParameters(const Gpt& model) {
  std::vector<float> values = randomValues(model.table().count(), 7);
  for (float& v : values)
    v *= 0.5f;
  return values;
}

/// These tests run for every architecture of the trainer.
class Model : public testing::TestWithParam<Architecture> {
 protected:
  [[nodiscard]] ModelConfig tiny() const {
    ModelConfig config = kTiny;
    config.arch = GetParam();
    return config;
  }
  const std::unique_ptr<Ops> made_ = opsUnderTest();
  Ops& ops_ = *made_;
};

INSTANTIATE_TEST_SUITE_P(Architectures, Model, testing::Values(Architecture::gpt2, Architecture::llama),
                         [](const auto& param) { return param.param == Architecture::gpt2 ? "gpt2" : "llama"; });

TEST(Gpt, DefaultSizesGiveTheDocumentedParameterCount) { EXPECT_EQ(ParameterTable(ModelConfig{}).count(), 842'496u); }

TEST(Llama, HasHuggingFacesTensors) {
  const ParameterTable table(
      {.layers = 1, .channels = 48, .heads = 2, .context = 5, .vocab = 11, .arch = Architecture::llama});
  const std::vector<std::pair<std::string, std::vector<std::size_t>>> expected = {
      {"model.embed_tokens.weight", {11, 48}},
      {"model.layers.0.input_layernorm.weight", {48}},
      {"model.layers.0.self_attn.q_proj.weight", {48, 48}},
      {"model.layers.0.self_attn.k_proj.weight", {48, 48}},
      {"model.layers.0.self_attn.v_proj.weight", {48, 48}},
      {"model.layers.0.self_attn.o_proj.weight", {48, 48}},
      {"model.layers.0.post_attention_layernorm.weight", {48}},
      {"model.layers.0.mlp.gate_proj.weight", {128, 48}},
      {"model.layers.0.mlp.up_proj.weight", {128, 48}},
      {"model.layers.0.mlp.down_proj.weight", {48, 128}},
      {"model.norm.weight", {48}}};
  ASSERT_EQ(table.parameters().size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(table.parameters()[i].name, expected[i].first);
    EXPECT_EQ(table.parameters()[i].shape, expected[i].second);
  }
  EXPECT_THROW(ParameterTable({.channels = 6, .heads = 2, .arch = Architecture::llama}), Error); // heads of 3 channels
}

TEST_P(Model, LossMatchesTheReference) {
  const ModelConfig config = tiny();
  Gpt model(config, 2, ops_);
  const std::vector<float> parameters = bigParameters(model);
  model.setParameters(parameters);
  model.forward(kTokens);
  const std::vector<double> losses = model.losses(kTargets, false);
  ASSERT_EQ(losses.size(), 2u);
  // Ten losses of order 5, each with relative float errors of a few dozen roundings.
  EXPECT_NEAR(losses[0] + losses[1], gptLoss(config, toDouble(parameters), kTokens, kTargets), 1e-4);
}

TEST_P(Model, WholeGradientMatchesNumericDifferencesOfTheReference) {
  const ModelConfig config = tiny();
  Gpt model(config, 2, ops_);
  const std::vector<float> parameters = bigParameters(model);
  model.setParameters(parameters);
  model.forward(kTokens);
  model.losses(kTargets, true, 0.1f);
  std::vector<float> gradient(parameters.size(), 1e9f); // must be overwritten everywhere
  model.backward(gradient.data(), {});
  const Vec want =
      numericGradient([&](const Vec& p) { return 0.1 * gptLoss(config, p, kTokens, kTargets); }, toDouble(parameters));
  double largest = 0;
  for (const double v : want)
    largest = std::max(largest, std::abs(v));
  for (const Parameter& parameter : model.table().parameters()) {
    for (std::size_t i = parameter.offset; i < parameter.offset + parameter.count; ++i) {
      // A chain of about twenty operations of the precision that ops_test states.
      ASSERT_NEAR(gradient[i], want[i], 1e-4 * largest) << parameter.name << " element " << i - parameter.offset;
    }
  }
}

TEST_P(Model, GradientBecomesReadyFromTheEndToTheStartAndIsFinalThen) {
  const ModelConfig config = tiny();
  Gpt model(config, 2, ops_);
  model.setParameters(bigParameters(model));
  const auto run = [&](const Gpt::GradientReady& ready, std::vector<float>& gradient) {
    model.forward(kTokens);
    model.losses(kTargets, true);
    model.backward(gradient.data(), ready);
  };
  std::vector<float> final_gradient(model.table().count());
  run({}, final_gradient);
  std::vector<float> gradient(model.table().count());
  std::vector<std::size_t> offsets;
  run(
      [&](std::size_t first) {
        offsets.push_back(first);
        for (std::size_t i = first; i < gradient.size(); ++i)
          ASSERT_EQ(gradient[i], final_gradient[i]) << i;
      },
      gradient);
  EXPECT_TRUE(std::is_sorted(offsets.rbegin(), offsets.rend()));
  EXPECT_EQ(offsets.size(), 2 + 2 * config.layers);
  EXPECT_EQ(offsets.back(), 0u);
}

TEST_P(Model, ALaterTokenDoesNotChangeAnEarlierLogit) {
  const ModelConfig config = tiny();
  Gpt model(config, 1, ops_);
  model.setParameters(bigParameters(model));
  model.forward(std::vector<std::int32_t>{1, 2, 3, 4, 5});
  const std::vector<float> before = model.logitsAt(2);
  model.forward(std::vector<std::int32_t>{1, 2, 3, 9, 9});
  EXPECT_EQ(model.logitsAt(2), before);
  model.forward(std::vector<std::int32_t>{1, 2, 9, 4, 5});
  EXPECT_NE(model.logitsAt(2), before);
}

TEST(Gpt, WrongSizesAreRefused) {
  const std::unique_ptr<Ops> made = opsUnderTest();
  Ops& ops = *made;
  Gpt model(kTiny, 1, ops);
  EXPECT_THROW(model.forward(kTokens), Error);                            // two samples in a model for one
  EXPECT_THROW(model.forward(std::vector<std::int32_t>{1, 2, 3}), Error); // no whole sample
  EXPECT_THROW(model.setParameters(std::vector<float>(3)), Error);
  EXPECT_THROW(Gpt({.channels = 10, .heads = 3}, 1, ops), Error);
  EXPECT_THROW(Gpt({.layers = 0}, 1, ops), Error);
  EXPECT_THROW(Gpt({.context = std::size_t{1} << 40}, 1, ops), Error);
}

TEST_P(Model, InitialValuesAreAPureFunctionOfTheSeedWithGpt2sSpread) {
  ModelConfig config;
  config.arch = GetParam();
  const ParameterTable table(config);
  const std::vector<float> values = table.initialValues(5);
  EXPECT_EQ(values, table.initialValues(5));
  EXPECT_NE(values, table.initialValues(6));
  for (const Parameter& parameter : table.parameters()) {
    double squares = 0;
    for (std::size_t i = 0; i < parameter.count; ++i) {
      const double v = values[parameter.offset + i];
      squares += v * v;
    }
    const double rms = std::sqrt(squares / static_cast<double>(parameter.count));
    // The spread of a spread over n draws is 1 / sqrt(2n): five of them.
    const double slack = 5.0 / std::sqrt(2.0 * static_cast<double>(parameter.count));
    const double want = parameter.init_std != 0.0f ? parameter.init_std : std::abs(parameter.init_value);
    EXPECT_NEAR(rms, want, want * slack + 1e-9) << parameter.name;
  }
}

} // namespace
} // namespace goss::trainer
