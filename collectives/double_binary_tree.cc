#include "collectives/double_binary_tree.h"

#include <bit>

#include "collectives/tree.h"

namespace goss::collectives {

namespace {

void emitUp(const GroupPhase& phase, const TreeNode& node, int block) {
  for (const int child : node.children)
    phase.receiveAdd(child, block, 1);
  if (node.parent >= 0) {
    phase.send(node.parent, block, 1);
  } else {
    phase.finish(block, 1);
  }
}

void emitDown(const GroupPhase& phase, const TreeNode& node, int block) {
  if (node.parent >= 0) phase.receive(node.parent, block, 1);
  for (const int child : node.children)
    phase.send(child, block, 1);
}

} // namespace

std::vector<CostRound> DoubleBinaryTree::rounds(int group_size, std::uint32_t pipeline_blocks) const {
  if (group_size < 2) return {};
  const auto depth = static_cast<std::uint32_t>(std::bit_width(static_cast<unsigned>(group_size - 1)));
  const double part = 0.5 / pipeline_blocks;
  // A position is an inner one of one tree: up two messages enter and two leave for each block, and down too.
  const CostRound steady{
      .part = part, .messages = 2, .times = pipeline_blocks - 1, .waits = false, .hops = Hops::earlier};
  std::vector<CostRound> rounds;
  for (std::uint32_t level = 0; level < depth; ++level)
    rounds.push_back(
        {.part = part, .messages = 2, .sums = 1, .enters = true, .hops = Hops::tree, .distance = 1 << level});
  rounds.push_back(steady);
  rounds.back().sums = 1;
  for (std::uint32_t level = depth; level-- > 0;)
    rounds.push_back({.part = part, .messages = 2, .hops = Hops::tree, .distance = 1 << level});
  rounds.push_back(steady);
  return rounds;
}

void DoubleBinaryTree::emit(const GroupPhase& phase) const {
  const int n = phase.group().size();
  const int self = phase.group().index();
  const TreeNode first = inOrderNode(n, self);
  const TreeNode second = secondInOrderNode(n, self);
  const int half = phase.blocks().blocks() / 2;
  for (int block = 0; block < half; ++block) {
    emitUp(phase, first, block);
    emitUp(phase, second, half + block);
  }
  for (int block = 0; block < half; ++block) {
    emitDown(phase, first, block);
    emitDown(phase, second, half + block);
  }
}

std::uint64_t DoubleBinaryTree::wireElements(int group_size, std::span<const std::uint64_t> block_elems) const {
  return 2 * static_cast<std::uint64_t>(group_size - 1) * sumOf(block_elems);
}

} // namespace goss::collectives
