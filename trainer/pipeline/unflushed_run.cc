#include "trainer/pipeline/unflushed_run.h"

#include <chrono>
#include <cstring>
#include <numeric>

#include "trainer/base/error.h"
#include "trainer/base/time_limit.h"
#include "trainer/model/gradient_norm.h"

namespace goss::trainer {

namespace {

bool computes(const goss_pipeline_action& action) { return action.kind <= GOSS_PIPELINE_RECOMPUTE; }

bool computesWeightGrad(std::int32_t kind) {
  return kind == GOSS_PIPELINE_BACKWARD || kind == GOSS_PIPELINE_BACKWARD_WEIGHT;
}

std::vector<std::byte> bytesOf(std::span<const float> floats, std::span<const double> doubles) {
  std::vector<std::byte> bytes(floats.size_bytes() + doubles.size_bytes());
  std::memcpy(bytes.data(), floats.data(), floats.size_bytes());
  if (!doubles.empty()) std::memcpy(bytes.data() + floats.size_bytes(), doubles.data(), doubles.size_bytes());
  return bytes;
}

} // namespace

UnflushedRun::UnflushedRun(const UnflushedSetup& setup)
    : setup_(setup), grid_(setup.grid), rank_(setup.rank), step_losses_(setup.steps, 0.0) {
  const std::size_t micro_batches = setup.steps * setup.shape.micro_batches;
  head_versions_.resize(micro_batches);
  for (const goss_pipeline_action& action : grid_.actions(grid_.rankOf(0))) {
    if (action.kind == GOSS_PIPELINE_FORWARD && action.stage == 0)
      head_versions_[static_cast<std::size_t>(action.micro_batch)] = action.version;
    if (action.kind == GOSS_PIPELINE_STEP && action.stage == 0 && action.version == 1)
      update_every_ = static_cast<std::size_t>(action.micro_batch) + 1;
  }
  head_uses_.resize(micro_batches / update_every_ + 1);
  for (const auto& stage : rank_.stages()) {
    std::vector<int> uses(micro_batches / update_every_ + 1, 0);
    for (const goss_pipeline_action& action : grid_.actions(grid_.rank())) {
      if (!computes(action) || action.stage != stage->number) continue;
      ++uses.at(static_cast<std::size_t>(action.version));
      const int head = head_versions_[static_cast<std::size_t>(action.micro_batch)];
      if (stage->model.range().is_last) ++head_uses_.at(static_cast<std::size_t>(head));
    }
    stashes_.try_emplace(stage->number, stage->model, std::move(uses), setup.ops);
  }
}

void UnflushedRun::run(const PipelineRank::Loader& loader, const StepDone& step_done) {
  step_done_ = step_done;
  const std::size_t tokens = update_every_ * setup_.shape.micro_batch * setup_.shape.model.context;
  rank_.begin(loader, 1.0f / static_cast<float>(tokens * static_cast<std::size_t>(grid_.replicas())),
              {setup_.steps, update_every_, grid_.recomputed()});
  grid_.run(setup_.shape.micro_batch * setup_.shape.model.context * setup_.shape.model.channels * sizeof(float),
            [this](const goss_pipeline_action& action, const void* input, void* output) {
              const auto began = std::chrono::steady_clock::now();
              act(action, input, output);
              computed_s_ += secondsSince(began);
            });
  if (rank_.lastStage() != nullptr && rank_.firstStage() == nullptr) takeLastHead();
  for (const auto& stage : rank_.stages())
    stage->model.use(nullptr, nullptr);
  grid_.waitPosts();
}

void UnflushedRun::act(const goss_pipeline_action& action, const void* input, void* output) {
  PipelineRank::Stage& stage = rank_.at(action.stage);
  if (action.kind == GOSS_PIPELINE_STEP) return update(stage, action);
  if (!computes(action)) return;
  WeightStash& stash = stashes_.at(action.stage);
  const auto micro_batch = static_cast<std::size_t>(action.micro_batch);
  const StageRange& range = stage.model.range();
  stage.model.use(stash.weights(action.version), range.is_last && !range.is_first ? headFor(micro_batch) : nullptr);
  const auto* in = static_cast<const float*>(input);
  auto* out = static_cast<float*>(output);
  if (action.kind == GOSS_PIPELINE_FORWARD) rank_.forward(action.stage, action.micro_batch, in, out);
  if (action.kind == GOSS_PIPELINE_RECOMPUTE) rank_.recompute(action.stage, action.micro_batch);
  if (action.kind == GOSS_PIPELINE_BACKWARD || action.kind == GOSS_PIPELINE_BACKWARD_INPUT)
    rank_.inputGrad(action.stage, action.micro_batch, in, out);
  if (computesWeightGrad(action.kind)) {
    rank_.weightGrad(action.stage, action.micro_batch);
    afterWeightGrad(stage, micro_batch);
  }
  stash.done(action.version);
  if (range.is_last && !range.is_first) doneWithHead(micro_batch);
}

/// Sends the output projection's part of the embedding's gradient, and the losses, to the first stage.
void UnflushedRun::afterWeightGrad(PipelineRank::Stage& stage, std::size_t micro_batch) {
  const StageRange& range = stage.model.range();
  const std::size_t samples = setup_.shape.micro_batch;
  std::vector<std::byte> message;
  if (range.is_last) {
    std::vector<float>& gradient = rank_.headGrads()[micro_batch];
    message = bytesOf(gradient, std::span(rank_.losses()).subspan(micro_batch * samples, samples));
    gradient = {};
    if (!range.is_first) return grid_.post(std::move(message), grid_.rankOf(0));
  }
  if (!range.is_first) return;
  if (!range.is_last) {
    message.resize(headElems() * sizeof(float) + samples * sizeof(double));
    grid_.recv(message.data(), message.size(), grid_.rankOf(grid_.stages() - 1));
  }
  std::vector<float> gradient(headElems());
  std::vector<double> losses(samples);
  std::memcpy(gradient.data(), message.data(), headElems() * sizeof(float));
  std::memcpy(losses.data(), message.data() + headElems() * sizeof(float), samples * sizeof(double));
  rank_.addHeadGrad(micro_batch, gradient);
  double& step_loss = step_losses_[micro_batch / setup_.shape.micro_batches];
  step_loss = std::accumulate(losses.begin(), losses.end(), step_loss);
}

void UnflushedRun::update(PipelineRank::Stage& stage, const goss_pipeline_action& action) {
  setup_.between_steps();
  const auto last = static_cast<std::size_t>(action.micro_batch);
  const std::size_t step = setup_.first_step + last / setup_.shape.micro_batches;
  const std::size_t updates_a_step = setup_.shape.micro_batches / update_every_;
  rank_.finishGradient(stage);
  grid_.sumOverReplicas(stage.gradient, setup_.ops);
  requireFinite(normOf(squaredNorms(setup_.ops, stage.model.table(), stage.gradient.data())), step + 1);
  stashes_.at(stage.number).advance();
  stage.optimizer.update(setup_.first_step * updates_a_step + static_cast<std::size_t>(action.version) - 1,
                         setup_.schedule.at(step), stage.model.parameters(), stage.gradient.data(), 1.0);
  const StageRange& range = stage.model.range();
  if (!range.is_first) return;
  if (!range.is_last) {
    std::vector<float> head(headElems());
    setup_.ops.download(head.data(), stage.model.headWeight(), head.size() * sizeof(float));
    grid_.post(bytesOf(head, {}), grid_.rankOf(grid_.stages() - 1));
  }
  if ((last + 1) % setup_.shape.micro_batches == 0) endStep(last / setup_.shape.micro_batches);
}

void UnflushedRun::endStep(std::size_t step) {
  double loss[] = {step_losses_[step]};
  grid_.sumOverReplicas(loss);
  step_done_(loss[0]);
}

const float* UnflushedRun::headFor(std::size_t micro_batch) {
  const int version = head_versions_[micro_batch];
  while (newest_head_ < version)
    receiveHead();
  return version == 0 ? nullptr : heads_.at(version)->data();
}

void UnflushedRun::doneWithHead(std::size_t micro_batch) {
  const int version = head_versions_[micro_batch];
  if (--head_uses_[static_cast<std::size_t>(version)] == 0 && version != updates()) heads_.erase(version);
}

void UnflushedRun::receiveHead() {
  std::vector<float> head(headElems());
  grid_.recv(head.data(), head.size() * sizeof(float), grid_.rankOf(0));
  const bool is_needed = head_uses_[static_cast<std::size_t>(newest_head_) + 1] > 0 || newest_head_ + 1 == updates();
  if (!is_needed) {
    ++newest_head_;
    return;
  }
  auto& received = heads_[++newest_head_];
  received = std::make_unique<Buffer<float>>(setup_.ops, head.size());
  received->upload(head);
}

/// When the schedule is over the last stage continues with the newest matrix.
void UnflushedRun::takeLastHead() {
  while (newest_head_ < updates())
    receiveHead();
  setup_.ops.copy(rank_.lastStage()->model.headWeight(), heads_.at(updates())->data(), headElems());
}

} // namespace goss::trainer
