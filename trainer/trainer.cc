#include "trainer/trainer.h"

#include <xxhash.h>

#include <algorithm>
#include <cmath>

#include "trainer/error.h"
#include "trainer/sampler.h"

namespace goss::trainer {

namespace {

std::size_t ranksOf(const Group& group) { return static_cast<std::size_t>(group.size()); }

/// Validates before anything is allocated by the sizes.
const TrainOptions& checked(const TrainOptions& options, const Dataset& data, const Group& group) {
  checkModelConfig(options.model);
  checkTrainOptions(options, ranksOf(group));
  data.check(options.model.context, options.model.vocab);
  return options;
}

double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

constexpr double kBytesPerMb = 1024.0 * 1024.0;

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
      buckets_(group, ops, model_.table().count(), static_cast<std::size_t>(options.bucket_mb * kBytesPerMb)),
      schedule_{options.lr, options.lr * options.final_lr, options.warmup, options.steps},
      settings_(trajectorySettings(options, data.fingerprint())),
      prompt_(makePrompt()),
      started_(Clock::now()),
      inputs_(options.micro_batch * options.model.context),
      targets_(options.micro_batch * options.model.context) {
  checkAgreement();
  if (group.rank() == 0 && !options.checkpoint.empty()) {
    store_.emplace(options.checkpoint, options.keep);
    store_->prepare();
  }
  startParameters();
  noteStart();
}

void Trainer::checkAgreement() {
  if (!group_.allEqual(data_.fingerprint())) {
    fail("the ranks read different data; give every rank the same --data file");
  }
  // Beside what decides the numbers: what decides which collectives are called when.
  const std::string calls =
      fmt::format("{} {} {} {}", settings_, options_.bucket_mb, options_.val_every, options_.val_samples);
  if (!group_.allEqual(XXH3_64bits(calls.data(), calls.size()))) {
    fail("the ranks were started with different options; give every rank the same command line");
  }
}

// Rank 0's state is everybody's, so a checkpoint needs no shared file system and every rank starts with the same bits.
void Trainer::startParameters() {
  TrainingState state;
  state.first_moments.resize(model_.table().count());
  state.second_moments.resize(model_.table().count());
  state.parameters = model_.table().initialValues(options_.seed);
  if (store_ && options_.resume) {
    if (std::optional<TrainingState> loaded = store_->loadLatest(options_.model, model_.table())) {
      state = std::move(*loaded);
      report_.note(fmt::format("resumed from step {} of {}", state.step, options_.checkpoint));
      if (state.settings != settings_) {
        report_.note(fmt::format("note: the checkpoint was written with other settings: {}", state.settings));
      }
    } else {
      report_.note(fmt::format("no checkpoint in {} yet: starting from step 0", options_.checkpoint));
    }
  }
  std::uint64_t step = state.step;
  group_.broadcast(&step, sizeof(step));
  const std::size_t bytes = model_.table().count() * sizeof(float);
  group_.broadcast(state.parameters.data(), bytes);
  group_.broadcast(state.first_moments.data(), bytes);
  group_.broadcast(state.second_moments.data(), bytes);
  model_.setParameters(state.parameters);
  optimizer_.firstMoments().upload(state.first_moments);
  optimizer_.secondMoments().upload(state.second_moments);
  step_ = saved_step_ = step;
}

void Trainer::noteStart() {
  const ModelConfig& m = options_.model;
  report_.note(fmt::format("{} parameters ({} layers, {} channels, {} heads, vocabulary {}), {} rank{} on {}",
                           model_.table().count(), m.layers, m.channels, m.heads, m.vocab, group_.size(),
                           group_.size() == 1 ? "" : "s", ops_.name()));
  report_.note(fmt::format("{} training tokens, {} for validation; {} steps of {} x {} tokens; {} gradient bucket{}",
                           data_.training().size(), data_.validation().size(), options_.steps, options_.batch,
                           m.context, buckets_.bucketCount(), buckets_.bucketCount() == 1 ? "" : "s"));
  report_.begin({options_.steps, step_, options_.batch * m.context, options_.print_every, group_.size()}, settings_);
}

void Trainer::run() {
  started_ = Clock::now();
  bool go_on = true;
  while (go_on && step_ < options_.steps) {
    go_on = trainStep();
    const bool is_last = !go_on || step_ == options_.steps;
    if (is_last || (options_.val_every != 0 && step_ % options_.val_every == 0)) {
      report_.validation(step_, validationLoss());
    }
    if (is_last || (options_.checkpoint_every != 0 && step_ % options_.checkpoint_every == 0)) saveCheckpoint();
  }
  if (!go_on) report_.note(fmt::format("stopped by --time-limit after step {}", step_));
  group_.barrier(); // nobody leaves while another rank may still need it
  if (group_.rank() == 0 && options_.sample != 0) printSample();
}

bool Trainer::trainStep() {
  const Clock::time_point start = Clock::now();
  const std::size_t per_pass = options_.micro_batch;
  // One loss a sample, each from the rank that has it, and a last element that is above 0 when rank 0 wants to stop.
  std::vector<double> losses(options_.batch + 1, 0.0);
  std::vector<std::size_t> starts(per_pass);
  tree_.reset();
  buckets_.begin(tree_.target());
  for (std::size_t pass = share_.first; pass < share_.last; ++pass) {
    for (std::size_t i = 0; i < per_pass; ++i) {
      starts[i] =
          windowStart(options_.seed, step_, pass * per_pass + i, data_.training().size(), options_.model.context);
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
  buckets_.wait();
  const bool is_late = options_.time_limit_s > 0 && secondsSince(started_) > options_.time_limit_s;
  losses.back() = group_.rank() == 0 && is_late ? 1.0 : 0.0;
  group_.sum(losses);
  double loss = 0;
  for (std::size_t i = 0; i < options_.batch; ++i)
    loss += losses[i];
  loss /= static_cast<double>(options_.batch * options_.model.context);

  const double lr = schedule_.at(step_);
  const double norm = updateParameters(lr);
  ++step_;
  loss_history_.push_back(loss);
  report_.step({step_, loss, lr, norm, secondsSince(start)});
  return losses.back() == 0.0;
}

/// The backward pass of a step's last micro-batch: as ranges of the gradient become final, the earlier micro-batches
/// are added to them and their buckets leave for the other ranks.
void Trainer::backwardLast(std::size_t count) {
  std::size_t final_from = count;
  model_.backward(tree_.target(), [this, &final_from](std::size_t first) {
    tree_.finish(first, final_from);
    final_from = first;
    buckets_.ready(first);
  });
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
  return model_.losses(targets, with_gradient, 1.0f / static_cast<float>(options_.batch * context));
}

/// Clips, updates, and returns the gradient's norm before clipping. The gradient has the same bits on all ranks, and so
/// have the parameters afterwards.
double Trainer::updateParameters(double lr) {
  constexpr double kTiny = 1e-6;
  const double norm = std::sqrt(ops_.squaredNorm(tree_.target(), model_.table().count()));
  if (!std::isfinite(norm)) {
    fail("the gradient is not finite in step {}: the run diverged; lower --lr or lengthen --warmup", step_ + 1);
  }
  const double factor = options_.clip > 0 ? std::min(1.0, options_.clip / (norm + kTiny)) : 1.0;
  optimizer_.update(step_, lr, model_.parameters(), tree_.target(), factor);
  return norm;
}

double Trainer::validationLoss() {
  const std::span<const std::uint16_t> tokens = data_.validation();
  const std::size_t context = options_.model.context;
  const std::size_t samples = options_.val_samples;
  const Share mine = shareOf(samples, ranksOf(group_), static_cast<std::size_t>(group_.rank()));
  std::vector<double> losses(samples, 0.0);
  for (std::size_t sample = mine.first; sample < mine.last; ++sample) {
    // Windows at even distances, the same for every number of ranks and every call. One a pass, for equal bits.
    const std::size_t start = samples == 1 ? 0 : (tokens.size() - context - 1) * sample / (samples - 1);
    losses[sample] = passForward(tokens, {start}, false).front();
  }
  group_.sum(losses);
  double total = 0;
  for (const double loss : losses)
    total += loss;
  return total / static_cast<double>(samples * context);
}

TrainingState Trainer::state() {
  TrainingState state;
  state.step = step_;
  state.parameters.resize(model_.table().count());
  ops_.download(state.parameters.data(), model_.parameters(), state.parameters.size() * sizeof(float));
  state.first_moments = optimizer_.firstMoments().download();
  state.second_moments = optimizer_.secondMoments().download();
  state.settings = settings_;
  return state;
}

void Trainer::saveCheckpoint() {
  if (!store_ || saved_step_ == step_) return;
  store_->save(options_.model, model_.table(), state());
  saved_step_ = step_;
  report_.checkpoint(step_);
}

std::vector<std::int32_t> Trainer::makePrompt() const {
  constexpr std::size_t kTokenPrompt = 8;
  std::vector<std::int32_t> prompt;
  if (data_.isText()) {
    for (const char c : options_.prompt)
      prompt.push_back(static_cast<unsigned char>(c));
  } else { // there is no tokenizer here: continue the validation data
    const std::size_t count = std::min(kTokenPrompt, options_.model.context);
    for (const std::uint16_t token : data_.validation().first(count))
      prompt.push_back(token);
  }
  for (const std::int32_t token : prompt) {
    if (static_cast<std::size_t>(token) >= options_.model.vocab) fail("--prompt has byte {}, not below --vocab", token);
  }
  return prompt;
}

void Trainer::printSample() {
  const std::vector<std::int32_t> tokens =
      sampleTokens(model_, prompt_, {options_.sample, options_.temperature, options_.seed});
  report_.sample(renderTokens(prompt_, data_.isText()), renderTokens(tokens, data_.isText()));
}

} // namespace goss::trainer
