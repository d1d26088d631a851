#include "collectives/tree.h"

#include <bit>

namespace goss::collectives {

TreeNode knomialNode(int n, int position, int k) {
  TreeNode node;
  for (int weight = 1; weight < n; weight *= k) {
    const int digit = position / weight % k;
    if (digit != 0) {
      node.parent = position - digit * weight;
      break;
    }
    for (int j = 1; j < k && position + j * weight < n; ++j)
      node.children.push_back(position + j * weight);
  }
  return node;
}

TreeNode binaryNode(int n, int position) {
  TreeNode node;
  if (position > 0) node.parent = (position - 1) / 2;
  for (int child = 2 * position + 2; child > 2 * position; --child) {
    if (child < n) node.children.push_back(child);
  }
  return node;
}

TreeNode chainNode(int n, int position) {
  TreeNode node;
  node.parent = position - 1;
  if (position + 1 < n) node.children.push_back(position + 1);
  return node;
}

TreeNode flatNode(int n, int position) {
  TreeNode node;
  if (position > 0) {
    node.parent = 0;
  } else {
    for (int v = 1; v < n; ++v)
      node.children.push_back(v);
  }
  return node;
}

TreeNode inOrderNode(int n, int position) {
  TreeNode node;
  if (position == 0) {
    if (n > 1) node.children.push_back(static_cast<int>(std::bit_ceil(static_cast<unsigned>(n)) / 2));
    return node;
  }
  const int lowest = position & -position;
  const int up = (position ^ lowest) | (lowest << 1);
  node.parent = up < n ? up : position ^ lowest;
  if (lowest > 1) {
    // Beyond n the right subtree is incomplete: its topmost existing position takes its place.
    for (int half = lowest / 2; half >= 1; half /= 2) {
      if (position + half >= n) continue;
      node.children.push_back(position + half);
      break;
    }
    node.children.push_back(position - lowest / 2);
  }
  return node;
}

TreeNode secondInOrderNode(int n, int position) {
  const bool mirrored = n % 2 == 0;
  TreeNode node = inOrderNode(n, mirrored ? n - 1 - position : (position + n - 1) % n);
  const auto back = [&](int v) { return mirrored ? n - 1 - v : (v + 1) % n; };
  if (node.parent >= 0) node.parent = back(node.parent);
  for (int& child : node.children)
    child = back(child);
  return node;
}

} // namespace goss::collectives
