#include "sync/autotune/auto_synchronizer.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/invalid.h"
#include "sync/methods.h"
#include "sync/synchronizer.h"

namespace goss::sync {

namespace {

constexpr std::string_view kMagic = "GAUT";
constexpr std::uint16_t kVersion = 1;
constexpr std::size_t kMaxSpecBytes = 1 << 16;

std::uint64_t hashOf(std::string_view bytes) { return XXH3_64bits(bytes.data(), bytes.size()); }

using base::invalid;

std::vector<float> flatten(std::span<const std::span<float>> pieces) {
  std::vector<float> flat;
  for (const std::span<float> piece : pieces) {
    flat.insert(flat.end(), piece.begin(), piece.end());
  }
  return flat;
}

void unflatten(std::span<const float> flat, std::span<const std::span<float>> pieces) {
  for (const std::span<float> piece : pieces) {
    std::copy_n(flat.begin(), piece.size(), piece.begin());
    flat = flat.subspan(piece.size());
  }
}

/// Adds the counters of a synchronizer, except `steps`.
void add(goss_sync_counters& sum, const goss_sync_counters& more) {
  sum.exchanges += more.exchanges;
  sum.exchanged_bytes += more.exchanged_bytes;
  sum.wire_bytes_sent += more.wire_bytes_sent;
  sum.wire_bytes_received += more.wire_bytes_received;
  sum.waited_ns += more.waited_ns;
  sum.setup_bytes_sent += more.setup_bytes_sent;
}

} // namespace

Result<std::unique_ptr<SyncCalls>> createSynchronizer(goss_comm_t comm, std::string_view spec,
                                                      const MakeCodec& make_codec, std::chrono::milliseconds longest) {
  Result<Made> made = makeComposition(spec);
  if (!made.isOk()) {
    return made.status();
  }
  if (made.value().composition.tuning) {
    return AutoSynchronizer::create(comm, *made.value().composition.tuning, made.value().spec, make_codec, longest);
  }
  Result<std::unique_ptr<Synchronizer>> one = Synchronizer::create(comm, spec, make_codec, longest);
  if (!one.isOk()) {
    return one.status();
  }
  return std::unique_ptr<SyncCalls>(one.take());
}

AutoSynchronizer::AutoSynchronizer(const Tuning& tuning, std::string spec, MakeCodec make_codec,
                                   std::chrono::milliseconds longest)
    : tuning_(tuning),
      spec_(std::move(spec)),
      make_codec_(std::move(make_codec)),
      longest_(longest),
      tuner_(tuning),
      mirror_(longest) {}

Result<std::unique_ptr<SyncCalls>> AutoSynchronizer::create(goss_comm_t comm, const Tuning& tuning, std::string spec,
                                                            const MakeCodec& make_codec,
                                                            std::chrono::milliseconds longest) {
  Result<std::unique_ptr<Channel>> channel = Channel::duplicate(comm);
  if (!channel.isOk()) {
    return channel.status();
  }
  const Result<bool> is_equal = channel.value()->allEqual(hashOf(spec));
  if (!is_equal.isOk()) {
    return is_equal.status();
  }
  if (!is_equal.value()) {
    return Status::error(GOSS_ERR_MISMATCH, fmt::format("the ranks gave different synchronizers; rank {} has '{}'",
                                                        channel.value()->rank(), spec));
  }
  std::unique_ptr<AutoSynchronizer> made(new AutoSynchronizer(tuning, std::move(spec), make_codec, longest));
  made->channel_ = channel.take();
  return std::unique_ptr<SyncCalls>(std::move(made));
}

Result<std::int32_t> AutoSynchronizer::add(Tensor tensor) {
  if (is_started_ || !imported_.empty()) {
    return invalid(fmt::format("tensor '{}' comes too late: register all before goss_sync_import and goss_sync_start",
                               tensor.name));
  }
  if (tensor.gradient.size() != tensor.parameter.size()) {
    return invalid(fmt::format("tensor '{}' has no gradient, but '{}' exchanges gradients", tensor.name, spec_));
  }
  for (const auto& [device, vector] :
       {std::pair{&tensor.parameter_device, &tensor.parameter}, std::pair{&tensor.gradient_device, &tensor.gradient}}) {
    if (*device != nullptr && !vector->empty()) {
      const Result<std::span<float>> copy = mirror_.add(**device, *vector);
      if (!copy.isOk()) {
        return copy.status();
      }
      *vector = copy.value();
    }
    *device = nullptr; // the inner synchronizer sees host memory alone
  }
  parameters_.push_back(tensor.parameter);
  gradients_.push_back(tensor.gradient);
  tensors_.push_back(std::move(tensor));
  fetched_.push_back(false);
  return static_cast<std::int32_t>(tensors_.size() - 1);
}

Status AutoSynchronizer::noted(Status status) {
  if (!status.isOk() && failure_.isOk()) {
    failure_ = status;
    (void)abort(status.text().c_str());
  }
  return status;
}

Status AutoSynchronizer::checkRunning(const char* call) const {
  if (!failure_.isOk()) {
    return failure_;
  }
  return is_started_ ? Status::ok() : invalid(fmt::format("{}: call goss_sync_start first", call));
}

Result<bool> AutoSynchronizer::install(std::span<const std::string_view> states, bool is_own) {
  Result<std::unique_ptr<Synchronizer>> made =
      Synchronizer::create(channel_->communicator(), tuner_.spec(), make_codec_, longest_);
  if (!made.isOk()) {
    return made.status();
  }
  {
    const std::lock_guard lock(inner_mutex_);
    inner_ = made.take();
    if (aborted_) { // while it was being made
      (void)inner_->abort(aborted_->c_str());
    }
  }
  for (const Tensor& tensor : tensors_) {
    if (const Result<std::int32_t> added = inner_->add(tensor); !added.isOk()) {
      return added.status();
    }
  }
  bool drops = false;
  if (!states.empty() && is_own) {
    if (Status status = inner_->importState(states.front()); !status.isOk()) {
      return status;
    }
  } else if (!states.empty()) {
    const Result<bool> imported = inner_->importAll(states);
    if (!imported.isOk()) {
      return imported.status();
    }
    drops = imported.value();
  }
  Status status = inner_->start();
  return status.isOk() ? Result<bool>(drops) : Result<bool>(status);
}

/// Refusals are the planner's, which are the same on all ranks, before anything is sent.
Status AutoSynchronizer::findLevels() {
  float probe = 0;
  goss_request_t request = nullptr;
  channel_->setCodec("none", kTwoLevelAllReduce);
  const Status started = channel_->startMean({{&probe, 1}, 0}, &request);
  channel_->setCodec("none");
  const bool is_refused = started.kind() == GOSS_ERR_INVALID_ARGUMENT || started.kind() == GOSS_ERR_UNSUPPORTED;
  tuner_.setLevels(started.isOk());
  return started.isOk() ? channel_->wait(&request) : is_refused ? Status::ok() : started;
}

/// Checks that all ranks go on from the same step: otherwise their trials would end in different steps, and they would
/// wait for each other in different collectives. Restarts a trial of two levels without them if this group has none.
Status AutoSynchronizer::checkStates() {
  if (tuner_.dropLevels()) {
    imports_own_ = false; // the state is of another spec; these methods keep nothing that is a rank's own
  }
  base::WireWriter writer;
  tuner_.save(writer, false);
  const Result<bool> is_equal = channel_->allEqual(hashOf(writer.take()));
  if (!is_equal.isOk() || is_equal.value()) {
    return is_equal.status();
  }
  return Status::error(GOSS_ERR_MISMATCH,
                       fmt::format("the ranks imported states of '{}' of different steps or runs; rank {}'s is of step "
                                   "{}: import states of one step on all ranks",
                                   spec_, channel_->rank(), tuner_.steps()));
}

Status AutoSynchronizer::start() {
  if (!failure_.isOk()) {
    return failure_;
  }
  if (is_started_) {
    return invalid("goss_sync_start was called before");
  }
  Status status = findLevels();
  if (status.isOk()) {
    status = checkStates();
  }
  if (status.isOk()) {
    status = mirror_.fetch(parameters_);
  }
  if (status.isOk()) {
    const std::vector<std::string_view> states(imported_.begin(), imported_.end());
    status = install(states, imports_own_).status();
  }
  if (status.isOk()) {
    status = mirror_.store(parameters_);
  }
  imported_.clear();
  is_started_ = status.isOk();
  since_ = Clock::now();
  if (status.kind() == GOSS_ERR_MISMATCH) { // all ranks find it: an abort would reach some of them before they do
    failure_ = status;
    return status;
  }
  return noted(status);
}

Status AutoSynchronizer::setLr(double lr) {
  if (!std::isfinite(lr) || lr < 0) {
    return invalid(fmt::format("goss_sync_set_lr: {} is no learning rate; it must be at least 0", lr));
  }
  lr_ = lr;
  return Status::ok();
}

void AutoSynchronizer::setLoss(std::function<double()>) {} // nothing that is tried evaluates it

Result<bool> AutoSynchronizer::computes() {
  Status status = checkRunning("goss_sync_computes");
  return status.isOk() ? Result<bool>(true) : Result<bool>(status);
}

Status AutoSynchronizer::tellStepTime(double seconds) {
  if (!std::isfinite(seconds) || seconds <= 0) {
    return invalid(fmt::format("goss_sync_step_time: {} s is no time of a step; it must be above 0", seconds));
  }
  told_ = seconds;
  return Status::ok();
}

Status AutoSynchronizer::gradientReady(std::int32_t index) {
  if (Status status = checkRunning("goss_sync_gradient_ready"); !status.isOk()) {
    return status;
  }
  if (index < 0 || static_cast<std::size_t>(index) >= tensors_.size()) {
    return invalid(fmt::format("goss_sync_gradient_ready: {} is none of the {} tensors", index, tensors_.size()));
  }
  if (tuner_.measures()) {
    return Status::ok(); // gradients() needs them all as they are
  }
  const auto tensor = static_cast<std::size_t>(index);
  if (!fetched_[tensor]) {
    const std::span<const std::span<float>> gradient = std::span<const std::span<float>>(gradients_).subspan(tensor, 1);
    if (Status status = mirror_.fetch(gradient); !status.isOk()) {
      return noted(status);
    }
    fetched_[tensor] = true;
  }
  const Status status = inner_->gradientReady(index);
  return status.kind() == GOSS_ERR_INVALID_ARGUMENT ? status : noted(status);
}

Status AutoSynchronizer::gradients() {
  if (Status status = checkRunning("goss_sync_gradients"); !status.isOk()) {
    return status;
  }
  Vectors both = parameters_, missing = parameters_;
  both.insert(both.end(), gradients_.begin(), gradients_.end());
  for (std::size_t i = 0; i < gradients_.size(); ++i) {
    if (!fetched_[i]) {
      missing.push_back(gradients_[i]);
    }
  }
  fetched_.assign(gradients_.size(), false);
  Status status = mirror_.fetch(missing);
  if (status.isOk()) {
    status = inner_->setLr(lr_);
  }
  if (status.isOk()) {
    status = tuner_.measures() ? measure() : inner_->gradients();
  }
  if (status.isOk()) {
    status = mirror_.store(both);
  }
  return noted(status);
}

/// Computes the error of an exchange: the distance of the ranks' results from the exact mean of what they held before,
/// relative to that mean, both as roots of squares summed over the ranks. If it is above the budget, the ranks get the
/// exact mean.
Status AutoSynchronizer::measure() {
  const Vectors& exchanged = inner_->info().gradients != 0 ? gradients_ : parameters_;
  std::vector<float> exact = flatten(exchanged);
  Status status = channel_->mean(exact);
  if (status.isOk()) {
    status = inner_->gradients();
  }
  if (!status.isOk()) {
    return status;
  }
  const std::vector<float> got = flatten(exchanged);
  double distance = 0, length = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double difference = static_cast<double>(got[i]) - exact[i];
    distance += difference * difference;
    length += static_cast<double>(exact[i]) * exact[i];
  }
  std::vector<double> of_ranks(static_cast<std::size_t>(channel_->size()));
  if (status = channel_->gather(distance, of_ranks); !status.isOk()) {
    return status;
  }
  double sum = 0;
  for (const double one : of_ranks) {
    sum += one;
  }
  length *= static_cast<double>(of_ranks.size()); // the same bits on all ranks, as the mean has
  const double error = sum == 0 ? 0 : std::sqrt(sum / length);
  if (!tuner_.noteError(error)) {
    unflatten(exact, exchanged);
  }
  return Status::ok();
}

