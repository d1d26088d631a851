#include "tests/matrix/expected.h"

#include <algorithm>
#include <cstring>

#include "kernels/kernels.h"

namespace goss::test {

namespace {

bool isFloating(DType dtype) { return dtype >= GOSS_FLOAT16 && dtype != GOSS_BOOL; }

/// Scale of rank's input in a GOSS_PREMUL_SUM: a power of two, so that scaling is exact.
constexpr double kScale = 0.5;

/// All integers from 0 to this one can be represented.
std::uint64_t largestOf(DType dtype) {
  switch (dtype) {
    case GOSS_FLOAT8_E5M2:
      return 8;
    case GOSS_FLOAT8_E4M3:
      return 16;
    case GOSS_INT8:
      return 127;
    case GOSS_UINT8:
      return 255;
    case GOSS_BFLOAT16:
      return 256;
    case GOSS_FLOAT16:
      return 2048;
    default:
      return 1U << 20;
  }
}

/// A number in 0..below-1 that depends on everything.
std::uint64_t draw(const Case& test, std::uint64_t rank, std::uint64_t i, std::uint64_t below) {
  std::uint64_t x = (test.salt + 1) * 0x9e3779b97f4a7c15U ^ (rank + 1) * 0xd1b54a32d192ed03U ^ i * 0x2545f4914f6cdd1dU;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return (x ^ (x >> 31)) % below;
}

/// The reduction of element `i` over ranks first..last-1 of `ranks`.
double reducedValue(const Case& test, int first, int last, int ranks, std::size_t i) {
  double result = inputValue(test, first, ranks, i);
  for (int rank = first + 1; rank < last; ++rank) {
    const double value = inputValue(test, rank, ranks, i);
    switch (test.op) {
      case GOSS_PROD:
        result *= value;
        break;
      case GOSS_MIN:
        result = std::min(result, value);
        break;
      case GOSS_MAX:
        result = std::max(result, value);
        break;
      case GOSS_BAND:
        result = static_cast<double>(static_cast<unsigned>(result) & static_cast<unsigned>(value));
        break;
      case GOSS_BOR:
        result = static_cast<double>(static_cast<unsigned>(result) | static_cast<unsigned>(value));
        break;
      case GOSS_BXOR:
        result = static_cast<double>(static_cast<unsigned>(result) ^ static_cast<unsigned>(value));
        break;
      case GOSS_LAND:
        result = result != 0 && value != 0 ? 1 : 0;
        break;
      case GOSS_LOR:
        result = result != 0 || value != 0 ? 1 : 0;
        break;
      case GOSS_LXOR:
        result = (result != 0) != (value != 0) ? 1 : 0;
        break;
      default:
        result += value;
    }
  }
  if (test.op == GOSS_AVG) result /= ranks;
  if (test.op == GOSS_PREMUL_SUM) result *= kScale;
  return result;
}

/// Elements that rank `from` has for rank `to`.
std::size_t blockElems(const Case& test, int from, int to, int ranks) {
  if (test.blocks.empty()) return test.count;
  const bool exchange = test.collective == Collective::allToAll;
  return test.blocks[static_cast<std::size_t>(exchange ? from * ranks + to : to)];
}

Blocks placed(std::vector<std::size_t> counts, std::size_t gap) {
  Blocks blocks{std::move(counts), {}, 0};
  blocks.displs.resize(blocks.counts.size());
  for (std::size_t i = 0; i < blocks.counts.size(); ++i) {
    const std::size_t rank = gap > 0 ? blocks.counts.size() - 1 - i : i;
    blocks.displs[rank] = blocks.end + gap;
    blocks.end = blocks.displs[rank] + blocks.counts[rank];
  }
  return blocks;
}

/// Expected contents where each block of a rank's receive buffer comes from that block's rank.
std::vector<std::optional<double>> gathered(const Case& test, int rank, int ranks) {
  const Blocks into = recvBlocks(test, rank, ranks);
  std::vector<std::optional<double>> values(into.end);
  for (int from = 0; from < ranks; ++from) {
    const auto block = static_cast<std::size_t>(from);
    const bool exchange = test.collective == Collective::allToAll;
    const std::size_t first = exchange ? sendBlocks(test, from, ranks).displs[static_cast<std::size_t>(rank)] : 0;
    for (std::size_t i = 0; i < into.counts[block]; ++i)
      values[into.displs[block] + i] = inputValue(test, from, ranks, first + i);
  }
  return values;
}

std::optional<double> expectedValue(const Case& test, int rank, int ranks, std::size_t i) {
  switch (test.collective) {
    case Collective::broadcast:
      return inputValue(test, test.root, ranks, i);
    case Collective::scatter:
      return inputValue(test, test.root, ranks, static_cast<std::size_t>(rank) * test.count + i);
    case Collective::reduceScatter:
      return reducedValue(test, 0, ranks, ranks,
                          sendBlocks(test, rank, ranks).displs[static_cast<std::size_t>(rank)] + i);
    case Collective::scan:
      return reducedValue(test, 0, rank + 1, ranks, i);
    case Collective::exscan:
      if (rank == 0) return std::nullopt;
      return reducedValue(test, 0, rank, ranks, i);
    default:
      return reducedValue(test, 0, ranks, ranks, i);
  }
}

} // namespace

std::string Case::describe() const {
  static const char* const kNames[] = {"allReduce", "reduce",  "broadcast", "allGather", "reduceScatter", "allToAll",
                                       "gather",    "scatter", "scan",      "exscan",    "barrier"};
  std::string text = std::string(kNames[static_cast<int>(collective)]) + " dtype " + std::to_string(dtype) + " op " +
                     std::to_string(op) + " count " + std::to_string(count) + " root " + std::to_string(root) +
                     (in_place ? " in place" : "") + " algorithm '" + algorithm + "'";
  if (blocks.empty()) return text;
  text += " gap " + std::to_string(gap) + " blocks";
  for (const std::size_t block : blocks)
    text += " " + std::to_string(block);
  return text;
}

Blocks sendBlocks(const Case& test, int rank, int ranks) {
  std::vector<std::size_t> counts;
  for (int to = 0; to < ranks; ++to)
    counts.push_back(blockElems(test, rank, to, ranks));
  return placed(std::move(counts), test.collective == Collective::allToAll ? test.gap : 0);
}

Blocks recvBlocks(const Case& test, int rank, int ranks) {
  std::vector<std::size_t> counts;
  for (int from = 0; from < ranks; ++from) {
    counts.push_back(test.collective == Collective::allToAll ? blockElems(test, from, rank, ranks)
                                                             : blockElems(test, rank, from, ranks));
  }
  return placed(std::move(counts), test.gap);
}

double inputValue(const Case& test, int rank, int ranks, std::size_t i) {
  const auto r = static_cast<std::uint64_t>(rank);
  const auto p = static_cast<std::uint64_t>(ranks);
  const std::uint64_t largest = largestOf(test.dtype);
  const std::uint64_t share = std::max<std::uint64_t>(2, largest / 8);
  // Every rank is false in some places, and in some none is.
  if (test.dtype == GOSS_BOOL) return draw(test, r, i, p + 1) == 0 ? 0.0 : 1.0;
  if (!reduces(test.collective)) return static_cast<double>(draw(test, r, i, largest));
  switch (test.op) {
    case GOSS_SUM:
      return static_cast<double>(draw(test, r, i, share));
    case GOSS_PROD:
      return static_cast<double>(1 + draw(test, r, i, 2));
    case GOSS_MIN:
    case GOSS_MAX:
    case GOSS_BAND:
    case GOSS_BOR:
    case GOSS_BXOR:
      return static_cast<double>(draw(test, r, i, largest));
    // Truths of two values, so that an addition or a bitwise operation would be noticed.
    case GOSS_LAND:
    case GOSS_LOR:
    case GOSS_LXOR:
      if (draw(test, r, i, p + 1) == 0) return 0;
      return p == 1 ? 1.0 : static_cast<double>(1 + draw(test, r, i + 1, 2));
    // One rank holds the average times p, the others zeros: every partial sum is representable.
    case GOSS_AVG:
      return r == draw(test, ~0U, i, p) ? static_cast<double>(p * (1 + draw(test, 0, i, 2))) : 0.0;
    case GOSS_PREMUL_SUM:
      return static_cast<double>(draw(test, r, i, 2)) / kScale;
    case GOSS_OP_COUNT:
      break;
  }
  return 0;
}

std::size_t sendCount(const Case& test, int rank, int ranks) {
  const std::size_t all = test.count * static_cast<std::size_t>(ranks);
  switch (test.collective) {
    case Collective::broadcast:
      return rank == test.root ? test.count : 0;
    case Collective::scatter:
      return rank == test.root ? all : 0;
    case Collective::reduceScatter:
    case Collective::allToAll:
      return sendBlocks(test, rank, ranks).end;
    case Collective::allGather:
      return blockElems(test, rank, rank, ranks);
    case Collective::barrier:
      return 0;
    default:
      return test.count;
  }
}

std::size_t recvCount(const Case& test, int rank, int ranks) {
  const std::size_t all = test.count * static_cast<std::size_t>(ranks);
  switch (test.collective) {
    case Collective::reduce:
      return rank == test.root ? test.count : 0;
    case Collective::gather:
      return rank == test.root ? all : 0;
    case Collective::allGather:
    case Collective::allToAll:
      return recvBlocks(test, rank, ranks).end;
    case Collective::reduceScatter:
      return blockElems(test, rank, rank, ranks);
    case Collective::barrier:
      return 0;
    default:
      return test.count;
  }
}

std::vector<std::optional<double>> expectedValues(const Case& test, int rank, int ranks) {
  const bool gathers = test.collective == Collective::allGather || test.collective == Collective::allToAll;
  if (gathers || (test.collective == Collective::gather && rank == test.root)) return gathered(test, rank, ranks);
  std::vector<std::optional<double>> values(recvCount(test, rank, ranks));
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = expectedValue(test, rank, ranks, i);
  return values;
}

std::ptrdiff_t sendOffsetInPlace(const Case& test, int rank, int ranks) {
  const auto n = static_cast<std::ptrdiff_t>(test.count);
  const auto mine = static_cast<std::size_t>(rank);
  switch (test.collective) {
    case Collective::allGather:
      return static_cast<std::ptrdiff_t>(recvBlocks(test, rank, ranks).displs[mine]);
    case Collective::gather:
      return test.root * n;
    case Collective::reduceScatter:
      return -static_cast<std::ptrdiff_t>(sendBlocks(test, rank, ranks).displs[mine]);
    case Collective::scatter:
      return -test.root * n;
    default:
      return 0;
  }
}

std::vector<std::byte> encode(DType dtype, const std::vector<double>& values) {
  const std::size_t element = goss_dtype_size(dtype);
  std::vector<std::byte> bytes(values.size() * element);
  if (isFloating(dtype)) {
    kernels::convert(dtype, bytes.data(), GOSS_FLOAT64, values.data(), values.size());
    return bytes;
  }
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto wide = static_cast<std::int64_t>(values[i]); // Little-endian: the low bytes are the wrapped value.
    std::memcpy(bytes.data() + i * element, &wide, element);
  }
  return bytes;
}

bool reduces(Collective collective) {
  return collective == Collective::allReduce || collective == Collective::reduce ||
         collective == Collective::reduceScatter || collective == Collective::scan || collective == Collective::exscan;
}

std::vector<ReduceOp> legalOps(Collective collective, DType dtype) {
  if (!reduces(collective)) return {GOSS_SUM};
  if (dtype == GOSS_BOOL) return {GOSS_MIN, GOSS_MAX, GOSS_LAND, GOSS_LOR, GOSS_LXOR};
  std::vector<ReduceOp> ops{GOSS_SUM, GOSS_PROD, GOSS_MIN, GOSS_MAX};
  if (dtype < GOSS_FLOAT16) ops.insert(ops.end(), {GOSS_BAND, GOSS_BOR, GOSS_BXOR, GOSS_LAND, GOSS_LOR, GOSS_LXOR});
  if (collective != Collective::scan && collective != Collective::exscan) ops.push_back(GOSS_AVG);
  if (isFloating(dtype)) ops.push_back(GOSS_PREMUL_SUM);
  return ops;
}

} // namespace goss::test
