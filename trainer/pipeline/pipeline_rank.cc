#include "trainer/pipeline/pipeline_rank.h"

#include <algorithm>
#include <utility>

#include "trainer/base/error.h"
#include "trainer/base/share.h"

namespace goss::trainer {

StageRange stageRange(const ModelConfig& config, int stages, int stage) {
  return {shareOf(config.layers, static_cast<std::size_t>(stages), static_cast<std::size_t>(stage)), stage == 0,
          stage + 1 == stages};
}

PipelineRank::Stage::Stage(const PipelineRankSetup& setup, int stage, Ops& ops)
    : number(stage),
      model(setup.model, stageRange(setup.model, setup.stages, stage), setup.micro_batch, ops),
      optimizer(setup.optimizer, model.table(), ops),
      tree(ops, model.ownCount(), setup.micro_batches),
      embedding_tree(ops, model.range().is_first ? model.embeddingCount() : 1, setup.micro_batches),
      gradient(ops, model.table().count()) {}

PipelineRank::PipelineRank(const PipelineRankSetup& setup, Ops& ops)
    : setup_(setup),
      ops_(ops),
      inputs_(setup.micro_batch * setup.model.context),
      targets_(setup.micro_batch * setup.model.context) {
  for (const int stage : setup.owned)
    stages_.push_back(std::make_unique<Stage>(setup, stage, ops));
}

PipelineRank::Stage* PipelineRank::firstStage() {
  return !stages_.empty() && stages_.front()->model.range().is_first ? stages_.front().get() : nullptr;
}

PipelineRank::Stage* PipelineRank::lastStage() {
  return !stages_.empty() && stages_.back()->model.range().is_last ? stages_.back().get() : nullptr;
}

PipelineRank::Stage& PipelineRank::at(int stage) {
  for (const auto& held : stages_) {
    if (held->number == stage) return *held;
  }
  fail("stage {} is not on this rank", stage);
}

void PipelineRank::begin(Loader loader, float grad_scale, const Span& span) {
  loader_ = std::move(loader);
  grad_scale_ = grad_scale;
  recomputed_ = span.recomputed;
  update_every_ = span.update_every == 0 ? setup_.micro_batches : span.update_every;
  losses_.assign(span.steps * setup_.micro_batches * setup_.micro_batch, 0.0);
  if (lastStage() != nullptr) head_grads_.resize(span.steps * setup_.micro_batches);
  for (const auto& stage : stages_) {
    stage->tree.reset();
    stage->embedding_tree.reset();
    stage->done = 0;
  }
}

void PipelineRank::forward(int number, int micro_batch, const float* input, float* output) {
  Stage& stage = at(number);
  pass(stage, micro_batch, input, output);
  if (!recomputed_.contains({number, micro_batch})) return;
  if (!stage.model.range().is_first)
    kept_inputs_[{number, micro_batch}].assign(input, input + stage.model.boundaryCount(setup_.micro_batch));
  stage.model.release(micro_batch);
}

void PipelineRank::recompute(int number, int micro_batch) {
  Stage& stage = at(number);
  const auto kept = kept_inputs_.extract({number, micro_batch}); // empty in the first stage, which has its tokens
  std::vector<float> output(stage.model.boundaryCount(setup_.micro_batch));
  pass(stage, micro_batch, kept.empty() ? nullptr : kept.mapped().data(), output.data());
}

void PipelineRank::pass(Stage& stage, int micro_batch, const float* input, float* output) {
  StageModel& model = stage.model;
  const auto k = static_cast<std::size_t>(micro_batch);
  loader_(k, inputs_, targets_);
  model.forward(micro_batch, inputs_, input, output);
  if (!model.range().is_last) return;
  const std::vector<double> losses = model.losses(micro_batch, targets_, true, grad_scale_);
  std::copy(losses.begin(), losses.end(), losses_.begin() + static_cast<std::ptrdiff_t>(k * setup_.micro_batch));
}

void PipelineRank::inputGrad(int stage, int micro_batch, const float* doutput, float* dinput) {
  at(stage).model.inputGrad(micro_batch, doutput, dinput);
}

void PipelineRank::weightGrad(int number, int micro_batch) {
  Stage& stage = at(number);
  const auto k = static_cast<std::size_t>(micro_batch);
  // The order of the sum decides its bits.
  if (stage.done++ != k) fail("the schedule computes the weight gradient of micro-batch {} out of order", k);
  stage.model.weightGrad(micro_batch, stage.tree.target());
  addToTree(stage.tree, k, stage.model.ownCount());
  if (stage.model.range().is_last) {
    Buffer<float> head(ops_, stage.model.embeddingCount());
    stage.model.headGrad(micro_batch, head.data());
    head_grads_[k] = head.download();
  }
  // The first stage still has to add the embedding's part.
  if (!stage.model.range().is_first) stage.model.release(micro_batch);
}

void PipelineRank::addToTree(GradientTree& tree, std::size_t micro_batch, std::size_t count) const {
  if ((micro_batch + 1) % update_every_ != 0) {
    tree.add();
  } else {
    tree.finish(0, count);
  }
}

void PipelineRank::addHeadGrad(std::size_t micro_batch, std::span<const float> head_grad) {
  Stage& stage = *firstStage();
  ops_.upload(stage.embedding_tree.target(), head_grad.data(), head_grad.size_bytes());
  stage.model.addEmbeddingGrad(static_cast<int>(micro_batch), stage.embedding_tree.target());
  addToTree(stage.embedding_tree, micro_batch, stage.model.embeddingCount());
  stage.model.release(static_cast<int>(micro_batch));
}

void PipelineRank::finishGradient(Stage& stage) {
  ops_.copy(stage.gradient.data(), stage.tree.target(), stage.model.ownCount());
  stage.tree.reset();
  if (!stage.model.range().is_first) return;
  ops_.copy(stage.gradient.data() + stage.model.table().wte(), stage.embedding_tree.target(),
            stage.model.embeddingCount());
  stage.embedding_tree.reset();
}

} // namespace goss::trainer
