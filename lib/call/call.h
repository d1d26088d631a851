/// A collective call after validation: what is to be moved, in terms that are the same for every collective.
#ifndef GOSS_LIB_CALL_CALL_H_
#define GOSS_LIB_CALL_CALL_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "call/codec_pair.h"
#include "call/signature.h"
#include "gossamer/gossamer.h"
#include "schedule/layout.h"

namespace goss {

/// A call's plain arguments, by which a cached call is found. Without a root -1, without an op GOSS_SUM.
struct CallKey {
  Collective collective = Collective::barrier;
  DType dtype = GOSS_INT8;
  ReduceOp op = GOSS_SUM;
  std::int32_t root = -1;
  std::uint64_t count = 0;
  const void* input = nullptr;
  void* output = nullptr;

  friend bool operator==(const CallKey&, const CallKey&) = default;
  [[nodiscard]] std::size_t hash() const {
    const std::uint64_t mixed = count * 0x9e3779b97f4a7c15u ^ reinterpret_cast<std::uintptr_t>(output) >> 4 ^
                                static_cast<std::uint64_t>(collective) << 2 ^ static_cast<std::uint64_t>(dtype);
    return static_cast<std::size_t>(mixed ^ mixed >> 32);
  }
};

/// Set where a call is a phase of a multi-phase call, or of one whose plan was chosen after its start.
struct PhaseOf {
  std::shared_ptr<const CodecPair> codecs; ///< Codecs of the multi-phase call; null: it has none.
  Signature signature;                     ///< Signature of the multi-phase call.
};

/// Which of a call's buffers lie in device memory.
struct DeviceBuffers {
  int device = -1; ///< Ordinal; -1: none does.
  bool input = false;
  bool output = false;
  bool pinned_input = false; ///< The input is pinned memory of the host, which `stream` copies as it does a device's.
  bool pinned_output = false;
  bool ordered = false;   ///< The call is a part of `stream`'s work; else the buffers are ready.
  bool grouped = false;   ///< Gates of `stream` follow when the caller's group of calls ends.
  void* stream = nullptr; ///< The caller's.

  [[nodiscard]] bool any() const { return device >= 0; }
  friend bool operator==(const DeviceBuffers&, const DeviceBuffers&) = default;
};

/// The validated call. A buffer that holds only this rank's block (input of all_gather, output of scatter) has that
/// block at offset 0.
struct Call {
  Collective collective = Collective::barrier;
  DType dtype = GOSS_INT8;
  ReduceOp op = GOSS_SUM;
  int root = -1;
  bool uneven = false; ///< v-variant.
  const void* input = nullptr;
  void* output = nullptr;
  bool staged_input = false; ///< The input must be copied away first (all_to_all in place).
  /// As the caller gave it; for v-variants the sum (all_to_allv and neighbours: 0, because the ranks' sums differ).
  std::uint64_t count = 0;
  std::uint32_t counts_hash = 0; ///< v-variants: hash of what must be equal on all ranks.
  schedule::Shape shape;
  double scale = 1.0; ///< GOSS_PREMUL_SUM.
  std::int64_t timeout_ms = 0;
  std::string algorithm;                            ///< Empty: the planner's choice.
  std::shared_ptr<const CodecPair> codecs;          ///< Null: the call is not compressed.
  std::uint64_t tensor = 0;                         ///< Names the vector for error feedback and random streams.
  std::shared_ptr<const Neighborhood> neighborhood; ///< Neighbour collectives alone.
  std::shared_ptr<const PhaseOf> phase_of;          ///< Null: the call is not a phase.
  DeviceBuffers device;

  friend bool operator==(const Call&, const Call&) = default;

  /// Elements from the start of `input` to the end of its last block, for staging.
  [[nodiscard]] std::uint64_t inputSpanElems(int rank) const;
  /// Bytes of the caller's input vector on this rank.
  [[nodiscard]] std::uint64_t payloadBytes() const { return uneven ? 0 : count * shape.element_bytes; }
};

/// Bytes of one element; 0 for an unknown dtype.
std::size_t dtypeBytes(DType dtype);

/// Block lists of `count` elements for each rank, packed, or counts[r] elements at displs[r] (null: packed). The buffer
/// that holds only this rank's block (input of all_gather and gather, output of reduce_scatter and scatter) has it at
/// offset 0.
schedule::Shape blocksShape(Collective collective, int ranks, std::uint64_t count, std::uint64_t element_bytes);
schedule::Shape blocksShape(Collective collective, std::span<const std::size_t> counts, const std::size_t* displs,
                            std::uint64_t element_bytes);
/// By rank: the block of each neighbour; the blocks of all other ranks are empty. `counts` has an entry for each
/// neighbour, or one for all; so has `displs` for each neighbour. Null displs: packed in the order of the list.
std::vector<schedule::Extent> neighborBlocks(int ranks, const std::vector<Neighbor>& neighbors,
                                             std::span<const std::size_t> counts, const std::size_t* displs);
/// Fills in Call::shape for a collective whose blocks are given by one count (or that moves one vector of `count`
/// elements).
void setUniformShape(Call& call, int ranks);

/// Validates a call; errors name what is wrong: dtype, op, root, timeout, sizes and positions of blocks.
Status validate(const Call& call, int size);

} // namespace goss

#endif // GOSS_LIB_CALL_CALL_H_
