#include "trainer/loop/replica_engine.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <thread>
#include <utility>

#include "trainer/base/error.h"
#include "trainer/base/share.h"
#include "trainer/data/sampler.h"
#include "trainer/model/gradient_norm.h"
#include "trainer/ranks/agreement.h"
#include "trainer/ranks/losses.h"

namespace goss::trainer {

namespace {

/// Steps by which losses may arrive late: a round trip between continents takes several steps.
constexpr std::size_t kMaxStepsBehind = 8;
/// Steps longer than this hide any round trip behind one step; a collective that ranks far ahead start would miss its
/// deadline.
constexpr double kLongStep_s = 1;

std::size_t ranksOf(const Group& group) { return static_cast<std::size_t>(group.size()); }

/// Validates the options before anything is allocated by their sizes.
const TrainOptions& checked(const TrainOptions& options, const Dataset& data, const Group& group) {
  checkModelConfig(options.model);
  checkTrainOptions(options, ranksOf(group));
  data.check(options.model.context, options.model.vocab);
  return options;
}

} // namespace

ReplicaEngine::ReplicaEngine(const TrainOptions& options, const Dataset& data, Group& group, Ops& ops, Report& report)
    : StepEngine(TrainingRun(checked(options, data, group), data, group, ops, report)),
      model_(options.model, options.micro_batch, ops),
      optimizer_(optimizerOf(options), model_.table(), ops),
      share_(shareOf(options.batch / options.micro_batch, ranksOf(group), static_cast<std::size_t>(group.rank()))),
      tree_(ops, model_.table().count(), share_.count()),
      host_parameters_(ops.isHostMemory() ? 0 : model_.table().count()),
      host_gradient_(host_parameters_.size()),
      replicas_(group.synchronize(options.sync)),
      gradient_scale_(gradientScale()),
      slowness_(slownessOf(options, group.rank())),
      inputs_(options.micro_batch * options.model.context),
      targets_(options.micro_batch * options.model.context) {
  checkAgreement();
  requireOptimizerActs(options, replicas_->givesSigns(), replicas_->spec());
}

float ReplicaEngine::gradientScale() const {
  const std::size_t together = replicas_->gradientRanks(), rank = static_cast<std::size_t>(run_.group.rank());
  std::size_t micro_batches = 0;
  for (std::size_t i = 0; i < together; ++i) {
    micro_batches +=
        shareOf(run_.options.batch / run_.options.micro_batch, ranksOf(run_.group), rank / together * together + i)
            .count();
  }
  const std::size_t tokens = micro_batches * run_.options.micro_batch * run_.options.model.context;
  return static_cast<float>(together) / static_cast<float>(tokens);
}

void ReplicaEngine::checkAgreement() {
  requireSameKindOfDevice(run_.group, run_.ops);
  // All ranks need the same settings that decide the numbers, and the same that decide which collectives are called
  // when.
  requireAgreement(run_.group, run_.data.fingerprint(),
                   fmt::format("{} {} {} {} {}", run_.settings, run_.options.val_every, run_.options.val_samples,
                               run_.options.checkpoint_every, run_.time_limit.isSet()));
}

/// Every rank holds a whole copy of the model.
std::string ReplicaEngine::grid() const { return fmt::format("{} ranks that hold the whole model", run_.group.size()); }

void ReplicaEngine::start(const CheckpointStart& start) {
  model_.setParameters(start.model.parameters);
  if (!host_parameters_.empty()) host_parameters_ = start.model.parameters;
  optimizer_.firstMoments().upload(start.model.first_moments);
  optimizer_.secondMoments().upload(start.model.second_moments);
  startReplicas(start.sync);
}

void ReplicaEngine::startReplicas(const SavedSync& saved) {
  float* parameters = host_parameters_.empty() ? model_.parameters() : host_parameters_.data();
  float* gradient = host_gradient_.empty() ? tree_.target() : host_gradient_.data();
  std::vector<ReplicaTensor> tensors;
  for (const Parameter& p : model_.table().parameters())
    tensors.push_back({p.name, parameters + p.offset, gradient + p.offset, p.count, p.layer});
  const std::string left_behind = replicas_->start(tensors, saved);
  if (!left_behind.empty()) run_.report.note("note: " + left_behind);
}

void ReplicaEngine::reportStart() {
  const ModelConfig& m = run_.options.model;
  run_.report.note(fmt::format("{} parameters ({} layers, {} channels, {} heads, vocabulary {}), {} rank{} on {}",
                               model_.table().count(), m.layers, m.channels, m.heads, m.vocab, run_.group.size(),
                               run_.group.size() == 1 ? "" : "s", run_.ops.name()));
  run_.report.note(fmt::format("{} training tokens, {} for validation; {} steps of {} x {} tokens",
                               run_.data.training().size(), run_.data.validation().size(), run_.options.steps,
                               run_.options.batch, m.context));
  run_.report.note(fmt::format("kept together by {}", replicas_->spec()));
}

bool ReplicaEngine::train() { return replicas_->dynamicPeriod() == 0 ? trainStep() : trainDynamicStep(); }

bool ReplicaEngine::finishSteps() {
  const bool go_on = takeLosses(0);
  reportSteps();
  return go_on;
}

void ReplicaEngine::synchronize() { stepReplicas(true); }

void ReplicaEngine::finish() {
  if (replicas_->dynamicPeriod() != 0) reportLocalSteps();
}

bool ReplicaEngine::trainStep() {
  const Clock::time_point start = Clock::now();
  // One loss for each sample, from the rank that has it, and a last element that is above 0 when a rank wants to stop.
  std::vector<double> losses(run_.options.batch + 1, 0.0);
  const double lr = run_.schedule.at(run_.step);
  replicas_->setLr(lr);
  computeGradient(losses);
  losses.back() = run_.wantsStop() ? 1.0 : 0.0;
  run_.group.startSum(std::move(losses));
  const double norm = updateParameters(lr);
  stepReplicas(false);
  ++run_.step;
  unreported_.push_back({run_.step, 0, lr, norm, 0});
  // The time of the step before includes what it waited for losses.
  const double last_step_s = run_.card.step_seconds.empty() ? 0 : run_.card.step_seconds.back();
  const std::size_t behind = std::max(last_step_s, secondsSince(start)) > kLongStep_s ? 1 : kMaxStepsBehind;
  const bool go_on = takeLosses(stopsAtOnce() ? 0 : behind);
  run_.card.step_seconds.push_back(secondsSince(start));
  unreported_.back().seconds = run_.card.step_seconds.back();
  reportSteps();
  return go_on;
}

/// A time limit needs the losses of each step at once; otherwise they may be late.
bool ReplicaEngine::stopsAtOnce() const { return run_.time_limit.isSet() || run_.group.size() == 1; }

/// Each rank may read the losses, and with them another rank's wish to stop, up to kMaxStepsBehind steps late. So all
/// ranks stop kMaxStepsBehind steps after the wish, when every rank has read it (at once if stopsAtOnce()).
bool ReplicaEngine::takeLosses(std::size_t behind) {
  for (; with_loss_ + behind < unreported_.size(); ++with_loss_) {
    const std::vector<double> losses = run_.group.takeSum();
    unreported_[with_loss_].loss =
        lossPerToken(std::span(losses).first(run_.options.batch), run_.options.model.context);
    if (losses.back() != 0.0)
      last_step_ = std::min(last_step_, unreported_[with_loss_].step + (stopsAtOnce() ? 0 : kMaxStepsBehind));
  }
  return run_.step < last_step_;
}

void ReplicaEngine::reportSteps() {
  for (; with_loss_ > 0; --with_loss_) {
    run_.card.losses.push_back(unreported_.front().loss);
    run_.report.step(unreported_.front());
    unreported_.pop_front();
  }
}

bool ReplicaEngine::trainDynamicStep() {
  const Clock::time_point start = Clock::now();
  OwnStep own;
  own.lr = run_.schedule.at(run_.step);
  replicas_->setLr(own.lr);
  if (replicas_->computes()) {
    std::vector<double> losses(run_.options.batch, 0.0);
    computeGradient(losses);
    own.norm = updateParameters(own.lr);
    own.loss = std::accumulate(losses.begin(), losses.end(), 0.0);
    own.samples = static_cast<double>(share_.count() * run_.options.micro_batch);
    ++computed_steps_;
    replicas_->stepTook(secondsSince(start));
  } else if (!steps_since_meeting_.empty()) {
    own.norm = steps_since_meeting_.back().norm;
  }
  stepReplicas(false);
  ++run_.step;
  own.seconds = secondsSince(start);
  steps_since_meeting_.push_back(own);
  // The same on all ranks, because every rank counts every step.
  const bool meets = run_.step % replicas_->dynamicPeriod() == 0 || run_.step == run_.options.steps ||
                     run_.isValidationDue() || run_.isCheckpointDue();
  return !meets || meet();
}

/// The ranks exchange the losses of the steps since they last met; false when the run should stop.
bool ReplicaEngine::meet() {
  std::vector<double> sums; // loss and number of samples of each step, and whether to stop
  for (const OwnStep& own : steps_since_meeting_) {
    sums.push_back(own.loss);
    sums.push_back(own.samples);
  }
  sums.push_back(run_.wantsStop() ? 1.0 : 0.0);
  run_.group.sum(sums);
  for (std::size_t i = 0; i < steps_since_meeting_.size(); ++i) {
    const OwnStep& own = steps_since_meeting_[i];
    const double samples = sums[2 * i + 1]; // the fastest rank computes every step, so the sum is above 0
    trained_samples_ += samples;
    run_.card.losses.push_back(sums[2 * i] / (samples * static_cast<double>(run_.options.model.context)));
    run_.card.step_seconds.push_back(own.seconds);
    run_.report.step({run_.step - steps_since_meeting_.size() + i + 1, run_.card.losses.back(), own.lr, own.norm,
                      own.seconds, samples / static_cast<double>(run_.options.batch)});
  }
  steps_since_meeting_.clear();
  return sums.back() == 0.0;
}

void ReplicaEngine::reportLocalSteps() {
  const auto own = static_cast<double>(computed_steps_);
  const std::vector<double> computed = run_.group.gather({&own, 1});
  run_.report.note(
      fmt::format("steps computed by each rank: {:.0f} of {}", fmt::join(computed, ", "), run_.card.losses.size()));
}

/// Computes the gradient of this rank's share of the step, as the optimizer is to see it, and the losses of its
/// samples.
void ReplicaEngine::computeGradient(std::span<double> losses) {
  const Clock::time_point start = Clock::now();
  const std::size_t per_pass = run_.options.micro_batch;
  std::vector<std::size_t> starts(per_pass);
  tree_.reset();
  for (std::size_t pass = share_.first; pass < share_.last; ++pass) {
    for (std::size_t i = 0; i < per_pass; ++i) {
      starts[i] =
          Windows{run_.options.seed, run_.options.samples, run_.data.training().size(), run_.options.model.context}
              .startOf(run_.step, pass * per_pass + i);
    }
    const std::vector<double> sample_losses = passForward(run_.data.training(), starts, true);
    std::copy(sample_losses.begin(), sample_losses.end(),
              losses.begin() + static_cast<std::ptrdiff_t>(pass * per_pass));
    if (pass + 1 == share_.last) {
      backwardLast(model_.table().count());
    } else {
      model_.backward(tree_.target(), {});
      tree_.add();
    }
  }
  if (slowness_ > 1) std::this_thread::sleep_for(std::chrono::duration<double>(secondsSince(start) * (slowness_ - 1)));
  replicas_->gradients();
  if (!host_gradient_.empty())
    run_.ops.upload(tree_.target(), host_gradient_.data(), host_gradient_.size() * sizeof(float));
  // Some methods mix the parameters, too, before the optimizer.
  if (!host_parameters_.empty() && replicas_->hasLocalSteps())
    run_.ops.upload(model_.parameters(), host_parameters_.data(), host_parameters_.size() * sizeof(float));
}

/// The backward pass of a step's last micro-batch: as ranges of the gradient become final, the earlier micro-batches
/// are added to them and the replicas are told.
void ReplicaEngine::backwardLast(std::size_t count) {
  const std::vector<Parameter>& tensors = model_.table().parameters();
  std::size_t final_from = count, ready_from = tensors.size();
  model_.backward(tree_.target(), [&](std::size_t first) {
    tree_.finish(first, final_from);
    if (!host_gradient_.empty())
      run_.ops.download(host_gradient_.data() + first, tree_.target() + first, (final_from - first) * sizeof(float));
    final_from = first;
    for (; ready_from > 0 && tensors[ready_from - 1].offset >= first; --ready_from)
      replicas_->gradientReady(ready_from - 1);
  });
}

/// Lets the replicas apply exchanges, which may change the parameters.
void ReplicaEngine::stepReplicas(bool is_end) {
  const bool is_staged = !host_parameters_.empty() && replicas_->hasLocalSteps();
  const std::size_t bytes = host_parameters_.size() * sizeof(float);
  if (is_staged) run_.ops.download(host_parameters_.data(), model_.parameters(), bytes);
  if (is_end) {
    replicas_->finish();
  } else {
    replicas_->step();
  }
  if (is_staged) run_.ops.upload(model_.parameters(), host_parameters_.data(), bytes);
}

std::vector<double> ReplicaEngine::passForward(const Tokens& tokens, const std::vector<std::size_t>& starts,
                                               bool with_gradient) {
  const std::size_t context = run_.options.model.context;
  const std::size_t count = starts.size() * context;
  const std::span<std::int32_t> inputs = std::span(inputs_).first(count);
  const std::span<std::int32_t> targets = std::span(targets_).first(count);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    readWindow(tokens, starts[i], inputs.subspan(i * context, context), targets.subspan(i * context, context));
  }
  model_.forward(inputs);
  return model_.losses(targets, with_gradient, gradient_scale_);
}

