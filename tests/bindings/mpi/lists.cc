// Blocking collectives that are repeated with the same buffers and the same lists, which hold other counts,
// displacements or types at some calls. Gossamer serves all of them, and keeps the plans of such calls until a list
// changes.
#include "tests/bindings/mpi/support.h"

#include <array>
#include <cstring>
#include <vector>

namespace {

using Ints = std::vector<int>;

constexpr int kRanks = 3;
constexpr int kRoom = 3; ///< Integers from one block to the next.
constexpr int kAll = 9;  ///< For all ranks alike.

int value(int from, int to, int i) { return from * 1000003 + to * 10007 + i; }

/// Blocks for the ranks of a list, or from them, and what a call says of them.
struct Blocks {
  explicit Blocks(const Ints& its_ranks)
      : ranks(its_ranks),
        counts(ranks.size()),
        displs(ranks.size()),
        bytes(ranks.size()),
        far(ranks.size()),
        types(ranks.size()),
        memory(ranks.size() * kRoom + 1) {}

  /// Block i has count(ranks[i]) elements of `type`. With `shift` all blocks begin one integer later.
  template <class Count>
  void describe(const Count& count, bool shift, MPI_Datatype type = MPI_INT) {
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      counts[i] = count(ranks[i]);
      displs[i] = static_cast<int>(i) * kRoom + (shift ? 1 : 0);
      far[i] = bytes[i] = displs[i] * static_cast<int>(sizeof(int));
      types[i] = type;
    }
  }
  /// As above, but each block begins where the one before ends.
  template <class Count>
  void describePacked(const Count& count, bool shift) {
    describe(count, shift);
    for (std::size_t i = 1; i < ranks.size(); ++i)
      displs[i] = displs[i - 1] + counts[i - 1];
  }
  void clear() { memory.assign(memory.size(), -1); }
  template <class Value>
  void fill(const Value& of) {
    for (std::size_t i = 0; i < ranks.size(); ++i)
      for (int k = 0; k < kRoom - 1; ++k)
        memory[static_cast<std::size_t>(displs[i] + k)] = of(ranks[i], k);
  }
  /// Whether the first counts[i] * element_bytes bytes of each block are these values, and nothing else was written.
  template <class Value>
  bool holds(const Value& of, std::size_t element_bytes = sizeof(int)) const {
    Ints expected(memory.size(), -1);
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      const int block[kRoom] = {of(ranks[i], 0), of(ranks[i], 1)};
      std::memcpy(expected.data() + displs[i], block, static_cast<std::size_t>(counts[i]) * element_bytes);
    }
    return expected == memory;
  }

  Ints ranks;
  Ints counts;
  Ints displs;
  Ints bytes;
  std::vector<MPI_Aint> far;
  std::vector<MPI_Datatype> types;
  Ints memory;
};

/// What a round says: elements of each rank's block, and where the blocks begin.
struct Round {
  std::array<int, kRanks> counts;
  bool shift;
};
/// Only the lists tell some rounds from the one before: rank 1 has as many elements in the first three, and in the last
/// four all have the counts or all have the displacements of the round before. The library has calls of its own for
/// equal counts.
constexpr Round kRounds[] = {{{0, 1, 2}, false}, {{0, 1, 2}, false}, {{2, 1, 0}, false}, {{1, 2, 0}, true},
                             {{0, 1, 2}, true},  {{0, 1, 2}, false}, {{2, 2, 2}, false}, {{2, 2, 2}, true}};

void among(MPI_Comm comm) {
  const int rank = rankIn(comm);
  CHECK(sizeOf(comm) == kRanks);
  const Ints ranks = {0, 1, 2};
  Blocks out(ranks);
  Blocks in(ranks);
  Ints own(kRoom);
  const Ints ones(ranks.size() * kRoom, 1);
  const auto to = [&](int other, int k) { return value(rank, other, k); };
  const auto from = [&](int other, int k) { return value(other, rank, k); };
  const auto from_all = [&](int other, int k) { return value(other, kAll, k); };
  for (const Round& round : kRounds) {
    const auto count = [&](int of) { return round.counts[static_cast<std::size_t>(of)]; };
    const auto between = [&](int other) { return count((rank + other) % kRanks); };
    const bool shift = round.shift;
    const int mine = count(rank);
    for (int k = 0; k < kRoom - 1; ++k)
      own[static_cast<std::size_t>(k)] = value(rank, kAll, k);

    // Gossamer keeps plans of calls whose blocks it receives where they lie, which these do if they are packed.
    for (int call = 0; call < 2; ++call) {
      in.describePacked(count, shift);
      in.clear();
      OK(MPI_Allgatherv(own.data(), mine, MPI_INT, in.memory.data(), in.counts.data(), in.displs.data(), MPI_INT,
                        comm));
      CHECK(in.holds(from_all));
    }
    in.describe(count, shift);
    in.clear();
    OK(MPI_Allgatherv(own.data(), mine, MPI_INT, in.memory.data(), in.counts.data(), in.displs.data(), MPI_INT, comm));
    CHECK(in.holds(from_all));
    in.clear();
    OK(MPI_Gatherv(own.data(), mine, MPI_INT, in.memory.data(), in.counts.data(), in.displs.data(), MPI_INT, 1, comm));
    CHECK(rank != 1 || in.holds(from_all));

    out.describe(count, shift);
    out.fill(to);
    own.assign(kRoom, -1);
    OK(MPI_Scatterv(out.memory.data(), out.counts.data(), out.displs.data(), MPI_INT, own.data(), mine, MPI_INT, 1,
                    comm));
    for (int k = 0; k < kRoom; ++k)
      CHECK(own[static_cast<std::size_t>(k)] == (k < mine ? value(1, rank, k) : -1));
    own.assign(kRoom, -1);
    OK(MPI_Reduce_scatter(ones.data(), own.data(), in.counts.data(), MPI_INT, MPI_SUM, comm));
    for (int k = 0; k < kRoom; ++k)
      CHECK(own[static_cast<std::size_t>(k)] == (k < mine ? sizeOf(comm) : -1));

    out.describe(between, shift);
    in.describe(between, shift);
    out.fill(to);
    in.clear();
    OK(MPI_Alltoallv(out.memory.data(), out.counts.data(), out.displs.data(), MPI_INT, in.memory.data(),
                     in.counts.data(), in.displs.data(), MPI_INT, comm));
    CHECK(in.holds(from));
  }
}

