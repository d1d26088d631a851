#include "schedule/compress.h"

#include <algorithm>
#include <cassert>
#include <optional>
#include <utility>

#include "schedule/contract.h"
#include "schedule/structure.h"

namespace goss::schedule {

namespace {

/// The value of a slot of the plain schedule: base + payloads, in this order, finished if `finishing`.
struct Value {
  std::optional<Slot> base;    ///< Slot of the new schedule that holds numbers, if any.
  std::vector<Slot> payloads;  ///< Payloads that are still to be decoded and added.
  std::optional<Slot> encoded; ///< The whole value as one payload, if there is one.
  bool finishing = false;      ///< The finish is still to be applied.
  bool finished = false;       ///< The finish was applied, or is still to be.
  bool lossy = false;          ///< The value has decoded parts.
  bool received = false;       ///< It came from another rank: a result, if nothing is added to it.
  bool own_sum = false;        ///< `encoded` is a sum of payloads that no other slot uses: it may grow in place.

  [[nodiscard]] bool solid() const { return base && payloads.empty() && !finishing; }
};

class Rewriter {
 public:
  Rewriter(const Schedule& plain, const std::vector<bool>& encoded_peers, Sums sums)
      : plain_(plain),
        encoded_peers_(encoded_peers),
        adds_payloads_(sums == Sums::payloads && reduces(plain.collective)),
        role_{plain.collective, plain.size, plain.rank, plain.root, &plain.neighborhood},
        builder_({plain.collective, plain.size, plain.rank, plain.root, plain.partition, plain.chunk_count,
                  &plain.neighborhood}),
        cells_(plain, false),
        values_(cells_.count(plain)),
        last_read_(cells_.count(plain), -1),
        scratch_(plain.scratch_like.size()) {
    for (std::uint32_t c = 0; c < plain.chunk_count; ++c) {
      if (startsInInput(role_, c)) values_[cells_.of(input(c))].base = input(c);
    }
    findLastReads();
  }

  Compressed run() {
    for (now_ = 0; now_ < static_cast<std::int64_t>(plain_.steps.size()); ++now_)
      rewrite(plain_.steps[static_cast<std::size_t>(now_)]);
    for (std::uint32_t c = 0; c < plain_.chunk_count; ++c) {
      if (delivers(role_, c)) settle(output(c), Meaning::result);
    }
    Compressed result{builder_.buildAsIs(plain_.algorithm), requantizes_};
    for (const Slot slot : results_)
      result.schedule.payload_finished[slot.index] = true;
    return result;
  }

 private:
  void findLastReads() {
    for (std::uint32_t i = 0; i < plain_.steps.size(); ++i) {
      const Step& step = plain_.steps[i];
      for (const Slot slot : plain_.slotsOf(step.kind == StepKind::send ? step.targets : step.sources))
        last_read_[cells_.of(slot)] = i;
    }
    for (std::uint32_t c = 0; c < plain_.chunk_count; ++c) {
      if (delivers(role_, c)) last_read_[cells_.of(output(c))] = static_cast<std::int64_t>(plain_.steps.size()) + 1;
    }
  }

  void rewrite(const Step& step) {
    const std::span<const Slot> targets = plain_.slotsOf(step.targets);
    const std::span<const Slot> sources = plain_.slotsOf(step.sources);
    switch (step.kind) {
      case StepKind::send:
        return rewriteSend(step.peer, targets);
      case StepKind::recv:
      case StepKind::recvReduce:
        return rewriteReceive(step, targets, sources);
      case StepKind::copy:
      case StepKind::finish:
        for (std::size_t i = 0; i < targets.size(); ++i) {
          valueOf(sources[i]).own_sum = false;
          Value value = valueOf(sources[i]);
          // A sum of payloads is finished when it is decoded, wherever that happens.
          if (step.kind == StepKind::finish && !(adds_payloads_ && value.encoded)) {
            value.finishing = value.finished = true;
            value.encoded.reset();
          }
          valueOf(targets[i]) = std::move(value);
        }
        return;
      case StepKind::reduce:
        valueOf(targets[0]) =
            adds_payloads_ ? payloadSum(sources[0], encodedForm(sources[1]), targets[0]) : sum(sources[0], sources[1]);
        return;
      case StepKind::combine:
        return rewriteCombine(step, targets[0], sources);
      case StepKind::encode:
      case StepKind::decode:
        assert(false && "the schedule is compressed already");
        return;
    }
  }

