// Meets twice through the launcher (the second word: its name); MPI_Init comes before, after, or not at all.
#include <fmt/format.h>
#include <mpi.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "bootstrap/bootstrap.h"

namespace {

int meet(int round, const std::string& launcher) {
  const auto config = goss::Config::fromEnvironment();
  if (!config.isOk()) return std::fprintf(stderr, "error: %s\n", config.status().text().c_str()), 1;
  auto launch = goss::detectLaunch(config.value(), nullptr);
  if (!launch.isOk()) return std::fprintf(stderr, "error: %s\n", launch.status().text().c_str()), 1;
  const int own = launch.value().rank;
  const std::string source = launch.value().source;
  const auto cards = goss::rendezvous(launch.take(), fmt::format("{}/{}", own, round), config.value());
  if (!cards.isOk()) return std::fprintf(stderr, "error: %s\n", cards.status().text().c_str()), 1;
  for (std::size_t rank = 0; rank < cards.value().size(); ++rank)
    if (cards.value()[rank] != fmt::format("{}/{}", rank, round)) return std::fprintf(stderr, "error: card\n"), 1;
  if (source != launcher) return std::fprintf(stderr, "error: source\n"), 1;
  if (own == 0 && round == 1) std::printf("all %d ranks met twice\n", static_cast<int>(cards.value().size()));
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  const std::string order = argc > 1 ? argv[1] : "without";
  const std::string launcher = argc > 2 ? argv[2] : "mpirun";
  if (order == "after") MPI_Init(&argc, &argv);
  if (meet(0, launcher) != 0 || meet(1, launcher) != 0) return 1;
  if (order == "before") MPI_Init(&argc, &argv);
  if (order != "without") {
    int sum = 1;
    MPI_Allreduce(MPI_IN_PLACE, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    int size = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (sum != size) return 1;
    MPI_Finalize();
  }
  return 0;
}
