#include "trainer/pipeline/pipeline_trainer.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "trainer/base/error.h"
#include "trainer/base/share.h"
#include "trainer/data/sampler.h"
#include "trainer/model/gpt.h"
#include "trainer/model/gradient_norm.h"
#include "trainer/pipeline/unflushed_run.h"
#include "trainer/ranks/agreement.h"
#include "trainer/ranks/losses.h"

namespace goss::trainer {

namespace {

const TrainOptions& checked(const TrainOptions& options, const Dataset& data) {
  checkModelConfig(options.model);
  checkTrainOptions(options, 1); // what depends on the ranks is withMicroBatches' and the grid's to say
  data.check(options.model.context, options.model.vocab);
  return options;
}

/// The replicas of a plain data parallel run are one island. Other synchronizers stand between any two of them unless
/// --islands says otherwise.
std::size_t islandsOf(const TrainOptions& o, std::size_t replicas) {
  if (o.islands != 0) return o.islands;
  return o.sync == "ddp" ? 1 : replicas;
}

PipelineShape shapeOf(const TrainOptions& o, std::size_t ranks) {
  const std::size_t replicas = std::max<std::size_t>(1, ranks / o.pipeline);
  return {o.schedule,
          static_cast<int>(o.pipeline),
          static_cast<int>(o.batch / o.micro_batch / replicas),
          static_cast<int>(o.model.layers),
          static_cast<int>(islandsOf(o, replicas)),
          o.recompute};
}

PipelineRankSetup setupOf(const TrainOptions& o, const PipelineGrid& grid) {
  return {o.model,
          grid.stages(),
          grid.owned(),
          o.micro_batch,
          o.batch / o.micro_batch / static_cast<std::size_t>(grid.replicas()),
          {.eps = o.adam_eps, .weight_decay = o.weight_decay}};
}

/// Offsets of the same tensors in two tables: `body(whole, own, count)` for each tensor of `own`.
template <typename Body>
void forSameTensors(const ParameterTable& whole, const ParameterTable& own, Body body) {
  std::map<std::string, std::size_t> offsets;
  for (const Parameter& p : whole.parameters())
    offsets[p.name] = p.offset;
  for (const Parameter& p : own.parameters())
    body(offsets.at(p.name), p.offset, p.count);
}

} // namespace

TrainOptions withMicroBatches(const TrainOptions& options, std::size_t ranks) {
  TrainOptions result = options;
  checkGrid(static_cast<int>(ranks), static_cast<int>(options.pipeline),
            static_cast<int>(std::max<std::size_t>(1, options.islands)));
  const std::size_t replicas = ranks / options.pipeline;
  if (options.micro_batches != 0) {
    if (options.batch % (options.micro_batches * replicas) != 0) {
      fail("--batch {} does not divide into {} pipelines of --micro-batches {}", options.batch, replicas,
           options.micro_batches);
    }
    result.micro_batch = options.batch / (options.micro_batches * replicas);
    result.micro_batches = 0; // said
  }
  if (result.micro_batch == 0 || result.batch % (result.micro_batch * replicas) != 0) {
    fail("--batch {} is not a number of micro-batches of {} samples for each of {} pipelines", result.batch,
         result.micro_batch, replicas);
  }
  return result;
}

// NOLINTNEXTLINE(readability-function-size): all that it works with
PipelineTrainer::PipelineTrainer(const TrainOptions& options, const Dataset& data, Group& group, goss_comm_t world,
                                 Ops& ops, Report& report)
    : options_(withMicroBatches(checked(options, data), static_cast<std::size_t>(group.size()))),
      data_(data),
      group_(group),
      ops_(ops),
      report_(report),
      grid_(world, shapeOf(options_, static_cast<std::size_t>(group.size()))),
      table_(options_.model),
      rank_(setupOf(options_, grid_), ops),
      schedule_{options.lr, options.lr * options.final_lr, options.warmup, options.steps},
      settings_(trajectorySettings(options_, data.fingerprint())),
      prompt_(promptTokens(options_.prompt, data, options_.model)),
      windows_{options_.seed, options_.samples, data.training().size(), options_.model.context},
      checkpoints_(options_, table_, group, report),
      time_limit_(options.time_limit_s) {
  checkAgreement();
  checkUnflushed();
  checkDrains();
  if (grid_.islands() > 1 || options_.sync != "ddp") sync_.emplace(grid_.acrossIslands(), options_.sync, rank_, ops_);
  compressBoundaries();
  startParameters();
  noteStart();
}

std::size_t PipelineTrainer::microBatches() const {
  return options_.batch / options_.micro_batch / static_cast<std::size_t>(grid_.replicas());
}

void PipelineTrainer::checkAgreement() {
  requireSameKindOfDevice(group_, ops_);
  requireAgreement(group_, data_.fingerprint(),
                   fmt::format("{} {} {} {} {} {} {} {} {} {} {} {}", settings_, options_.activation_codec,
                               options_.gradient_codec, options_.activation_deltas, options_.pipeline, options_.islands,
                               options_.recompute, options_.schedule, options_.val_every, options_.val_samples,
                               options_.checkpoint_every, grid_.text()));
}

void PipelineTrainer::checkUnflushed() const {
  if (grid_.flushes()) return;
  if (options_.clip != 0) {
    fail("--schedule {} updates each stage by itself, so there is no norm of the whole gradient: give --clip 0",
         options_.schedule);
  }
  if (grid_.islands() > 1 || options_.sync != "ddp") {
    fail("--schedule {} does not flush, so there is no moment for --sync {}: take a schedule that does, such as 1f1b",
         options_.schedule, options_.sync);
  }
}

/// A file's schedule drains at its end, wherever a validation or a checkpoint is due.
void PipelineTrainer::checkDrains() const {
  const auto batches = static_cast<std::size_t>(grid_.fixedBatches());
  if (grid_.flushes() || batches <= 1) return;
  for (const std::size_t steps : {options_.steps, options_.val_every, options_.checkpoint_every, step_}) {
    if (steps % batches != 0) {
      fail(
          "--schedule {} does not flush and spans {} steps: --steps, --val-every, --checkpoint-every and the step of a "
          "checkpoint to go on from have to be multiples of that, {} is not",
          options_.schedule, batches, steps);
    }
  }
}

void PipelineTrainer::compressBoundaries() {
  if (options_.activation_codec.empty() && options_.gradient_codec.empty()) return;
  grid_.compress({options_.activation_codec, options_.gradient_codec, options_.activation_deltas,
                  options_.activation_cache, boundaryElems(1)},
                 [this](int micro_batch, std::size_t index) {
                   const auto k = static_cast<std::size_t>(micro_batch);
                   return windows_.numberOf(step_ + k / microBatches(), firstSample(k % microBatches()) + index);
                 });
}

/// Ranks at the same place of equal grids hold the same stages of the same copy.
std::string PipelineTrainer::grid() const {
  std::vector<int> places;
  for (int stage = 0; stage < grid_.stages(); ++stage)
    places.push_back(grid_.rankOf(stage));
  return fmt::format("{} islands of {} pipelines of {} ranks with stages on ranks {}", grid_.islands(),
                     grid_.replicas() / grid_.islands(), options_.pipeline, fmt::join(places, " "));
}

// Every rank gets a whole model once, and keeps its stages' part.
void PipelineTrainer::startParameters() {
  RunCheckpoints::Start start = checkpoints_.start(settings_, sync_ ? sync_->spec() : options_.sync, grid());
  step_ = start.step;
  for (const auto& stage : rank_.stages()) {
    StageModel& model = stage->model;
    forSameTensors(table_, model.table(), [&](std::size_t whole, std::size_t own, std::size_t count) {
      const std::size_t bytes = count * sizeof(float);
      ops_.upload(model.parameters() + own, start.model.parameters.data() + whole, bytes);
      ops_.upload(stage->optimizer.firstMoments().data() + own, start.model.first_moments.data() + whole, bytes);
      ops_.upload(stage->optimizer.secondMoments().data() + own, start.model.second_moments.data() + whole, bytes);
    });
  }
  checkDrains(); // the step that was resumed
  grid_.restoreActivations(start.activations);
  if (sync_) {
    const std::string left_behind = sync_->start(start.sync);
    if (!left_behind.empty()) report_.note("note: " + left_behind);
  }
  shareHeadWeight(); // of the island
}

void PipelineTrainer::noteStart() {
  const ModelConfig& m = options_.model;
  report_.note(fmt::format("{} parameters ({} layers, {} channels, {} heads, vocabulary {}) on {}", table_.count(),
                           m.layers, m.channels, m.heads, m.vocab, ops_.name()));
  report_.note(fmt::format("{} pipeline{} of {} ranks and {} stages: {}, {} micro-batches of {} x {} tokens",
                           grid_.replicas(), grid_.replicas() == 1 ? "" : "s", options_.pipeline, grid_.stages(),
                           options_.schedule, microBatches(), options_.micro_batch, m.context));
  report_.note(fmt::format("{} training tokens, {} for validation; {} steps of {} x {} tokens", data_.training().size(),
                           data_.validation().size(), options_.steps, options_.batch, m.context));
  if (sync_) {
    report_.note(fmt::format("{} island{} kept together by {}", grid_.islands(), grid_.islands() == 1 ? "" : "s",
                             sync_->spec()));
  }
  report_.begin({options_.steps, step_, options_.batch * m.context, options_.print_every, group_.size()}, settings_);
}

void PipelineTrainer::run() {
  try {
    runSteps();
    finish();
  } catch (const std::exception& error) {
    if (sync_) sync_->abort(error.what());
    grid_.abort(error.what());
    throw;
  }
}

void PipelineTrainer::runSteps() {
  time_limit_.restart();
  bool go_on = true;
  if (step_ != 0 && (options_.val_every != 0 || step_ >= options_.steps)) validate(); // what was resumed
  while (go_on && step_ < options_.steps) {
    go_on = grid_.flushes() ? trainStep() : trainWithoutFlush();
    checkpoints_.poll();
    const bool is_last = !go_on || step_ == options_.steps;
    if (step_ == options_.steps) endSync(); // not when stopped: the run may go on
    if (is_last || (options_.val_every != 0 && step_ % options_.val_every == 0)) validate();
    if (is_last || (options_.checkpoint_every != 0 && step_ % options_.checkpoint_every == 0)) saveCheckpoint();
  }
  checkpoints_.finish();
  if (!go_on) report_.note(fmt::format("stopped by --time-limit after step {}", step_));
}

void PipelineTrainer::validate() {
  card_.validation.emplace_back(step_, validationLoss());
  report_.validation(step_, card_.validation.back().second);
}

void PipelineTrainer::load(std::size_t step, std::size_t micro_batch, std::span<std::int32_t> inputs,
                           std::span<std::int32_t> targets) const {
  const std::size_t context = options_.model.context;
  for (std::size_t i = 0; i < options_.micro_batch; ++i) {
    const std::size_t sample = firstSample(micro_batch) + i;
    readWindow(data_.training(), windows_.startOf(step, sample), inputs.subspan(i * context, context),
               targets.subspan(i * context, context));
  }
}

bool PipelineTrainer::trainStep() {
  const Clock::time_point start = Clock::now();
  const std::size_t first = static_cast<std::size_t>(grid_.replica()) * microBatches();
  const std::size_t context = options_.model.context;
  rank_.begin([this](std::size_t k, std::span<std::int32_t> inputs,
                     std::span<std::int32_t> targets) { load(step_, k, inputs, targets); },
              static_cast<float>(grid_.islands()) / static_cast<float>(options_.batch * context),
              {.recomputed = grid_.recomputed()});
  if (sync_) sync_->setLr(schedule_.at(step_));
  grid_.run(boundaryElems(options_.micro_batch) * sizeof(float),
            [this](const goss_pipeline_action& action, const void* input, void* output) {
              const Clock::time_point began = Clock::now();
              act(action, input, output);
              computed_s_ += secondsSince(began);
            });
  exchangeHeadGradients();
  for (const auto& stage : rank_.stages()) {
    rank_.finishGradient(*stage);
    grid_.sumOverReplicas(stage->gradient, ops_);
  }
  if (sync_) sync_->gradients();

  std::vector<double> losses(options_.batch + 1, 0.0);
  std::copy(rank_.losses().begin(), rank_.losses().end(),
            losses.begin() + static_cast<std::ptrdiff_t>(first * options_.micro_batch));
  losses.back() = group_.rank() == 0 && time_limit_.isOver() ? 1.0 : 0.0;
  group_.sum(losses);
  const double loss = lossPerToken(std::span(losses).first(options_.batch), context);

  const double lr = schedule_.at(step_);
  const double norm = updateParameters(lr);
  ++step_;
  card_.losses.push_back(loss);
  card_.step_seconds.push_back(secondsSince(start));
  report_.step({step_, loss, lr, norm, card_.step_seconds.back()});
  return losses.back() == 0.0;
}

/// Steps to the next validation or checkpoint, or to the end: there the pipeline drains.
std::size_t PipelineTrainer::stepsUntilEvent() const {
  std::size_t next = options_.steps;
  for (const std::size_t every : {options_.val_every, options_.checkpoint_every}) {
    if (every != 0) next = std::min(next, (step_ / every + 1) * every);
  }
  return next - step_;
}

/// Rank 0 learns of losses on the way and tells the others at the end.
bool PipelineTrainer::trainWithoutFlush() {
  const auto fixed = static_cast<std::size_t>(grid_.fixedBatches());
  const std::size_t steps = fixed != 0 ? fixed : stepsUntilEvent();
  grid_.prepare(static_cast<int>(steps));
  std::vector<double> told; // (loss, seconds) of each step, and whether to stop
  Clock::time_point began = Clock::now();
  UnflushedRun run({grid_, rank_, ops_, setupOf(options_, grid_), schedule_, step_, steps});
  run.run(
      [this](std::size_t k, std::span<std::int32_t> inputs, std::span<std::int32_t> targets) {
        load(step_ + k / microBatches(), k % microBatches(), inputs, targets);
      },
      [this, &told, &began](double sum) {
        if (group_.rank() != 0) return;
        const std::size_t step = step_ + told.size() / 2;
        told.push_back(sum / static_cast<double>(options_.batch * options_.model.context));
        told.push_back(secondsSince(began));
        began = Clock::now();
        report_.step({step + 1, told[told.size() - 2], schedule_.at(step), 0.0, told.back()});
      });
  told.resize(2 * steps);
  told.push_back(time_limit_.isOver() ? 1.0 : 0.0);
  group_.broadcast(told.data(), told.size() * sizeof(double));
  for (std::size_t i = 0; i < steps; ++i) {
    card_.losses.push_back(told[2 * i]);
    card_.step_seconds.push_back(told[2 * i + 1]);
  }
  computed_s_ += run.computedSeconds();
  step_ += steps;
  return told.back() == 0.0;
}

/// Reductions and steps wait for the end of the schedule: clipping needs the norm over all stages.
void PipelineTrainer::act(const goss_pipeline_action& action, const void* input, void* output) {
  switch (action.kind) {
    case GOSS_PIPELINE_FORWARD:
      return rank_.forward(action.stage, action.micro_batch, static_cast<const float*>(input),
                           static_cast<float*>(output));
    case GOSS_PIPELINE_BACKWARD:
      rank_.inputGrad(action.stage, action.micro_batch, static_cast<const float*>(input), static_cast<float*>(output));
      return rank_.weightGrad(action.stage, action.micro_batch);
    case GOSS_PIPELINE_BACKWARD_INPUT:
      return rank_.inputGrad(action.stage, action.micro_batch, static_cast<const float*>(input),
                             static_cast<float*>(output));
    case GOSS_PIPELINE_RECOMPUTE:
      return rank_.recompute(action.stage, action.micro_batch);
    case GOSS_PIPELINE_BACKWARD_WEIGHT:
      return rank_.weightGrad(action.stage, action.micro_batch);
    default:
      return;
  }
}

void PipelineTrainer::exchangeHeadGradients() {
  const int first_rank = grid_.rankOf(0);
  const int last_rank = grid_.rankOf(grid_.stages() - 1);
  const bool is_local = first_rank == last_rank;
  std::vector<float> received(is_local ? 0 : options_.model.vocab * options_.model.channels);
  for (std::size_t k = 0; k < microBatches(); ++k) {
    if (rank_.lastStage() != nullptr && !is_local) {
      grid_.startSend(rank_.headGrads()[k].data(), rank_.headGrads()[k].size() * sizeof(float), first_rank);
    }
    if (rank_.firstStage() == nullptr) continue;
    if (!is_local) grid_.recv(received.data(), received.size() * sizeof(float), last_rank);
    rank_.addHeadGrad(k, is_local ? rank_.headGrads()[k] : received);
  }
  grid_.waitSends();
}

double PipelineTrainer::updateParameters(double lr) {
  // Of each tensor of the whole model, from the one rank of the pipeline that holds it.
  std::vector<double> squares(table_.parameters().size(), 0.0);
  for (const auto& stage : rank_.stages()) {
    const std::vector<double> own = squaredNorms(ops_, stage->model.table(), stage->gradient.data());
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::string& name = stage->model.table().parameters()[i].name;
      const auto whole = std::find_if(table_.parameters().begin(), table_.parameters().end(),
                                      [&name](const Parameter& p) { return p.name == name; });
      squares[static_cast<std::size_t>(whole - table_.parameters().begin())] = own[i];
    }
  }
  grid_.sumOverPipeline(squares);
  const double norm = normOf(squares);
  requireFinite(norm, step_ + 1);
  const double factor = clipFactor(norm, options_.clip);
  for (const auto& stage : rank_.stages()) {
    if (sync_ && sync_->givesSigns()) {
      stage->optimizer.descend(lr, stage->model.parameters(), stage->gradient.data());
    } else {
      stage->optimizer.update(step_, lr, stage->model.parameters(), stage->gradient.data(), factor);
    }
  }
  if (sync_) sync_->step();
  shareHeadWeight();
  return norm;
}

