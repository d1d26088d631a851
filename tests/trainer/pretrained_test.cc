// Weights of others' files.
#include "trainer/files/pretrained.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "tests/trainer/reference_gpt.h"
#include "tests/trainer/small_run.h"
#include "tests/trainer/temporary_directory.h"
#include "trainer/files/safetensors.h"

namespace goss::trainer {
namespace {

using testing::AllOf;
using testing::HasSubstr;

/// A folder with a model of random weights, as Hugging Face's classes save it.
class PretrainedTest : public testing::TestWithParam<Architecture> {
 protected:
  PretrainedTest() {
    whole_.arch = GetParam();
    std::filesystem::create_directory(folder_);
    config_ = whole_.isLlama() ? nlohmann::json{{"model_type", "llama"},
                                                {"num_hidden_layers", 1},
                                                {"hidden_size", 8},
                                                {"num_attention_heads", 2},
                                                {"num_key_value_heads", 2},
                                                {"intermediate_size", 32},
                                                {"max_position_embeddings", 6},
                                                {"rms_norm_eps", 1e-5},
                                                {"tie_word_embeddings", true},
                                                {"vocab_size", 256}}
                               : nlohmann::json{{"model_type", "gpt2"}, {"n_layer", 1},     {"n_embd", 8},
                                                {"n_head", 2},          {"n_positions", 6}, {"vocab_size", 256}};
    writeConfig();
    weights_ = reference::randomValues(ParameterTable(whole_).count(), 3);
    writeWeights({});
  }

  void writeConfig() { writeBytes(folder_ + "/config.json", config_.dump()); }
  [[nodiscard]] std::string refusalOf(const std::string& key, const nlohmann::json& value) {
    const nlohmann::json before = config_;
    config_[key] = value;
    writeConfig();
    const std::string error = errorOf([&] { readPretrainedConfig(folder_); });
    config_ = before;
    writeConfig();
    return error;
  }
  /// With entries of the caller's beside the model's; those without a name are left out.
  void writeWeights(const std::vector<SafetensorsEntry>& others, const std::string& left_out = "") {
    std::vector<SafetensorsEntry> entries = others;
    const ParameterTable table(whole_);
    for (const Parameter& p : table.parameters()) {
      if (p.name != left_out) entries.push_back({prefix() + p.name, p.shape, weights_.data() + p.offset});
    }
    writeSafetensors(folder_ + "/model.safetensors", entries, {{"format", "pt"}});
  }
  [[nodiscard]] std::string prefix() const { return whole_.isLlama() ? "" : "transformer."; }
  [[nodiscard]] std::string weightsError() const {
    return errorOf([&] { readPretrainedWeights(folder_, whole_, ParameterTable(whole_)); });
  }

