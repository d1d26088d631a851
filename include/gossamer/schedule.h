/// A collective as a value: one rank's immutable list of steps, and the builder that algorithms write it with.
///
/// **Chunk**: the unit that a schedule moves; chunk c of a vector, or the block of rank c (Partition says which).
/// **Slot**: a place that holds one chunk: in the caller's input, in the caller's output, or in scratch memory.
/// **Step**: send, receive or combine slots. A step may run when the steps it depends on are done; the dependencies are
/// derived from slot hazards (read after write, write after read, write after write) by the builder, so no algorithm
/// writes one. The channel from rank i to rank j is first-in first-out: its k-th send meets the k-th receive.
///
/// A schedule knows no sizes, pointers or types; lib/schedule/layout.h binds slots to byte ranges. Fragments of a
/// buffer run the same schedule with scratch of their own, several in flight.
#ifndef GOSSAMER_SCHEDULE_H_
#define GOSSAMER_SCHEDULE_H_

#include <cstdint>
#include <initializer_list>
#include <span>
#include <string>
#include <vector>

#include "gossamer/neighborhood.h"
#include "gossamer/types.h"

namespace goss {

enum class Space : std::uint8_t {
  input,   ///< Chunk `index` of the caller's send buffer; read only.
  output,  ///< Chunk `index` of the caller's receive buffer.
  scratch, ///< Scratch slot `index`.
  payload, ///< Payload slot `index`: the encoded form of a chunk, in a compressed schedule.
  data,    ///< Builder only: chunk `index` wherever it lives now (see ScheduleBuilder).
};

struct Slot {
  Space space = Space::data;
  std::uint32_t index = 0;
  friend bool operator==(const Slot&, const Slot&) = default;
};

constexpr Slot data(std::uint32_t chunk) { return {Space::data, chunk}; }
constexpr Slot input(std::uint32_t chunk) { return {Space::input, chunk}; }
constexpr Slot output(std::uint32_t chunk) { return {Space::output, chunk}; }

/// Which sizes the chunks have.
enum class Partition : std::uint8_t {
  even,   ///< `chunk_count` near-equal parts of the vector (or parts proportional to given weights).
  byRank, ///< One block per rank, sizes given by the caller (v-variants included); chunk_count == size.
};

enum class StepKind : std::uint8_t {
  send,       ///< targets -> peer
  recv,       ///< peer -> targets
  recvReduce, ///< targets[i] = sources[i] op received[i]
  copy,       ///< targets[i] = sources[i]
  reduce,     ///< targets[0] = sources[0] op sources[1]; of payloads: as an additive codec adds them
  finish, ///< targets[i] = sources[i], a complete reduction, after what the op does once at the end (average: divide)
  /// Compressed schedules. targets[0], a payload = the encoded sum of the sources: a value or none, then payloads. A
  /// second target is the value that targets[0] decodes to.
  encode,
  decode,  ///< targets[0], a value = the sum of the sources: a value or none, then payloads.
  combine, ///< targets[0] = sources[0] * weights[0] + sources[1] * weights[1] + ..., values all.
};

/// A half-open range into one of the schedule's pools.
struct PoolRange {
  std::uint32_t first = 0;
  std::uint32_t count = 0;
};

struct Step {
  StepKind kind = StepKind::copy;
  bool finishes = false;          ///< encode, decode: the sum is complete and passes its finish on the way.
  std::int32_t peer = -1;         ///< send, recv, recvReduce.
  std::uint32_t ordinal = 0;      ///< send, recv, recvReduce: its place in the channel, from 0.
  PoolRange targets;              ///< Into slots.
  PoolRange sources;              ///< Into slots; none for send and recv.
  std::uint32_t first_weight = 0; ///< combine: into weights, one for each source.
  PoolRange dependencies;         ///< Into dependencies: indices of earlier steps.
};

/// One rank's schedule. Immutable once built; freely shared.
struct Schedule {
  Collective collective = Collective::barrier;
  int size = 1;
  int rank = 0;
  int root = -1;
  Partition partition = Partition::even;
  std::uint32_t chunk_count = 0;
  std::vector<Step> steps;
  std::vector<Slot> slots;                 ///< Pool.
  std::vector<std::uint32_t> dependencies; ///< Pool.
  std::vector<double> weights;             ///< Pool, of combine steps.
  Neighborhood neighborhood;               ///< Neighbour collectives: what they promise this rank.
  std::vector<std::uint32_t> scratch_like; ///< Scratch slot s has the size of chunk scratch_like[s].
  std::vector<Slot> payload_like;          ///< Payload slot s encodes a value of the size of that input or output.
  std::vector<bool> payload_finished;      ///< By payload slot: it holds a result (not a part of a sum).
  std::string algorithm;                   ///< Name, for people.