void PipelineTrainer::endSync() {
  if (!sync_) return;
  sync_->finish();
  shareHeadWeight();
}

/// The last stage gets the token embedding that the first one has.
void PipelineTrainer::shareHeadWeight() {
  const int first_rank = grid_.rankOf(0);
  const int last_rank = grid_.rankOf(grid_.stages() - 1);
  std::vector<float> weight(options_.model.vocab * options_.model.channels);
  const std::size_t bytes = weight.size() * sizeof(float);
  if (rank_.firstStage() != nullptr) {
    ops_.download(weight.data(), rank_.firstStage()->model.headWeight(), bytes);
    if (first_rank != last_rank) grid_.send(weight.data(), bytes, last_rank);
  }
  if (rank_.lastStage() == nullptr || rank_.lastStage() == rank_.firstStage()) return;
  if (first_rank != last_rank) grid_.recv(weight.data(), bytes, first_rank);
  ops_.upload(rank_.lastStage()->model.headWeight(), weight.data(), bytes);
}

double PipelineTrainer::validationLoss() {
  std::vector<double> losses(options_.val_samples, 0.0);
  for (const auto& stage : rank_.stages())
    validateStage(*stage, losses);
  grid_.waitSends();
  sent_.clear();
  group_.sum(losses);
  return lossPerToken(losses, options_.model.context);
}

