#include "sync/whole_model.h"

#include <algorithm>
#include <bit>

#include "sync/saved_vectors.h"

namespace goss::sync {

namespace {

void gather(std::span<const std::span<float>> pieces, std::vector<float>& to) {
  auto place = to.begin();
  for (const std::span<float> piece : pieces) {
    place = std::copy(piece.begin(), piece.end(), place);
  }
}

void scatter(const std::vector<float>& from, std::span<const std::span<float>> pieces) {
  auto place = from.begin();
  for (const std::span<float> piece : pieces) {
    std::copy_n(place, piece.size(), piece.begin());
    place += static_cast<std::ptrdiff_t>(piece.size());
  }
}

} // namespace

void WholeModel::add(std::span<float> parameter, std::span<float> gradient, std::uint64_t tensor) {
  parameters_.push_back(parameter);
  tensors_.push_back(tensor);
  sizes_.push_back(parameter.size());
  x_.resize(x_.size() + parameter.size());
  for (std::vector<float>& vector : state_) {
    vector.resize(x_.size());
  }
  if (has_gradients_) {
    gradients_.push_back(gradient);
    g_.resize(x_.size());
  }
}

void WholeModel::read() {
  gather(parameters_, x_);
  gather(gradients_, g_);
}

void WholeModel::write(bool gradients) {
  scatter(x_, parameters_);
  if (gradients) {
    scatter(g_, gradients_);
  }
}

Model WholeModel::model(std::uint64_t step, double lr) {
  return {x_, g_, state_, scalars_, step, lr, sizes_, loss_ ? &evaluate_ : nullptr};
}

void WholeModel::begin() {
  read();
  rule_.begin(model(0, 1));
}

Status WholeModel::resume(std::uint64_t& step) {
  read();
  if (Status status = rule_.resume(peers_, model(step, 1)); !status.isOk()) {
    return status;
  }
  const Result<double> latest = peers_.largest(static_cast<double>(step));
  if (latest.isOk()) {
    step = static_cast<std::uint64_t>(latest.value());
  }
  return latest.status();
}

Status WholeModel::share() {
  const Rule::Needs needs = rule_.needs();
  if (needs.groups) {
    return peers_.groups().open(peers_.period(), static_cast<std::size_t>(peers_.size()));
  }
  return needs.shared > 0 ? peers_.pairs().open(std::span(state_).first(needs.shared),
                                                std::span(scalars_).first(needs.shared_scalars))
                          : Status::ok();
}

Status WholeModel::fetch() {
  const Rule::Needs needs = rule_.needs();
  if (needs.shared == 0) {
    return Status::ok();
  }
  std::vector<float> all(needs.shared * x_.size() + needs.shared_scalars);
  PairAverages& pairs = peers_.pairs();
  Status status = pairs.settle(pairs.patienceMs());
  // This rank has its own part of all averages, also where a partner is stopped and gets its part when it goes on.
  if (status.isOk() || status.kind() == GOSS_ERR_TIMEOUT) {
    status = pairs.readAt(needs.centre ? 0 : peers_.rank(), all);
  }
  if (!status.isOk()) {
    return status;
  }
  const auto pieces = std::span(state_).first(needs.shared);
  std::span<const float> left = all;
  for (std::vector<float>& vector : pieces) {
    std::copy_n(left.begin(), vector.size(), vector.begin());
    left = left.subspan(vector.size());
  }
  std::copy_n(left.begin(), needs.shared_scalars, scalars_.begin());
  return status;
}

Status WholeModel::beforeOptimizer(std::uint64_t step, double lr) {
  if (!rule_.actsBefore(step)) {
    return Status::ok();
  }
  read();
  Status status = rule_.beforeOptimizer(peers_, model(step, lr));
  if (status.isOk()) {
    write(true);
  } else if (loss_) { // the rule has x_ as before, but the tensors are where the loss was last asked for
    write(false);
  }
  return status;
}

Status WholeModel::afterOptimizer(std::uint64_t step, double lr) {
  if (!rule_.actsAfter(step)) {
    return Status::ok();
  }
  read();
  Status status = rule_.afterOptimizer(peers_, model(step, lr));
  if (status.isOk()) {
    write(false);
  }
  return status;
}

Status WholeModel::finish(std::uint64_t step, double lr) {
  read();
  Status status = rule_.finish(peers_, model(step, lr));
  if (status.isOk()) {
    write(false);
  }
  return status;
}

void WholeModel::save(base::WireWriter& writer) const {
  saveNumbers(writer, tensors_);
  writer.integer(std::uint64_t{0}).integer(std::uint8_t{1}).integer(std::uint8_t{0});
  writer.integer(static_cast<std::uint64_t>(state_.size()));
  saveFloats(writer, x_); // where fragments have their reference
  for (const std::vector<float>& vector : state_) {
    saveFloats(writer, vector);
  }
}

void WholeModel::saveScalars(base::WireWriter& writer) const {
  for (const double scalar : scalars_) {
    writer.integer(std::bit_cast<std::uint64_t>(scalar));
  }
}

bool WholeModel::load(base::WireReader& reader) {
  if (!hasNumbers(reader, tensors_)) {
    return false;
  }
  reader.integer<std::uint64_t>();
  reader.integer<std::uint8_t>();
  const auto arrived = reader.integer<std::uint8_t>();
  if (reader.integer<std::uint64_t>() != state_.size() || arrived != 0 || !reader.ok()) {
    return false;
  }
  loadFloats(reader, x_);
  for (std::vector<float>& vector : state_) {
    loadFloats(reader, vector);
  }
  return reader.ok();
}

void WholeModel::loadScalars(base::WireReader& reader) {
  for (double& scalar : scalars_) {
    scalar = std::bit_cast<double>(reader.integer<std::uint64_t>());
  }
}

bool WholeModel::adopt(const OuterState& saved, std::span<const std::string> names) {
  const bool anew = rule_.needs().begins_anew;
  for (std::vector<float>& vector : state_) {
    vector.assign(anew ? x_.size() : 0, 0.0f);
  }
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const OuterTensor* tensor = saved.find(names[tensors_[i]], parameters_[i].size());
    if (tensor == nullptr || (!anew && tensor->outer.size() != state_.size())) {
      return false;
    }
    if (anew) {
      continue;
    }
    for (std::size_t k = 0; k < state_.size(); ++k) {
      state_[k].insert(state_[k].end(), tensor->outer[k].begin(), tensor->outer[k].end());
    }
  }
  read();
  rule_.rejoin(model(0, 1));
  return true;
}

} // namespace goss::sync
