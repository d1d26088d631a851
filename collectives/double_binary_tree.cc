#include "collectives/double_binary_tree.h"

#include "collectives/tree.h"

namespace goss::collectives {

namespace {

void emitUp(const Phase& phase, const TreeNode& node, int block) {
  for (const int child : node.children)
    phase.receiveAdd(child, block, 1);
  if (node.parent >= 0) {
    phase.send(node.parent, block, 1);
  } else {
    phase.finish(block, 1);
  }
}

void emitDown(const Phase& phase, const TreeNode& node, int block) {
  if (node.parent >= 0) phase.receive(node.parent, block, 1);
  for (const int child : node.children)
    phase.send(child, block, 1);
}

} // namespace

void DoubleBinaryTree::emit(const Phase& phase) const {
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
