#include "sync/fragment.h"

#include <xxhash.h>

#include <algorithm>
#include <functional>

#include "sync/saved_vectors.h"

namespace goss::sync {

void Fragment::add(std::span<float> parameter, std::uint64_t tensor) {
  parameters_.push_back(parameter);
  tensors_.push_back(tensor);
  count_ += parameter.size();
}

void Fragment::takeReference() {
  reference_.clear();
  reference_.reserve(count_);
  for (const std::span<float> parameter : parameters_) {
    reference_.insert(reference_.end(), parameter.begin(), parameter.end());
  }
  flying_.resize(count_);
  state_.assign(applier_.vectors() + (method_.keeps_newer ? 1 : 0), std::vector<float>(count_));
}

void Fragment::difference(std::vector<float>& out) const {
  out.resize(count_);
  std::size_t at = 0;
  for (const std::span<float> parameter : parameters_) {
    for (const float value : parameter) {
      out[at] = reference_[at] - value;
      ++at;
    }
  }
}

Status Fragment::readLost(const Channel& channel) {
  own_.resize(count_);
  return channel.lostSoFar(id_, own_);
}

Status Fragment::start(Channel& channel, float weight) {
  if (count_ == 0) {
    return Status::ok();
  }
  difference(flying_);
  if (method_.keeps_newer) {
    given() = flying_;
  }
  if (method_.keeps_lost) {
    // The parameters contain the loss, and the codec adds it as well, so it is subtracted.
    if (Status status = readLost(channel); !status.isOk()) {
      return status;
    }
    std::transform(flying_.begin(), flying_.end(), own_.begin(), flying_.begin(), std::minus<>());
  }
  if (weight != 1) {
    for (float& value : flying_) {
      value *= weight;
    }
  }
  flight_ = Flight::started;
  return channel.startMean({flying_, id_}, &request_);
}

Status Fragment::arrive(Channel& channel) {
  if (flight_ != Flight::started) {
    return Status::ok();
  }
  if (Status status = channel.wait(&request_); !status.isOk()) {
    return status;
  }
  if (method_.keeps_newer && method_.keeps_lost) {
    if (Status status = readLost(channel); !status.isOk()) {
      return status;
    }
    std::transform(given().begin(), given().end(), own_.begin(), given().begin(), std::minus<>());
  }
  flight_ = Flight::arrived;
  return Status::ok();
}

Status Fragment::apply(Channel& channel, double lr) {
  if (Status status = arrive(channel); !status.isOk() || flight_ == Flight::none) {
    return status;
  }
  if (Status status = findRest(channel); !status.isOk()) {
    return status;
  }
  applyRound(flying_, {}, channel, lr);
  flight_ = Flight::none;
  if (method_.keeps_lost || method_.keeps_newer) {
    subtractOwn();
  }
  return Status::ok();
}

Status Fragment::findRest(const Channel& channel) {
  if (method_.keeps_newer) {
    difference(own_);
    std::transform(own_.begin(), own_.end(), given().begin(), own_.begin(), std::minus<>());
    return Status::ok();
  }
  return method_.keeps_lost ? readLost(channel) : Status::ok();
}

void Fragment::subtractOwn() {
  std::size_t at = 0;
  for (const std::span<float> parameter : parameters_) {
    for (float& value : parameter) {
      value -= own_[at];
      ++at;
    }
  }
  has_drifted_ = true;
}

Status Fragment::applyLate(Channel& channel, double lr) {
  if (Status status = arrive(channel); !status.isOk()) {
    return status;
  }
  difference(own_);
  applyRound(flight_ == Flight::arrived ? std::span<const float>(flying_) : std::span<const float>(), own_, channel,
             lr);
  flying_.swap(own_);
  flight_ = Flight::started;
  return channel.startMean({flying_, id_}, &request_);
}

void Fragment::applyRound(std::span<const float> mean, std::span<const float> own, const Channel& channel, double lr) {
  const auto ranks = static_cast<double>(channel.size());
  applier_.apply({reference_, mean, own, rounds_, lr, ranks}, std::span(state_).first(applier_.vectors()));
  ++rounds_;
  const auto alpha = static_cast<float>(method_.mixing);
  std::size_t at = 0;
  for (const std::span<float> parameter : parameters_) {
    for (float& value : parameter) {
      // A copy without mixing, because a local NaN would stay for ever.
      value = alpha == 0 ? reference_[at] : reference_[at] + alpha * (value - reference_[at]);
      ++at;
    }
  }
  has_drifted_ = alpha != 0 || !applier_.keepsRanksEqual();
}

Status Fragment::settle(Channel& channel, double lr) {
  if (!method_.timing.late) {
    if (Status status = apply(channel, lr); !status.isOk()) {
      return status;
    }
  } else if (Status status = settleLate(channel, lr); !status.isOk()) {
    return status;
  }
  if (!has_drifted_ || count_ == 0) {
    return Status::ok();
  }
  for (const std::span<float> parameter : parameters_) {
    if (Status status = channel.mean(parameter); !status.isOk()) {
      return status;
    }
  }
  reference_.clear();
  for (const std::span<float> parameter : parameters_) {
    reference_.insert(reference_.end(), parameter.begin(), parameter.end());
  }
  if (method_.keeps_lost) {
    // The mean contains the loss now.
    if (Status status = channel.forgetLost(id_); !status.isOk()) {
      return status;
    }
  }
  has_drifted_ = false;
  return Status::ok();
}

Status Fragment::settleLate(Channel& channel, double lr) {
  if (Status status = arrive(channel); !status.isOk() || flight_ == Flight::none) {
    return status;
  }
  const bool has_newer = has_drifted_;
  std::vector<float> newer;
  difference(newer);
  own_.assign(count_, 0.0f);
  applyRound(flying_, own_, channel, lr);
  flight_ = Flight::none;
  if (has_newer) {
    own_.swap(newer);
    subtractOwn();
  }
  return Status::ok();
}

std::uint64_t Fragment::commonHash() const {
  if (!applier_.keepsRanksEqual()) {
    return 0;
  }
  std::uint64_t hash = 0;
  const auto add = [&hash](const std::vector<float>& vector) {
    hash = XXH3_64bits_withSeed(vector.data(), vector.size() * sizeof(float), hash);
  };
  add(reference_);
  std::for_each_n(state_.begin(), applier_.vectors(), add);
  if (flight_ == Flight::arrived) {
    add(flying_);
  }
  return hash;
}

void Fragment::savePosition(base::WireWriter& writer) const {
  writer.integer(rounds_).integer(static_cast<std::uint8_t>(has_drifted_ ? 1 : 0));
  writer.integer(static_cast<std::uint8_t>(flight_));
}

void Fragment::save(base::WireWriter& writer) const {
  saveNumbers(writer, tensors_);
  writer.integer(rounds_);
  writer.integer(static_cast<std::uint8_t>(has_drifted_ ? 1 : 0));
  writer.integer(static_cast<std::uint8_t>(flight_ == Flight::none ? 0 : 1));
  writer.integer(static_cast<std::uint64_t>(state_.size()));
  saveFloats(writer, reference_);
  for (const std::vector<float>& vector : state_) {
    saveFloats(writer, vector);
  }
  if (flight_ != Flight::none) {
    saveFloats(writer, flying_);
  }
}

bool Fragment::load(base::WireReader& reader) {
  takeReference();
  if (!hasNumbers(reader, tensors_)) {
    return false;
  }
  rounds_ = reader.integer<std::uint64_t>();
  const auto drifted = reader.integer<std::uint8_t>();
  const auto arrived = reader.integer<std::uint8_t>();
  const auto vectors = reader.integer<std::uint64_t>();
  if (!reader.ok() || drifted > 1 || arrived > 1 || vectors != state_.size()) {
    return false;
  }
  has_drifted_ = drifted == 1;
  flight_ = arrived == 1 ? Flight::arrived : Flight::none;
  loadFloats(reader, reference_);
  for (std::vector<float>& vector : state_) {
    loadFloats(reader, vector);
  }
  if (flight_ == Flight::arrived) {
    loadFloats(reader, flying_);
  }
  return reader.ok();
}

bool Fragment::adopt(const OuterState& saved, std::span<const std::string> names) {
  takeReference();
  std::vector<std::vector<float>> vectors(state_.size() + 2); // reference, outer state, and the mean that has arrived
  bool has_arrived = true;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const OuterTensor* tensor = saved.find(names[tensors_[i]], parameters_[i].size());
    const std::size_t count = parameters_[i].size();
    if (tensor == nullptr || tensor->outer.size() != state_.size() || tensor->reference.size() != count) {
      return false;
    }
    const auto append = [](std::vector<float>& to, const std::vector<float>& from) {
      to.insert(to.end(), from.begin(), from.end());
    };
    append(vectors.front(), tensor->reference);
    for (std::size_t k = 0; k < state_.size(); ++k) {
      append(vectors[k + 1], tensor->outer[k]);
    }
    append(vectors.back(), tensor->arrived);
    has_arrived = has_arrived && tensor->arrived.size() == count;
    rounds_ = tensor->rounds;
  }
  reference_ = std::move(vectors.front());
  std::move(vectors.begin() + 1, vectors.end() - 1, state_.begin());
  has_arrived = has_arrived && !vectors.back().empty();
  if (has_arrived) {
    flying_ = std::move(vectors.back());
  }
  flight_ = has_arrived ? Flight::arrived : Flight::none;
  has_drifted_ = true; // unknown, so assumed
  return true;
}

} // namespace goss::sync
