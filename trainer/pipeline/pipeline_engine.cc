#include "trainer/pipeline/pipeline_engine.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <utility>

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
  checkTrainOptions(options, 1); // withMicroBatches and the grid check what depends on the ranks
  data.check(options.model.context, options.model.vocab);
  return options;
}

/// The replicas of a plain data parallel run are one island. For other synchronizers each replica is an island, unless
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
          optimizerOf(o)};
}

/// Calls `body(whole, own, count)` with the offsets of each tensor of `own` in both tables.
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
    result.micro_batches = 0; // micro_batch says it already
  }
  if (result.micro_batch == 0 || result.batch % (result.micro_batch * replicas) != 0) {
    fail("--batch {} is not a number of micro-batches of {} samples for each of {} pipelines", result.batch,
         result.micro_batch, replicas);
  }
  return result;
}

PipelineEngine::PipelineEngine(const TrainOptions& options, const Dataset& data, const Ranks& ranks, Ops& ops,
                               Report& report)
    : StepEngine(TrainingRun(withMicroBatches(checked(options, data), static_cast<std::size_t>(ranks.group.size())),
                             data, ranks.group, ops, report)),
      grid_(ranks.world, shapeOf(run_.options, static_cast<std::size_t>(ranks.group.size()))),
      table_(run_.options.model),
      rank_(setupOf(run_.options, grid_), ops),
      windows_{run_.options.seed, run_.options.samples, data.training().size(), run_.options.model.context} {
  checkAgreement();
  checkUnflushed();
  checkDrains();
  if (grid_.islands() > 1 || run_.options.sync != "ddp")
    sync_.emplace(grid_.acrossIslands(), run_.options.sync, rank_, run_.ops);
  if (sync_) requireOptimizerActs(run_.options, sync_->givesSigns(), sync_->spec());
  compressBoundaries();
}

std::size_t PipelineEngine::microBatches() const {
  return run_.options.batch / run_.options.micro_batch / static_cast<std::size_t>(grid_.replicas());
}

void PipelineEngine::checkAgreement() {
  requireSameKindOfDevice(run_.group, run_.ops);
  requireAgreement(
      run_.group, run_.data.fingerprint(),
      fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {}", run_.settings, run_.options.sample != 0,
                  run_.options.activation_codec, run_.options.gradient_codec, run_.options.activation_deltas,
                  run_.options.pipeline, run_.options.islands, run_.options.recompute, run_.options.schedule,
                  run_.options.val_every, run_.options.val_samples, run_.options.checkpoint_every, grid_.text()));
}

void PipelineEngine::checkUnflushed() const {
  if (grid_.flushes()) return;
  if (run_.options.clip != 0) {
    fail("--schedule {} updates each stage by itself, so there is no norm of the whole gradient: give --clip 0",
         run_.options.schedule);
  }
  if (grid_.islands() > 1 || run_.options.sync != "ddp") {
    fail("--schedule {} does not flush, so there is no moment for --sync {}: take a schedule that does, such as 1f1b",
         run_.options.schedule, run_.options.sync);
  }
}

/// Checks that the schedule of a file drains at its end wherever a validation or a checkpoint is due.
void PipelineEngine::checkDrains() const {
  const auto batches = static_cast<std::size_t>(grid_.fixedBatches());
  if (grid_.flushes() || batches <= 1) return;
  for (const std::size_t steps :
       {run_.options.steps, run_.options.val_every, run_.options.checkpoint_every, run_.step}) {
    if (steps % batches != 0) {
      fail(
          "--schedule {} does not flush and spans {} steps: --steps, --val-every, --checkpoint-every and the step of a "
          "checkpoint to go on from have to be multiples of that, {} is not",
          run_.options.schedule, batches, steps);
    }
  }
}

void PipelineEngine::compressBoundaries() {
  if (run_.options.activation_codec.empty() && run_.options.gradient_codec.empty()) return;
  grid_.compress({run_.options.activation_codec, run_.options.gradient_codec, run_.options.activation_deltas,
                  run_.options.activation_cache, boundaryElems(1)},
                 [this](int micro_batch, std::size_t index) {
                   const auto k = static_cast<std::size_t>(micro_batch);
                   return windows_.numberOf(run_.step + k / microBatches(), firstSample(k % microBatches()) + index);
                 });
}