Status AutoSynchronizer::step() {
  if (Status status = checkRunning("goss_sync_step"); !status.isOk()) {
    return status;
  }
  Status status = mirror_.fetch(parameters_);
  if (status.isOk()) {
    status = inner_->step();
  }
  if (status.isOk()) {
    const double seconds = told_.value_or(std::chrono::duration<double>(Clock::now() - since_).count());
    status = tuner_.noteStep(seconds) ? change() : Status::ok();
  }
  if (status.isOk()) {
    status = mirror_.store(parameters_);
  }
  told_.reset();
  since_ = Clock::now();
  return noted(status);
}

/// Whether a trial is over is the same on all ranks: errors are, and so are the numbers of steps.
Status AutoSynchronizer::change() {
  std::vector<double> of_ranks(static_cast<std::size_t>(channel_->size()));
  if (Status status = channel_->gather(tuner_.seconds(), of_ranks); !status.isOk()) {
    return status;
  }
  if (!tuner_.decide(*std::max_element(of_ranks.begin(), of_ranks.end()))) {
    return Status::ok();
  }
  if (Status status = inner_->finish(); !status.isOk()) {
    return status;
  }
  sync::add(retired_, inner_->counters());
  std::unique_ptr<SyncCalls> old;
  {
    const std::lock_guard lock(inner_mutex_);
    old = std::move(inner_);
  }
  old.reset();
  return install({}, true).status();
}

