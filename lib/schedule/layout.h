/// Binds a schedule's slots to elements: the step between a plan, which knows no sizes, and its execution.
#ifndef GOSS_LIB_SCHEDULE_LAYOUT_H_
#define GOSS_LIB_SCHEDULE_LAYOUT_H_

#include <cstdint>
#include <vector>

#include "gossamer/schedule.h"

namespace goss::schedule {

/// A run of elements in a buffer.
struct Extent {
  std::uint64_t offset_elems = 0;
  std::uint64_t count_elems = 0;
  friend bool operator==(const Extent&, const Extent&) = default;
};

/// Part `index` of `count` elements in `parts` near-equal parts. Boundaries are multiples of `unit_elems`, except the
/// end. Sizes differ by at most one unit, larger ones first; parts beyond the data are empty.
Extent evenPart(std::uint64_t count, std::uint32_t parts, std::uint32_t index, std::uint64_t unit_elems);

/// Elements per cache line for parts that are large enough to be aligned, else 1. The same on all ranks.
std::uint64_t partUnit(std::uint64_t count, std::uint32_t parts, std::uint64_t element_bytes);

/// Sizes of the data that a call moves, before chunking.
struct Shape {
  friend bool operator==(const Shape&, const Shape&) = default;

  std::uint64_t element_bytes = 1;
  std::uint64_t count = 0; ///< Partition::even: elements of the vector.
  /// Parts and chunks begin at multiples of so many elements (blocks of a codec that share a scale); 0: no constraint.
  std::uint64_t align_elems = 0;
  std::vector<double> weights = {}; ///< Partition::even: relative chunk sizes; empty: equal.
  /// Partition::byRank: block of each rank; offsets count from the caller's pointer and matter only where this rank has
  /// the block in that buffer.
  std::vector<Extent> input_blocks = {};
  std::vector<Extent> output_blocks = {};
};

/// One fragment's chunks. Fragment f of an even vector is part f of the vector, chunked again; of blocks, part f of
/// every block.
class Layout {
 public:
  Layout(const Schedule& schedule, const Shape& shape, std::uint32_t fragment = 0, std::uint32_t fragments = 1);

  [[nodiscard]] Extent inputChunk(std::uint32_t chunk) const { return input_[chunk]; }
  [[nodiscard]] Extent outputChunk(std::uint32_t chunk) const { return output_[chunk]; }
  /// Offset counts from the fragment's scratch area; slots start at multiples of 64 bytes.
  [[nodiscard]] Extent scratchSlot(std::uint32_t slot) const { return scratch_[slot]; }
  [[nodiscard]] std::uint64_t scratchElems() const { return scratch_elems_; }
  /// The extent of a slot; for a payload slot the number of elements that it encodes, at offset 0.
  [[nodiscard]] Extent extentOf(Slot slot) const;

 private:
  std::vector<Extent> input_;
  std::vector<Extent> output_;
  std::vector<Extent> scratch_;
  std::vector<Extent> payloads_;
  std::uint64_t scratch_elems_ = 0;
};

/// Elements of the chunks of one fragment, which all ranks cut alike: enough where offsets do not matter.
class ChunkSizes {
 public:
  ChunkSizes() = default;
  /// `any`: the schedule of one of the ranks. The rest as for Layout.
  ChunkSizes(const Schedule& any, const Shape& shape, std::uint32_t fragment, std::uint32_t fragments);

  [[nodiscard]] std::uint64_t of(const Schedule& schedule, Slot slot) const {
    if (slot.space == Space::payload) slot = schedule.payload_like[slot.index];
    if (slot.space == Space::scratch) return input_[schedule.scratch_like[slot.index]];
    return slot.space == Space::input ? input_[slot.index] : output_[slot.index];
  }
  friend bool operator==(const ChunkSizes&, const ChunkSizes&) = default;

 private:
  std::vector<std::uint64_t> input_;
  std::vector<std::uint64_t> output_;
};

} // namespace goss::schedule

#endif // GOSS_LIB_SCHEDULE_LAYOUT_H_
