#include "kernels/kernels.h"

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "kernels/convert.h"
#include "kernels/table.h"

namespace goss::kernels {

namespace {

constexpr std::size_t kStreamBlockBytes = 16u << 10;

const Table& table() { return availableTables().back(); }

/// Reduces into a block in the first-level cache and passes it to `put(offset, block, elems)`, so that every type and
/// operation streams. Stores that bypass the caches do not read the old contents, a third of the traffic.
template <typename Put>
// NOLINTNEXTLINE(readability-function-size): two vectors and what to do with them, as below
void reduceInBlocks(DType dtype, ReduceOp op, const void* a, const void* b, std::size_t count, Put put) {
  const ReduceLoop loop = table().reduce[dtype][op];
  const std::size_t width = elementBytes(dtype);
  alignas(64) std::byte block[kStreamBlockBytes];
  const std::size_t most = kStreamBlockBytes / width;
  for (std::size_t done = 0; done < count;) {
    const std::size_t step = std::min(most, count - done);
    const std::size_t at = done * width;
    loop(block, static_cast<const std::byte*>(a) + at, static_cast<const std::byte*>(b) + at, step);
    put(at, block, step);
    done += step;
  }
}

} // namespace

bool supported(DType dtype, ReduceOp op) {
  if (dtype < 0 || dtype >= GOSS_DTYPE_COUNT || op < 0 || op >= GOSS_OP_COUNT) {
    return false;
  }
  return table().reduce[dtype][op] != nullptr;
}

// NOLINTNEXTLINE(readability-function-size)
void reduce(DType dtype, ReduceOp op, void* dst, const void* a, const void* b, std::size_t count) {
  table().reduce[dtype][op](dst, a, b, count);
}

// NOLINTNEXTLINE(readability-function-size)
void reduceStreaming(DType dtype, ReduceOp op, void* dst, const void* a, const void* b, std::size_t count) {
  if (table().stream == nullptr || dst == a || dst == b) return reduce(dtype, op, dst, a, b, count);
  reduceInBlocks(dtype, op, a, b, count, [&](std::size_t at, const std::byte* block, std::size_t elems) {
    table().stream(static_cast<std::byte*>(dst) + at, block, elems * elementBytes(dtype));
  });
}

// NOLINTNEXTLINE(readability-function-size)
void finishStreaming(DType dtype, ReduceOp op, int ranks, void* dst, void* other, const void* a, const void* b,
                     std::size_t count) {
  const auto put = [](void* to, const void* from, std::size_t bytes) {
    if (table().stream != nullptr) {
      table().stream(to, from, bytes);
    } else {
      std::memcpy(to, from, bytes);
    }
  };
  reduceInBlocks(dtype, op, a, b, count, [&](std::size_t at, std::byte* block, std::size_t elems) {
    if (op == GOSS_AVG) table().average[dtype](block, block, elems, ranks);
    put(static_cast<std::byte*>(dst) + at, block, elems * elementBytes(dtype));
    put(static_cast<std::byte*>(other) + at, block, elems * elementBytes(dtype));
  });
}

void copy(void* dst, const void* src, std::size_t bytes) {
  if (bytes >= kStreamedBytes && table().stream != nullptr) {
    table().stream(dst, src, bytes);
  } else if (bytes != 0) { // memcpy may not be given null pointers, even for no bytes
    std::memcpy(dst, src, bytes);
  }
}

void scale(DType dtype, void* dst, const void* src, std::size_t count, double factor) {
  table().scale[dtype](dst, src, count, factor);
}

void weightedSum(DType dtype, void* dst, std::span<const void* const> sources, std::span<const double> weights,
                 std::size_t count) {
  table().weighted_sum[dtype](dst, {sources.data(), weights.data(), weights.size()}, count);
}

void average(DType dtype, void* dst, const void* src, std::size_t count, int ranks) {
  table().average[dtype](dst, src, count, ranks);
}

void convert(DType to, void* dst, DType from, const void* src, std::size_t count) {
  if (to == from) {
    if (dst != src) {
      copy(dst, src, count * elementBytes(to));
    }
  } else if (to == GOSS_FLOAT32 && table().widen[from] != nullptr) {
    table().widen[from](dst, src, count);
  } else if (from == GOSS_FLOAT32 && table().narrow[to] != nullptr) {
    table().narrow[to](dst, src, count);
  } else {
    convertAny(to, dst, from, src, count);
  }
}

} // namespace goss::kernels
