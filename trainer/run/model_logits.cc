#include "trainer/run/model_logits.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tools/commandline/command_line.h"
#include "trainer/base/random.h"
#include "trainer/compute/cpu_ops.h"
#include "trainer/files/checkpoint_files.h"
#include "trainer/files/safetensors.h"
#include "trainer/model/gpt.h"

namespace goss::trainer {

namespace {

void writeLogits(const std::string& folder, const std::string& out, std::uint64_t seed) {
  const ModelConfig config = readModelConfig(folder);
  checkModelConfig(config);
  const ParameterTable table(config);
  CpuOps ops;
  Gpt model(config, 1, ops);
  model.setParameters(readParameters(folder, config, table));
  std::vector<std::int32_t> tokens(config.context);
  for (std::size_t i = 0; i < tokens.size(); ++i)
    tokens[i] = static_cast<std::int32_t>(randomBelow(randomBits(seed, RandomStream::sampling, 0, i), config.vocab));
  model.forward(tokens);
  std::vector<float> logits;
  for (std::size_t row = 0; row < tokens.size(); ++row) {
    const std::vector<float> one = model.logitsAt(row);
    logits.insert(logits.end(), one.begin(), one.end());
  }
  writeSafetensors(out, {{"logits", {config.context, config.vocab}, logits.data()}},
                   {{"tokens", nlohmann::json(tokens).dump()}});
}

} // namespace

int runLogits(int argc, const char* const* argv) {
  constexpr int kUsageError = 2;
  std::string folder, out;
  std::uint64_t seed = 1;
  CommandLine line("Writes the logits of a checkpoint's model for random tokens.", "goss-train logits");
  line.option("FOLDER", folder, "a step-* folder of a --checkpoint directory").required();
  line.option("--out", out, "the safetensors file to write").required();
  line.option("--seed", seed, "of the tokens");
  if (const auto status = line.parseOrPrint(argc, argv)) return *status == 0 ? 0 : kUsageError;
  writeLogits(folder, out, seed);
  return 0;
}

} // namespace goss::trainer
