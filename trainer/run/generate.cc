#include "trainer/run/generate.h"

#include <fmt/format.h>

#include <cstdint>
#include <sstream>
#include <string>
#include <vector>

#include "tools/commandline/command_line.h"
#include "trainer/base/error.h"
#include "trainer/compute/cpu_ops.h"
#include "trainer/data/sampler.h"
#include "trainer/files/checkpoint_files.h"
#include "trainer/model/gpt.h"

namespace goss::trainer {

namespace {

constexpr std::size_t kByteVocab = 256;

std::vector<std::int32_t> tokensOf(const std::string& prompt, const ModelConfig& config) {
  std::vector<std::int32_t> tokens;
  if (config.vocab <= kByteVocab) {
    for (const char c : prompt)
      tokens.push_back(static_cast<unsigned char>(c));
  } else {
    std::istringstream numbers(prompt);
    std::int32_t token = 0;
    while (numbers >> token)
      tokens.push_back(token);
    if (!numbers.eof()) fail("--prompt '{}': this model's tokens are numbers, such as \"464 257\"", prompt);
  }
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
  std::string folder, prompt = "And ";
  SampleOptions options;
  CommandLine line("Prints text that a checkpoint's model generates.", "goss-train generate");
  line.showDefaults();
  line.option("FOLDER", folder, "a step-* folder of a --checkpoint directory").required();
  line.option("--prompt", prompt, "text to continue; token numbers where the vocabulary is not bytes");
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
  const std::vector<std::int32_t> tokens = tokensOf(prompt, config);
  const ParameterTable table(config);
  CpuOps ops;
  Gpt model(config, 1, ops);
  model.setParameters(readCheckpointFiles(folder, config, table).parameters);
  const bool is_text = config.vocab <= kByteVocab;
  fmt::print("{}{}{}\n", renderTokens(tokens, is_text), is_text ? "" : " ",
             renderTokens(sampleTokens(model, tokens, options), is_text));
  return 0;
}

} // namespace goss::trainer
