#include "trainer/loop/training_loop.h"

#include <fmt/format.h>

#include <exception>
#include <utility>

#include "trainer/data/sampler.h"

namespace goss::trainer {

TrainingLoop::TrainingLoop(StepEngine& engine)
    : engine_(engine),
      run_(engine.run()),
      prompt_(promptTokens(run_.options.prompt, run_.data, run_.options.model)),
      checkpoints_(run_.options, engine.table(), run_.group, run_.report) {
  const CheckpointStart start = countedForCheckpoints([&] {
    return checkpoints_.start(checkpointSetting(),
                              {[this](int rank) { return engine_.heldBy(rank); }, engine_.keepsOwn()});
  });
  run_.between_steps = [this] { checkpoints_.poll(); };
  run_.step = start.step;
  engine_.start(start);
  engine_.reportStart();
  const std::size_t tokens = run_.options.batch * run_.options.model.context;
  run_.report.begin({run_.options.steps, run_.step, tokens, run_.options.print_every, run_.group.size()},
                    run_.settings);
}

void TrainingLoop::run() {
  try {
    trainAll();
  } catch (const std::exception& error) {
    engine_.abort(error.what());
    throw;
  }
}

void TrainingLoop::trainAll() {
  const std::size_t steps = run_.options.steps;
  run_.time_limit.restart();
  // validates the model that was resumed
  if (run_.step != 0 && (run_.options.val_every != 0 || run_.step >= steps)) validate();
  bool go_on = true;
  while (go_on && run_.step < steps) {
    go_on = trainStep();
    const bool is_last = !go_on || run_.step == steps;
    // not when stopped early: then the run can continue with the same bits
    if (run_.step == steps) engine_.synchronize();
    // first, because who asked the run to stop may not wait for a validation
    if (is_last || run_.isCheckpointDue()) saveCheckpoint();
    if (is_last) checkpoints_.finish();
    if (is_last || run_.isValidationDue()) validate();
  }
  finish(!go_on);
}

/// Returns false when the run should stop after this step.
bool TrainingLoop::trainStep() {
  bool go_on = engine_.train();
  if (!go_on || run_.step == run_.options.steps || run_.isValidationDue() || run_.isCheckpointDue())
    go_on = engine_.finishSteps() && go_on;
  checkpoints_.poll();
  return go_on;
}

void TrainingLoop::validate() {
  run_.card.validation.emplace_back(run_.step, engine_.validationLoss());
  run_.report.validation(run_.step, run_.card.validation.back().second);
}

void TrainingLoop::saveCheckpoint() {
  if (!checkpoints_.isDue(run_.step)) return;
  countedForCheckpoints([&] {
    checkpoints_.save({run_.step, checkpointSetting(), [this] { return engine_.ownState(); }});
    return true;
  });
}

void TrainingLoop::finish(bool is_stopped) {
  engine_.finish();
  if (is_stopped) {
    run_.report.note(
        fmt::format("stopped by {} after step {}", run_.time_limit.isOver() ? "--time-limit" : "a signal", run_.step));
  }
  run_.group.barrier(); // no rank leaves while another may still need it
  if (run_.group.rank() != 0) return;
  if (run_.options.sample != 0) printSample();
  finishCard();
}

void TrainingLoop::printSample() {
  const TrainOptions& o = run_.options;
  const std::vector<std::int32_t> tokens = sampleTokens(engine_.model(), prompt_, {o.sample, o.temperature, o.seed});
  run_.report.sample(run_.data.tokenizer().show(prompt_), run_.data.tokenizer().show(tokens));
}

void TrainingLoop::finishCard() {
  RunCard& card = run_.card;
  card.settings = run_.settings;
  card.ranks = run_.group.size();
  card.first_step = run_.step - card.losses.size();
  card.tokens_per_step = run_.options.batch * run_.options.model.context;
  card.message_bytes = run_.group.bytesSent() - card.checkpoint_bytes;
  card.message_bytes_received = run_.group.bytesReceived() - card.checkpoint_bytes_received;
  engine_.describe();
  run_.report.note(summarize(card));
  if (const std::string warning = engine_.warning(); !warning.empty()) run_.report.note(warning);
  if (!run_.options.run.empty()) writeRun(run_.options.run, card);
}

} // namespace goss::trainer
