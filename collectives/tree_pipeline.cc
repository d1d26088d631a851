#include "collectives/tree_pipeline.h"

#include <string>

#include "collectives/scheme.h"

namespace goss::collectives {

namespace {

void emitBroadcastBlock(const Phase& phase, const TreeNode& node, int block) {
  if (node.parent >= 0) phase.receive(node.parent, block, 1);
  for (auto child = node.children.rbegin(); child != node.children.rend(); ++child)
    phase.send(*child, block, 1);
}

void emitReduceBlock(const Phase& phase, const TreeNode& node, int block) {
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

bool TreePipeline::supports(const PlanRequest& request) const {
  return request.collective == collective_ && request.partition == Partition::even && request.blocks >= 1;
}

Schedule TreePipeline::plan(const PlanRequest& request) const {
  ScheduleBuilder builder({collective_, request.size, request.rank, request.root, Partition::even, request.blocks});
  const Group group = Group::rotated(request.size, request.rank, request.root);
  const BlockMap map = BlockMap::identity(request.blocks);
  const Phase phase(builder, group, map);
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