  void rewriteSend(int peer, std::span<const Slot> slots) {
    if (encodes(peer)) {
      for (const Slot slot : slots) {
        const Slot payload = encodedForm(slot);
        builder_.step(StepKind::send, peer, std::span(&payload, 1), {});
      }
      return;
    }
    std::vector<Slot> numbers;
    for (const Slot slot : slots) {
      // Otherwise some ranks would get other bits than those that decode the payload.
      if (beginsHere(slot)) (void)encodedForm(slot);
      numbers.push_back(solidSlot(slot, Meaning::result));
    }
    builder_.step(StepKind::send, peer, numbers, {});
  }

  void rewriteReceive(const Step& step, std::span<const Slot> targets, std::span<const Slot> sources) {
    const bool adds = step.kind == StepKind::recvReduce;
    if (encodes(step.peer)) {
      for (std::size_t i = 0; i < targets.size(); ++i) {
        const Slot payload = builder_.payload(sizeOf(targets[i]));
        builder_.step(StepKind::recv, step.peer, std::span(&payload, 1), {});
        if (adds && adds_payloads_) {
          valueOf(targets[i]) = payloadSum(sources[i], payload, targets[i]);
          continue;
        }
        Value value = adds ? valueOf(sources[i]) : Value{};
        value.payloads.push_back(payload);
        value.encoded = adds ? std::nullopt : std::optional(payload);
        value.lossy = true;
        value.received = true;
        valueOf(targets[i]) = std::move(value);
      }
      return;
    }
    std::vector<Slot> into;
    std::vector<Slot> with;
    for (std::size_t i = 0; i < targets.size(); ++i) {
      if (adds) with.push_back(solidSlot(sources[i], Meaning::part));
      into.push_back(ownSlot(targets[i]));
      protect(targets[i], into.back());
      Value value;
      value.base = into.back();
      value.lossy = !adds || valueOf(sources[i]).lossy; // The source may be a result that was decoded before.
      value.received = !adds;
      valueOf(targets[i]) = std::move(value);
    }
    builder_.step(step.kind, step.peer, into, with);
  }

  void rewriteCombine(const Step& step, Slot target, std::span<const Slot> sources) {
    std::vector<Slot> numbers;
    Value value;
    for (const Slot source : sources) {
      numbers.push_back(solidSlot(source, Meaning::part));
      value.lossy = value.lossy || valueOf(source).lossy;
    }
    value.base = ownSlot(target);
    protect(target, *value.base);
    builder_.combine(*value.base, numbers, plain_.weightsOf(step));
    valueOf(target) = std::move(value);
  }

  /// a + b. If neither holds numbers, the order is kept, so that ranks that add the same payloads get the same bits.
  Value sum(Slot a, Slot b) {
    if (valueOf(a).base && valueOf(b).base) {
      const Slot parts[] = {solidSlot(a, Meaning::part), solidSlot(b, Meaning::part)};
      Value value;
      value.base = ownSlot(a);
      value.lossy = valueOf(a).lossy || valueOf(b).lossy;
      protect(a, *value.base);
      builder_.step(StepKind::reduce, -1, std::span(&*value.base, 1), parts);
      return value;
    }
    const Value* first = &valueOf(a);
    const Value* second = &valueOf(b);
    // A single part gives the same bits before or after a sum.
    if (second->base || (!first->base && first->payloads.size() == 1)) std::swap(first, second);
    Value value = *first;
    value.payloads.insert(value.payloads.end(), second->payloads.begin(), second->payloads.end());
    value.encoded.reset();
    value.lossy = true;
    return value;
  }

