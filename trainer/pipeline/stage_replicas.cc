#include "trainer/pipeline/stage_replicas.h"

#include "trainer/base/error.h"

namespace goss::trainer {

StageReplicas::StageReplicas(goss_comm_t across, const std::string& spec, PipelineRank& stages, Ops& ops)
    : stages_(stages), ops_(ops), replicas_(across, spec) {
  if (replicas_.dynamicPeriod() != 0) {
    fail("--sync {}: the stages of a pipeline compute every step together; leave out steps=dynamic, or --pipeline",
         spec);
  }
}

std::string StageReplicas::start(const SavedSync& saved) {
  const auto& stages = stages_.stages();
  std::vector<ReplicaTensor> tensors;
  if (!ops_.isHostMemory()) copies_.resize(stages.size());
  for (std::size_t i = 0; i < stages.size(); ++i) {
    PipelineRank::Stage& stage = *stages[i];
    float* parameters = stage.model.parameters();
    float* gradient = stage.gradient.data();
    if (!copies_.empty()) {
      copies_[i].parameters.resize(stage.gradient.size());
      copies_[i].gradient.resize(stage.gradient.size());
      parameters = copies_[i].parameters.data();
      gradient = copies_[i].gradient.data();
    }
    for (const Parameter& p : stage.model.table().parameters())
      tensors.push_back({p.name, parameters + p.offset, gradient + p.offset, p.count, p.layer});
  }
  download();
  std::string left_behind = replicas_.start(tensors, saved);
  upload();
  return left_behind;
}

void StageReplicas::gradients() {
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    std::vector<float>& copy = copies_[i].gradient;
    ops_.download(copy.data(), stages_.stages()[i]->gradient.data(), copy.size() * sizeof(float));
  }
  const bool mixes = hasLocalSteps(); // some methods mix the parameters, too
  if (mixes) download();
  replicas_.gradients();
  if (mixes) upload();
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const std::vector<float>& copy = copies_[i].gradient;
    ops_.upload(stages_.stages()[i]->gradient.data(), copy.data(), copy.size() * sizeof(float));
  }
}

void StageReplicas::step() {
  download();
  replicas_.step();
  upload();
}

void StageReplicas::finish() {
  download();
  replicas_.finish();
  upload();
}

void StageReplicas::download() {
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    std::vector<float>& copy = copies_[i].parameters;
    ops_.download(copy.data(), stages_.stages()[i]->model.parameters(), copy.size() * sizeof(float));
  }
}

void StageReplicas::upload() {
  for (std::size_t i = 0; i < copies_.size(); ++i) {
    const std::vector<float>& copy = copies_[i].parameters;
    ops_.upload(stages_.stages()[i]->model.parameters(), copy.data(), copy.size() * sizeof(float));
  }
}

} // namespace goss::trainer