/// All samples of this pipeline through one stage, one after the other, for equal bits. Outputs are sent as they come,
/// or kept for the next stage if that is here too.
void PipelineTrainer::validateStage(PipelineRank::Stage& stage, std::vector<double>& losses) {
  const std::span<const std::uint16_t> tokens = data_.validation();
  const std::size_t context = options_.model.context;
  const Share mine = shareOf(options_.val_samples, static_cast<std::size_t>(grid_.replicas()),
                             static_cast<std::size_t>(grid_.replica()));
  const StageRange& range = stage.model.range();
  std::vector<std::int32_t> inputs(context), targets(context);
  std::vector<float> input(boundaryElems(1));
  std::vector<std::vector<float>> outputs(mine.count());
  for (std::size_t sample = mine.first; sample < mine.last; ++sample) {
    readWindow(tokens, validationStart(tokens.size(), context, sample, options_.val_samples), inputs, targets);
    const bool is_after_own = !range.is_first && grid_.rankOf(stage.number - 1) == grid_.rank();
    if (is_after_own) {
      input = sent_.back()[sample - mine.first];
    } else if (!range.is_first) {
      grid_.recv(input.data(), input.size() * sizeof(float), grid_.rankOf(stage.number - 1));
    }
    std::vector<float>& output = outputs[sample - mine.first];
    if (!range.is_last) output.resize(boundaryElems(1));
    stage.model.forward(0, inputs, input.data(), output.data());
    if (range.is_last) {
      losses[sample] = stage.model.losses(0, targets, false, 0.0f).front();
    } else if (grid_.rankOf(stage.number + 1) != grid_.rank()) {
      grid_.startSend(output.data(), output.size() * sizeof(float), grid_.rankOf(stage.number + 1));
    }
    stage.model.release(0);
  }
  sent_.push_back(std::move(outputs)); // lent until waitSends
}

