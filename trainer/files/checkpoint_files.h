/// The files of one checkpoint: docs/trainer.md, "Checkpoints".
#ifndef GOSS_TRAINER_FILES_CHECKPOINT_FILES_H_
#define GOSS_TRAINER_FILES_CHECKPOINT_FILES_H_

#include <string>

#include "trainer/base/error.h"
#include "trainer/files/training_state.h"
#include "trainer/model/model_config.h"
#include "trainer/model/parameter_table.h"

namespace goss::trainer {

/// A whole checkpoint that is not for this model or this version; older ones would not be either.
class Refusal : public Error {
 public:
  using Error::Error;
};

/// Writes all files into the folder `path`, which exists and is empty, and flushes them to the disk. Throws Error.
void writeCheckpointFiles(const std::string& path, const ModelConfig& config, const ParameterTable& table,
                          const TrainingState& state);

/// Reads the folder `path`. Throws Refusal when it belongs to another model than `config` and `table`, or to another
/// version; Error, with the file's name, when a file is missing, cut short, or differs in any bit from what was
/// written.
TrainingState readCheckpointFiles(const std::string& path, const ModelConfig& config, const ParameterTable& table);

/// The sizes that the folder's config.json gives. Throws Error.
ModelConfig readModelConfig(const std::string& path);

} // namespace goss::trainer

#endif // GOSS_TRAINER_FILES_CHECKPOINT_FILES_H_