/// In the third of these rounds nothing but the types changes.
void typed(MPI_Comm comm, MPI_Comm graph) {
  const int rank = rankIn(comm);
  Ints ranks;
  Ints others;
  for (int each = 0; each < sizeOf(comm); ++each) {
    ranks.push_back(each);
    if (each != rank) others.push_back(each);
  }
  const auto to = [&](int other, int k) { return value(rank, other, k); };
  const auto from = [&](int other, int k) { return value(other, rank, k); };
  const auto from_all = [&](int other, int k) { return value(other, kAll, k); };
  Blocks out(ranks);
  Blocks in(ranks);
  Blocks beside_out(others);
  Blocks beside_in(others);
  Ints own(kRoom);
  for (int k = 0; k < kRoom - 1; ++k)
    own[static_cast<std::size_t>(k)] = value(rank, kAll, k);
  int round = 0;
  for (MPI_Datatype type : {MPI_INT, MPI_INT, MPI_SHORT, MPI_INT, MPI_SHORT}) {
    const int step = ++round / 4; // 0 0 0 1 1
    const auto between = [&](int other) { return (rank + other + step) % 3; };
    const std::size_t bytes = type == MPI_INT ? sizeof(int) : sizeof(short);
    for (Blocks* each : {&out, &beside_out}) {
      each->describe(between, step == 1, type);
      each->fill(to);
    }
    for (Blocks* each : {&in, &beside_in}) {
      each->describe(between, step == 1, type);
      each->clear();
    }
    OK(MPI_Alltoallw(out.memory.data(), out.counts.data(), out.bytes.data(), out.types.data(), in.memory.data(),
                     in.counts.data(), in.bytes.data(), in.types.data(), comm));
    CHECK(in.holds(from, bytes));
    OK(MPI_Neighbor_alltoallw(beside_out.memory.data(), beside_out.counts.data(), beside_out.far.data(),
                              beside_out.types.data(), beside_in.memory.data(), beside_in.counts.data(),
                              beside_in.far.data(), beside_in.types.data(), graph));
    CHECK(beside_in.holds(from, bytes));
    beside_in.clear();
    OK(MPI_Neighbor_alltoallv(beside_out.memory.data(), beside_out.counts.data(), beside_out.displs.data(), MPI_INT,
                              beside_in.memory.data(), beside_in.counts.data(), beside_in.displs.data(), MPI_INT,
                              graph));
    CHECK(beside_in.holds(from));
    beside_in.describe([&](int) { return 2; }, step == 1);
    beside_in.clear();
    OK(MPI_Neighbor_allgatherv(own.data(), 2, MPI_INT, beside_in.memory.data(), beside_in.counts.data(),
                               beside_in.displs.data(), MPI_INT, graph));
    CHECK(beside_in.holds(from_all));
  }
}

} // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  const int rank = rankIn(MPI_COMM_WORLD);
  Ints others;
  for (int each = 0; each < sizeOf(MPI_COMM_WORLD); ++each)
    if (each != rank) others.push_back(each);
  const int count = static_cast<int>(others.size());
  const Ints weights(others.size(), 1);
  MPI_Comm graph = MPI_COMM_NULL;
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, count, others.data(), weights.data(), count, others.data(),
                                    weights.data(), MPI_INFO_NULL, 0, &graph));
  among(MPI_COMM_WORLD);
  typed(MPI_COMM_WORLD, graph);
  OK(MPI_Comm_free(&graph));
  OK(MPI_Finalize());
  return 0;
}
