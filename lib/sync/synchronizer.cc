#include "sync/synchronizer.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/invalid.h"
#include "sync/methods.h"

namespace goss::sync {

namespace {

std::uint64_t hashOf(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

std::uint64_t layoutHash(std::string_view spec, bool is_imported, std::span<const Tensor> tensors) {
  std::string text = fmt::format("{} {}", spec, is_imported);
  for (const Tensor& tensor : tensors) {
    text += fmt::format("\n{} {} {}", tensor.name, tensor.parameter.size(), tensor.layer);
  }
  return hashOf(text);
}

/// Ranks that began from the same seed or checkpoint have equal parameters and need not send them.
Status shareParameters(Channel& all, std::span<const Tensor> tensors) {
  std::uint64_t hash = 0;
  for (const Tensor& tensor : tensors) {
    hash = XXH3_64bits_withSeed(tensor.parameter.data(), tensor.parameter.size_bytes(), hash);
  }
  Result<bool> is_equal = all.allEqual(hash);
  if (!is_equal.isOk() || is_equal.value()) {
    return is_equal.status();
  }
  for (const Tensor& tensor : tensors) {
    if (Status status = all.broadcast(tensor.parameter); !status.isOk()) {
      return status;
    }
  }
  return Status::ok();
}

using base::invalid;

} // namespace

Synchronizer::Synchronizer(Composition composition, std::string spec, std::chrono::milliseconds longest)
    : composition_(std::move(composition)),
      spec_(std::move(spec)),
      mirror_(longest),
      timetable_(composition_.timing, composition_.layout.fragments) {}

Result<std::unique_ptr<Synchronizer>> Synchronizer::create(goss_comm_t comm, std::string_view spec,
                                                           const MakeCodec& make_codec,
                                                           std::chrono::milliseconds longest) {
  Result<Made> made = makeComposition(spec);
  if (!made.isOk()) {
    return made.status();
  }
  Made parts = made.take();
  std::unique_ptr<Synchronizer> sync(new Synchronizer(std::move(parts.composition), std::move(parts.spec), longest));
  if (sync->composition_.layout.codec != "none") { // so that a wrong codec is reported before anything is sent
    Result<Compression> codec = make_codec(sync->composition_.layout.codec);
    if (!codec.isOk()) {
      return codec.status();
    }
    sync->compression_ = codec.take();
  }
  // Losses of DGC's momentum and LoCo's averages cannot stay in the parameters: they are not what encoding lost.
  const ErrorFeedback& feedback = sync->compression_.feedback;
  sync->composition_.keeps_lost &= feedback.worker && feedback.momentum == 0 && feedback.keep == 0;
  if (Status status = sync->connect(comm); !status.isOk()) {
    return status;
  }
  return sync;
}

Status Synchronizer::connect(goss_comm_t comm) {
  Result<std::unique_ptr<Channel>> all = Channel::duplicate(comm);
  if (!all.isOk()) {
    return all.status();
  }
  all_ = all.take();
  Result<bool> is_equal = all_->allEqual(hashOf(spec_));
  if (!is_equal.isOk()) {
    return is_equal.status();
  }
  if (!is_equal.value()) {
    return Status::error(GOSS_ERR_MISMATCH,
                         fmt::format("the ranks gave different synchronizers; rank {} has '{}'", all_->rank(), spec_));
  }
  if (composition_.rule != nullptr) {
    return connectRule();
  }
  const std::uint64_t islands = composition_.topology.islands;
  const auto size = static_cast<std::uint64_t>(all_->size());
  if (islands > 0 && size % islands != 0) {
    return invalid(fmt::format("{} ranks cannot be cut into {} equal islands", size, islands));
  }
  if (islands > 0 && islands < size) {
    const auto per_island = static_cast<std::int32_t>(size / islands);
    Result<std::unique_ptr<Channel>> island = Channel::split(comm, all_->rank() / per_island);
    if (!island.isOk()) {
      return island.status();
    }
    island_ = island.take();
    Result<std::unique_ptr<Channel>> across = Channel::split(comm, all_->rank() % per_island);
    if (!across.isOk()) {
      return across.status();
    }
    across_ = across.take();
  }
  gradient_channel_ = composition_.gradients == GradientRule::local ? island_.get() : all_.get();
  if (composition_.applier != nullptr) {
    parameter_channel_ = across_ != nullptr ? across_.get() : all_.get();
  }
  compressed_ = parameter_channel_ != nullptr ? parameter_channel_ : gradient_channel_;
  compressed_->setCodec(composition_.layout.codec, composition_.layout.algorithm);
  if (compression_.codec != nullptr && composition_.gradients != GradientRule::signs) {
    if (Status status = compressed_->checkMean(); !status.isOk()) {
      return status;
    }
  }
  if (composition_.timing.is_dynamic) {
    local_steps_.emplace(composition_.timing.period, static_cast<std::size_t>(parameter_channel_->size()),
                         static_cast<std::size_t>(parameter_channel_->rank()), composition_.layout.fragments);
  }
  return Status::ok();
}

Status Synchronizer::connectRule() {
  const Rule::Needs needs = composition_.rule->needs();
  const ErrorFeedback& feedback = compression_.feedback;
  Result<std::unique_ptr<GossipPeers>> peers =
      GossipPeers::make(*all_, needs.topology, needs.properties, compression_.codec);
  if (!peers.isOk()) {
    return peers.status();
  }
  if (needs.ranks != 0 && needs.ranks != static_cast<std::size_t>(all_->size())) {
    return invalid(fmt::format("'{}' is for {} ranks, but there are {}", spec_, needs.ranks, all_->size()));
  }
  const bool has_feedback = feedback.worker || feedback.server;
  if (!needs.topology.empty() && has_feedback) {
    return Status::error(GOSS_ERR_UNSUPPORTED, fmt::format("'{}': gossip has codecs without error feedback; choco and "
                                                           "deepsqueeze make up for what is lost",
                                                           spec_));
  }
  if (!needs.same_elements && has_feedback) {
    return Status::error(GOSS_ERR_UNSUPPORTED,
                         fmt::format("'{}': this method exchanges other elements, or with other ranks, each time, so "
                                     "error feedback would add what was lost of others; give a codec without it",
                                     spec_));
  }
  if (needs.encodes && compression_.codec != nullptr && compression_.codec->traits().multi_phase) {
    return Status::error(GOSS_ERR_UNSUPPORTED,
                         fmt::format("'{}': this method encodes vectors by itself, but its codec works only inside "
                                     "collectives that take several phases; give another codec, such as int8",
                                     spec_));
  }
  peers_ = peers.take();
  compressed_ = all_.get();
  compressed_->setCodec(composition_.layout.codec);
  return Status::ok();
}

Result<std::int32_t> Synchronizer::add(Tensor tensor) {
  if (is_started_ || is_imported_) {
    return invalid(fmt::format("tensor '{}' comes too late: register all before goss_sync_import and goss_sync_start",
                               tensor.name));
  }
  const bool uses_gradients = exchangesGradients() || (composition_.rule && composition_.rule->needs().gradients);
  if (uses_gradients && tensor.gradient.size() != tensor.parameter.size()) {
    return invalid(fmt::format("tensor '{}' has no gradient, but '{}' exchanges gradients", tensor.name, spec_));
  }
  const auto mirrored = [this](Device* device, std::span<float>& vector) {
    if (device == nullptr || vector.empty()) {
      return Status::ok();
    }
    const Result<std::span<float>> copy = mirror_.add(*device, vector);
    if (copy.isOk()) {
      vector = copy.value();
    }
    return copy.status();
  };
  Status status = mirrored(tensor.parameter_device, tensor.parameter);
  if (status.isOk() && uses_gradients) {
    status = mirrored(tensor.gradient_device, tensor.gradient);
  }
  if (!status.isOk()) {
    return Status::error(status.kind(), fmt::format("tensor '{}': {}", tensor.name, status.text()));
  }
  parameters_.push_back(tensor.parameter);
  gradients_.push_back(uses_gradients ? tensor.gradient : std::span<float>());
  tensors_.push_back(std::move(tensor));
  return static_cast<std::int32_t>(tensors_.size() - 1);
}

void Synchronizer::makeBuckets() {
  std::vector<std::span<float>> gradients;
  for (const Tensor& tensor : tensors_) {
    gradients.push_back(tensor.gradient);
  }
  const auto make = [this](std::size_t count, std::uint64_t number) -> std::unique_ptr<BucketExchange> {
    if (composition_.gradients == GradientRule::signs) {
      return std::make_unique<SignExchange>(count, compression_.codec, composition_.decay);
    }
    return std::make_unique<MeanExchange>(number);
  };
  buckets_.emplace(gradients, composition_.layout.bucket_bytes, make);
}

void Synchronizer::layOut() {
  buckets_.reset();
  fragments_.clear();
  if (exchangesGradients()) {
    makeBuckets();
  }
  if (peers_ != nullptr) {
    whole_.emplace(*composition_.rule, *peers_, loss_);
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      whole_->add(tensors_[i].parameter, tensors_[i].gradient, i);
    }
  }
  if (parameter_channel_ == nullptr) {
    return;
  }
  const std::uint64_t fragments = composition_.layout.fragments;
  fragments_.reserve(fragments);
  for (std::uint64_t i = 0; i < fragments; ++i) {
    fragments_.emplace_back(composition_, i + 1);
  }
  // A tensor without a layer is a layer of its own, at its position among those before it.
  std::vector<std::uint64_t> layers;
  std::uint64_t most = 0;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    layers.push_back(tensors_[i].layer >= 0 ? static_cast<std::uint64_t>(tensors_[i].layer) : i);
    most = std::max(most, layers.back() + 1);
  }
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const std::uint64_t to = composition_.layout.strided ? layers[i] % fragments : layers[i] * fragments / most;
    fragments_[to].add(tensors_[i].parameter, i);
  }
}