/// Collective over rank 0 and the first pipeline of `island`: rank 0 gets its whole model.
void PipelineTrainer::gatherIsland(int island, ReplicaState& whole) {
  const int first_replica = island * (grid_.replicas() / grid_.islands());
  const bool is_root = group_.rank() == 0;
  const auto gather = [&](std::vector<float>& vector, auto&& memory_of) {
    if (is_root) vector.resize(table_.count());
    for (int number = 0; number < grid_.stages(); ++number) {
      const StageRange range = stageRange(options_.model, grid_.stages(), number);
      const ParameterTable table(options_.model, range.layers.first, range.layers.last, range.is_first, range.is_last);
      const int owner = first_replica * static_cast<int>(options_.pipeline) + grid_.rankOf(number);
      if (!is_root && owner != group_.rank()) continue;
      std::vector<float> part(table.count());
      if (owner == group_.rank()) ops_.download(part.data(), memory_of(rank_.at(number)), part.size() * sizeof(float));
      if (owner != 0) group_.move(part.data(), part.size() * sizeof(float), owner, Group::Direction::toRoot);
      if (!is_root) continue;
      forSameTensors(table_, table, [&](std::size_t to, std::size_t from, std::size_t count) {
        std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(from), count,
                    vector.begin() + static_cast<std::ptrdiff_t>(to));
      });
    }
  };
  gather(whole.parameters, [](PipelineRank::Stage& stage) { return stage.model.parameters(); });
  gather(whole.first_moments, [](PipelineRank::Stage& stage) { return stage.optimizer.firstMoments().data(); });
  gather(whole.second_moments, [](PipelineRank::Stage& stage) { return stage.optimizer.secondMoments().data(); });
}

