#include "collectives/tree_pipeline.h"

#include <algorithm>
#include <bit>
#include <string>

#include "collectives/scheme.h"

namespace goss::collectives {

namespace {

void emitBroadcastBlock(const GroupPhase& phase, const TreeNode& node, int block) {
  if (node.parent >= 0) phase.receive(node.parent, block, 1);
  for (auto child = node.children.rbegin(); child != node.children.rend(); ++child)
    phase.send(*child, block, 1);
}

void emitReduceBlock(const GroupPhase& phase, const TreeNode& node, int block) {
  for (const int child : node.children)
    phase.receiveAdd(child, block, 1);
  if (node.parent >= 0) {
    phase.send(node.parent, block, 1);
  } else {
    phase.finish(block, 1);
  }
}

} // namespace

std::string_view TreePipeline::name() const {
  switch (shape_) {
    case Shape::binomial:
      return "binomial";
    case Shape::knomial4:
      return "knomial4";
    case Shape::knomial8:
      return "knomial8";
    case Shape::binary:
      return "binary";
    case Shape::chain:
      return "chain";
    case Shape::linear:
      return "linear";
  }
  return "tree";
}

TreeNode TreePipeline::nodeOf(int n, int position) const {
  switch (shape_) {
    case Shape::binomial:
      return knomialNode(n, position, 2);
    case Shape::knomial4:
      return knomialNode(n, position, 4);
    case Shape::knomial8:
      return knomialNode(n, position, 8);
    case Shape::binary:
      return binaryNode(n, position);
    case Shape::chain:
      return chainNode(n, position);
    case Shape::linear:
      return flatNode(n, position);
  }
  return flatNode(n, position);
}

/// The way of one block from the root to the position that has it last.
std::vector<CostRound> TreePipeline::firstBlock(int n) const {
  switch (shape_) {
    case Shape::chain:
      return {{.times = static_cast<std::uint32_t>(n - 1), .hops = Hops::tree}};
    case Shape::linear:
      return {{.messages = n - 1, .hops = Hops::tree}};
    case Shape::binary: {
      const int full = std::bit_width(static_cast<unsigned>(n + 1)) - 2;
      const int depth = std::bit_width(static_cast<unsigned>(n)) - 1;
      // Position v is the parent of 2 v + 1 and 2 v + 2.
      std::vector<CostRound> levels;
      for (int level = 0; level < depth; ++level)
        levels.push_back({.messages = level < full ? 2 : 1, .hops = Hops::tree, .distance = 1 << level});
      return levels;
    }
    default:
      break;
  }
  const int k = shape_ == Shape::binomial ? 2 : shape_ == Shape::knomial4 ? 4 : 8;
  std::vector<CostRound> rounds;
  for (int weight = 1; weight < n; weight *= k)
    rounds.push_back({.messages = std::min(k - 1, (n - 1) / weight), .hops = Hops::tree, .distance = weight});
  std::reverse(rounds.begin(), rounds.end());
  // The longest path leads to a position without a digit 0; the first children's subtrees may be too small to have it.
  int least = 0;
  for (std::size_t i = 0; i < rounds.size(); ++i)
    least = least * k + 1;
  if (least >= n && rounds.size() > 1) rounds[1].waits = false;
  return rounds;
}

std::vector<CostRound> TreePipeline::rounds(const PlanRequest& request) const {
  if (request.size < 2) return {};
  std::vector<CostRound> rounds = firstBlock(request.size);
  const bool reduces = collective_ == Collective::reduce;
  CostRound busiest = rounds.front(); // The root's, or where all have as many children another position's.
  if (shape_ >= Shape::binomial && shape_ <= Shape::knomial8) {
    for (std::size_t i = 1; i < rounds.size(); ++i)
      busiest.messages += rounds[i].messages;
  }
  busiest.waits = false;
  // In a binary tree positions of all nodes but the first send to others far above them.
  busiest.hops = shape_ == Shape::binary ? Hops::shift : Hops::earlier;
  busiest.distance = std::max(1, request.size / 2);
  busiest.times = request.blocks - 1;
  rounds.push_back(busiest);
  for (CostRound& round : rounds) {
    round.part = 1.0 / request.blocks;
    round.sums = reduces ? 1 : 0;
    // An inner position of a chain or a binary tree sends, too.
    round.enters = reduces && shape_ != Shape::chain && shape_ != Shape::binary;
  }
  return rounds;
}

bool TreePipeline::supports(const PlanRequest& request) const {
  return request.collective == collective_ && request.partition == Partition::even && request.blocks >= 1;
}

Schedule TreePipeline::plan(const PlanRequest& request) const {
  ScheduleBuilder builder({collective_, request.size, request.rank, request.root, Partition::even, request.blocks});
  const Group group = Group::rotated(request.size, request.rank, request.root);
  const BlockMap map = BlockMap::identity(request.blocks);
  const GroupPhase phase(builder, group, map);
  const TreeNode node = nodeOf(group.size(), group.index());
  for (int block = 0; block < map.blocks(); ++block) {
    if (collective_ == Collective::broadcast) {
      emitBroadcastBlock(phase, node, block);
    } else {
      emitReduceBlock(phase, node, block);
    }
  }
  return builder.build(std::string(name()));
}

std::uint64_t TreePipeline::wireElements(const PlanRequest& request, std::span<const std::uint64_t> chunk_elems) const {
  return static_cast<std::uint64_t>(request.size - 1) * sumOf(chunk_elems);
}

} // namespace goss::collectives
