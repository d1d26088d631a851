#include "trainer/loop/trainer.h"

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

/// Steps by which losses may be late: a round trip between continents is some steps long.
constexpr std::size_t kMaxStepsBehind = 8;
/// Longer steps hide any round trip behind one of them; what ranks that are far ahead started would miss its deadline.
constexpr double kLongStep_s = 1;

std::size_t ranksOf(const Group& group) { return static_cast<std::size_t>(group.size()); }

/// Validates before anything is allocated by the sizes.
const TrainOptions& checked(const TrainOptions& options, const Dataset& data, const Group& group) {
  checkModelConfig(options.model);
  checkTrainOptions(options, ranksOf(group));
  data.check(options.model.context, options.model.vocab);
  return options;
}

} // namespace

Trainer::Trainer(const TrainOptions& options, const Dataset& data, Group& group, Ops& ops, Report& report)
    : options_(checked(options, data, group)),
      data_(data),
      group_(group),
      ops_(ops),
      report_(report),
      model_(options.model, options.micro_batch, ops),
      optimizer_({.eps = options.adam_eps, .weight_decay = options.weight_decay}, model_.table(), ops),
      share_(shareOf(options.batch / options.micro_batch, ranksOf(group), static_cast<std::size_t>(group.rank()))),
      tree_(ops, model_.table().count(), share_.count()),
      host_parameters_(ops.isHostMemory() ? 0 : model_.table().count()),
      host_gradient_(host_parameters_.size()),
      replicas_(group.synchronize(options.sync)),
      gradient_scale_(gradientScale()),
      schedule_{options.lr, options.lr * options.final_lr, options.warmup, options.steps},
      settings_(trajectorySettings(options, data.fingerprint())),
      prompt_(promptTokens(options.prompt, data, options.model)),
      slowness_(slownessOf(options, group.rank())),
      checkpoints_(options_, model_.table(), group, report),
      time_limit_(options.time_limit_s),
      inputs_(options.micro_batch * options.model.context),
      targets_(options.micro_batch * options.model.context) {
  checkAgreement();
  startParameters();
  noteStart();
}

float Trainer::gradientScale() const {
  const std::size_t together = replicas_->gradientRanks(), rank = static_cast<std::size_t>(group_.rank());
  std::size_t micro_batches = 0;
  for (std::size_t i = 0; i < together; ++i) {
    micro_batches +=
        shareOf(options_.batch / options_.micro_batch, ranksOf(group_), rank / together * together + i).count();
  }
  const std::size_t tokens = micro_batches * options_.micro_batch * options_.model.context;
  return static_cast<float>(together) / static_cast<float>(tokens);
}

void Trainer::checkAgreement() {
  requireSameKindOfDevice(group_, ops_);
  // Beside what decides the numbers: what decides which collectives are called when.
  requireAgreement(group_, data_.fingerprint(),
                   fmt::format("{} {} {} {} {}", settings_, options_.val_every, options_.val_samples,
                               replicas_->hasLocalSteps() ? options_.checkpoint_every : 0, time_limit_.isSet()));
}

/// Every rank is a copy of its own.
std::string Trainer::grid() const { return fmt::format("{} ranks that hold the whole model", group_.size()); }

void Trainer::startParameters() {
  RunCheckpoints::Start start = checkpoints_.start(settings_, replicas_->spec(), grid());
  model_.setParameters(start.model.parameters);
  if (!host_parameters_.empty()) host_parameters_ = start.model.parameters;
  optimizer_.firstMoments().upload(start.model.first_moments);
  optimizer_.secondMoments().upload(start.model.second_moments);
  step_ = start.step;
  startReplicas(start.sync);
}

void Trainer::startReplicas(const SavedSync& saved) {
  float* parameters = host_parameters_.empty() ? model_.parameters() : host_parameters_.data();
  float* gradient = host_gradient_.empty() ? tree_.target() : host_gradient_.data();
  std::vector<ReplicaTensor> tensors;
  for (const Parameter& p : model_.table().parameters())
    tensors.push_back({p.name, parameters + p.offset, gradient + p.offset, p.count, p.layer});
  const std::string left_behind = replicas_->start(tensors, saved);
  if (!left_behind.empty()) report_.note("note: " + left_behind);
}