Status AutoSynchronizer::finish() {
  if (Status status = checkRunning("goss_sync_finish"); !status.isOk()) {
    return status;
  }
  Status status = mirror_.fetch(parameters_);
  if (status.isOk()) {
    status = inner_->finish();
  }
  return noted(status.isOk() ? mirror_.store(parameters_) : status);
}

Result<std::string> AutoSynchronizer::exportState() {
  if (Status status = checkRunning("goss_sync_export"); !status.isOk()) {
    return status;
  }
  const Result<std::string> inner = inner_->exportState();
  if (!inner.isOk()) {
    return inner.status();
  }
  base::WireWriter writer;
  writer.raw(kMagic).integer(kVersion).text(spec_);
  tuner_.save(writer);
  writer.integer(static_cast<std::uint64_t>(inner.value().size())).raw(inner.value());
  const std::string bytes = writer.take();
  return bytes + base::WireWriter().integer(hashOf(bytes)).take();
}

/// Reads the tuner, and returns the state of the inner synchronizer.
Result<std::string_view> AutoSynchronizer::readState(std::string_view bytes, Tuner& tuner) const {
  Status damaged = Status::error(GOSS_ERR_PROTOCOL,
                                 "these bytes are no state of the synchronizer auto; was the checkpoint damaged?");
  if (bytes.size() < sizeof(std::uint64_t)) {
    return damaged;
  }
  const std::string_view body = bytes.substr(0, bytes.size() - sizeof(std::uint64_t));
  base::WireReader reader(body);
  if (base::loadLittleEndian<std::uint64_t>(bytes.data() + body.size()) != hashOf(body) ||
      reader.raw(kMagic.size()) != kMagic || reader.integer<std::uint16_t>() != kVersion) {
    return damaged;
  }
  const std::string_view spec = reader.text(kMaxSpecBytes);
  if (reader.ok() && spec != spec_) {
    return invalid(fmt::format("the saved state is of '{}', but this synchronizer is '{}'", spec, spec_));
  }
  if (!tuner.load(reader)) {
    return damaged;
  }
  const std::string_view inner = reader.raw(reader.integer<std::uint64_t>());
  return reader.complete() ? Result<std::string_view>(inner) : Result<std::string_view>(damaged);
}

