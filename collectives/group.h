/// Who takes part in a phase and which chunks it moves: what lets one algorithm run inside another.
#ifndef GOSS_COLLECTIVES_GROUP_H_
#define GOSS_COLLECTIVES_GROUP_H_

#include <cstdint>
#include <span>
#include <vector>

#include "gossamer/schedule.h"

namespace goss::collectives {

/// Some ranks in an order. A phase names positions 0..size-1 of this order and never ranks; positions wrap around.
class Group {
 public:
  /// `index` is this rank's own position: ranks[index] is the rank that plans.
  Group(std::vector<int> ranks, int index) : ranks_(std::move(ranks)), index_(index) {}

  /// All ranks; position v is rank (v + first) mod size.
  static Group rotated(int size, int rank, int first);
  /// All ranks in a given order (a permutation of 0..size-1); empty: natural order.
  static Group ordered(int size, int rank, std::span<const int> order);
  /// `size` ranks first, first + stride, ...; `rank` is one of them.
  static Group strided(int first, int stride, int size, int rank);

  [[nodiscard]] int size() const { return static_cast<int>(ranks_.size()); }
  [[nodiscard]] int index() const { return index_; }
  /// The rank at `position`, which is in (-size, 2 * size).
  [[nodiscard]] int rankAt(int position) const { return ranks_[static_cast<std::size_t>(wrap(position))]; }
  [[nodiscard]] int wrap(int position) const { return (position + size()) % size(); }

 private:
  std::vector<int> ranks_;
  int index_;
};

/// Whether `order` may be PlanRequest::order for `size` ranks: empty or a permutation of 0..size-1.
bool isOrder(std::span<const int> order, int size);

/// The blocks that a phase moves, each one or more chunks. In a reduce-scatter and an all-gather, block v belongs to
/// position v.
class BlockMap {
 public:
  /// Block v is chunk v.
  static BlockMap identity(std::uint32_t blocks) { return packed(0, blocks, 1); }
  /// Block v is the chunks first + v * width, ..., first + (v + 1) * width - 1.
  static BlockMap packed(std::uint32_t first, std::uint32_t blocks, std::uint32_t width);
  /// Block v is the chunks v, v + blocks, ..., v + (width - 1) * blocks.
  static BlockMap interleaved(std::uint32_t blocks, std::uint32_t width);
  /// Block v is the chunk of the rank at position v.
  static BlockMap ofRanks(const Group& group);

  [[nodiscard]] int blocks() const { return static_cast<int>(first_.size()); }
  void append(int block, std::vector<Slot>& slots) const;

 private:
  BlockMap(std::vector<std::uint32_t> first, std::uint32_t width, std::uint32_t stride)
      : first_(std::move(first)), width_(width), stride_(stride) {}
  std::vector<std::uint32_t> first_; ///< By block: its first chunk.
  std::uint32_t width_;              ///< Chunks per block.
  std::uint32_t stride_;             ///< Distance between the chunks of a block.
};

/// One phase of a schedule: steps among a group's positions on a map's blocks. References only; lives as long as the
/// emission. Runs of blocks wrap around the end of the map.
class GroupPhase {
 public:
  GroupPhase(ScheduleBuilder& builder, const Group& group, const BlockMap& blocks)
      : builder_(builder), group_(group), blocks_(blocks) {}

  [[nodiscard]] ScheduleBuilder& builder() const { return builder_; }
  [[nodiscard]] const Group& group() const { return group_; }
  [[nodiscard]] const BlockMap& blocks() const { return blocks_; }

  void send(int to, int first_block, int count) const { builder_.send(group_.rankAt(to), run(first_block, count)); }
  void receive(int from, int first_block, int count) const {
    builder_.recv(group_.rankAt(from), run(first_block, count));
  }
  /// Receives and adds to what this rank has.
  void receiveAdd(int from, int first_block, int count) const {
    builder_.recvReduce(group_.rankAt(from), run(first_block, count));
  }
  /// The blocks hold the complete sum now.
  void finish(int first_block, int count) const { builder_.finish(run(first_block, count)); }

  /// Data slots of blocks first, first + 1, ..., or of the listed blocks.
  [[nodiscard]] std::vector<Slot> run(int first_block, int count) const;
  [[nodiscard]] std::vector<Slot> slotsOf(std::span<const int> block_list) const;

 private:
  ScheduleBuilder& builder_;
  const Group& group_;
  const BlockMap& blocks_;
};

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_GROUP_H_