void Trainer::noteStart() {
  const ModelConfig& m = options_.model;
  report_.note(fmt::format("{} parameters ({} layers, {} channels, {} heads, vocabulary {}), {} rank{} on {}",
                           model_.table().count(), m.layers, m.channels, m.heads, m.vocab, group_.size(),
                           group_.size() == 1 ? "" : "s", ops_.name()));
  report_.note(fmt::format("{} training tokens, {} for validation; {} steps of {} x {} tokens", data_.training().size(),
                           data_.validation().size(), options_.steps, options_.batch, m.context));
  report_.note(fmt::format("kept together by {}", replicas_->spec()));
  report_.begin({options_.steps, step_, options_.batch * m.context, options_.print_every, group_.size()}, settings_);
}

void Trainer::run() {
  time_limit_.restart();
  bool go_on = true;
  if (step_ != 0 && (options_.val_every != 0 || step_ >= options_.steps)) validate(); // what was resumed
  while (go_on && step_ < options_.steps) {
    go_on = replicas_->dynamicPeriod() == 0 ? trainStep() : trainDynamicStep();
    if (!go_on || step_ == options_.steps || isValidationDue() || isCheckpointDue()) {
      go_on = takeLosses(0) && go_on;
      reportSteps();
    }
    checkpoints_.poll();
    const bool is_last = !go_on || step_ == options_.steps;
    if (step_ == options_.steps) stepReplicas(true); // not when stopped: the run may go on with the same bits
    if (is_last || isValidationDue()) validate();
    if (is_last || isCheckpointDue()) saveCheckpoint();
  }
  checkpoints_.finish();
  if (replicas_->dynamicPeriod() != 0) noteLocalSteps();
  if (!go_on) report_.note(fmt::format("stopped by --time-limit after step {}", step_));
  group_.barrier(); // nobody leaves while another rank may still need it
  if (group_.rank() != 0) return;
  if (options_.sample != 0) printSample();
  finishCard();
}

bool Trainer::isValidationDue() const { return options_.val_every != 0 && step_ % options_.val_every == 0; }

bool Trainer::isCheckpointDue() const {
  return options_.checkpoint_every != 0 && step_ % options_.checkpoint_every == 0;
}

void Trainer::validate() {
  card_.validation.emplace_back(step_, validationLoss());
  report_.validation(step_, card_.validation.back().second);
}

bool Trainer::trainStep() {
  const Clock::time_point start = Clock::now();
  // One loss a sample, each from the rank that has it, and a last element that is above 0 when rank 0 wants to stop.
  std::vector<double> losses(options_.batch + 1, 0.0);
  const double lr = schedule_.at(step_);
  replicas_->setLr(lr);
  computeGradient(losses);
  losses.back() = group_.rank() == 0 && time_limit_.isOver() ? 1.0 : 0.0;
  group_.startSum(std::move(losses));
  const double norm = updateParameters(lr);
  stepReplicas(false);
  ++step_;
  unreported_.push_back({step_, 0, lr, norm, 0});
  const double before_s = card_.step_seconds.empty() ? 0 : card_.step_seconds.back(); // waiting included
  const std::size_t behind = std::max(before_s, secondsSince(start)) > kLongStep_s ? 1 : kMaxStepsBehind;
  // A time limit is kept by the step.
  const bool go_on = takeLosses(time_limit_.isSet() || group_.size() == 1 ? 0 : behind);
  card_.step_seconds.push_back(secondsSince(start));
  unreported_.back().seconds = card_.step_seconds.back();
  reportSteps();
  return go_on;
}

bool Trainer::takeLosses(std::size_t behind) {
  bool go_on = true;
  for (; with_loss_ + behind < unreported_.size(); ++with_loss_) {
    const std::vector<double> losses = group_.takeSum();
    unreported_[with_loss_].loss = lossPerToken(std::span(losses).first(options_.batch), options_.model.context);
    go_on = go_on && losses.back() == 0.0;
  }
  return go_on;
}

void Trainer::reportSteps() {
  for (; with_loss_ > 0; --with_loss_) {
    card_.losses.push_back(unreported_.front().loss);
    report_.step(unreported_.front());
    unreported_.pop_front();
  }
}

bool Trainer::trainDynamicStep() {
  const Clock::time_point start = Clock::now();
  OwnStep own;
  own.lr = schedule_.at(step_);
  replicas_->setLr(own.lr);
  if (replicas_->computes()) {
    std::vector<double> losses(options_.batch, 0.0);
    computeGradient(losses);
    own.norm = updateParameters(own.lr);
    own.loss = std::accumulate(losses.begin(), losses.end(), 0.0);
    own.samples = static_cast<double>(share_.count() * options_.micro_batch);
    ++computed_steps_;
    replicas_->stepTook(secondsSince(start));
  } else if (!unmet_.empty()) {
    own.norm = unmet_.back().norm;
  }
  stepReplicas(false);
  ++step_;
  own.seconds = secondsSince(start);
  unmet_.push_back(own);
  // The same on all ranks: every rank counts every step.
  const bool meets =
      step_ % replicas_->dynamicPeriod() == 0 || step_ == options_.steps || isValidationDue() || isCheckpointDue();
  return !meets || meet();
}

