/// Shapes of rooted trees over n positions, root at position 0.
#ifndef GOSS_COLLECTIVES_TREE_H_
#define GOSS_COLLECTIVES_TREE_H_

#include <vector>

namespace goss::collectives {

/// One position's neighbours in a tree.
struct TreeNode {
  int parent = -1;           ///< -1: the root.
  std::vector<int> children; ///< Smallest subtree first.
};

/// k-nomial tree (k = 2: binomial): the parent of v clears v's lowest nonzero digit to base k. Depth ceil(log_k n) at
/// most.
TreeNode knomialNode(int n, int position, int k);

/// The parent of v is (v - 1) / 2. Depth floor(log2 n).
TreeNode binaryNode(int n, int position);

/// The parent of v is v - 1. Depth n - 1.
TreeNode chainNode(int n, int position);

/// The parent of every position is 0. Depth 1.
TreeNode flatNode(int n, int position);

/// In-order binary tree: odd positions are the leaves, position 0 is the root and has one child. Depth at most
/// ceil(log2 n) + 1. With its mirror image (n even) or its shift by one (n odd) every position, save 0 for odd n, is a
/// leaf in one of the two trees.
TreeNode inOrderNode(int n, int position);

/// The second tree of the pair. Its root is position n - 1 (n even) or 1 (n odd).
TreeNode secondInOrderNode(int n, int position);

} // namespace goss::collectives

#endif // GOSS_COLLECTIVES_TREE_H_
