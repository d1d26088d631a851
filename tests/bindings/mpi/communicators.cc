// Communicators that are made of others, topologies and their neighbourhood collectives, attributes. For three ranks or
// more. All of it is for Gossamer, but for what lonely() and firstOfAnother() do.
#include "tests/bindings/mpi/support.h"

#include <string>
#include <vector>

namespace {

/// The sum over the communicator's ranks in MPI_COMM_WORLD, in two forms.
void addsUp(MPI_Comm comm) {
  std::vector<int> worlds(static_cast<std::size_t>(sizeOf(comm)));
  const int mine = rankIn(MPI_COMM_WORLD);
  OK(MPI_Allgather(&mine, 1, MPI_INT, worlds.data(), 1, MPI_INT, comm));
  CHECK(worlds[static_cast<std::size_t>(rankIn(comm))] == mine);
  int expected = 0;
  for (int each : worlds)
    expected += each;
  int sum = 0;
  OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK(sum == expected);
  MPI_Request request = MPI_REQUEST_NULL;
  OK(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(sum == expected);
}

/// Whether communicators are freed before their last operation is waited for. MPI allows that; Open MPI 4.1.4 alone
/// crashes.
bool frees_early = false;

void addsUpAndGoes(MPI_Comm comm) {
  if (comm == MPI_COMM_NULL) return;
  addsUp(comm);
  const int one = 1;
  const int ranks = sizeOf(comm);
  int sum = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm, &request));
  if (frees_early) OK(MPI_Comm_free(&comm));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(sum == ranks);
  if (!frees_early) OK(MPI_Comm_free(&comm));
}

void parts() {
  const int rank = rankIn(MPI_COMM_WORLD);
  MPI_Comm made = MPI_COMM_NULL;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &made));
  MPI_Comm again = MPI_COMM_NULL;
  OK(MPI_Comm_dup_with_info(made, MPI_INFO_NULL, &again));
  addsUpAndGoes(made);
  addsUpAndGoes(again);
  // Reversed; the last rank is in none, or alone.
  OK(MPI_Comm_split(MPI_COMM_WORLD, rank == 2 ? MPI_UNDEFINED : 0, -rank, &made));
  CHECK((made == MPI_COMM_NULL) == (rank == 2));
  addsUpAndGoes(made);
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &made));
  addsUpAndGoes(made);
  MPI_Group all = MPI_GROUP_NULL;
  MPI_Group some = MPI_GROUP_NULL;
  const int members[2] = {2, 0};
  OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
  OK(MPI_Group_incl(all, 2, members, &some));
  OK(MPI_Comm_create(MPI_COMM_WORLD, some, &made));
  addsUpAndGoes(made);
  if (rank == 0 || rank == 2) {
    OK(MPI_Comm_create_group(MPI_COMM_WORLD, some, 7, &made));
    addsUpAndGoes(made); // met in its first blocking collective
  }
  OK(MPI_Group_free(&some));
  OK(MPI_Group_free(&all));
}

/// Many, one after the other: what belongs to one goes with it.
void many(int count) {
  for (int i = 0; i < count; ++i) {
    MPI_Comm made = MPI_COMM_NULL;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &made));
    OK(MPI_Barrier(made));
    OK(MPI_Comm_free(&made));
  }
}

int copies = 0;
int deletions = 0;

int copy(MPI_Comm, int, void*, void* from, void* to, int* flag) {
  ++copies;
  *static_cast<void**>(to) = from;
  *flag = 1;
  return MPI_SUCCESS;
}

int forget(MPI_Comm, int, void*, void*) {
  ++deletions;
  return MPI_SUCCESS;
}

/// The program's own attributes are copied and deleted as ever.
void attributes() {
  int key = MPI_KEYVAL_INVALID;
  int value = 5;
  OK(MPI_Comm_create_keyval(copy, forget, &key, nullptr));
  MPI_Comm first = MPI_COMM_NULL;
  MPI_Comm second = MPI_COMM_NULL;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &first));
  OK(MPI_Comm_set_attr(first, key, &value));
  OK(MPI_Comm_dup(first, &second));
  int* found = nullptr;
  int flag = 0;
  OK(MPI_Comm_get_attr(second, key, static_cast<void*>(&found), &flag));
  CHECK(flag != 0 && found == &value && copies == 1);
  OK(MPI_Comm_free(&first));
  addsUpAndGoes(second);
  CHECK(deletions == 2);
  OK(MPI_Comm_free_keyval(&key));
}

