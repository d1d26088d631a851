#include "trainer/model/optimizer.h"

#include <cmath>

namespace goss::trainer {

Optimizer::Optimizer(const OptimizerConfig& config, const ParameterTable& table, Ops& ops)
    : config_(config), table_(table), ops_(ops), first_(ops, table.count()), second_(ops, table.count()) {
  ops_.fill(first_.data(), 0.0f, first_.size());
  ops_.fill(second_.data(), 0.0f, second_.size());
  if (config.has_muon) muon_.emplace(config.muon_momentum, config.weight_decay, table, ops);
}

void Optimizer::update(std::size_t step, double lr, float* parameters, const float* gradient, double grad_scale) {
  const double t = static_cast<double>(step + 1);
  AdamwSettings settings;
  settings.lr = static_cast<float>(lr);
  settings.beta1 = static_cast<float>(config_.beta1);
  settings.beta2 = static_cast<float>(config_.beta2);
  settings.eps = static_cast<float>(config_.eps);
  settings.grad_scale = static_cast<float>(grad_scale);
  settings.correction1 = static_cast<float>(1.0 - std::pow(config_.beta1, t));
  settings.correction2 = static_cast<float>(1.0 - std::pow(config_.beta2, t));
  for (const Parameter& parameter : table_.parameters()) {
    const std::size_t at = parameter.offset;
    const AdamwTensors tensors{parameters + at, gradient + at, first_.data() + at, second_.data() + at};
    if (muon_ && parameter.isHidden()) {
      muon_->update(parameter.shape, lr, grad_scale, {tensors.p, tensors.g, tensors.m});
      continue;
    }
    settings.weight_decay = parameter.isMatrix() ? static_cast<float>(config_.weight_decay) : 0.0f;
    ops_.adamw(settings, tensors, parameter.count);
  }
}

void Optimizer::descend(double lr, float* parameters, const float* gradient) {
  const auto decay = static_cast<float>(1.0 - lr * config_.weight_decay);
  for (const Parameter& parameter : table_.parameters()) {
    if (parameter.isMatrix()) ops_.scale(decay, parameters + parameter.offset, parameter.count);
    ops_.axpy(static_cast<float>(-lr), gradient + parameter.offset, parameters + parameter.offset, parameter.count);
  }
}

} // namespace goss::trainer
