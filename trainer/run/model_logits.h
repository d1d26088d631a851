/// `goss-train logits`: the output of a checkpoint's model, for comparison with other implementations.
#ifndef GOSS_TRAINER_RUN_MODEL_LOGITS_H_
#define GOSS_TRAINER_RUN_MODEL_LOGITS_H_

namespace goss::trainer {

/// `goss-train logits FOLDER --out FILE [--seed S]`: one forward pass of the model in a checkpoint's folder over
/// `context` random tokens. FILE is a safetensors file with `logits` [context, vocab] and the tokens, a JSON array, in
/// the metadata `tokens`. Returns the exit code; throws Error.
int runLogits(int argc, const char* const* argv);

} // namespace goss::trainer

#endif // GOSS_TRAINER_RUN_MODEL_LOGITS_H_
