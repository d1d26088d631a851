// A program that adds floats, run with GOSS_MPI_CODEC: its sums are rounded as int8 in blocks, and alike on all ranks.
// Doubles are exact.
#include "tests/bindings/mpi/support.h"

#include <cmath>
#include <vector>

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  constexpr int kCount = 10000;
  const int ranks = sizeOf(MPI_COMM_WORLD);
  std::vector<float> own(kCount);
  std::vector<float> sums(kCount);
  for (int i = 0; i < kCount; ++i)
    own[static_cast<std::size_t>(i)] = std::sin(static_cast<float>(i + rankIn(MPI_COMM_WORLD)));
  OK(MPI_Allreduce(own.data(), sums.data(), kCount, MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD));
  int differ = 0;
  for (int i = 0; i < kCount; ++i) {
    float exact = 0;
    for (int rank = 0; rank < ranks; ++rank)
      exact += std::sin(static_cast<float>(i + rank));
    const float error = std::fabs(sums[static_cast<std::size_t>(i)] - exact);
    // Values up to 1 are rounded to multiples of 1/127 on each rank, and their sum, up to `ranks`, to some of
    // ranks/127.
    CHECK(error < 2.0F * static_cast<float>(ranks) / 127.0F);
    if (error > 0.001F) ++differ;
  }
  CHECK(differ > kCount / 4);
  std::vector<float> first = sums;
  OK(MPI_Bcast(first.data(), kCount, MPI_FLOAT, 0, MPI_COMM_WORLD));
  CHECK(first == sums);
  const double third = 1.0 / 3;
  double all = 0;
  OK(MPI_Allreduce(&third, &all, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
  CHECK(std::fabs(all - ranks * third) < 1e-12);
  OK(MPI_Finalize());
  return 0;
}
