// Saving and restoring a synchronizer: docs/formats.md, "Synchronizer state".
#include <fmt/format.h>
#include <xxhash.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/invalid.h"
#include "sync/synchronizer.h"

namespace goss::sync {

namespace {

constexpr std::string_view kMagic = "GSYN";
constexpr std::uint16_t kVersion = 3;
constexpr std::size_t kMaxSpecBytes = 1 << 16;

std::uint64_t hashOf(std::string_view text) { return XXH3_64bits(text.data(), text.size()); }

using base::invalid;

Status malformed(const std::string& why) {
  return Status::error(GOSS_ERR_PROTOCOL,
                       fmt::format("these bytes are no state of a synchronizer: {}; was the checkpoint damaged?", why));
}

std::string_view methodOf(std::string_view spec) { return spec.substr(0, spec.find(':')); }

/// Reads the header and checks the checksum; the reader returned is at the fields behind the header.
Result<base::WireReader> openState(std::string_view bytes) {
  if (bytes.size() < sizeof(std::uint64_t)) {
    return malformed("too short");
  }
  const std::string_view body = bytes.substr(0, bytes.size() - sizeof(std::uint64_t));
  if (base::loadLittleEndian<std::uint64_t>(bytes.data() + body.size()) != hashOf(body)) {
    return malformed("the checksum differs");
  }
  base::WireReader reader(body);
  if (reader.raw(kMagic.size()) != kMagic || reader.integer<std::uint16_t>() != kVersion ||
      reader.integer<std::uint16_t>() != 0) {
    return malformed("another magic number or version");
  }
  return reader;
}

/// The ranks may make unequal numbers of steps.
bool stepsAlone(const Rule* rule) { return rule != nullptr && (rule->needs().shared > 0 || rule->needs().groups); }

/// Adds what one rank saved to `saved`; `spec` is the synchronizer's.
Status readShard(std::string_view bytes, std::string_view spec, OuterState& saved, Timetable::State& at) {
  const Result<base::WireReader> opened = openState(bytes);
  if (!opened.isOk()) {
    return opened.status();
  }
  base::WireReader reader = opened.value();
  const std::string_view found = reader.text(kMaxSpecBytes);
  if (reader.ok() && methodOf(found) != methodOf(spec)) {
    return invalid(fmt::format("the saved state is of '{}', but this synchronizer is '{}'", found, spec));
  }
  at.step = reader.integer<std::uint64_t>();
  at.next = reader.integer<std::uint64_t>();
  return saved.add(reader) ? Status::ok() : malformed("its tensors are not those that it lists");
}

/// Stores the losses in two slots, so that a rank that opens any range of them makes a slot of its own: see
/// OuterState::kInherited.
Status inherit(ReferenceStore& store, const ReferenceKey& key, std::uint64_t first, std::span<const float> values) {
  for (const std::span<const float> part : {values.first(std::min<std::size_t>(1, values.size())),
                                            values.subspan(std::min<std::size_t>(1, values.size()))}) {
    const ElementRange range{first, part.size()};
    first += part.size();
    const Result<std::span<float>> slot = store.open(key, range);
    if (!slot.isOk()) {
      return slot.status();
    }
    std::copy(part.begin(), part.end(), slot.value().begin());
    store.setVersion(key, range, OuterState::kInherited);
  }
  return Status::ok();
}

} // namespace

Result<std::string> Synchronizer::exportState() {
  if (Status status = checkRunning("goss_sync_export"); !status.isOk()) {
    return status;
  }
  for (Fragment& fragment : fragments_) {
    if (Status status = noted(fragment.arrive(*parameter_channel_)); !status.isOk()) {
      return status;
    }
  }
  if (peers_ != nullptr) {
    if (Status status = noted(peers_->arrive()); !status.isOk()) {
      return status;
    }
    if (Status status = whole_->fetch(); !status.isOk()) {
      // A rank that is stopped answers when it goes on, and nothing has changed until then.
      return status.kind() == GOSS_ERR_TIMEOUT ? status : noted(std::move(status));
    }
  }
  const Result<std::string> kept = compressed_->codecState();
  if (!kept.isOk()) {
    return kept.status();
  }
  const Timetable::State at = timetable_.state();
  base::WireWriter writer;
  writer.raw(kMagic).integer(kVersion).integer(std::uint16_t{0}).text(spec_).integer(at.step).integer(at.next);
  writer.integer(static_cast<std::uint64_t>(tensors_.size()));
  for (const Tensor& tensor : tensors_) {
    writer.text(tensor.name).integer(static_cast<std::uint64_t>(tensor.parameter.size()));
  }
  writer.integer(static_cast<std::uint64_t>(whole_ ? 1 : fragments_.size()));
  for (const Fragment& fragment : fragments_) {
    fragment.save(writer);
  }
  if (whole_) {
    whole_->save(writer);
  }
  if (buckets_) {
    buckets_->save(writer);
  } else {
    writer.integer(std::uint64_t{0});
  }
  writer.integer(static_cast<std::uint64_t>(kept.value().size())).raw(kept.value());
  if (whole_) {
    whole_->saveScalars(writer);
  }
  if (local_steps_) { // last, because another grid does not use it
    local_steps_->save(writer);
    clock_.save(writer);
  }
  std::string bytes = writer.take();
  return bytes + base::WireWriter().integer(hashOf(bytes)).take();
}

/// A second import that failed would leave neither its state nor the first one's.
Status Synchronizer::checkImports(const char* call) const {
  if (is_started_ || is_imported_) {
    return invalid(fmt::format("{}: call it before goss_sync_start, and after no other import", call));
  }
  return Status::ok();
}

Status Synchronizer::importState(std::string_view bytes) {
  if (Status status = checkImports("goss_sync_import"); !status.isOk()) {
    return status;
  }
  const Result<base::WireReader> opened = openState(bytes);
  if (!opened.isOk()) {
    return opened.status();
  }
  base::WireReader reader = opened.value();
  const std::string_view spec = reader.text(kMaxSpecBytes);
  if (reader.ok() && spec != spec_) {
    return invalid(fmt::format("the saved state is of '{}', but this synchronizer is '{}'", spec, spec_));
  }
  Timetable::State at;
  at.step = reader.integer<std::uint64_t>();
  at.next = reader.integer<std::uint64_t>();
  layOut();
  // a copy, because a state that is refused must not change the plan
  std::optional<LocalSteps> local_steps = local_steps_;
  StepClock clock;
  bool fits = reader.integer<std::uint64_t>() == tensors_.size();
  for (std::size_t i = 0; fits && i < tensors_.size(); ++i) {
    fits = reader.text(kMaxSpecBytes) == tensors_[i].name;
    fits = reader.integer<std::uint64_t>() == tensors_[i].parameter.size() && fits;
  }
  fits = fits && reader.integer<std::uint64_t>() == (whole_ ? 1 : fragments_.size());
  fits = fits && (!whole_ || whole_->load(reader));
  for (std::size_t i = 0; fits && i < fragments_.size(); ++i) {
    fits = fragments_[i].load(reader);
  }
  fits = fits && (buckets_ ? buckets_->load(reader) : reader.integer<std::uint64_t>() == 0);
  const std::string_view kept = reader.raw(reader.integer<std::uint64_t>());
  if (fits && whole_) {
    whole_->loadScalars(reader);
  }
  if (fits && local_steps) {
    fits = local_steps->load(reader);
    clock.load(reader);
  }
  if (!fits || !reader.complete()) {
    return invalid(
        fmt::format("the saved state is of other tensors than those registered here, or from a version of Gossamer in "
                    "which '{}' kept other vectors: then begin anew from the parameters, without this state",
                    methodOf(spec_)));
  }
  if (Status status = compressed_->restoreCodecState(kept); !status.isOk()) {
    return status;
  }
  timetable_.restore(at);
  local_steps_ = std::move(local_steps);
  clock_ = clock;
  is_imported_ = true;
  return Status::ok();
}

Result<bool> Synchronizer::importAll(std::span<const std::string_view> states) {
  if (Status status = checkImports("goss_sync_import_all"); !status.isOk()) {
    return status;
  }
  if (states.empty()) {
    return invalid("goss_sync_import_all: there is no state");
  }
  OuterState saved;
  std::optional<Timetable::State> first;
  for (const std::string_view bytes : states) {
    Timetable::State at;
    if (Status status = readShard(bytes, spec_, saved, at); !status.isOk()) {
      return status;
    }
    if (first && (first->step != at.step || first->next != at.next) && !stepsAlone(composition_.rule.get())) {
      return invalid(fmt::format("the saved states are of different steps, {} and {}", first->step, at.step));
    }
    first = first && first->step > at.step ? first : at;
  }
  saved.finish();
  if (Status status = fetch(parameters_); !status.isOk()) {
    return status;
  }
  layOut();
  if (!adopt(saved)) {
    return invalid("the saved states lack a tensor that is registered here, or keep other vectors of it");
  }
  const bool keeps_feedback = composition_.layout.codec != "none" && composition_.gradients != GradientRule::signs;
  if (keeps_feedback) {
    const Result<std::string> feedback = feedbackOf(saved);
    Status status = feedback.isOk() ? compressed_->restoreCodecState(feedback.value()) : feedback.status();
    if (!status.isOk()) {
      return status;
    }
  }
  timetable_.restore(*first);
  is_imported_ = true;
  return saved.leavesBehind() || (saved.hasFeedback() && !keeps_feedback);
}

bool Synchronizer::adopt(const OuterState& saved) {
  std::vector<std::string> names;
  for (const Tensor& tensor : tensors_) {
    names.push_back(tensor.name);
  }
  if (std::set<std::string>(names.begin(), names.end()).size() != names.size()) {
    return false; // a duplicate name does not identify a tensor
  }
  for (Fragment& fragment : fragments_) {
    if (!fragment.adopt(saved, names)) {
      return false;
    }
  }
  return whole_ ? whole_->adopt(saved, names) : !buckets_ || buckets_->adopt(saved, names);
}

/// The losses that the channel's codec shall start with, as Channel::codecState() returns them.
Result<std::string> Synchronizer::feedbackOf(const OuterState& saved) const {
  ReferenceStore store;
  std::vector<std::vector<std::uint64_t>> vectors;
  for (const Fragment& fragment : fragments_) {
    vectors.push_back(fragment.tensors());
  }
  if (fragments_.empty() && buckets_) {
    vectors = buckets_->layout();
  }
  if (whole_) {
    vectors = {whole_->tensors()};
  }
  for (std::uint64_t id = 1; id <= vectors.size(); ++id) {
    std::uint64_t first = 0;
    for (const std::uint64_t index : vectors[id - 1]) {
      const Tensor& tensor = tensors_[index];
      const OuterTensor* kept = saved.find(tensor.name, tensor.parameter.size());
      if (kept == nullptr) {
        return invalid(fmt::format("the saved states lack tensor '{}'", tensor.name));
      }
      for (const auto& [role, values] : kept->feedback()) {
        if (composition_.keeps_lost && role == ReferenceRole::worker) {
          continue; // the mean of the parameters contains it: it is sent with the next difference
        }
        if (Status status = inherit(store, {id, role, 0}, first, values); !status.isOk()) {
          return status;
        }
      }
      first += tensor.parameter.size();
    }
    if (saved.draws() > 0 && store.open({id, ReferenceRole::draws, 0}, {0, 1}).isOk()) {
      store.setVersion({id, ReferenceRole::draws, 0}, {0, 1}, saved.draws());
    }
  }
  return store.exportAll();
}

/// Ranks whose imported states do not belong together would wait for each other in different collectives, or keep
/// different references for ever.
Status Synchronizer::resume() {
  if (whole_) {
    Timetable::State at = timetable_.state();
    Status status = fetch(parameters_);
    if (status.isOk()) {
      status = whole_->resume(at.step);
    }
    if (status.isOk()) {
      timetable_.restore(at);
    }
    return status;
  }
  const Timetable::State at = timetable_.state();
  if (Status status = all_->sameStep(at.step); !status.isOk()) {
    return status;
  }
  base::WireWriter position;
  position.integer(at.next);
  std::uint64_t common = 0;
  for (const Fragment& fragment : fragments_) {
    fragment.savePosition(position);
    common = hashOf(base::WireWriter().integer(common).integer(fragment.commonHash()).take());
  }
  if (local_steps_) {
    local_steps_->save(position);
  }
  const Result<bool> agrees = parameter_channel_ != nullptr ? parameter_channel_->allEqual(common) : true;
  if (!agrees.isOk()) {
    return agrees.status();
  }
  // Ranks at another position of their islands find no difference themselves: a rank's number tells it to them.
  position.integer(agrees.value() ? 0 : 1 + all_->rank());
  const Result<bool> is_equal = all_->allEqual(hashOf(position.take()));
  if (!is_equal.isOk() || is_equal.value()) {
    return is_equal.status();
  }
  return Status::error(GOSS_ERR_MISMATCH,
                       fmt::format("the ranks imported states of step {} that do not belong together: they are of "
                                   "different runs, or some of them were saved after goss_sync_finish",
                                   at.step));
}

} // namespace goss::sync