TrainingState PipelineTrainer::state() {
  TrainingState state;
  state.step = step_;
  state.settings = settings_;
  state.sync = sync_ ? sync_->spec() : options_.sync;
  state.grid = grid();
  gatherIsland(0, state);
  return state;
}

void PipelineTrainer::saveCheckpoint() {
  if (!checkpoints_.isDue(step_)) return;
  TrainingState saved = state();
  const bool differ = sync_ && sync_->hasLocalSteps();
  if (differ || options_.activation_deltas) {
    std::vector<ReplicaState*> islands = {&saved};
    if (differ) saved.others.resize(static_cast<std::size_t>(grid_.islands()) - 1);
    for (ReplicaState& other : saved.others) {
      gatherIsland(static_cast<int>(islands.size()), other);
      islands.push_back(&other);
    }
    checkpoints_.gatherRanks({differ ? sync_->state() : "", grid_.activations()}, islands);
  }
  checkpoints_.save(step_, group_.rank() == 0 ? std::move(saved) : TrainingState());
}

void PipelineTrainer::finish() {
  const TrainingState whole = state();
  group_.barrier(); // nobody leaves while another rank may still need it
  if (group_.rank() != 0) return;
  if (options_.sample != 0) {
    Gpt model(options_.model, 1, ops_);
    model.setParameters(whole.parameters);
    const std::vector<std::int32_t> tokens =
        sampleTokens(model, prompt_, {options_.sample, options_.temperature, options_.seed});
    report_.sample(renderTokens(prompt_, data_.isText()), renderTokens(tokens, data_.isText()));
  }
  card_.settings = settings_;
  card_.sync =
      fmt::format("pipeline {} of {} ranks, {} micro-batches", options_.schedule, options_.pipeline, microBatches());
  if (!options_.activation_codec.empty()) {
    card_.sync +=
        fmt::format("; activations {}{}", options_.activation_deltas ? "AQ-SGD " : "", options_.activation_codec);
  }
  if (!options_.gradient_codec.empty()) card_.sync += fmt::format("; their gradients {}", options_.gradient_codec);
  if (sync_) card_.sync += fmt::format("; {} islands, {}", grid_.islands(), sync_->spec());
  card_.ranks = group_.size();
  card_.first_step = step_ - card_.losses.size();
  card_.tokens_per_step = options_.batch * options_.model.context;
  card_.wire_bytes = grid_.wireBytesSent();
  if (sync_) {
    const ReplicaTraffic traffic = sync_->traffic();
    card_.exchanged_bytes = traffic.exchanged_bytes;
    card_.wire_bytes += traffic.wire_bytes_sent;
    card_.edge_bytes = traffic.edge_bytes_sent;
  }
  card_.waited_s = std::max(0.0, card_.seconds() - computed_s_);
  report_.note(summarize(card_));
  if (const std::string missed = sync_ ? sync_->missedExchanges() : ""; !missed.empty()) report_.note(missed);
  if (!options_.run.empty()) writeRun(options_.run, card_);
}

} // namespace goss::trainer
