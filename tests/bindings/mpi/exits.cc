// A static object's destructor makes calls that main has made, and ends MPI: by then what the interposer keeps for the
// main thread is destroyed. For two ranks or more.
#include "tests/bindings/mpi/support.h"

#include <memory>

namespace {

/// A new sum, and a barrier.
void collectives(int* own, int* sum) {
  *own = rankIn(MPI_COMM_WORLD);
  *sum = -1;
  OK(MPI_Allreduce(own, sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  const int ranks = sizeOf(MPI_COMM_WORLD);
  CHECK(*sum == ranks * (ranks - 1) / 2);
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

class Mpi {
 public:
  Mpi() { OK(MPI_Init(nullptr, nullptr)); }
  ~Mpi() {
    // Takes the place of what was freed, if anything was.
    const auto noise = std::make_unique<unsigned char[]>(256);
    for (int i = 0; i < 256; ++i)
      noise[static_cast<std::size_t>(i)] = 0x5a;
    collectives(&own_, &sum_);
    OK(MPI_Finalize());
  }
  Mpi(const Mpi&) = delete;
  Mpi& operator=(const Mpi&) = delete;
  void use() { collectives(&own_, &sum_); }

 private:
  int own_ = 0;
  int sum_ = 0;
};

Mpi& mpi() {
  static Mpi only;
  return only;
}

} // namespace

int main() {
  mpi().use();
  mpi().use();
  return 0;
}