  /// a + payload as one payload, which `into` will hold.
  Value payloadSum(Slot a, Slot payload, Slot into) {
    const Slot parts[] = {encodedForm(a), payload};
    const bool in_place = a == into && valueOf(a).own_sum;
    const Slot target = in_place ? parts[0] : builder_.payload(sizeOf(a));
    builder_.step(StepKind::reduce, -1, std::span(&target, 1), parts);
    Value value;
    value.payloads = {target};
    value.encoded = target;
    value.lossy = true;
    value.own_sum = true;
    return value;
  }

  /// Whether the slot holds an exact result that no other rank has received yet.
  bool beginsHere(Slot slot) {
    const Value& value = valueOf(slot);
    if (value.encoded || !deliversToAll()) return false;
    return reduces(plain_.collective) ? value.finished : !value.lossy;
  }
  [[nodiscard]] bool deliversToAll() const {
    return plain_.collective == Collective::allReduce || plain_.collective == Collective::broadcast ||
           plain_.collective == Collective::allGather;
  }

  /// Encodes the slot's value; from now on the payload is the value.
  Slot encodedForm(Slot slot) {
    Value& value = valueOf(slot);
    if (value.encoded) return *value.encoded;
    requantizes_ = requantizes_ || (value.lossy && !value.finishing);
    Slot targets[] = {builder_.payload(sizeOf(slot)), {}};
    const bool result = value.finished || !reduces(plain_.collective);
    const bool delivered = slot.space == Space::output && delivers(role_, slot.index) && result;
    if (delivered) {
      targets[1] = slot;
      protect(slot, slot);
    }
    emit(StepKind::encode, std::span(targets, delivered ? 2 : 1), value);
    if (value.finished) results_.push_back(targets[0]);
    Value now;
    now.encoded = targets[0];
    now.finished = value.finished;
    now.received = value.received;
    now.lossy = true;
    if (delivered) {
      now.base = slot;
    } else {
      now.payloads.push_back(targets[0]);
    }
    value = std::move(now);
    return targets[0];
  }

  /// The meaning of a lone payload that waits for no finish.
  enum class Meaning : std::uint8_t { part, result };

  /// The slot that holds the value as numbers; decodes the payload if need be.
  Slot solidSlot(Slot slot, Meaning meaning) {
    if (!valueOf(slot).solid()) settle(slot, meaning);
    return *valueOf(slot).base;
  }

  /// Moves the slot's value to the slot's own memory.
  void settle(Slot slot, Meaning meaning) {
    Value& value = valueOf(slot);
    const Slot own = ownSlot(slot);
    if (value.solid() && *value.base == own) return;
    protect(slot, own);
    if (adds_payloads_ && !value.payloads.empty()) value.finishing = meaning == Meaning::result;
    if (value.payloads.empty()) {
      builder_.step(value.finishing ? StepKind::finish : StepKind::copy, -1, std::span(&own, 1),
                    std::span(&*value.base, 1));
    } else {
      const bool alone = !value.base && value.payloads.size() == 1 && !value.finishing;
      const bool summed = reduces(plain_.collective); // Other collectives have no second half.
      if (alone && summed && value.received && meaning == Meaning::result && !adds_payloads_)
        results_.push_back(value.payloads[0]);
      emit(StepKind::decode, std::span(&own, 1), value);
    }
    value.base = own;
    value.payloads.clear();
    value.finishing = false;
  }

  void emit(StepKind kind, std::span<const Slot> targets, const Value& value) {
    std::vector<Slot> sources;
    if (value.base) sources.push_back(*value.base);
    sources.insert(sources.end(), value.payloads.begin(), value.payloads.end());
    builder_.step(kind, -1, targets, sources, value.finishing);
  }