Status Synchronizer::start() {
  if (!failure_.isOk()) {
    return failure_;
  }
  if (is_started_) {
    return invalid("goss_sync_start was called before");
  }
  Result<bool> is_equal = all_->allEqual(layoutHash(spec_, is_imported_, tensors_));
  if (!is_equal.isOk()) {
    return noted(is_equal.status());
  }
  if (!is_equal.value()) {
    return noted(Status::error(GOSS_ERR_MISMATCH,
                               "the ranks registered different tensors, or only some of them imported a state"));
  }
  Status status = is_imported_ ? resume() : begin();
  if (status.kind() == GOSS_ERR_MISMATCH) { // all ranks find it: an abort would reach some of them before they do
    failure_ = status;
    return status;
  }
  if (status.isOk() && whole_) {
    status = whole_->share();
  }
  if (!status.isOk()) {
    return whole_ ? notedAlone(status) : noted(status);
  }
  is_started_ = true;
  clock_.begin();
  setup_bytes_ = wireBytesSent();
  return Status::ok();
}

Status Synchronizer::begin() {
  Status status = fetch(parameters_);
  if (status.isOk()) {
    status = shareParameters(*all_, tensors_);
  }
  if (status.isOk()) {
    status = store(parameters_);
  }
  if (!status.isOk()) {
    return status;
  }
  layOut();
  for (Fragment& fragment : fragments_) {
    fragment.takeReference();
  }
  if (whole_) {
    whole_->begin();
  }
  return status;
}

