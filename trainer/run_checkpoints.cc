#include "trainer/run_checkpoints.h"

#include <cstdint>
#include <utility>

#include "trainer/error.h"

namespace goss::trainer {

namespace {

/// Parameters and two moments; what synchronizers keep comes on top.
std::size_t bytesOf(const ParameterTable& table) { return 3 * table.count() * sizeof(float); }

} // namespace

RunCheckpoints::RunCheckpoints(const TrainOptions& options, const ParameterTable& table, Group& group, Report& report)
    : options_(options), table_(table), group_(group), report_(report) {
  if (group.rank() != 0 || options.checkpoint.empty()) return;
  writer_.emplace(CheckpointStore(options.checkpoint, options.keep), options.model, table);
}

TrainingState RunCheckpoints::load(const std::string& settings) {
  TrainingState state;
  state.first_moments.resize(table_.count());
  state.second_moments.resize(table_.count());
  state.parameters = table_.initialValues(options_.seed);
  if (writer_) writer_->store().prepare(bytesOf(table_));
  if (!writer_ || !options_.resume) return state;
  std::optional<LoadedCheckpoint> loaded = writer_->store().loadLatest(options_.model, table_);
  if (!loaded) {
    report_.note(fmt::format("no checkpoint in {} yet: starting from step 0", options_.checkpoint));
    return state;
  }
  for (const std::string& text : loaded->damaged)
    report_.note(fmt::format("note: {}; going back to an earlier checkpoint", text));
  report_.note(fmt::format("resumed from step {} of {}", loaded->state.step, options_.checkpoint));
  if (loaded->state.settings != settings)
    report_.note(fmt::format("note: the checkpoint was written with other settings: {}", loaded->state.settings));
  return std::move(loaded->state);
}

std::size_t RunCheckpoints::begin(std::size_t step) {
  std::uint64_t head[] = {step, writer_ ? 1u : 0u};
  group_.broadcast(head, sizeof head);
  saved_step_ = head[0];
  saves_ = head[1] != 0;
  return saved_step_;
}

void RunCheckpoints::save(std::size_t step, TrainingState state) {
  saved_step_ = step;
  if (!writer_) return;
  finish();
  writer_->start(std::move(state));
}

void RunCheckpoints::poll() {
  if (!writer_) return;
  if (const std::optional<std::size_t> step = writer_->poll()) report_.checkpoint(*step);
}

void RunCheckpoints::finish() {
  if (!writer_) return;
  if (const std::optional<std::size_t> step = writer_->finish()) report_.checkpoint(*step);
}

void RunCheckpoints::share(TrainingState& state) {
  report_.note(
      fmt::format("note: the checkpoint is of {} ranks with '{}': all ranks go on from the mean of their "
                  "parameters and moments; what its synchronizer kept is reset",
                  state.others.size() + 1, state.sync));
  for (std::vector<float> ReplicaState::*vector :
       {&ReplicaState::parameters, &ReplicaState::first_moments, &ReplicaState::second_moments}) {
    std::vector<float>& mean = state.*vector;
    for (std::size_t i = 0; i < mean.size(); ++i) {
      double sum = mean[i]; // of equal values it is exact, and so is the mean
      for (const ReplicaState& other : state.others)
        sum += (other.*vector)[i];
      mean[i] = static_cast<float>(sum / static_cast<double>(state.others.size() + 1));
    }
  }
  state.others.clear();
  state.sync_state.clear();
}

} // namespace goss::trainer