/// The ranks tell each other of the steps since they last met; false when the run should stop.
bool Trainer::meet() {
  std::vector<double> sums; // loss and samples of each step, and whether to stop
  for (const OwnStep& own : unmet_) {
    sums.push_back(own.loss);
    sums.push_back(own.samples);
  }
  sums.push_back(group_.rank() == 0 && time_limit_.isOver() ? 1.0 : 0.0);
  group_.sum(sums);
  for (std::size_t i = 0; i < unmet_.size(); ++i) {
    const OwnStep& own = unmet_[i];
    const double samples = sums[2 * i + 1]; // the fastest rank computes every step
    trained_samples_ += samples;
    card_.losses.push_back(sums[2 * i] / (samples * static_cast<double>(options_.model.context)));
    card_.step_seconds.push_back(own.seconds);
    report_.step({step_ - unmet_.size() + i + 1, card_.losses.back(), own.lr, own.norm, own.seconds,
                  samples / static_cast<double>(options_.batch)});
  }
  unmet_.clear();
  return sums.back() == 0.0;
}

void Trainer::noteLocalSteps() {
  std::vector<double> computed(ranksOf(group_), 0.0);
  computed[static_cast<std::size_t>(group_.rank())] = static_cast<double>(computed_steps_);
  group_.sum(computed);
  report_.note(
      fmt::format("steps computed by each rank: {:.0f} of {}", fmt::join(computed, ", "), card_.losses.size()));
}