Status Synchronizer::checkRunning(const char* call) const {
  if (!failure_.isOk()) {
    return failure_;
  }
  return is_started_ ? Status::ok() : invalid(fmt::format("{}: call goss_sync_start first", call));
}

Status Synchronizer::noted(Status status) {
  if (!status.isOk() && failure_.isOk()) {
    failure_ = status;
    // Ranks that share only one of the two channels with this rank must not wait for it.
    for (Channel* channel : {island_.get(), across_.get()}) {
      if (channel != nullptr) {
        (void)channel->abort(status.text().c_str());
      }
    }
  }
  return status;
}

Status Synchronizer::notedAlone(Status status) {
  if (!status.isOk()) {
    (void)all_->abort(status.text().c_str());
  }
  return noted(std::move(status));
}

Status Synchronizer::notedOfDevice(const Status& status) {
  if (status.isOk()) {
    return status;
  }
  return notedAlone(Status::error(status.kind(), fmt::format("'{}': rank {}: {}", spec_, all_->rank(), status.text())));
}

Status Synchronizer::setLr(double lr) {
  if (!std::isfinite(lr) || lr < 0) {
    return invalid(fmt::format("goss_sync_set_lr: {} is no learning rate; it must be at least 0", lr));
  }
  lr_ = lr;
  return Status::ok();
}

void Synchronizer::setLoss(std::function<double()> loss) {
  loss_ = [this, loss = std::move(loss)]() -> Result<double> {
    const Status status = mirror_.store(parameters_);
    return status.isOk() ? Result<double>(loss()) : Result<double>(status);
  };
}

Status Synchronizer::gradientReady(std::int32_t index) {
  if (Status status = checkComputes("goss_sync_gradient_ready"); !status.isOk()) {
    return status;
  }
  if (index < 0 || static_cast<std::size_t>(index) >= tensors_.size()) {
    return invalid(fmt::format("goss_sync_gradient_ready: {} is none of the {} tensors", index, tensors_.size()));
  }
  if (!exchangesGradients()) {
    return Status::ok();
  }
  const auto tensor = static_cast<std::size_t>(index);
  if (!buckets_->isReady(tensor)) {
    if (Status status = fetch(Vectors(gradients_).subspan(tensor, 1)); !status.isOk()) {
      return status;
    }
  }
  const Status status = buckets_->ready(*gradient_channel_, tensor, lr_);
  return status.kind() == GOSS_ERR_INVALID_ARGUMENT ? status : noted(status);
}

