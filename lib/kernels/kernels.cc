#include "kernels/kernels.h"

#include <cstring>

#include "kernels/convert.h"
#include "kernels/table.h"

namespace goss::kernels {

namespace {

// From this size on streaming stores were faster than memcpy on the machines measured; see docs/performance.md.
constexpr std::size_t kStreamBytes = 8u << 20;

const Table& table() { return availableTables().back(); }

std::size_t reduceIndex(ReduceOp op) {
  return op == GOSS_AVG || op == GOSS_PREMUL_SUM ? std::size_t{GOSS_SUM} : static_cast<std::size_t>(op);
}

} // namespace

bool supported(DType dtype, ReduceOp op) {
  if (dtype < 0 || dtype >= GOSS_DTYPE_COUNT || op < 0 || op >= GOSS_OP_COUNT) {
    return false;
  }
  return op != GOSS_PREMUL_SUM || table().scale[dtype] != nullptr;
}

void reduce(DType dtype, ReduceOp op, void* dst, const void* a, const void* b, std::size_t count) {
  // Streaming the result past the caches, block by block, was tried: 5 % faster with aligned operands, 30 % slower
  // without.
  table().reduce[dtype][reduceIndex(op)](dst, a, b, count);
}

void copy(void* dst, const void* src, std::size_t bytes) {
  if (bytes >= kStreamBytes && table().stream != nullptr) {
    table().stream(dst, src, bytes);
  } else if (bytes != 0) { // memcpy may not be given null pointers, even for nothing
    std::memcpy(dst, src, bytes);
  }
}

void scale(DType dtype, void* dst, const void* src, std::size_t count, double factor) {
  table().scale[dtype](dst, src, count, factor);
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
