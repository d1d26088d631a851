/// Compressed calls on ranks that are threads, and what they must come to.
#ifndef GOSS_TESTS_LIB_EXECUTION_COMPRESSED_HARNESS_H_
#define GOSS_TESTS_LIB_EXECUTION_COMPRESSED_HARNESS_H_

#include <functional>
#include <string>
#include <vector>

#include "gossamer/gossamer.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {

using Floats = std::vector<float>;

struct CompressedCase {
  RanksSetup setup;
  std::string codec;
  std::string return_codec;
  std::size_t count = 1000;
  bool in_place = false;
  goss_dtype dtype = GOSS_FLOAT32;
  goss_op op = GOSS_AVG;
  std::uint64_t tensor = 7;
};

RanksSetup setupOf(int ranks, const char* transport = "", const char* algorithm = "");

/// What rank `rank` contributes: standard normal, the same in every run.
Floats contribution(int rank, std::size_t count);

/// Every rank's result of an all_reduce, widened to float32. Fails the test where a call fails.
std::vector<Floats> allReduceCompressed(const CompressedCase& what);

/// ||x - y||^2 / ||x||^2.
double errorOf(const Floats& exact, const Floats& found);

/// Sum or mean over the ranks' contributions.
Floats exactResult(const CompressedCase& what);

} // namespace goss::test

#endif // GOSS_TESTS_LIB_EXECUTION_COMPRESSED_HARNESS_H_