Status Synchronizer::gradients() {
  if (Status status = checkComputes("goss_sync_gradients"); !status.isOk()) {
    return status;
  }
  const std::uint64_t step = timetable_.state().step + 1;
  const bool acts = exchangesGradients() || (whole_ && composition_.rule->actsBefore(step));
  if (!acts) {
    return Status::ok();
  }
  std::vector<std::span<float>> read = whole_ ? parameters_ : std::vector<std::span<float>>();
  for (std::size_t i = 0; i < gradients_.size(); ++i) {
    if (whole_ || !buckets_->isReady(i)) { // else it is here, and perhaps in flight
      read.push_back(gradients_[i]);
    }
  }
  Status status = fetch(read);
  if (!status.isOk()) {
    return status;
  }
  status = whole_ ? notedAlone(whole_->beforeOptimizer(step, lr_)) : noted(buckets_->finish(*gradient_channel_, lr_));
  if (!status.isOk()) {
    if (whole_ && loss_) { // the device has the parameters at which the loss was last asked for
      (void)mirror_.store(parameters_);
    }
    return status;
  }
  status = whole_ ? store(parameters_) : status;
  return status.isOk() ? store(gradients_) : status;
}

Status Synchronizer::step() {
  if (Status status = checkRunning("goss_sync_step"); !status.isOk()) {
    return status;
  }
  if (!local_steps_) {
    timetable_.advance(lr_);
    return noted(whole_ ? stepWhole() : stepFragments());
  }
  if (!clock_.isAsked()) {
    return invalid("goss_sync_step: with steps=dynamic, ask goss_sync_computes before every step");
  }
  const std::uint64_t done = timetable_.state().step;
  clock_.end(local_steps_->computes(done));
  local_steps_->advance(done);
  timetable_.advance(lr_);
  Status status = stepFragments();
  if (status.isOk() && timetable_.state().step % composition_.timing.period == 0) {
    status = planPeriod();
  }
  clock_.begin();
  return noted(status);
}

Result<bool> Synchronizer::computes() {
  if (Status status = checkRunning("goss_sync_computes"); !status.isOk()) {
    return status;
  }
  clock_.ask();
  return !local_steps_ || local_steps_->computes(timetable_.state().step);
}

Status Synchronizer::tellStepTime(double seconds) {
  if (!std::isfinite(seconds) || seconds <= 0) {
    return invalid(fmt::format("goss_sync_step_time: {} s is no time of a step; it must be above 0", seconds));
  }
  clock_.tell(seconds);
  return Status::ok();
}

/// A rank whose gradient no other rank expects must not start its exchange.
Status Synchronizer::checkComputes(const char* call) const {
  if (Status status = checkRunning(call); !status.isOk()) {
    return status;
  }
  if (local_steps_ && !local_steps_->computes(timetable_.state().step)) {
    return invalid(fmt::format("{}: this rank leaves the step out; ask goss_sync_computes", call));
  }
  return Status::ok();
}

/// An island is as fast as its slowest rank.
Status Synchronizer::planPeriod() {
  std::vector<double> of_ranks(static_cast<std::size_t>(all_->size()));
  if (Status status = all_->gather(clock_.takeMean(), of_ranks); !status.isOk()) {
    return status;
  }
  const std::size_t per_worker = of_ranks.size() / local_steps_->workers();
  std::vector<double> of_workers(local_steps_->workers(), 0.0);
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    double& seconds = of_workers[rank / per_worker];
    seconds = std::max(seconds, of_ranks[rank]);
  }
  local_steps_->plan(of_workers);
  return Status::ok();
}

Status Synchronizer::stepFragments() {
  for (std::uint64_t i = 0; i < fragments_.size(); ++i) {
    fragments_[i].noteStep();
    if (Status status = stepFragment(i); !status.isOk()) {
      return status;
    }
  }
  return Status::ok();
}

Status Synchronizer::stepWhole() {
  const std::uint64_t step = timetable_.state().step;
  if (!composition_.rule->actsAfter(step)) {
    return Status::ok();
  }
  Status status = fetch(parameters_);
  if (status.isOk()) {
    status = notedAlone(whole_->afterOptimizer(step, lr_));
  }
  return status.isOk() ? store(parameters_) : status;
}