/// Clips, updates, and returns the gradient's norm before clipping. Where gradients are averaged over all ranks,
/// gradients, and so parameters, have the same bits everywhere.
double ReplicaEngine::updateParameters(double lr) {
  const double norm = normOf(squaredNorms(run_.ops, model_.table(), tree_.target()));
  requireFinite(norm, run_.step + 1);
  if (replicas_->givesSigns()) {
    optimizer_.descend(lr, model_.parameters(), tree_.target());
    return norm;
  }
  optimizer_.update(run_.step, lr, model_.parameters(), tree_.target(), clipFactor(norm, run_.options.clip));
  return norm;
}

double ReplicaEngine::validationLoss() {
  const Tokens& tokens = run_.data.validation();
  const std::size_t context = run_.options.model.context;
  const std::size_t samples = run_.options.val_samples;
  const Share mine = shareOf(samples, ranksOf(run_.group), static_cast<std::size_t>(run_.group.rank()));
  std::vector<double> losses(samples, 0.0);
  for (std::size_t sample = mine.first; sample < mine.last; ++sample) {
    // One sample in each pass, for equal bits.
    losses[sample] = passForward(tokens, {validationStart(tokens.size(), context, sample, samples)}, false).front();
  }
  run_.group.sum(losses);
  return lossPerToken(losses, context);
}

