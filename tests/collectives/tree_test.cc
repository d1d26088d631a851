// Shapes of trees: parents and children agree, everybody is reached, depths are as promised.
#include "collectives/tree.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <functional>
#include <vector>

namespace goss::collectives {
namespace {

using NodeOf = std::function<TreeNode(int n, int position)>;

int ceilLog(int n, int base) {
  int exponent = 0;
  for (int power = 1; power < n; power *= base)
    ++exponent;
  return exponent;
}

/// Checks the tree over n positions and returns its depth.
int depthOf(const NodeOf& node_of, int n, int root) {
  int deepest = 0;
  for (int v = 0; v < n; ++v) {
    const TreeNode node = node_of(n, v);
    EXPECT_EQ(node.parent < 0, v == root) << v << " of " << n;
    for (const int child : node.children)
      EXPECT_EQ(node_of(n, child).parent, v) << child << " of " << n;
    int depth = 0;
    for (int at = v; at != root && depth <= n; ++depth) {
      const int parent = node_of(n, at).parent;
      const std::vector<int> siblings = node_of(n, parent).children;
      EXPECT_NE(std::find(siblings.begin(), siblings.end(), at), siblings.end()) << at << " of " << n;
      at = parent;
    }
    EXPECT_LE(depth, n) << v << " of " << n << " does not reach the root";
    deepest = std::max(deepest, depth);
  }
  return deepest;
}

TEST(Tree, KnomialReachesEverybodyInLogarithmicDepth) {
  for (const int k : {2, 4, 8}) {
    for (int n = 1; n <= 130; ++n) {
      EXPECT_LE(depthOf([k](int size, int v) { return knomialNode(size, v, k); }, n, 0), ceilLog(n, k));
    }
  }
}

TEST(Tree, BinaryChainAndFlatHaveTheirDepths) {
  for (int n = 1; n <= 70; ++n) {
    EXPECT_EQ(depthOf(binaryNode, n, 0), std::bit_width(static_cast<unsigned>(n)) - 1);
    EXPECT_EQ(depthOf(chainNode, n, 0), n - 1);
    EXPECT_EQ(depthOf(flatNode, n, 0), n > 1 ? 1 : 0);
  }
}

TEST(Tree, ChildrenComeSmallestSubtreeFirst) {
  EXPECT_EQ(knomialNode(16, 0, 2).children, (std::vector<int>{1, 2, 4, 8}));
  EXPECT_EQ(knomialNode(16, 0, 4).children, (std::vector<int>{1, 2, 3, 4, 8, 12}));
  EXPECT_EQ(knomialNode(13, 8, 2).children, (std::vector<int>{9, 10, 12}));
}

TEST(Tree, BothInOrderTreesReachEverybody) {
  for (int n = 1; n <= 130; ++n) {
    EXPECT_LE(depthOf(inOrderNode, n, 0), ceilLog(n, 2) + 1);
    EXPECT_LE(depthOf(secondInOrderNode, n, n % 2 == 0 ? n - 1 : 1 % n), ceilLog(n, 2) + 1);
  }
}

TEST(Tree, PositionsAreInnerInOneInOrderTreeOnly) {
  for (int n = 2; n <= 130; ++n) {
    for (int v = n % 2; v < n; ++v) {
      EXPECT_TRUE(inOrderNode(n, v).children.empty() || secondInOrderNode(n, v).children.empty()) << v << " of " << n;
    }
  }
}

} // namespace
} // namespace goss::collectives