  /// `memory` is about to be overwritten with the value of `writer`: other slots that still use it get copies.
  void protect(Slot writer, Slot memory) {
    const auto disturbed = [&](Slot slot) {
      if (slot == writer || last_read_[cells_.of(slot)] <= now_) return;
      Value& value = valueOf(slot);
      if (value.base && sharesMemory(*value.base, memory)) settle(slot, Meaning::part);
    };
    for (std::uint32_t c = 0; c < plain_.chunk_count; ++c) {
      disturbed(input(c));
      disturbed(output(c));
    }
    for (std::uint32_t s = 0; s < plain_.scratch_like.size(); ++s)
      disturbed({Space::scratch, s});
  }

  [[nodiscard]] bool sharesMemory(Slot a, Slot b) const {
    if (a == b) return true;
    const bool both_callers = a.space != Space::scratch && b.space != Space::scratch && a.space != b.space;
    return both_callers && a.index == b.index && allowsInPlace(plain_.collective);
  }

  /// The slot where a value's numbers are written. The caller's input is never written.
  Slot ownSlot(Slot slot) {
    if (slot.space == Space::output) return slot;
    std::optional<Slot>& own = slot.space == Space::scratch ? scratch_[slot.index] : input_copies_[slot.index];
    if (!own) own = builder_.scratch(plain_.chunkLike(slot));
    return *own;
  }

  [[nodiscard]] Slot sizeOf(Slot slot) const {
    return slot.space == Space::scratch ? input(plain_.scratch_like[slot.index]) : slot;
  }
  [[nodiscard]] bool encodes(int peer) const {
    return encoded_peers_.empty() || adds_payloads_ || encoded_peers_[static_cast<std::size_t>(peer)];
  }
  Value& valueOf(Slot slot) { return values_[cells_.of(slot)]; }

  const Schedule& plain_;
  const std::vector<bool>& encoded_peers_;
  const bool adds_payloads_;
  const Role role_;
  ScheduleBuilder builder_;
  CellMap cells_;
  std::vector<Value> values_;           ///< By cell of the plain schedule.
  std::vector<std::int64_t> last_read_; ///< By cell: the last plain step that reads it; a result: later than all.
  std::vector<std::optional<Slot>> scratch_;
  std::vector<std::optional<Slot>> input_copies_ = std::vector<std::optional<Slot>>(plain_.chunk_count);
  std::vector<Slot> results_; ///< Payloads of results.
  bool requantizes_ = false;
  std::int64_t now_ = 0; ///< The plain step that is being rewritten.
};

} // namespace

Compressed compressed(const Schedule& plain, const std::vector<bool>& encoded_peers, Sums sums) {
  return Rewriter(plain, encoded_peers, sums).run();
}

bool resultsDiverge(std::span<const Schedule> ranks, bool draws) {
  struct Ends {
    int encoded = 0; ///< Ranks that encode the result.
    int kept = 0;    ///< Ranks that keep a sum uncompressed.
  };
  std::vector<Ends> ends(ranks[0].chunk_count);
  for (const Schedule& schedule : ranks) {
    for (const Step& step : schedule.steps) {
      if (step.kind == StepKind::encode && step.finishes) {
        ++ends[schedule.chunkLike(schedule.slotsOf(step.targets)[0])].encoded;
      } else if (step.kind == StepKind::finish || (step.kind == StepKind::decode && step.finishes)) {
        const bool own_numbers = schedule.slotsOf(step.sources)[0].space != Space::payload;
        if (own_numbers && ranks.size() > 1 && step.kind == StepKind::decode) return true;
        for (const Slot slot : schedule.slotsOf(step.targets))
          ++ends[schedule.chunkLike(slot)].kept;
      }
    }
  }
  return std::any_of(ends.begin(), ends.end(), [draws](const Ends& end) {
    return end.encoded > 1 || (end.kept > 0 && (end.encoded > 0 || draws));
  });
}

bool canCompress(Collective collective) {
  return collective != Collective::scan && collective != Collective::exscan && collective != Collective::barrier;
}

} // namespace goss::schedule
