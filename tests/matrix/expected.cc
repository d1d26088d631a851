#include "tests/matrix/expected.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "kernels/kernels.h"

namespace goss::test {

namespace {

bool isFloating(DType dtype) { return dtype >= GOSS_FLOAT16 && dtype != GOSS_BOOL; }

bool isReduction(Collective collective) {
  return collective == Collective::allReduce || collective == Collective::reduce ||
         collective == Collective::reduceScatter || collective == Collective::scan || collective == Collective::exscan;
}

/// Scale of rank's input in a GOSS_PREMUL_SUM: a power of two, so that scaling is exact.
constexpr double kScale = 0.5;

} // namespace

std::string Case::describe() const {
  static const char* const kNames[] = {"allReduce", "reduce",  "broadcast", "allGather", "reduceScatter", "allToAll",
                                       "gather",    "scatter", "scan",      "exscan",    "barrier"};
  return std::string(kNames[static_cast<int>(collective)]) + " dtype " + std::to_string(dtype) + " op " +
         std::to_string(op) + " count " + std::to_string(count) + (in_place ? " in place" : "") + " algorithm '" +
         algorithm + "'";
}

double inputValue(const Case& test, int rank, int ranks, std::size_t i) {
  const auto r = static_cast<std::size_t>(rank);
  const auto p = static_cast<std::size_t>(ranks);
  // Every rank is false in some place, and in some none is.
  if (test.dtype == GOSS_BOOL) return (i + r) % (p + 1) == 0 ? 0.0 : 1.0;
  if (!isReduction(test.collective)) return static_cast<double>((i * 3 + r * 5) % 8);
  switch (test.op) {
    case GOSS_SUM:
      return static_cast<double>((i + r) % 2);
    case GOSS_PROD:
      return static_cast<double>(1 + (i + r) % 2);
    case GOSS_MIN:
    case GOSS_MAX:
    case GOSS_BAND:
    case GOSS_BOR:
    case GOSS_BXOR:
      return static_cast<double>((i * 3 + r * 5) % 8);
    // Truths of two values, so that an addition or a bitwise operation would be noticed.
    case GOSS_LAND:
    case GOSS_LOR:
    case GOSS_LXOR:
      return (i + r) % (p + 1) == 0 ? 0.0 : p == 1 ? 1.0 : static_cast<double>(1 + (i + r) % 2);
    // One rank holds the average times p, the others nothing: every partial sum is representable.
    case GOSS_AVG:
      return r == i % p ? static_cast<double>(p * (1 + i % 2)) : 0.0;
    case GOSS_PREMUL_SUM:
      return static_cast<double>((i + r) % 2) / kScale;
    case GOSS_OP_COUNT:
      break;
  }
  return 0;
}

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

std::size_t sendCount(const Case& test, int rank, int ranks, int root) {
  const std::size_t all = test.count * static_cast<std::size_t>(ranks);
  switch (test.collective) {
    case Collective::broadcast:
      return rank == root ? test.count : 0;
    case Collective::scatter:
      return rank == root ? all : 0;
    case Collective::reduceScatter:
    case Collective::allToAll:
      return all;
    case Collective::barrier:
      return 0;
    default:
      return test.count;
  }
}

std::size_t recvCount(const Case& test, int rank, int ranks, int root) {
  const std::size_t all = test.count * static_cast<std::size_t>(ranks);
  switch (test.collective) {
    case Collective::reduce:
      return rank == root ? test.count : 0;
    case Collective::gather:
      return rank == root ? all : 0;
    case Collective::allGather:
    case Collective::allToAll:
      return all;
    case Collective::barrier:
      return 0;
    default:
      return test.count;
  }
}

std::optional<double> expectedValue(const Case& test, int rank, int ranks, int root, std::size_t i) {
  const std::size_t n = std::max<std::size_t>(1, test.count);
  const auto mine = static_cast<std::size_t>(rank) * n;
  switch (test.collective) {
    case Collective::allReduce:
    case Collective::reduce:
      return reducedValue(test, 0, ranks, ranks, i);
    case Collective::reduceScatter:
      return reducedValue(test, 0, ranks, ranks, mine + i);
    case Collective::broadcast:
      return inputValue(test, root, ranks, i);
    case Collective::allGather:
    case Collective::gather:
      return inputValue(test, static_cast<int>(i / n), ranks, i % n);
    case Collective::allToAll:
      return inputValue(test, static_cast<int>(i / n), ranks, mine + i % n);
    case Collective::scatter:
      return inputValue(test, root, ranks, mine + i);
    case Collective::scan:
      return reducedValue(test, 0, rank + 1, ranks, i);
    case Collective::exscan:
      if (rank == 0) return std::nullopt;
      return reducedValue(test, 0, rank, ranks, i);
    case Collective::barrier:
      break;
  }
  return std::nullopt;
}

std::ptrdiff_t sendOffsetInPlace(const Case& test, int rank, int root) {
  const auto n = static_cast<std::ptrdiff_t>(test.count);
  switch (test.collective) {
    case Collective::allGather:
      return rank * n;
    case Collective::gather:
      return root * n;
    case Collective::reduceScatter:
      return -rank * n;
    case Collective::scatter:
      return -root * n;
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

} // namespace goss::test
