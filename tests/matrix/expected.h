/// Inputs whose results are exact in every dtype, whatever the order of the additions, and those results.
#ifndef GOSS_TESTS_MATRIX_EXPECTED_H_
#define GOSS_TESTS_MATRIX_EXPECTED_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gossamer/types.h"

namespace goss::test {

/// One call of the C ABI, as all ranks make it.
struct Case {
  Collective collective = Collective::allReduce;
  DType dtype = GOSS_FLOAT32;
  ReduceOp op = GOSS_SUM;
  std::size_t count = 0; ///< As passed to the call.
  bool in_place = false;
  std::string algorithm;  ///< Empty: the planner's choice.
  std::string codec;      ///< Empty: none. Results are then not those of expectedValues().
  int root = 0;           ///< Root of reduce, broadcast, gather and scatter.
  std::uint64_t salt = 0; ///< Cases with other salts have other inputs.
  /// Not empty: the v-variant of allGather, reduceScatter or allToAll. Elements of each rank's block; for allToAll
  /// those from rank a to rank b at [a * ranks + b].
  std::vector<std::size_t> blocks;
  /// v-variants that take displacements: above 0 the blocks lie in reverse order, so many elements apart; 0: packed.
  std::size_t gap = 0;

  [[nodiscard]] std::string describe() const;
};

/// Counts and displacements for v-variants, and the end of the last block.
struct Blocks {
  std::vector<std::size_t> counts; ///< By rank.
  std::vector<std::size_t> displs;
  std::size_t end = 0;
};
Blocks sendBlocks(const Case& test, int rank, int ranks);
Blocks recvBlocks(const Case& test, int rank, int ranks);

/// Element `i` of rank `rank`'s send buffer. Every partial result over up to 8 ranks can be represented, except
/// products of integers, which wrap.
double inputValue(const Case& test, int rank, int ranks, std::size_t i);

/// Sizes of a rank's buffers in elements, and what it must hold afterwards; nullopt: as before the call.
std::size_t sendCount(const Case& test, int rank, int ranks);
std::size_t recvCount(const Case& test, int rank, int ranks);
std::vector<std::optional<double>> expectedValues(const Case& test, int rank, int ranks);
/// In place: where the send buffer begins, counted from the receive buffer's beginning (negative: before it).
std::ptrdiff_t sendOffsetInPlace(const Case& test, int rank, int ranks);

/// `values` as elements of `dtype`; integers wrap.
std::vector<std::byte> encode(DType dtype, const std::vector<double>& values);

bool reduces(Collective collective);
/// Operations that the call takes for the dtype; one where it takes none.
std::vector<ReduceOp> legalOps(Collective collective, DType dtype);

} // namespace goss::test

#endif // GOSS_TESTS_MATRIX_EXPECTED_H_