Status AutoSynchronizer::importState(std::string_view bytes) {
  if (is_started_ || !imported_.empty()) {
    return invalid("goss_sync_import: call it before goss_sync_start, and after no other import");
  }
  Tuner tuner(tuning_);
  const Result<std::string_view> inner = readState(bytes, tuner);
  if (!inner.isOk()) {
    return inner.status();
  }
  tuner_ = std::move(tuner);
  imported_ = {std::string(inner.value())};
  imports_own_ = true;
  return Status::ok();
}

/// Only what start() imports can tell whether a codec's state is dropped; codecs that keep one are not tried.
Result<bool> AutoSynchronizer::importAll(std::span<const std::string_view> states) {
  if (is_started_ || !imported_.empty()) {
    return invalid("goss_sync_import_all: call it before goss_sync_start, and after no other import");
  }
  if (states.empty()) {
    return invalid("goss_sync_import_all: there is no state");
  }
  Tuner tuner(tuning_);
  std::vector<std::string> inner;
  for (const std::string_view bytes : states) {
    tuner = Tuner(tuning_);
    const Result<std::string_view> one = readState(bytes, tuner);
    if (!one.isOk()) {
      return one.status();
    }
    inner.emplace_back(one.value());
  }
  tuner_ = std::move(tuner);
  imported_ = std::move(inner);
  imports_own_ = false;
  return false;
}

Status AutoSynchronizer::abort(const char* reason) {
  const Status first = channel_->abort(reason);
  const std::lock_guard lock(inner_mutex_);
  if (!aborted_) {
    aborted_ = reason != nullptr ? reason : "no reason given";
  }
  const Status second = inner_ != nullptr ? inner_->abort(reason) : Status::ok();
  return first.isOk() ? second : first;
}

goss_sync_info AutoSynchronizer::info() const {
  goss_sync_info info{};
  info.size = sizeof info;
  info.spec = spec_.c_str();
  info.gradients = 1;
  info.local_steps = tuning_.may_gossip ? 1 : 0;
  info.gradient_size = channel_->size();
  return info;
}

goss_sync_counters AutoSynchronizer::counters() const {
  goss_sync_counters sum = retired_;
  sum.size = sizeof sum;
  sum.steps = tuner_.steps();
  const goss_counters measuring = channel_->counters();
  sum.wire_bytes_sent += measuring.wire_bytes_sent;
  sum.wire_bytes_received += measuring.wire_bytes_received;
  sum.setup_bytes_sent += measuring.wire_bytes_sent;
  sum.waited_ns += channel_->waitedNs();
  if (inner_ != nullptr) {
    sync::add(sum, inner_->counters());
  }
  return sum;
}

} // namespace goss::sync