Status Synchronizer::stepFragment(std::uint64_t number) {
  Fragment& fragment = fragments_[number];
  const bool applies = timetable_.applies(number);
  const bool starts = timetable_.starts(number) && !composition_.timing.late; // late ones start as they apply
  if (!applies && !starts) {
    return Status::ok();
  }
  // An exchange that has a whole period to arrive is applied when the next exchange starts.
  const bool applies_first = applies && composition_.timing.overlap > 0;
  Status status = fetch(fragment.parameters());
  if (status.isOk() && composition_.timing.late) {
    status = fragment.applyLate(*parameter_channel_, lr_);
  } else if (status.isOk() && applies_first) {
    status = fragment.apply(*parameter_channel_, lr_);
  }
  if (status.isOk() && starts) {
    status = fragment.start(*parameter_channel_, local_steps_ ? local_steps_->takeWeight(number) : 1.0f);
  }
  if (status.isOk() && applies && !applies_first && !composition_.timing.late) {
    status = fragment.apply(*parameter_channel_, lr_);
  }
  return status.isOk() && applies ? store(fragment.parameters()) : status;
}

Status Synchronizer::finish() {
  if (Status status = checkRunning("goss_sync_finish"); !status.isOk()) {
    return status;
  }
  for (Fragment& fragment : fragments_) {
    if (Status status = noted(fragment.arrive(*parameter_channel_)); !status.isOk()) {
      return status;
    }
  }
  const bool has_replicas = whole_ || parameter_channel_ != nullptr;
  if (Status status = has_replicas ? fetch(parameters_) : Status::ok(); !status.isOk()) {
    return status;
  }
  const std::uint64_t before = wireBytesSent(); // nothing is in flight here
  for (Fragment& fragment : fragments_) {
    if (Status status = noted(fragment.settle(*parameter_channel_, lr_)); !status.isOk()) {
      return status;
    }
  }
  if (whole_) {
    if (Status status = notedAlone(whole_->finish(timetable_.state().step, lr_)); !status.isOk()) {
      return status;
    }
  }
  setup_bytes_ += wireBytesSent() - before;
  return has_replicas ? store(parameters_) : Status::ok();
}

Status Synchronizer::abort(const char* reason) {
  Status first;
  for (Channel* channel : {all_.get(), island_.get(), across_.get()}) {
    Status status = channel != nullptr ? channel->abort(reason) : Status::ok();
    if (first.isOk()) {
      first = status;
    }
  }
  return first;
}

goss_sync_info Synchronizer::info() const {
  goss_sync_info info{};
  info.size = sizeof info;
  info.spec = spec_.c_str();
  info.gradients = !exchangesGradients() ? 0 : composition_.gradients == GradientRule::signs ? 2 : 1;
  info.local_steps = parameter_channel_ != nullptr ? 1 : 0;
  if (composition_.rule != nullptr) {
    const Rule::Needs needs = composition_.rule->needs();
    info.gradients = needs.descent ? 2 : needs.gradients ? 1 : 0;
    info.local_steps = needs.equal ? 0 : 1;
  }
  info.gradient_size = exchangesGradients() ? gradient_channel_->size() : 1;
  if (composition_.rule != nullptr && info.gradients == 1) {
    info.gradient_size = all_->size();
  }
  info.dynamic_period = local_steps_ ? static_cast<std::int64_t>(composition_.timing.period) : 0;
  return info;
}

std::uint64_t Synchronizer::wireBytesSent() const {
  std::uint64_t sum = 0;
  for (const Channel* channel : {all_.get(), island_.get(), across_.get()}) {
    sum += channel != nullptr ? channel->counters().wire_bytes_sent : 0;
  }
  return sum;
}

goss_sync_counters Synchronizer::counters() const {
  goss_sync_counters sum{};
  sum.size = sizeof sum;
  sum.steps = timetable_.state().step;
  sum.setup_bytes_sent = setup_bytes_;
  for (const Channel* channel : {all_.get(), island_.get(), across_.get()}) {
    if (channel == nullptr) {
      continue;
    }
    const goss_counters wire = channel->counters();
    sum.exchanges += channel->exchanges();
    sum.exchanged_bytes += channel->exchangedBytes();
    sum.wire_bytes_sent += wire.wire_bytes_sent;
    sum.wire_bytes_received += wire.wire_bytes_received;
    sum.waited_ns += channel->waitedNs();
  }
  return sum;
}

} // namespace goss::sync
