/// Inputs whose results are exact in every dtype, whatever the order of the additions, and those results.
#ifndef GOSS_TESTS_MATRIX_EXPECTED_H_
#define GOSS_TESTS_MATRIX_EXPECTED_H_

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "gossamer/types.h"

namespace goss::test {

/// One call of the matrix.
struct Case {
  Collective collective = Collective::allReduce;
  DType dtype = GOSS_FLOAT32;
  ReduceOp op = GOSS_SUM;
  std::size_t count = 0; ///< As passed to the call.
  bool in_place = false;
  std::string algorithm; ///< Empty: the planner's choice.

  [[nodiscard]] std::string describe() const;
};

/// Element `i` of rank `rank`'s send buffer. At most three significant bits, and so is every partial result over up to
/// 8 ranks, except products of integers, which wrap.
double inputValue(const Case& test, int rank, int ranks, std::size_t i);
/// The reduction of element `i` over ranks first..last-1 of `ranks`.
double reducedValue(const Case& test, int first, int last, int ranks, std::size_t i);

/// Sizes of a rank's buffers in elements, and what it must hold afterwards; nullopt: as before the call.
std::size_t sendCount(const Case& test, int rank, int ranks, int root);
std::size_t recvCount(const Case& test, int rank, int ranks, int root);
std::optional<double> expectedValue(const Case& test, int rank, int ranks, int root, std::size_t i);
/// In place: where the send buffer begins, counted from the receive buffer's beginning (negative: before it).
std::ptrdiff_t sendOffsetInPlace(const Case& test, int rank, int root);

/// `values` as elements of `dtype`; integers wrap.
std::vector<std::byte> encode(DType dtype, const std::vector<double>& values);

} // namespace goss::test

#endif // GOSS_TESTS_MATRIX_EXPECTED_H_
