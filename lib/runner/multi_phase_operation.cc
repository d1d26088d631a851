#include "runner/multi_phase_operation.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <cmath>

#include "execution/tensor_use.h"
#include "kernels/kernels.h"
#include "runner/prepared_payload.h"

namespace goss {

namespace {

std::size_t paddedCount(std::size_t count, std::size_t columns) {
  return columns == 0 ? count : (count + columns - 1) / columns * columns;
}

/// Columns for a codec that needs a matrix when the caller gives none: nearly square. 0, so that nothing is added: for
/// a vector that would have one row only, or that the codec sums as it is because its factors would not be smaller.
std::size_t columnsFor(const Codec& codec, std::size_t count) {
  const CodecTraits traits = codec.traits();
  if (!traits.needs_shape || count == 0) return 0;
  const auto square = static_cast<std::size_t>(std::ceil(std::sqrt(static_cast<double>(count))));
  const std::size_t columns = traits.columns != 0 ? traits.columns : square;
  if (columns >= count) return 0;
  return codec.stateFloats(paddedCount(count, columns), columns) != 0 ? columns : 0;
}

} // namespace

Status forEachPhase(const Compression& compression, std::size_t count, int ranks,
                    const std::function<Status(const CodecPhase&)>& use) {
  const Codec& codec = *compression.codec;
  RunJob job;
  job.columns = columnsFor(codec, count);
  std::vector<float> values(paddedCount(count, job.columns), 1.0f);
  std::vector<float> state(codec.stateFloats(values.size(), job.columns));
  std::vector<float> residual(compression.feedback.worker ? values.size() : 0);
  job.values = values;
  job.state = state;
  if (!residual.empty()) job.residual = residual.data();
  job.ranks = ranks;
  Result<std::unique_ptr<CodecRun>> run = codec.start(job);
  if (!run.isOk()) return run.status();
  while (true) {
    const Result<CodecPhase> phase = run.value()->next();
    if (!phase.isOk()) return phase.status();
    if (phase.value().want == PhaseWant::done) return Status::ok();
    if (phase.value().want == PhaseWant::add ? phase.value().count == 0 : phase.value().values.empty()) continue;
    if (Status status = use(phase.value()); !status.isOk()) return status;
  }
}

MultiPhaseOperation::MultiPhaseOperation(const RunEnvironment& environment, ExecutionPool& pool, const Call& call)
    : Operation(environment.operations.host()),
      environment_(environment),
      pool_(pool),
      columns_(columnsFor(*call.codecs->contribution.codec, call.count)),
      values_(paddedCount(call.count, columns_)) {
  bind(call);
}

MultiPhaseOperation::~MultiPhaseOperation() = default;

void MultiPhaseOperation::bind(const Call& call) {
  call_ = call;
  timeout_ms = call.timeout_ms;
  payload_bytes = call.payloadBytes();
}

bool MultiPhaseOperation::fits(const Call& call) const {
  return call.codecs == call_.codecs && call.count == call_.count;
}

std::size_t MultiPhaseOperation::heldBytes() const {
  return (values_.capacity() + own_factors_.capacity()) * sizeof(float) + feedback_.heldBytes();
}

std::string MultiPhaseOperation::describe() const {
  return fmt::format("all_reduce({}) of {} {} compressed with '{}'", opName(call_.op), call_.count,
                     dtypeName(call_.dtype), call_.codecs->text);
}

std::vector<int> MultiPhaseOperation::waitingForRanks() const {
  return execution_ != nullptr ? execution_->waitingForRanks() : std::vector<int>();
}

/// Refuses to start while another operation uses the tensor: its error feedback would split the ranges of this one.
Status MultiPhaseOperation::mayStartOnLoop() const {
  const bool used = call_.tensor != 0 && holdsTensorOnLoop(environment_.operations, call_.tensor, TensorHolders::all);
  return used ? tensorInUse(*this) : Status::ok();
}

void MultiPhaseOperation::numberOnLoop(History& history) {
  sequence = history.next();
  Signature signature = wholeSignature();
  // Until the phases begin there is no envelope to compare with others' probes.
  signature.kind = Signature::Kind::control;
  for (std::uint32_t& place : histories_) {
    place = signature.history = history.hash();
    history.add(signature.encode());
  }
}

void MultiPhaseOperation::startOnLoop() {
  phase_ = 0;
  computing_ = false;
  execution_ = nullptr;
  has_begun_ = false;
  workOnLoop();
}

void MultiPhaseOperation::advanceOnLoop() {
  if (execution_ == nullptr || execution_->state() != State::complete || !execution_->status().isOk()) return;
  pool_.release(std::move(execution_));
  workOnLoop();
}

bool MultiPhaseOperation::pollOnLoop() {
  if (!computing_) return false;
  workOnLoop();
  return true;
}

void MultiPhaseOperation::workOnLoop() {
  Status status;
  if (!has_begun_) status = begin();
  if (status.isOk() && has_begun_) status = goOn();
  if (!status.isOk()) environment_.fail(status);
}

Status MultiPhaseOperation::openState() {
  const std::size_t floats = call_.codecs->contribution.codec->stateFloats(values_.size(), columns_);
  if (call_.tensor == 0) {
    own_factors_.assign(floats, 0.0f);
    factors_ = own_factors_;
    return Status::ok();
  }
  auto kept = environment_.references.open({call_.tensor, ReferenceRole::global, 0}, {0, floats});
  if (!kept.isOk()) return kept.status();
  factors_ = kept.value();
  return Status::ok();
}

void MultiPhaseOperation::loadValues() {
  const auto* from = static_cast<const std::byte*>(call_.input);
  if (call_.count > 0) {
    if (call_.dtype == GOSS_FLOAT32) {
      kernels::copy(values_.data(), from, call_.count * sizeof(float));
    } else {
      kernels::convert(GOSS_FLOAT32, values_.data(), call_.dtype, from, call_.count);
    }
  }
  if (call_.op == GOSS_PREMUL_SUM) {
    const auto scale = static_cast<float>(call_.scale);
    for (float& value : std::span(values_).first(call_.count))
      value *= scale;
  }
  std::fill(values_.begin() + static_cast<std::ptrdiff_t>(call_.count), values_.end(), 0.0f);
}

Status MultiPhaseOperation::begin() {
  const Result<bool> on_host = call_.tensor == 0 ? true : environment_.device_feedback.moveToHost(call_.tensor);
  if (!on_host.isOk()) return on_host.status();
  computing_ = !on_host.value();
  if (computing_) {
    environment_.engine.active().keepPolling(*this);
    return Status::ok();
  }
  has_begun_ = true;
  const Compression& compression = call_.codecs->contribution;
  draw_ = call_.tensor != 0 ? environment_.references.countUp(call_.tensor) : sequence;
  if (Status status = openState(); !status.isOk()) return status;
  FeedbackKey key;
  key.tensor = call_.tensor;
  key.range = {0, values_.size()};
  key.draw = draw_;
  auto kept = openFeedback(environment_.references, compression.feedback, key);
  if (!kept.isOk()) return kept.status();
  if (Status status = feedback_.begin(compression.feedback, kept.value(), values_.size()); !status.isOk())
    return status;
  loadValues();
  if (feedback_.hasMomentum()) {
    const std::span<const float> sum = feedback_.addMomentum(values_);
    std::copy(sum.begin(), sum.end(), values_.begin());
  }
  RunJob job;
  job.values = values_;
  job.columns = columns_;
  job.residual = feedback_.residual();
  job.decay = compression.feedback.decay;
  job.state = factors_;
  job.ranks = environment_.group.size();
  job.random = randomnessOf(call_, draw_, 0, environment_.group.rank());
  Result<std::unique_ptr<CodecRun>> run = compression.codec->start(job);
  if (!run.isOk()) return run.status();
  run_ = run.take();
  return Status::ok();
}

/// Computes up to the next phase that exchanges something, to the end, or until other operations are to have their
/// turn.
Status MultiPhaseOperation::goOn() {
  computing_ = false;
  while (true) {
    Result<CodecPhase> phase = run_->next();
    if (!phase.isOk()) return phase.status();
    if (phase.value().want == PhaseWant::done) return finish();
    const bool adds = phase.value().want == PhaseWant::add;
    const bool empty = adds ? phase.value().count == 0 : phase.value().values.empty();
    if (empty) {
      computing_ = true;
      environment_.engine.active().keepPolling(*this);
      return Status::ok();
    }
    if (phase_ == kMaxPhases) {
      return Status::error(GOSS_ERR_INTERNAL,
                           fmt::format("codec '{}' asks for more than {} collectives", call_.codecs->text, kMaxPhases));
    }
    ++phase_;
    if (environment_.group.size() > 1) return startPhase(phase.value());
  }
}

Call MultiPhaseOperation::phaseCall(const CodecPhase& phase) {
  Call call;
  call.collective = Collective::allReduce;
  call.dtype = GOSS_FLOAT32;
  call.op = phase.want == PhaseWant::max ? GOSS_MAX : GOSS_SUM;
  call.algorithm = call_.algorithm;
  call.timeout_ms = timeout_ms;
  std::span<float> values = phase.values;
  if (phase.want == PhaseWant::add) {
    if (payload_ == nullptr)
      payload_ = std::make_shared<PreparedPayload>(fmt::format("payloads of {}", call_.codecs->text));
    payload_->prepare(phase);
    call.codecs = payload_codecs_ = CodecPair::of(payload_);
    values = std::span(values_).first(phase.count); // Neither read nor written.
  }
  call.input = call.output = values.data();
  call.count = values.size();
  setUniformShape(call, environment_.group.size());
  // Errors and envelopes describe the caller's operation, not the phase.
  PhaseOf phase_of{call_.codecs, wholeSignature()};
  const std::uint64_t identity[] = {call_.codecs->hash, call_.tensor, draw_, phase_, call.count};
  phase_of.signature.detail = static_cast<std::uint32_t>(XXH64(identity, sizeof identity, 0));
  phase_of.signature.history = histories_[phase_ - 1];
  call.phase_of = std::make_shared<const PhaseOf>(std::move(phase_of));
  return call;
}

Signature MultiPhaseOperation::wholeSignature() const {
  Signature signature;
  signature.kind = Signature::Kind::collective;
  signature.collective = Collective::allReduce;
  signature.dtype = call_.dtype;
  signature.op = call_.op;
  signature.count = call_.count;
  signature.codec = call_.codecs->tag();
  const std::uint64_t identity[] = {call_.codecs->hash, call_.tensor};
  signature.detail = static_cast<std::uint32_t>(XXH64(identity, sizeof identity, 0));
  return signature;
}

Status MultiPhaseOperation::startPhase(const CodecPhase& phase) {
  const std::uint64_t place = sequence + phase_ - 1;
  Result<std::unique_ptr<Execution>> execution = pool_.acquire(phaseCall(phase));
  if (!execution.isOk()) return execution.status();
  execution_ = execution.take();
  return environment_.operations.startPhaseOnLoop(*execution_, *this, place);
}

Status MultiPhaseOperation::finish() {
  run_ = nullptr;
  if (feedback_.residual() != nullptr) // What the codec computed from the padding is no loss.
    std::fill(feedback_.residual() + call_.count, feedback_.residual() + values_.size(), 0.0f);
  if (Status status = feedback_.end(); !status.isOk()) return status;
  if (call_.op != GOSS_AVG && environment_.group.size() > 1) { // Codecs deliver means.
    const auto ranks = static_cast<float>(environment_.group.size());
    for (float& value : values_)
      value *= ranks;
  }
  if (call_.count > 0) {
    if (call_.dtype == GOSS_FLOAT32) {
      kernels::copy(call_.output, values_.data(), call_.count * sizeof(float));
    } else {
      kernels::convert(call_.dtype, call_.output, GOSS_FLOAT32, values_.data(), call_.count);
    }
  }
  closePlaces();
  environment_.operations.completeOnLoop(*this, Status::ok());
  return Status::ok();
}

/// Closes the places that the operation has left unused at its end: a call that another rank made in one of them does
/// not match this operation.
void MultiPhaseOperation::closePlaces() {
  History& history = environment_.operations.history();
  for (std::uint64_t place = sequence; place < sequence + kMaxPhases; ++place) {
    Signature known = Signature::decode(history.at(place));
    if (!history.holds(place) || known.kind != Signature::Kind::control) continue;
    known.kind = Signature::Kind::collective;
    history.replace(place, known.encode());
  }
}

} // namespace goss
