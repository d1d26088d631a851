#include "trainer/run/generate.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tools/commandline/command_line.h"
#include "trainer/base/error.h"
#include "trainer/compute/cpu_ops.h"
#include "trainer/data/gpt_tokenizer.h"
#include "trainer/data/sampler.h"
#include "trainer/files/checkpoint_files.h"
#include "trainer/model/gpt.h"

namespace goss::trainer {

namespace {

/// The tokenizer of the user's folder; without one, tokens are bytes where the vocabulary is not larger.
std::unique_ptr<const Tokenizer> tokenizerOf(const std::string& folder, const ModelConfig& config) {
  if (folder.empty()) {
    if (config.vocab <= ByteTokenizer().vocab()) return std::make_unique<ByteTokenizer>();
    return std::make_unique<NumberTokenizer>();
  }
  auto tokenizer = std::make_unique<GptTokenizer>(folder);
  if (tokenizer->vocab() > config.vocab) {
    fail("--tokenizer {} has {} tokens, but the model knows {}: give the folder that it was trained with", folder,
         tokenizer->vocab(), config.vocab);
  }
  return tokenizer;
}

std::vector<std::int32_t> tokensOf(const std::string& prompt, const Tokenizer& tokenizer, const ModelConfig& config) {
  std::vector<std::int32_t> tokens = tokenizer.encode(prompt);
  if (tokens.empty()) fail("--prompt must not be empty");
  for (const std::int32_t token : tokens) {
    if (token < 0 || static_cast<std::size_t>(token) >= config.vocab)
      fail("--prompt has token {}; this model knows 0 to {}", token, config.vocab - 1);
  }
  return tokens;
}

} // namespace

int runGenerate(int argc, const char* const* argv) {
  constexpr int kUsageError = 2;
  std::string folder, tokenizer_folder, prompt = "And ";
  SampleOptions options;
  CommandLine line("Prints text that a checkpoint's model generates.", "goss-train generate");
  line.showDefaults();
  line.option("FOLDER", folder, "a step-* folder of a --checkpoint directory").required();
  line.option("--prompt", prompt, "text to continue; token numbers where the vocabulary is not bytes");
  line.option("--tokenizer", tokenizer_folder, "folder with GPT-2's vocab.json and merges.txt");
  line.option("--tokens", options.count, "how many");
  line.option("--temperature", options.temperature, "0: always the likeliest token").range(0.0, 100.0);
  line.option("--top-k", options.top_k, "only the likeliest so many tokens; 0: all");
  line.option("--top-p", options.top_p, "only the likeliest tokens that together have this probability")
      .range(0.0, 1.0);
  line.option("--seed", options.seed, "of the random numbers");
  line.refuseNegativeNumbers();
  if (const auto status = line.parseOrPrint(argc, argv)) return *status == 0 ? 0 : kUsageError;
  const ModelConfig config = readModelConfig(folder);
  checkModelConfig(config);
  const std::unique_ptr<const Tokenizer> tokenizer = tokenizerOf(tokenizer_folder, config);
  const std::vector<std::int32_t> tokens = tokensOf(prompt, *tokenizer, config);
  const ParameterTable table(config);
  CpuOps ops;
  Gpt model(config, 1, ops);
  model.setParameters(readParameters(folder, config, table));
  fmt::print("{}{}{}\n", tokenizer->show(tokens), tokenizer->takesText() ? "" : " ",
             tokenizer->show(sampleTokens(model, tokens, options)));
  return 0;
}

} // namespace goss::trainer
