#include "schedule/layout.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "base/cache_lines.h"

namespace goss::schedule {

namespace {

/// For parts of fewer bytes alignment would cost more balance than it saves.
constexpr std::uint64_t kAlignPartsFromBytes = 2048;

/// Boundaries at the rounded cumulative weights, so that the parts cover `count` exactly.
std::vector<Extent> weightedParts(std::uint64_t count, const std::vector<double>& weights, std::uint64_t unit_elems) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::vector<Extent> parts;
  double sum = 0;
  std::uint64_t begin = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    sum += weights[i];
    const double units = std::nearbyint(static_cast<double>(count) / static_cast<double>(unit_elems) * sum / total);
    std::uint64_t end = std::min(count, static_cast<std::uint64_t>(units) * unit_elems);
    if (i + 1 == weights.size()) end = count;
    end = std::max(end, begin);
    parts.push_back({begin, end - begin});
    begin = end;
  }
  return parts;
}

std::uint64_t unitOf(const Shape& shape, std::uint64_t count, std::uint32_t parts) {
  const std::uint64_t unit = partUnit(count, parts, shape.element_bytes);
  if (shape.align_elems == 0) return unit;
  return (unit + shape.align_elems - 1) / shape.align_elems * shape.align_elems;
}

std::vector<Extent> evenChunks(const Schedule& schedule, const Shape& shape, Extent part) {
  const std::uint64_t unit = unitOf(shape, part.count_elems, schedule.chunk_count);
  std::vector<Extent> chunks;
  if (!shape.weights.empty()) {
    assert(shape.weights.size() == schedule.chunk_count);
    chunks = weightedParts(part.count_elems, shape.weights, unit);
  } else {
    for (std::uint32_t c = 0; c < schedule.chunk_count; ++c) {
      chunks.push_back(evenPart(part.count_elems, schedule.chunk_count, c, unit));
    }
  }
  for (Extent& chunk : chunks)
    chunk.offset_elems += part.offset_elems;
  return chunks;
}

std::vector<Extent> blockParts(const std::vector<Extent>& blocks, const Shape& shape, std::uint32_t fragment,
                               std::uint32_t fragments) {
  std::vector<Extent> parts;
  parts.reserve(blocks.size());
  for (const Extent& block : blocks) {
    Extent part = evenPart(block.count_elems, fragments, fragment, unitOf(shape, block.count_elems, fragments));
    part.offset_elems += block.offset_elems;
    parts.push_back(part);
  }
  return parts;
}

} // namespace

Extent evenPart(std::uint64_t count, std::uint32_t parts, std::uint32_t index, std::uint64_t unit_elems) {
  const std::uint64_t units = (count + unit_elems - 1) / unit_elems;
  const std::uint64_t base = units / parts;
  const std::uint64_t larger = units % parts;
  const std::uint64_t first = base * index + std::min<std::uint64_t>(index, larger);
  const std::uint64_t length = base + (index < larger ? 1 : 0);
  const std::uint64_t begin = std::min(count, first * unit_elems);
  const std::uint64_t end = std::min(count, (first + length) * unit_elems);
  return {begin, end - begin};
}

std::uint64_t partUnit(std::uint64_t count, std::uint32_t parts, std::uint64_t element_bytes) {
  const bool large = count * element_bytes >= kAlignPartsFromBytes * parts;
  return large ? std::max<std::uint64_t>(1, base::kCacheLineBytes / element_bytes) : 1;
}

Layout::Layout(const Schedule& schedule, const Shape& shape, std::uint32_t fragment, std::uint32_t fragments) {
  if (schedule.partition == Partition::even) {
    const Extent part = evenPart(shape.count, fragments, fragment, unitOf(shape, shape.count, fragments));
    input_ = evenChunks(schedule, shape, part);
    output_ = input_;
  } else {
    assert(shape.input_blocks.size() == schedule.chunk_count && shape.output_blocks.size() == schedule.chunk_count);
    input_ = blockParts(shape.input_blocks, shape, fragment, fragments);
    output_ = blockParts(shape.output_blocks, shape, fragment, fragments);
  }
  const std::uint64_t unit = std::max<std::uint64_t>(1, base::kCacheLineBytes / shape.element_bytes);
  for (const std::uint32_t like : schedule.scratch_like) {
    const std::uint64_t count = input_[like].count_elems;
    scratch_.push_back({scratch_elems_, count});
    scratch_elems_ += (count + unit - 1) / unit * unit;
  }
  for (const Slot like : schedule.payload_like)
    payloads_.push_back({0, extentOf(like).count_elems});
}

Extent Layout::extentOf(Slot slot) const {
  switch (slot.space) {
    case Space::input:
      return inputChunk(slot.index);
    case Space::output:
      return outputChunk(slot.index);
    case Space::scratch:
      return scratchSlot(slot.index);
    case Space::payload:
      return payloads_[slot.index];
    case Space::data:
      break;
  }
  assert(false && "data slots are resolved by the builder");
  return {};
}

ChunkSizes::ChunkSizes(const Schedule& any, const Shape& shape, std::uint32_t fragment, std::uint32_t fragments) {
  const Layout layout(any, shape, fragment, fragments);
  for (std::uint32_t chunk = 0; chunk < any.chunk_count; ++chunk) {
    input_.push_back(layout.inputChunk(chunk).count_elems);
    output_.push_back(layout.outputChunk(chunk).count_elems);
  }
}

} // namespace goss::schedule
