#include "trainer/model/gradient_tree.h"

#include <bit>

namespace goss::trainer {

GradientTree::GradientTree(Ops& ops, std::size_t count, std::size_t max_micro_batches) : ops_(ops), count_(count) {
  // The last micro-batch stays in the target, so at most max - 1 are stored.
  const auto stored_levels = static_cast<std::size_t>(std::bit_width(max_micro_batches - 1));
  levels_.reserve(1 + stored_levels);
  for (std::size_t i = 0; i <= stored_levels; ++i)
    levels_.emplace_back(ops, count);
}

void GradientTree::reset() { added_ = 0; }

void GradientTree::add() {
  std::size_t level = 0;
  while ((added_ >> level & 1) != 0) {
    ops_.axpy(1.0f, levels_[1 + level].data(), target(), count_);
    ++level;
  }
  ops_.copy(levels_[1 + level].data(), target(), count_);
  ++added_;
}

void GradientTree::finish(std::size_t first, std::size_t last) {
  for (std::size_t level = 0; added_ >> level != 0; ++level) {
    if ((added_ >> level & 1) != 0) {
      ops_.axpy(1.0f, levels_[1 + level].data() + first, target() + first, last - first);
    }
  }
}

} // namespace goss::trainer