  TemporaryDirectory directory_;
  const std::string folder_ = directory_ / "model";
  ModelConfig whole_{.layers = 1, .channels = 8, .heads = 2, .context = 6, .vocab = 256};
  nlohmann::json config_;
  std::vector<float> weights_;
};

INSTANTIATE_TEST_SUITE_P(Architectures, PretrainedTest, testing::Values(Architecture::gpt2, Architecture::llama),
                         [](const auto& param) { return param.param == Architecture::gpt2 ? "gpt2" : "llama"; });

TEST_P(PretrainedTest, GivesTheFilesWeightsAndTheFirstPositions) {
  EXPECT_EQ(readPretrainedConfig(folder_), whole_);
  EXPECT_EQ(readPretrainedWeights(folder_, whole_, ParameterTable(whole_)), weights_);
  ModelConfig shorter = whole_;
  shorter.context = 4;
  const ParameterTable table(shorter), of_file(whole_);
  const std::vector<float> values = readPretrainedWeights(folder_, shorter, table);
  for (std::size_t tensor = 0; tensor < table.parameters().size(); ++tensor) {
    const Parameter& mine = table.parameters()[tensor];
    const Parameter& theirs = of_file.parameters()[tensor];
    for (std::size_t i = 0; i < mine.count; ++i)
      ASSERT_EQ(values[mine.offset + i], weights_[theirs.offset + i]) << mine.name;
  }
}

TEST_P(PretrainedTest, ConstantsAndATiedHeadAreSkippedAndOtherTensorsRefused) {
  const std::vector<float> mask(36, 1.0f), other(whole_.vocab * whole_.channels, 1.0f);
  const SafetensorsEntry constant{prefix() + "h.0.attn.bias", {1, 1, 6, 6}, mask.data()};
  writeWeights({constant, {"lm_head.weight", {256, 8}, weights_.data()}}); // the embedding comes first
  EXPECT_EQ(readPretrainedWeights(folder_, whole_, ParameterTable(whole_)), weights_);
  writeWeights({{"lm_head.weight", {256, 8}, other.data()}});
  EXPECT_THAT(weightsError(), AllOf(HasSubstr(folder_), HasSubstr("lm_head.weight is not the embedding")));
  writeWeights({{"adapter.weight", {36}, mask.data()}});
  EXPECT_THAT(weightsError(), HasSubstr("adapter.weight"));
  const std::string norm = whole_.isLlama() ? "model.norm.weight" : "ln_f.weight";
  writeWeights({}, norm);
  EXPECT_THAT(weightsError(), HasSubstr("has no tensor " + norm));
  whole_.channels = 16;
  EXPECT_THAT(weightsError(), HasSubstr("needs F32 ["));
}

TEST_P(PretrainedTest, AModelThatComputesAnythingElseIsRefusedWithTheKey) {
  EXPECT_THAT(refusalOf("model_type", "bert"), HasSubstr("model_type is \"bert\""));
  EXPECT_THAT(refusalOf("tie_word_embeddings", false), AllOf(HasSubstr(folder_), HasSubstr("tie_word_embeddings")));
  if (whole_.isLlama()) {
    EXPECT_THAT(refusalOf("num_key_value_heads", 1), HasSubstr("num_key_value_heads is 1"));
    EXPECT_THAT(refusalOf("rms_norm_eps", 1e-6), HasSubstr("rms_norm_eps"));
    EXPECT_THAT(refusalOf("rope_scaling", {{"factor", 8}}), HasSubstr("rope_scaling"));
    EXPECT_THAT(refusalOf("rope_parameters", {{"rope_theta", 5e5}}), HasSubstr("rope_theta"));
    EXPECT_EQ(refusalOf("rope_parameters", {{"rope_theta", 1e4}, {"rope_type", "default"}}), "");
  } else {
    EXPECT_THAT(refusalOf("activation_function", "relu"), HasSubstr("activation_function is \"relu\""));
    EXPECT_THAT(refusalOf("n_inner", 16), HasSubstr("n_inner"));
    EXPECT_EQ(refusalOf("n_inner", nullptr), "");
    EXPECT_EQ(refusalOf("n_inner", 32), "");
  }
}

TEST_P(PretrainedTest, ARunStartsFromIt) {
  TrainOptions options = smallOptions(1);
  options.init = folder_;
  options.model = {.vocab = 0};
  options.model.context = 4;
  options.model = modelOfInit(options);
  EXPECT_EQ(options.model.channels, 8u);
  options.lr = 1e-30; // moves nothing
  EXPECT_EQ(runAlone(options).state.parameters,
            readPretrainedWeights(folder_, options.model, ParameterTable(options.model)));
  TrainOptions wrong = options;
  wrong.model.layers = 3;
  EXPECT_THAT(errorOf([&] { modelOfInit(wrong); }), HasSubstr("--layers 3"));
  wrong = options;
  wrong.model.context = 7;
  EXPECT_THAT(errorOf([&] { modelOfInit(wrong); }), HasSubstr("at most 6 tokens"));
}

TEST(Safetensors, HalvesAreReadExactly) {
  const TemporaryDirectory directory;
  const auto write = [&](const std::string& dtype, const std::vector<std::uint16_t>& bits) {
    const nlohmann::json header = {
        {"x", {{"dtype", dtype}, {"shape", {bits.size()}}, {"data_offsets", {0, 2 * bits.size()}}}}};
    const std::string text = header.dump();
    const std::uint64_t length = text.size();
    std::string bytes(sizeof length + text.size() + 2 * bits.size(), '\0');
    std::memcpy(bytes.data(), &length, sizeof length);
    std::memcpy(bytes.data() + sizeof length, text.data(), text.size());
    std::memcpy(bytes.data() + sizeof length + text.size(), bits.data(), 2 * bits.size());
    writeBytes(directory / dtype, bytes);
    return SafetensorsFile(directory / dtype).readAsFloats("x", {bits.size()});
  };
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(write("BF16", {0x3f80, 0xc040, 0x7f80, 0x0001}), (std::vector<float>{1, -3, kInfinity, 0x1p-133f}));
  EXPECT_EQ(write("F16", {0x3c00, 0xc200, 0x7c00, 0xfc00, 0x0001, 0x83ff, 0x0400, 0x7bff}),
            (std::vector<float>{1, -3, kInfinity, -kInfinity, 0x1p-24f, -0x1.ff8p-15f, 0x1p-14f, 65504}));
  EXPECT_TRUE(std::isnan(write("F16", {0x7e00}).front()));
  EXPECT_TRUE(std::signbit(write("F16", {0x8000}).front()));
  EXPECT_THAT(errorOf([&] { write("I16", {1}); }), HasSubstr("needs F32"));
  EXPECT_THAT(errorOf([&] { std::ignore = SafetensorsFile(directory / "F16").readAsFloats("x", {2}); }),
              HasSubstr("needs F32 [2]"));
}

} // namespace
} // namespace goss::trainer
