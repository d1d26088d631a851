#include "trainer/model/stage_model.h"

#include <utility>

#include "trainer/base/error.h"

namespace goss::trainer {

namespace {

std::size_t headElems(const ModelConfig& config, const StageRange& range) {
  return range.is_last && !range.is_first ? config.vocab * config.channels : 0;
}

std::size_t ifLast(const StageRange& range, std::size_t count) { return range.is_last ? count : 0; }

} // namespace

StageModel::Held::Held(const ModelConfig& config, const StageRange& range, std::size_t rows, Ops& ops)
    : tokens(ops, rows),
      dinput(ops, rows * config.channels),
      dnorms(ops, (range.layers.count() * 4 + 2) * config.channels),
      last(ops, ifLast(range, rows * config.channels)),
      lnf(ops, ifLast(range, rows * config.channels)),
      lnf_mean(ops, ifLast(range, rows)),
      lnf_rstd(ops, ifLast(range, rows)),
      logits(ops, ifLast(range, rows * config.vocab)) {
  for (std::size_t layer = 0; layer < range.layers.count(); ++layer) {
    blocks.emplace_back(ops, config, rows);
    flow.emplace_back(ops, config, rows);
  }
}

StageModel::StageModel(const ModelConfig& config, const StageRange& range, std::size_t max_batch, Ops& ops)
    : config_(config),
      range_(range),
      max_batch_(max_batch),
      ops_(ops),
      table_(config, range.layers.first, range.layers.last, range.is_first, range.is_last),
      parameters_(ops, table_.count()),
      head_weight_(ops, headElems(config, range)),
      scratch_(ops, max_batch * config.context * config.channels),
      targets_(ops, max_batch * config.context),
      losses_(ops, max_batch * config.context) {
  if (range.layers.count() == 0) fail("a stage needs at least one layer");
}

float* StageModel::headWeight() { return range_.is_first ? parameters() + table_.wte() : head_weight_.data(); }

void StageModel::use(const float* parameters, const float* head) {
  used_ = parameters;
  used_head_ = head;
}

const float* StageModel::projection() const {
  if (range_.is_first) return weights() + table_.wte();
  return used_head_ != nullptr ? used_head_ : head_weight_.data();
}

StageModel::Held& StageModel::of(int micro_batch) {
  const auto found = held_.find(micro_batch);
  if (found == held_.end()) fail("micro-batch {} has not been forward through this stage", micro_batch);
  return *found->second;
}

BlockPass StageModel::passOf(std::size_t local_layer, std::size_t batch) {
  return {ops_, config_, table_.block(local_layer), weights(), batch};
}

void StageModel::forward(int micro_batch, std::span<const std::int32_t> tokens, const float* input, float* output) {
  if (free_.empty()) {
    free_.push_back(std::make_unique<Held>(config_, range_, max_batch_ * config_.context, ops_));
  }
  std::unique_ptr<Held>& held = held_[micro_batch];
  if (!held) {
    held = std::move(free_.back());
    free_.pop_back();
  }
  Held& h = *held;
  h.batch = tokens.size() / config_.context;
  const std::size_t rows = tokens.size();
  if (range_.is_first) {
    h.tokens.upload(tokens);
    ops_.embed({h.batch, config_.context, config_.channels, config_.vocab}, h.tokens.data(), weights() + table_.wte(),
               config_.isLlama() ? nullptr : weights() + table_.wpe(), h.blocks.front().input.data());
  } else {
    ops_.upload(h.blocks.front().input.data(), input, rows * config_.channels * sizeof(float));
  }
  for (std::size_t layer = 0; layer < h.blocks.size(); ++layer) {
    const bool is_top = layer + 1 == h.blocks.size();
    float* to = !is_top ? h.blocks[layer + 1].input.data() : range_.is_last ? h.last.data() : scratch_.data();
    forwardBlock(passOf(layer, h.batch), h.blocks[layer], to);
  }
  if (range_.is_last) {
    projectHead(h);
  } else {
    ops_.download(output, scratch_.data(), rows * config_.channels * sizeof(float));
  }
}

void StageModel::projectHead(Held& h) {
  const std::size_t rows = h.batch * config_.context;
  const float* p = weights();
  forwardNorm(ops_, config_,
              {h.last.data(), p + table_.lnfWeight(), h.lnf.data(), h.lnf_mean.data(), h.lnf_rstd.data()}, rows);
  ops_.gemm({.trans_b = true, .m = rows, .n = config_.vocab, .k = config_.channels}, h.lnf.data(), projection(),
            h.logits.data());
}

std::vector<double> StageModel::losses(int micro_batch, std::span<const std::int32_t> targets, bool with_gradient,
                                       float grad_scale) {
  Held& h = of(micro_batch);
  const std::size_t rows = h.batch * config_.context;
  targets_.upload(targets);
  ops_.softmaxXent({rows, config_.vocab, with_gradient, grad_scale},
                   {h.logits.data(), targets_.data(), losses_.data()});
  const std::vector<float> tokens = losses_.download();
  std::vector<double> samples(h.batch, 0.0);
  for (std::size_t row = 0; row < rows; ++row)
    samples[row / config_.context] += static_cast<double>(tokens[row]);
  return samples;
}

void StageModel::inputGrad(int micro_batch, const float* doutput, float* dinput) {
  Held& h = of(micro_batch);
  const std::size_t rows = h.batch * config_.context;
  const std::size_t channels = config_.channels;
  float* top = h.flow.back().output.data();
  if (range_.is_last) {
    ops_.gemm({.m = rows, .n = channels, .k = config_.vocab}, h.logits.data(), projection(), scratch_.data());
    ops_.fill(top, 0.0f, rows * channels);
    normGrad(ops_, config_,
             {scratch_.data(), h.last.data(), weights() + table_.lnfWeight(), h.lnf_mean.data(), h.lnf_rstd.data(), top,
              dnormsOf(h, h.blocks.size())},
             rows);
  } else {
    ops_.upload(top, doutput, rows * channels * sizeof(float));
  }
  for (std::size_t layer = h.blocks.size(); layer-- > 0;) {
    const BlockPass pass = passOf(layer, h.batch);
    float* below = layer == 0 ? h.dinput.data() : h.flow[layer - 1].output.data();
    mlpInputGrad(pass, h.blocks[layer], h.flow[layer], dnormsOf(h, layer) + 2 * channels, scratch_.data());
    attentionInputGrad(pass, h.blocks[layer], h.flow[layer], {dnormsOf(h, layer), scratch_.data(), below});
  }
  if (!range_.is_first) ops_.download(dinput, h.dinput.data(), rows * channels * sizeof(float));
}

void StageModel::weightGrad(int micro_batch, float* gradient) {
  Held& h = of(micro_batch);
  const std::size_t channels = config_.channels, norm = config_.normParameters();
  for (std::size_t layer = 0; layer < h.blocks.size(); ++layer) {
    const BlockPass pass = passOf(layer, h.batch);
    mlpWeightGrad(pass, h.blocks[layer], h.flow[layer], gradient);
    attentionWeightGrad(pass, h.blocks[layer], h.flow[layer], gradient);
    ops_.copy(gradient + pass.at.ln1_weight, dnormsOf(h, layer), norm);
    ops_.copy(gradient + pass.at.ln2_weight, dnormsOf(h, layer) + 2 * channels, norm);
  }
  if (range_.is_last) ops_.copy(gradient + table_.lnfWeight(), dnormsOf(h, h.blocks.size()), norm);
  if (range_.is_first && !config_.isLlama()) {
    ops_.embedGrad({h.batch, config_.context, channels, config_.vocab}, h.tokens.data(), h.dinput.data(), nullptr,
                   gradient + table_.wpe());
  }
}

void StageModel::headGrad(int micro_batch, float* dhead) {
  Held& h = of(micro_batch);
  ops_.gemm({.trans_a = true, .m = config_.vocab, .n = config_.channels, .k = h.batch * config_.context},
            h.logits.data(), h.lnf.data(), dhead);
}

void StageModel::addEmbeddingGrad(int micro_batch, float* dwte) {
  Held& h = of(micro_batch);
  ops_.embedGrad({h.batch, config_.context, config_.channels, config_.vocab}, h.tokens.data(), h.dinput.data(), dwte,
                 nullptr);
}

void StageModel::release(int micro_batch) {
  auto node = held_.extract(micro_batch);
  if (!node.empty()) free_.push_back(std::move(node.mapped()));
}

} // namespace goss::trainer