/// Ranks at the same position of equal grids hold the same stages of the same copy.
std::string PipelineEngine::grid() const {
  std::vector<int> ranks;
  for (int stage = 0; stage < grid_.stages(); ++stage)
    ranks.push_back(grid_.rankOf(stage));
  return fmt::format("{} islands of {} pipelines of {} ranks with stages on ranks {}", grid_.islands(),
                     grid_.replicas() / grid_.islands(), run_.options.pipeline, fmt::join(ranks, " "));
}

// Each rank gets the whole model once, and keeps its stages' part.
void PipelineEngine::start(const CheckpointStart& start) {
  for (const auto& stage : rank_.stages()) {
    StageModel& model = stage->model;
    forSameTensors(table_, model.table(), [&](std::size_t whole, std::size_t own, std::size_t count) {
      const std::size_t bytes = count * sizeof(float);
      run_.ops.upload(model.parameters() + own, start.model.parameters.data() + whole, bytes);
      run_.ops.upload(stage->optimizer.firstMoments().data() + own, start.model.first_moments.data() + whole, bytes);
      run_.ops.upload(stage->optimizer.secondMoments().data() + own, start.model.second_moments.data() + whole, bytes);
    });
  }
  checkDrains(); // checks the step that was resumed
  grid_.restoreActivations(start.activations);
  if (sync_) {
    const std::string left_behind = sync_->start(start.sync);
    if (!left_behind.empty()) run_.report.note("note: " + left_behind);
  }
  shareHeadWeight(); // within the island
}

void PipelineEngine::reportStart() {
  const ModelConfig& m = run_.options.model;
  run_.report.note(fmt::format("{} parameters ({} layers, {} channels, {} heads, vocabulary {}) on {}", table_.count(),
                               m.layers, m.channels, m.heads, m.vocab, run_.ops.name()));
  run_.report.note(fmt::format("{} pipeline{} of {} ranks and {} stages: {}, {} micro-batches of {} x {} tokens",
                               grid_.replicas(), grid_.replicas() == 1 ? "" : "s", run_.options.pipeline,
                               grid_.stages(), run_.options.schedule, microBatches(), run_.options.micro_batch,
                               m.context));
  run_.report.note(fmt::format("{} training tokens, {} for validation; {} steps of {} x {} tokens",
                               run_.data.training().size(), run_.data.validation().size(), run_.options.steps,
                               run_.options.batch, m.context));
  if (sync_) {
    run_.report.note(fmt::format("{} island{} kept together by {}", grid_.islands(), grid_.islands() == 1 ? "" : "s",
                                 sync_->spec()));
  }
}

void PipelineEngine::load(std::size_t step, std::size_t micro_batch, std::span<std::int32_t> inputs,
                          std::span<std::int32_t> targets) const {
  const std::size_t context = run_.options.model.context;
  for (std::size_t i = 0; i < run_.options.micro_batch; ++i) {
    const std::size_t sample = firstSample(micro_batch) + i;
    readWindow(run_.data.training(), windows_.startOf(step, sample), inputs.subspan(i * context, context),
               targets.subspan(i * context, context));
  }
}

bool PipelineEngine::train() { return grid_.flushes() ? trainStep() : trainWithoutFlush(); }

void PipelineEngine::abort(const std::string& reason) {
  if (sync_) sync_->abort(reason);
  grid_.abort(reason);
}