ReplicaState ReplicaEngine::ownState() {
  ReplicaState own;
  own.parameters.resize(model_.table().count());
  run_.ops.download(own.parameters.data(), model_.parameters(), own.parameters.size() * sizeof(float));
  own.first_moments = optimizer_.firstMoments().download();
  own.second_moments = optimizer_.secondMoments().download();
  own.ranks = {{keepsOwn() ? replicas_->state() : "", ""}};
  return own;
}

TrainingState ReplicaEngine::state() {
  TrainingState state;
  static_cast<ReplicaState&>(state) = ownState();
  state.ranks.clear();
  state.step = run_.step;
  state.settings = run_.settings;
  state.sync = replicas_->spec();
  state.grid = grid();
  return state;
}

void ReplicaEngine::describe() {
  const ReplicaTraffic traffic = replicas_->traffic();
  run_.card.sync = replicas_->spec();
  if (trained_samples_ > 0) { // without samples that ranks left out
    const double samples = trained_samples_ / static_cast<double>(run_.card.losses.size());
    run_.card.tokens_per_step = static_cast<std::size_t>(samples * static_cast<double>(run_.options.model.context));
  }
  run_.card.exchanged_bytes = traffic.exchanged_bytes;
  run_.card.wire_bytes = traffic.wire_bytes_sent;
  run_.card.setup_bytes = traffic.setup_bytes_sent;
  run_.card.waited_s = traffic.waited_s;
}

std::string ReplicaEngine::warning() const { return run_.group.size() > 1 ? missedExchanges(*replicas_) : ""; }

} // namespace goss::trainer
