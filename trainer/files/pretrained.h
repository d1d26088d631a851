/// Models in Hugging Face's form, to start a run from their weights.
#ifndef GOSS_TRAINER_FILES_PRETRAINED_H_
#define GOSS_TRAINER_FILES_PRETRAINED_H_

#include <string>
#include <vector>

#include "trainer/model/model_config.h"
#include "trainer/model/parameter_table.h"

namespace goss::trainer {

/// What the folder's config.json says: a GPT-2, or a Llama whose output is tied to its embedding and which has as many
/// heads of keys as of queries. `context` is the most tokens that the model takes. Throws Error that names the file and
/// the key when the model computes anything else than Gpt does.
ModelConfig readPretrainedConfig(const std::string& folder);

/// The weights in the folder's model.safetensors, or in its shards, of F32, F16 or BF16, in the order of `table`.
/// config.context may be smaller than the file's: of learned positions the first ones are taken. Names may begin with
/// "transformer."; constants and an output projection that repeats the embedding are skipped. Throws Error when a
/// tensor is missing, has another shape, or is not known.
std::vector<float> readPretrainedWeights(const std::string& folder, const ModelConfig& config,
                                         const ParameterTable& table);

} // namespace goss::trainer

#endif // GOSS_TRAINER_FILES_PRETRAINED_H_