/// What neighbour `from` sends to `to`, where its k-th element is this.
int value(int from, int to, int k) { return from * 100 + to * 10 + k; }

/// Every neighbourhood collective. Neighbour i's block has two integers, in v and w calls 1 + (sum of both) % 2.
void neighbors(MPI_Comm comm, Form form, const std::vector<int>& sources, const std::vector<int>& destinations) {
  const int rank = rankIn(comm);
  const std::size_t most = sources.size() + destinations.size() + 1;
  std::vector<int> in(2 * most);
  std::vector<int> out(2 * most);
  std::vector<int> own{value(rank, 0, 0), value(rank, 0, 1)};
  std::vector<int> in_counts(most, 2), out_counts(most, 2), in_displs(most), out_displs(most), twos(most, 2);
  std::vector<MPI_Aint> in_bytes(most), out_bytes(most);
  const std::vector<MPI_Datatype> types(most, MPI_INT);
  for (std::size_t i = 0; i < most; ++i) {
    in_displs[i] = out_displs[i] = static_cast<int>(2 * i);
    in_bytes[i] = out_bytes[i] = static_cast<MPI_Aint>(2 * i * sizeof(int));
  }
  for (std::size_t i = 0; i < destinations.size(); ++i) {
    out_counts[i] = 1 + (rank + destinations[i]) % 2;
    for (int k = 0; k < 2; ++k)
      out[2 * i + static_cast<std::size_t>(k)] = value(rank, destinations[i], k);
  }
  for (std::size_t i = 0; i < sources.size(); ++i)
    in_counts[i] = 1 + (rank + sources[i]) % 2;
  // Whether `in` has what came: to all alike, or to each; as long as counts say.
  const auto arrived = [&](bool to_all, const std::vector<int>& counts) {
    for (std::size_t i = 0; i < sources.size(); ++i)
      for (int k = 0; k < 2; ++k) {
        const int got = in[2 * i + static_cast<std::size_t>(k)];
        const bool has_come = sources[i] != MPI_PROC_NULL && k < counts[i];
        CHECK(got == (has_come ? value(sources[i], to_all ? 0 : rank, k) : -1));
      }
    in.assign(in.size(), -1);
  };
  in.assign(in.size(), -1);
  const int* const ic = in_counts.data();
  const int* const id = in_displs.data();
  const int* const oc = out_counts.data();
  const int* const od = out_displs.data();
  run<MPI_Neighbor_allgather, MPI_Ineighbor_allgather, MPIX_Neighbor_allgather_init>(form, 2, comm, own.data(), 2,
                                                                                     MPI_INT, in.data(), 2, MPI_INT);
  arrived(true, twos);
  run<MPI_Neighbor_allgatherv, MPI_Ineighbor_allgatherv, MPIX_Neighbor_allgatherv_init>(
      form, 2, comm, own.data(), 2, MPI_INT, in.data(), static_cast<const int*>(twos.data()), id, MPI_INT);
  arrived(true, twos);
  run<MPI_Neighbor_alltoall, MPI_Ineighbor_alltoall, MPIX_Neighbor_alltoall_init>(form, 2, comm, out.data(), 2, MPI_INT,
                                                                                  in.data(), 2, MPI_INT);
  arrived(false, twos);
  run<MPI_Neighbor_alltoallv, MPI_Ineighbor_alltoallv, MPIX_Neighbor_alltoallv_init>(
      form, 2, comm, out.data(), oc, od, MPI_INT, in.data(), ic, id, MPI_INT);
  arrived(false, in_counts);
  run<MPI_Neighbor_alltoallw, MPI_Ineighbor_alltoallw, MPIX_Neighbor_alltoallw_init>(
      form, 2, comm, out.data(), oc, static_cast<const MPI_Aint*>(out_bytes.data()), types.data(), in.data(), ic,
      static_cast<const MPI_Aint*>(in_bytes.data()), types.data());
  arrived(false, in_counts);
}

