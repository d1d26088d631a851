/// The model in a checkpoint's folder, and checkpoints of the version before.
#ifndef GOSS_TRAINER_FILES_CHECKPOINT_FILES_H_
#define GOSS_TRAINER_FILES_CHECKPOINT_FILES_H_

#include <string>
#include <vector>

#include "trainer/files/checkpoint_index.h"
#include "trainer/files/training_state.h"
#include "trainer/model/model_config.h"
#include "trainer/model/parameter_table.h"

namespace goss::trainer {

/// config.json of a model, as Hugging Face's libraries read it.
std::string configText(const ModelConfig& config);
/// Throws IncompatibleCheckpoint, which names the flag, unless the folder's config.json has the sizes of `expected`.
void checkConfig(const std::string& path, const ModelConfig& expected);

/// Reads a checkpoint of version 3, which rank 0 wrote alone. Throws IncompatibleCheckpoint when it belongs to another
/// model than `config` and `table`, or to another version; Error, with the file's name, when a file is missing, cut
/// short, or differs in any bit from what was written.
TrainingState readVersion3(const std::string& path, const ModelConfig& config, const ParameterTable& table);
/// Whether the folder is one of version 3.
bool isVersion3(const std::string& path);

/// The parameters of the first copy in a checkpoint of any version. Throws as readVersion3.
std::vector<float> readParameters(const std::string& path, const ModelConfig& config, const ParameterTable& table);

/// The sizes that the folder's config.json gives. Throws Error.
ModelConfig readModelConfig(const std::string& path);

} // namespace goss::trainer

#endif // GOSS_TRAINER_FILES_CHECKPOINT_FILES_H_