  [[nodiscard]] std::span<const Slot> slotsOf(PoolRange range) const {
    return std::span(slots).subspan(range.first, range.count);
  }
  /// Which chunk's size a slot has.
  [[nodiscard]] std::uint32_t chunkLike(Slot slot) const {
    if (slot.space == Space::scratch) return scratch_like[slot.index];
    return slot.space == Space::payload ? payload_like[slot.index].index : slot.index;
  }
  [[nodiscard]] std::span<const double> weightsOf(const Step& step) const {
    return std::span(weights).subspan(step.first_weight, step.sources.count);
  }
  [[nodiscard]] std::span<const std::uint32_t> dependenciesOf(const Step& step) const {
    return std::span(dependencies).subspan(step.dependencies.first, step.dependencies.count);
  }
};

/// What a schedule is for; its steps come from a builder.
struct ScheduleFrame {
  Collective collective = Collective::barrier;
  int size = 1;
  int rank = 0;
  int root = -1; ///< -1 where the collective has none.
  Partition partition = Partition::even;
  std::uint32_t chunk_count = 0;
  const Neighborhood* neighborhood = nullptr; ///< Neighbour collectives; copied.
};

/// Writes one rank's schedule in program order.
///
/// `data(c)` names chunk c wherever its current value is: at first in the caller's input (if this rank has it there),
/// and after the first write in its final place: the caller's output where the collective delivers chunk c to this
/// rank, else scratch. So an out-of-place reduction reads the input once, and build() adds the copies that are still
/// missing at the end. Final places: all_reduce, broadcast, all_gather, scan: output c. reduce, gather: output c at the
/// root, else scratch. reduce_scatter, scatter: output c for c == rank, else scratch. all_to_all, exscan and the
/// exchanges of blocks among neighbours have no data slots: use input(c), output(c) and scratch.
class ScheduleBuilder {
 public:
  explicit ScheduleBuilder(const ScheduleFrame& frame);

  [[nodiscard]] int size() const { return schedule_.size; }
  [[nodiscard]] int rank() const { return schedule_.rank; }
  [[nodiscard]] int root() const { return schedule_.root; }
  [[nodiscard]] std::uint32_t chunkCount() const { return schedule_.chunk_count; }

  /// A new scratch slot with the size of chunk `like_chunk`. It holds no value until a step writes one.
  Slot scratch(std::uint32_t like_chunk);

  void send(int peer, std::span<const Slot> slots);
  void recv(int peer, std::span<const Slot> slots);
  /// slots[i] = slots[i] op received[i]. Every slot must hold a value already.
  void recvReduce(int peer, std::span<const Slot> slots);
  void copy(Slot from, Slot to);
  /// into = into op with.
  void reduce(Slot into, Slot with);
  /// into = the sum of the sources, each times its weight.
  void combine(Slot into, std::span<const Slot> sources, std::span<const double> weights);
  /// The slots hold the sum over all ranks here; each output must have passed exactly one finish on its way.
  void finish(std::span<const Slot> slots);

  void send(int peer, std::initializer_list<Slot> slots) { send(peer, std::span(slots.begin(), slots.size())); }
  void recv(int peer, std::initializer_list<Slot> slots) { recv(peer, std::span(slots.begin(), slots.size())); }
  void recvReduce(int peer, std::initializer_list<Slot> slots) {
    recvReduce(peer, std::span(slots.begin(), slots.size()));
  }
  void finish(std::initializer_list<Slot> slots) { finish(std::span(slots.begin(), slots.size())); }

  /// Whether data(chunk) holds a value on this rank at this point.
  [[nodiscard]] bool holds(std::uint32_t chunk) const;

  // For passes that rewrite a schedule: slots are named as they are, never data slots.

  Slot payload(Slot like);
  void step(StepKind kind, int peer, std::span<const Slot> targets, std::span<const Slot> sources,
            bool finishes = false);
  /// Ends a schedule of steps that all came from step().
  Schedule buildAsIs(std::string algorithm_name);

  /// Ends the schedule. The builder cannot be used afterwards.
  Schedule build(std::string algorithm_name);

 private:
  struct Hazard {
    std::int64_t last_write = -1;
    std::vector<std::uint32_t> reads; ///< Since the last write.
  };
  enum class Where : std::uint8_t { nowhere, input, finalSlot };

  [[nodiscard]] bool delivers(std::uint32_t chunk) const;
  Slot finalSlot(std::uint32_t chunk);
  Slot resolveRead(Slot slot);
  Slot resolveWrite(Slot slot);
  Hazard& hazardOf(Slot slot);
  std::uint32_t ordinalOf(std::vector<std::uint32_t>& next_of_peer, int peer);
  PoolRange pool(std::span<const Slot> slots);

  Schedule schedule_;
  std::vector<Where> where_;                ///< By chunk.
  std::vector<std::int64_t> scratch_slots_; ///< By chunk: scratch slot, or -1.
  std::vector<Hazard> chunk_hazards_;       ///< Input c and output c count as one place: they may alias in place.
  std::vector<Hazard> output_hazards_;      ///< Where nothing is done in place: outputs are places of their own.
  std::vector<Hazard> scratch_hazards_;
  std::vector<Hazard> payload_hazards_;
  std::vector<std::uint32_t> sends_to_;   ///< By peer.
  std::vector<std::uint32_t> recvs_from_; ///< By peer.
};

} // namespace goss

#endif // GOSSAMER_SCHEDULE_H_