void topologies(Form form) {
  const int ranks = sizeOf(MPI_COMM_WORLD);
  const int rank = rankIn(MPI_COMM_WORLD);
  const int next = (rank + 1) % ranks;
  const int last = (rank + ranks - 1) % ranks;
  MPI_Comm made = MPI_COMM_NULL;
  for (int is_ring : {0, 1}) {
    OK(MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &is_ring, 0, &made));
    const std::vector<int> both{rank > 0 || is_ring != 0 ? last : MPI_PROC_NULL,
                                rank + 1 < ranks || is_ring != 0 ? next : MPI_PROC_NULL};
    neighbors(made, form, both, both);
    addsUpAndGoes(made);
  }
  const int one = 1;
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &last, &one, 1, &next, &one, MPI_INFO_NULL, 0, &made));
  neighbors(made, form, {last}, {next});
  addsUpAndGoes(made);
  OK(MPI_Dist_graph_create(MPI_COMM_WORLD, 1, &rank, &one, &next, &one, MPI_INFO_NULL, 0, &made));
  neighbors(made, form, {last}, {next});
  addsUpAndGoes(made);
  std::vector<int> index;
  std::vector<int> edges;
  for (int each = 0; each < ranks; ++each) { // a star
    for (int other = 0; other < ranks; ++other)
      if ((each == 0) != (other == 0)) edges.push_back(other);
    index.push_back(static_cast<int>(edges.size()));
  }
  OK(MPI_Graph_create(MPI_COMM_WORLD, ranks, index.data(), edges.data(), 0, &made));
  std::vector<int> rays{0};
  if (rank == 0) rays.assign(edges.begin(), edges.begin() + index[0]);
  neighbors(made, form, rays, rays);
  addsUpAndGoes(made);
  // Rows of a grid, as libraries make them.
  const int lengths[2] = {1, ranks};
  const int periods[2] = {0, 0};
  const int remaining[2] = {0, 1};
  MPI_Comm row = MPI_COMM_NULL;
  OK(MPI_Cart_create(MPI_COMM_WORLD, 2, lengths, periods, 0, &made));
  OK(MPI_Cart_sub(made, remaining, &row));
  addsUpAndGoes(row);
  OK(MPI_Comm_free(&made));
}

/// MPI's own work: one rank needs no network.
void lonely() {
  int one = 1;
  OK(MPI_Allreduce(MPI_IN_PLACE, &one, 1, MPI_INT, MPI_SUM, MPI_COMM_SELF));
  CHECK(one == 1);
}

/// A non-blocking collective may not wait for the ranks to meet, and goes to MPI.
void firstOfAnother() {
  MPI_Comm made = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  OK(MPI_Comm_idup(MPI_COMM_WORLD, &made, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  const int one = 1;
  int sum = 0;
  OK(MPI_Iallreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(sum == sizeOf(made));
  addsUpAndGoes(made);
}

int meetsAtTheEnd(MPI_Comm, int, void*, void*) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  return MPI_SUCCESS;
}

} // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  if (argc > 1 && std::string(argv[1]) == "numbers") { // by hand, because it takes a minute
    OK(MPI_Barrier(MPI_COMM_WORLD));
    many(70000); // More than a world of Gossamer's has numbers for.
    OK(MPI_Finalize());
    return 0;
  }
  frees_early = argc > 1;
  parts();
  many(50);
  attributes();
  for (Form form : {Form::blocking, Form::nonBlocking, Form::persistent})
    topologies(form);
  lonely();
  firstOfAnother();
  int key = MPI_KEYVAL_INVALID;
  OK(MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, meetsAtTheEnd, &key, nullptr));
  OK(MPI_Comm_set_attr(MPI_COMM_SELF, key, nullptr));
  OK(MPI_Finalize());
  return 0;
}