bool PipelineEngine::trainStep() {
  const Clock::time_point start = Clock::now();
  const std::size_t first = static_cast<std::size_t>(grid_.replica()) * microBatches();
  const std::size_t context = run_.options.model.context;
  rank_.begin([this](std::size_t k, std::span<std::int32_t> inputs,
                     std::span<std::int32_t> targets) { load(run_.step, k, inputs, targets); },
              static_cast<float>(grid_.islands()) / static_cast<float>(run_.options.batch * context),
              {.recomputed = grid_.recomputed()});
  if (sync_) sync_->setLr(run_.schedule.at(run_.step));
  grid_.run(boundaryElems(run_.options.micro_batch) * sizeof(float),
            [this](const goss_pipeline_action& action, const void* input, void* output) {
              const Clock::time_point began = Clock::now();
              act(action, input, output);
              computed_s_ += secondsSince(began);
            });
  exchangeHeadGradients();
  for (const auto& stage : rank_.stages()) {
    rank_.finishGradient(*stage);
    grid_.sumOverReplicas(stage->gradient, run_.ops);
  }
  if (sync_) sync_->gradients();

  std::vector<double> losses(run_.options.batch + 1, 0.0);
  std::copy(rank_.losses().begin(), rank_.losses().end(),
            losses.begin() + static_cast<std::ptrdiff_t>(first * run_.options.micro_batch));
  losses.back() = run_.wantsStop() ? 1.0 : 0.0;
  run_.group.sum(losses);
  const double loss = lossPerToken(std::span(losses).first(run_.options.batch), context);

  const double lr = run_.schedule.at(run_.step);
  const double norm = updateParameters(lr);
  ++run_.step;
  run_.card.losses.push_back(loss);
  run_.card.step_seconds.push_back(secondsSince(start));
  run_.report.step({run_.step, loss, lr, norm, run_.card.step_seconds.back()});
  return losses.back() == 0.0;
}

/// Number of steps to the next validation or checkpoint, or to the end, where the pipeline drains.
std::size_t PipelineEngine::stepsUntilEvent() const {
  std::size_t next = run_.options.steps;
  for (const std::size_t every : {run_.options.val_every, run_.options.checkpoint_every}) {
    if (every != 0) next = std::min(next, (run_.step / every + 1) * every);
  }
  return next - run_.step;
}

/// Rank 0 learns the losses while the schedule runs, and tells the other ranks at its end.
bool PipelineEngine::trainWithoutFlush() {
  const auto fixed = static_cast<std::size_t>(grid_.fixedBatches());
  const std::size_t steps = fixed != 0 ? fixed : stepsUntilEvent();
  grid_.prepare(static_cast<int>(steps));
  std::vector<double> told; // (loss, seconds) of each step, and whether to stop
  Clock::time_point began = Clock::now();
  UnflushedRun run(
      {grid_, rank_, run_.ops, setupOf(run_.options, grid_), run_.schedule, run_.step, steps, run_.between_steps});
  run.run(
      [this](std::size_t k, std::span<std::int32_t> inputs, std::span<std::int32_t> targets) {
        load(run_.step + k / microBatches(), k % microBatches(), inputs, targets);
      },
      [this, &told, &began](double sum) {
        if (run_.group.rank() != 0) return;
        const std::size_t step = run_.step + told.size() / 2;
        told.push_back(sum / static_cast<double>(run_.options.batch * run_.options.model.context));
        told.push_back(secondsSince(began));
        began = Clock::now();
        run_.report.step({step + 1, told[told.size() - 2], run_.schedule.at(step), 0.0, told.back()});
      });
  told.resize(2 * steps);
  told.push_back(run_.wantsStop() ? 1.0 : 0.0);
  run_.group.broadcast(told.data(), told.size() * sizeof(double));
  for (std::size_t i = 0; i < steps; ++i) {
    run_.card.losses.push_back(told[2 * i]);
    run_.card.step_seconds.push_back(told[2 * i + 1]);
  }
  computed_s_ += run.computedSeconds();
  run_.step += steps;
  return told.back() == 0.0;
}

