#include "collectives/group.h"

#include <algorithm>
#include <cassert>
#include <numeric>

namespace goss::collectives {

Group Group::rotated(int size, int rank, int first) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  for (int v = 0; v < size; ++v)
    ranks[static_cast<std::size_t>(v)] = (v + first) % size;
  return {std::move(ranks), (rank - first + size) % size};
}

Group Group::ordered(int size, int rank, std::span<const int> order) {
  if (order.empty()) return rotated(size, rank, 0);
  assert(isOrder(order, size));
  const auto own = std::find(order.begin(), order.end(), rank);
  assert(own != order.end());
  return {std::vector<int>(order.begin(), order.end()), static_cast<int>(own - order.begin())};
}

Group Group::strided(int first, int stride, int size, int rank) {
  std::vector<int> ranks(static_cast<std::size_t>(size));
  for (int v = 0; v < size; ++v)
    ranks[static_cast<std::size_t>(v)] = first + v * stride;
  return {std::move(ranks), (rank - first) / stride};
}

bool isOrder(std::span<const int> order, int size) {
  if (order.empty()) return true;
  if (order.size() != static_cast<std::size_t>(size)) return false;
  std::vector<bool> seen(order.size(), false);
  for (const int rank : order) {
    if (rank < 0 || rank >= size || seen[static_cast<std::size_t>(rank)]) return false;
    seen[static_cast<std::size_t>(rank)] = true;
  }
  return true;
}

BlockMap BlockMap::packed(std::uint32_t first, std::uint32_t blocks, std::uint32_t width) {
  std::vector<std::uint32_t> firsts(blocks);
  for (std::uint32_t v = 0; v < blocks; ++v)
    firsts[v] = first + v * width;
  return {std::move(firsts), width, 1};
}

BlockMap BlockMap::interleaved(std::uint32_t blocks, std::uint32_t width) {
  std::vector<std::uint32_t> firsts(blocks);
  std::iota(firsts.begin(), firsts.end(), 0);
  return {std::move(firsts), width, blocks};
}

BlockMap BlockMap::ofRanks(const Group& group) {
  std::vector<std::uint32_t> firsts;
  for (int v = 0; v < group.size(); ++v)
    firsts.push_back(static_cast<std::uint32_t>(group.rankAt(v)));
  return {std::move(firsts), 1, 1};
}

void BlockMap::append(int block, std::vector<Slot>& slots) const {
  const std::uint32_t first = first_[static_cast<std::size_t>(block)];
  for (std::uint32_t i = 0; i < width_; ++i)
    slots.push_back(data(first + i * stride_));
}

std::vector<Slot> GroupPhase::run(int first_block, int count) const {
  std::vector<Slot> slots;
  slots.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i)
    blocks_.append((first_block + i + blocks_.blocks()) % blocks_.blocks(), slots);
  return slots;
}

std::vector<Slot> GroupPhase::slotsOf(std::span<const int> block_list) const {
  std::vector<Slot> slots;
  slots.reserve(block_list.size());
  for (const int block : block_list)
    blocks_.append(block, slots);
  return slots;
}

} // namespace goss::collectives
