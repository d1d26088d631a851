/// `goss-train generate`: text from a checkpoint's model.
#ifndef GOSS_TRAINER_RUN_GENERATE_H_
#define GOSS_TRAINER_RUN_GENERATE_H_

namespace goss::trainer {

/// `goss-train generate FOLDER [--prompt TEXT] [--tokens N] [--temperature T] [--top-k K] [--top-p P] [--seed S]
/// [--tokenizer DIR]` prints the prompt and what follows it. Without a tokenizer, the tokens of models with a larger
/// vocabulary than bytes are numbers: --prompt is then a list of them. Returns the exit code; throws Error.
int runGenerate(int argc, const char* const* argv);

} // namespace goss::trainer

#endif // GOSS_TRAINER_RUN_GENERATE_H_