/// The gradient of this rank's share of the step, as the optimizer shall see it, and the losses of its samples.
void Trainer::computeGradient(std::span<double> losses) {
  const Clock::time_point start = Clock::now();
  const std::size_t per_pass = options_.micro_batch;
  std::vector<std::size_t> starts(per_pass);
  tree_.reset();
  for (std::size_t pass = share_.first; pass < share_.last; ++pass) {
    for (std::size_t i = 0; i < per_pass; ++i) {
      starts[i] = Windows{options_.seed, options_.samples, data_.training().size(), options_.model.context}.startOf(
          step_, pass * per_pass + i);
    }
    const std::vector<double> sample_losses = passForward(data_.training(), starts, true);
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
    ops_.upload(tree_.target(), host_gradient_.data(), host_gradient_.size() * sizeof(float));
}

/// The backward pass of a step's last micro-batch: as ranges of the gradient become final, the earlier micro-batches
/// are added to them and the replicas are told.
void Trainer::backwardLast(std::size_t count) {
  const std::vector<Parameter>& tensors = model_.table().parameters();
  std::size_t final_from = count, ready_from = tensors.size();
  model_.backward(tree_.target(), [&](std::size_t first) {
    tree_.finish(first, final_from);
    if (!host_gradient_.empty())
      ops_.download(host_gradient_.data() + first, tree_.target() + first, (final_from - first) * sizeof(float));
    final_from = first;
    for (; ready_from > 0 && tensors[ready_from - 1].offset >= first; --ready_from)
      replicas_->gradientReady(ready_from - 1);
  });
}

/// What the other ranks did may change the parameters.
void Trainer::stepReplicas(bool is_end) {
  const bool is_staged = !host_parameters_.empty() && replicas_->hasLocalSteps();
  const std::size_t bytes = host_parameters_.size() * sizeof(float);
  if (is_staged) ops_.download(host_parameters_.data(), model_.parameters(), bytes);
  if (is_end) {
    replicas_->finish();
  } else {
    replicas_->step();
  }
  if (is_staged) ops_.upload(model_.parameters(), host_parameters_.data(), bytes);
}

std::vector<double> Trainer::passForward(std::span<const std::uint16_t> tokens, const std::vector<std::size_t>& starts,
                                         bool with_gradient) {
  const std::size_t context = options_.model.context;
  const std::size_t count = starts.size() * context;
  const std::span<std::int32_t> inputs = std::span(inputs_).first(count);
  const std::span<std::int32_t> targets = std::span(targets_).first(count);
  for (std::size_t i = 0; i < starts.size(); ++i) {
    readWindow(tokens, starts[i], inputs.subspan(i * context, context), targets.subspan(i * context, context));
  }
  model_.forward(inputs);
  return model_.losses(targets, with_gradient, gradient_scale_);
}

/// Clips, updates, and returns the gradient's norm before clipping. Where gradients are averaged over all ranks, they
/// have the same bits everywhere, and so have the parameters afterwards.
double Trainer::updateParameters(double lr) {
  const double norm = normOf(squaredNorms(ops_, model_.table(), tree_.target()));
  requireFinite(norm, step_ + 1);
  if (replicas_->givesSigns()) {
    optimizer_.descend(lr, model_.parameters(), tree_.target());
    return norm;
  }
  optimizer_.update(step_, lr, model_.parameters(), tree_.target(), clipFactor(norm, options_.clip));
  return norm;
}

double Trainer::validationLoss() {
  const std::span<const std::uint16_t> tokens = data_.validation();
  const std::size_t context = options_.model.context;
  const std::size_t samples = options_.val_samples;
  const Share mine = shareOf(samples, ranksOf(group_), static_cast<std::size_t>(group_.rank()));
  std::vector<double> losses(samples, 0.0);
  for (std::size_t sample = mine.first; sample < mine.last; ++sample) {
    // One a pass, for equal bits.
    losses[sample] = passForward(tokens, {validationStart(tokens.size(), context, sample, samples)}, false).front();
  }
  group_.sum(losses);
  return lossPerToken(losses, context);
}

TrainingState Trainer::state() {
  TrainingState state;
  state.step = step_;
  state.parameters.resize(model_.table().count());
  ops_.download(state.parameters.data(), model_.parameters(), state.parameters.size() * sizeof(float));
  state.first_moments = optimizer_.firstMoments().download();
  state.second_moments = optimizer_.secondMoments().download();
  state.settings = settings_;
  state.sync = replicas_->spec();
  state.grid = grid();
  return state;
}

void Trainer::saveCheckpoint() {
  if (!checkpoints_.isDue(step_)) return;
  TrainingState mine;
  if (replicas_->hasLocalSteps()) {
    mine = state();
    gatherOthers(mine);
  } else if (checkpoints_.isWriter()) {
    mine = state();
  }
  checkpoints_.save(step_, std::move(mine));
}

/// Rank 0 gets what the other ranks need to go on.
void Trainer::gatherOthers(TrainingState& state) {
  if (group_.rank() != 0) {
    moveVectors(group_, state, group_.rank(), Group::Direction::toRoot);
  } else {
    const std::size_t count = model_.table().count();
    for (int peer = 1; peer < group_.size(); ++peer) {
      ReplicaState& other = state.others.emplace_back();
      for (std::vector<float>* vector : {&other.parameters, &other.first_moments, &other.second_moments})
        vector->resize(count);
      moveVectors(group_, other, peer, Group::Direction::toRoot);
    }
  }
  std::vector<ReplicaState*> copies = {&state};
  for (ReplicaState& other : state.others)
    copies.push_back(&other);
  checkpoints_.gatherRanks({replicas_->state(), ""}, copies);
}

void Trainer::finishCard() {
  const ReplicaTraffic traffic = replicas_->traffic();
  card_.settings = settings_;
  card_.sync = replicas_->spec();
  card_.ranks = group_.size();
  card_.first_step = step_ - card_.losses.size();
  card_.tokens_per_step = options_.batch * options_.model.context;
  if (trained_samples_ > 0) { // without those that ranks left out
    const double samples = trained_samples_ / static_cast<double>(card_.losses.size());
    card_.tokens_per_step = static_cast<std::size_t>(samples * static_cast<double>(options_.model.context));
  }
  card_.exchanged_bytes = traffic.exchanged_bytes;
  card_.wire_bytes = traffic.wire_bytes_sent;
  card_.edge_bytes = traffic.edge_bytes_sent;
  card_.waited_s = traffic.waited_s;
  report_.note(summarize(card_));
  if (const std::string missed = missedExchanges(*replicas_); !missed.empty() && group_.size() > 1)
    report_.note(missed);
  if (!options_.run.empty()) writeRun(options_.run, card_);
}

void Trainer::printSample() {
  const std::vector<std::int32_t> tokens =
      sampleTokens(model_, prompt_, {options_.sample, options_.temperature, options_.seed});
  report_.sample(renderTokens(prompt_, data_.isText()), renderTokens(tokens, data_.isText()));
}

} // namespace goss::trainer