/// Reductions and updates wait for the end of the schedule, because clipping needs the norm over all stages.
void PipelineEngine::act(const goss_pipeline_action& action, const void* input, void* output) {
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

void PipelineEngine::exchangeHeadGradients() {
  const int first_rank = grid_.rankOf(0);
  const int last_rank = grid_.rankOf(grid_.stages() - 1);
  const bool is_local = first_rank == last_rank;
  std::vector<float> received(is_local ? 0 : run_.options.model.vocab * run_.options.model.channels);
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

double PipelineEngine::updateParameters(double lr) {
  // The square of each tensor of the whole model, from the one rank of the pipeline that holds it.
  std::vector<double> squares(table_.parameters().size(), 0.0);
  for (const auto& stage : rank_.stages()) {
    const std::vector<double> own = squaredNorms(run_.ops, stage->model.table(), stage->gradient.data());
    for (std::size_t i = 0; i < own.size(); ++i) {
      const std::string& name = stage->model.table().parameters()[i].name;
      const auto whole = std::find_if(table_.parameters().begin(), table_.parameters().end(),
                                      [&name](const Parameter& p) { return p.name == name; });
      squares[static_cast<std::size_t>(whole - table_.parameters().begin())] = own[i];
    }
  }
  grid_.sumOverPipeline(squares);
  const double norm = normOf(squares);
  requireFinite(norm, run_.step + 1);
  const double factor = clipFactor(norm, run_.options.clip);
  for (const auto& stage : rank_.stages()) {
    if (sync_ && sync_->givesSigns()) {
      stage->optimizer.descend(lr, stage->model.parameters(), stage->gradient.data());
    } else {
      stage->optimizer.update(run_.step, lr, stage->model.parameters(), stage->gradient.data(), factor);
    }
  }
  if (sync_) sync_->step();
  shareHeadWeight();
  return norm;
}

void PipelineEngine::synchronize() {
  if (!sync_) return;
  sync_->finish();
  shareHeadWeight();
}

/// Sends the first stage's token embedding to the last stage.
void PipelineEngine::shareHeadWeight() {
  const int first_rank = grid_.rankOf(0);
  const int last_rank = grid_.rankOf(grid_.stages() - 1);
  std::vector<float> weight(run_.options.model.vocab * run_.options.model.channels);
  const std::size_t bytes = weight.size() * sizeof(float);
  if (rank_.firstStage() != nullptr) {
    run_.ops.download(weight.data(), rank_.firstStage()->model.headWeight(), bytes);
    if (first_rank != last_rank) grid_.send(weight.data(), bytes, last_rank);
  }
  if (rank_.lastStage() == nullptr || rank_.lastStage() == rank_.firstStage()) return;
  if (first_rank != last_rank) grid_.recv(weight.data(), bytes, first_rank);
  run_.ops.upload(rank_.lastStage()->model.headWeight(), weight.data(), bytes);
}

double PipelineEngine::validationLoss() {
  std::vector<double> losses(run_.options.val_samples, 0.0);
  for (const auto& stage : rank_.stages())
    validateStage(*stage, losses);
  grid_.waitSends();
  sent_.clear();
  run_.group.sum(losses);
  return lossPerToken(losses, run_.options.model.context);
}

/// Runs all samples of this pipeline through one stage, one after the other, for equal bits. Outputs are sent at once,
/// or kept for the next stage if this rank holds that too.
void PipelineEngine::validateStage(PipelineRank::Stage& stage, std::vector<double>& losses) {
  const Tokens& tokens = run_.data.validation();
  const std::size_t context = run_.options.model.context;
  const Share mine = shareOf(run_.options.val_samples, static_cast<std::size_t>(grid_.replicas()),
                             static_cast<std::size_t>(grid_.replica()));
  const StageRange& range = stage.model.range();
  std::vector<std::int32_t> inputs(context), targets(context);
  std::vector<float> input(boundaryElems(1));
  std::vector<std::vector<float>> outputs(mine.count());
  for (std::size_t sample = mine.first; sample < mine.last; ++sample) {
    readWindow(tokens, validationStart(tokens.size(), context, sample, run_.options.val_samples), inputs, targets);
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
  sent_.push_back(std::move(outputs)); // lent to the sends until waitSends
}

ParameterTable PipelineEngine::tableOf(int stage) const {
  const StageRange range = stageRange(run_.options.model, grid_.stages(), stage);
  return {run_.options.model, range.layers.first, range.layers.last, range.is_first, range.is_last};
}

/// Collective over the first pipeline: rank 0 gets its whole model.
void PipelineEngine::gatherFirstIsland(ReplicaState& whole, bool with_moments) {
  const bool is_root = run_.group.rank() == 0;
  const auto gather = [&](std::vector<float>& vector, auto&& memory_of) {
    if (is_root) vector.resize(table_.count());
    for (int number = 0; number < grid_.stages(); ++number) {
      const ParameterTable table = tableOf(number);
      const int owner = grid_.rankOf(number); // of the first pipeline
      if (!is_root && owner != run_.group.rank()) continue;
      std::vector<float> part(table.count());
      if (owner == run_.group.rank())
        run_.ops.download(part.data(), memory_of(rank_.at(number)), part.size() * sizeof(float));
      if (owner != 0) run_.group.move(part.data(), part.size() * sizeof(float), owner, Group::Direction::toRoot);
      if (!is_root) continue;
      forSameTensors(table_, table, [&](std::size_t to, std::size_t from, std::size_t count) {
        std::copy_n(part.begin() + static_cast<std::ptrdiff_t>(from), count,
                    vector.begin() + static_cast<std::ptrdiff_t>(to));
      });
    }
  };
  gather(whole.parameters, [](PipelineRank::Stage& stage) { return stage.model.parameters(); });
  if (!with_moments) return;
  gather(whole.first_moments, [](PipelineRank::Stage& stage) { return stage.optimizer.firstMoments().data(); });
  gather(whole.second_moments, [](PipelineRank::Stage& stage) { return stage.optimizer.secondMoments().data(); });
}

TrainingState PipelineEngine::state() {
  TrainingState state;
  state.step = run_.step;
  state.settings = run_.settings;
  state.sync = sync();
  state.grid = grid();
  gatherFirstIsland(state, true);
  return state;
}

/// Pipelines of one island hold the same.
RankShare PipelineEngine::heldBy(int rank) const {
  const auto pipeline = static_cast<int>(run_.options.pipeline);
  RankShare share;
  share.copy = static_cast<std::size_t>(rank / pipeline / (grid_.replicas() / grid_.islands()));
  std::size_t offset = 0;
  for (int number = 0; number < grid_.stages(); ++number) {
    if (grid_.rankOf(number) != rank % pipeline) continue;
    const ParameterTable table = tableOf(number);
    for (Parameter p : table.parameters()) {
      p.offset += offset;
      share.tensors.push_back(std::move(p));
    }
    offset += table.count();
  }
  return share;
}

ReplicaState PipelineEngine::ownState() {
  ReplicaState own;
  const auto append = [this](std::vector<float>& vector, const float* values, std::size_t count) {
    vector.resize(vector.size() + count);
    run_.ops.download(vector.data() + vector.size() - count, values, count * sizeof(float));
  };
  for (const auto& stage : rank_.stages()) {
    const std::size_t count = stage->model.table().count();
    append(own.parameters, stage->model.parameters(), count);
    append(own.first_moments, stage->optimizer.firstMoments().data(), count);
    append(own.second_moments, stage->optimizer.secondMoments().data(), count);
  }
  const bool differ = sync_ && sync_->hasLocalSteps();
  own.ranks = {{differ ? sync_->state() : "", grid_.activations()}};
  return own;
}

/// Rank 0 gets the whole model, to generate the sample.
void PipelineEngine::finish() {
  if (run_.options.sample == 0) return;
  ReplicaState whole;
  gatherFirstIsland(whole, false);
  if (run_.group.rank() != 0) return;
  whole_model_ = std::make_unique<Gpt>(run_.options.model, 1, run_.ops);
  whole_model_->setParameters(whole.parameters);
}

void PipelineEngine::describe() {
  run_.card.sync = fmt::format("pipeline {} of {} ranks, {} micro-batches", run_.options.schedule,
                               run_.options.pipeline, microBatches());
  if (!run_.options.activation_codec.empty()) {
    run_.card.sync += fmt::format("; activations {}{}", run_.options.activation_deltas ? "AQ-SGD " : "",
                                  run_.options.activation_codec);
  }
  if (!run_.options.gradient_codec.empty())
    run_.card.sync += fmt::format("; their gradients {}", run_.options.gradient_codec);
  if (sync_) run_.card.sync += fmt::format("; {} islands, {}", grid_.islands(), sync_->spec());
  run_.card.wire_bytes = grid_.wireBytesSent();
  if (sync_) {
    const ReplicaTraffic traffic = sync_->traffic();
    run_.card.exchanged_bytes = traffic.exchanged_bytes;
    run_.card.wire_bytes += traffic.wire_bytes_sent;
    run_.card.setup_bytes = traffic.setup_bytes_sent;
  }
  run_.card.waited_s = std::max(0.0, run_.card.seconds() - computed_s_);
}

std::string PipelineEngine::warning() const { return sync_ ? sync_->missedExchanges() : ""; }

} // namespace goss::trainer
