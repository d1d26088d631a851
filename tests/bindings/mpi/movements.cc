// Every collective that moves data, in every form: in place or not, roots, lengths, types that are equal only in their
// signatures on two ranks. All of it is for Gossamer.
#include "tests/bindings/mpi/support.h"

#include <vector>

namespace {

using Ints = std::vector<int>;

/// What rank `from` has for rank `to`, element `i`.
int value(int from, int to, int i) { return from * 1000003 + to * 10007 + i; }

/// Elements in memory: one behind the other as MPI_INT, or two and two with a gap as a derived type.
struct Kind {
  MPI_Datatype type;
  int per_type; ///< Elements in one of `type`.
  int stride;   ///< Integers in memory from one of `type` to the next.
};

/// `types` of a kind, filled with value(from, to, 0), ... ; gaps hold -1.
void fill(int* at, const Kind& kind, int types, int from, int to) {
  for (int i = 0; i < types * kind.stride; ++i)
    at[i] = -1;
  for (int i = 0; i < types * kind.per_type; ++i)
    at[i / kind.per_type * kind.stride + i % kind.per_type] = value(from, to, i);
}

bool holds(const int* at, const Kind& kind, int types, int from, int to) {
  Ints expected(static_cast<std::size_t>(types * kind.stride) + 1);
  fill(expected.data(), kind, types, from, to);
  for (int i = 0; i < types * kind.stride; ++i)
    if (at[i] != expected[static_cast<std::size_t>(i)]) return false;
  return true;
}

struct Setting {
  MPI_Comm comm;
  Form form;
  int count; ///< Elements of a block; even where a kind has two.
  bool in_place;
  Kind mine; ///< Kind of this rank.
  int rank() const { return rankIn(comm); }
  int ranks() const { return sizeOf(comm); }
  int types() const { return count / mine.per_type; }
  int room() const { return types() * mine.stride; }
  Ints buffer(int blocks) const { return Ints(static_cast<std::size_t>(blocks * room()) + 1, -1); }
};

/// Root's block for all.
constexpr int kAll = 99;

void broadcasts(const Setting& s) {
  for (int root = 0; root < s.ranks(); ++root) {
    Ints buffer = s.buffer(1);
    if (s.rank() == root) fill(buffer.data(), s.mine, s.types(), root, kAll);
    run<MPI_Bcast, MPI_Ibcast, MPIX_Bcast_init>(s.form, 2, s.comm, buffer.data(), s.types(), s.mine.type, root);
    CHECK(holds(buffer.data(), s.mine, s.types(), root, kAll));
  }
}

void gathers(const Setting& s) {
  for (int root = 0; root < s.ranks(); ++root) {
    const bool is_root = s.rank() == root;
    Ints own = s.buffer(1);
    Ints all = s.buffer(s.ranks());
    fill(own.data(), s.mine, s.types(), s.rank(), root);
    if (s.in_place) fill(all.data() + s.rank() * s.room(), s.mine, s.types(), s.rank(), root);
    const void* const send = s.in_place && is_root ? MPI_IN_PLACE : own.data();
    run<MPI_Gather, MPI_Igather, MPIX_Gather_init>(s.form, 2, s.comm, send, s.types(), s.mine.type,
                                                   is_root ? all.data() : nullptr, s.types(), s.mine.type, root);
    for (int from = 0; from < s.ranks() && is_root; ++from)
      CHECK(holds(all.data() + from * s.room(), s.mine, s.types(), from, root));
  }
}

void scatters(const Setting& s) {
  for (int root = 0; root < s.ranks(); ++root) {
    const bool is_root = s.rank() == root;
    Ints own = s.buffer(1);
    Ints all = s.buffer(s.ranks());
    for (int to = 0; to < s.ranks() && is_root; ++to)
      fill(all.data() + to * s.room(), s.mine, s.types(), root, to);
    void* const recv = s.in_place && is_root ? MPI_IN_PLACE : own.data();
    run<MPI_Scatter, MPI_Iscatter, MPIX_Scatter_init>(s.form, 2, s.comm, is_root ? all.data() : nullptr, s.types(),
                                                      s.mine.type, recv, s.types(), s.mine.type, root);
    if (recv == own.data()) CHECK(holds(own.data(), s.mine, s.types(), root, s.rank()));
  }
}

void allGathers(const Setting& s) {
  Ints own = s.buffer(1);
  Ints all = s.buffer(s.ranks());
  fill(own.data(), s.mine, s.types(), s.rank(), kAll);
  if (s.in_place) fill(all.data() + s.rank() * s.room(), s.mine, s.types(), s.rank(), kAll);
  const void* const send = s.in_place ? MPI_IN_PLACE : own.data();
  run<MPI_Allgather, MPI_Iallgather, MPIX_Allgather_init>(s.form, 2, s.comm, send, s.types(), s.mine.type, all.data(),
                                                          s.types(), s.mine.type);
  for (int from = 0; from < s.ranks(); ++from)
    CHECK(holds(all.data() + from * s.room(), s.mine, s.types(), from, kAll));
}

void allToAlls(const Setting& s) {
  Ints out = s.buffer(s.ranks());
  Ints in = s.buffer(s.ranks());
  for (int to = 0; to < s.ranks(); ++to)
    fill((s.in_place ? in : out).data() + to * s.room(), s.mine, s.types(), s.rank(), to);
  const void* const send = s.in_place ? MPI_IN_PLACE : out.data();
  run<MPI_Alltoall, MPI_Ialltoall, MPIX_Alltoall_init>(s.form, s.in_place ? 1 : 2, s.comm, send, s.types(), s.mine.type,
                                                       in.data(), s.types(), s.mine.type);
  for (int from = 0; from < s.ranks(); ++from)
    CHECK(holds(in.data() + from * s.room(), s.mine, s.types(), from, s.rank()));
}

/// Blocks of `unit` types times a number, in reverse order in memory with a gap between them.
struct Places {
  Places(const Setting& s, int unit, const Ints& factors) : counts(factors), displs(factors.size()) {
    int end = 1;
    for (std::size_t i = factors.size(); i-- > 0;) {
      counts[i] = unit * factors[i];
      displs[i] = end;
      end += counts[i] + 1;
    }
    memory.assign(static_cast<std::size_t>(end * s.mine.stride) + 1, -1);
  }
  int* at(const Setting& s, int i) { return memory.data() + displs[static_cast<std::size_t>(i)] * s.mine.stride; }
  int count(int i) const { return counts[static_cast<std::size_t>(i)]; }
  Ints counts;
  Ints displs; ///< In types.
  Ints memory;
};

/// Rank r's block in calls where each rank has one.
int factorOf(int rank) { return rank == 1 ? 0 : rank + 1; }

Ints factors(const Setting& s) {
  Ints all;
  for (int rank = 0; rank < s.ranks(); ++rank)
    all.push_back(factorOf(rank));
  return all;
}

void gatherVs(const Setting& s) {
  const int mine = s.types() * factorOf(s.rank());
  for (int root = 0; root < s.ranks(); ++root) {
    const bool is_root = s.rank() == root;
    Places all(s, s.types(), factors(s));
    Ints own(static_cast<std::size_t>(mine * s.mine.stride) + 1);
    fill(own.data(), s.mine, mine, s.rank(), root);
    if (s.in_place) fill(all.at(s, s.rank()), s.mine, mine, s.rank(), root);
    const void* const send = s.in_place && is_root ? MPI_IN_PLACE : own.data();
    run<MPI_Gatherv, MPI_Igatherv, MPIX_Gatherv_init>(s.form, 2, s.comm, send, mine, s.mine.type, all.memory.data(),
                                                      static_cast<const int*>(is_root ? all.counts.data() : nullptr),
                                                      static_cast<const int*>(is_root ? all.displs.data() : nullptr),
                                                      s.mine.type, root);
    for (int from = 0; from < s.ranks() && is_root; ++from)
      CHECK(holds(all.at(s, from), s.mine, all.count(from), from, root));
  }
}

void scatterVs(const Setting& s) {
  const int mine = s.types() * factorOf(s.rank());
  for (int root = 0; root < s.ranks(); ++root) {
    const bool is_root = s.rank() == root;
    Places all(s, s.types(), factors(s));
    for (int to = 0; to < s.ranks() && is_root; ++to)
      fill(all.at(s, to), s.mine, all.count(to), root, to);
    Ints own(static_cast<std::size_t>(mine * s.mine.stride) + 1, -1);
    void* const recv = s.in_place && is_root ? MPI_IN_PLACE : own.data();
    run<MPI_Scatterv, MPI_Iscatterv, MPIX_Scatterv_init>(
        s.form, 2, s.comm, all.memory.data(), static_cast<const int*>(is_root ? all.counts.data() : nullptr),
        static_cast<const int*>(is_root ? all.displs.data() : nullptr), s.mine.type, recv, mine, s.mine.type, root);
    if (recv == own.data()) CHECK(holds(own.data(), s.mine, mine, root, s.rank()));
  }
}

void allGatherVs(const Setting& s) {
  const int mine = s.types() * factorOf(s.rank());
  Places all(s, s.types(), factors(s));
  Ints own(static_cast<std::size_t>(mine * s.mine.stride) + 1);
  fill(own.data(), s.mine, mine, s.rank(), kAll);
  if (s.in_place) fill(all.at(s, s.rank()), s.mine, mine, s.rank(), kAll);
  const void* const send = s.in_place ? MPI_IN_PLACE : own.data();
  run<MPI_Allgatherv, MPI_Iallgatherv, MPIX_Allgatherv_init>(
      s.form, 2, s.comm, send, mine, s.mine.type, all.memory.data(), static_cast<const int*>(all.counts.data()),
      static_cast<const int*>(all.displs.data()), s.mine.type);
  for (int from = 0; from < s.ranks(); ++from)
    CHECK(holds(all.at(s, from), s.mine, all.count(from), from, kAll));
}

/// From rank a to rank b; in place it must be the same both ways.
int factorOf(int a, int b) { return (a + b) % 3; }

void allToAllVs(const Setting& s) {
  Ints each;
  for (int rank = 0; rank < s.ranks(); ++rank)
    each.push_back(factorOf(s.rank(), rank));
  Places out(s, s.types(), each);
  Places in(s, s.types(), each);
  Places in_bytes(s, s.types(), each);
  Ints sizes = out.displs;
  for (int& displacement : sizes)
    displacement *= s.mine.stride * static_cast<int>(sizeof(int));
  const std::vector<MPI_Datatype> types(each.size(), s.mine.type);
  for (int to = 0; to < s.ranks(); ++to)
    for (Places* from : {&out, s.in_place ? &in : &out, s.in_place ? &in_bytes : &out})
      fill(from->at(s, to), s.mine, from->count(to), s.rank(), to);
  const void* const send = s.in_place ? MPI_IN_PLACE : out.memory.data();
  const int* const counts = out.counts.data();
  const int* const displs = out.displs.data();
  const int* const bytes = sizes.data();
  run<MPI_Alltoallv, MPI_Ialltoallv, MPIX_Alltoallv_init>(s.form, s.in_place ? 1 : 2, s.comm, send, counts, displs,
                                                          s.mine.type, in.memory.data(), counts, displs, s.mine.type);
  run<MPI_Alltoallw, MPI_Ialltoallw, MPIX_Alltoallw_init>(s.form, s.in_place ? 1 : 2, s.comm, send, counts, bytes,
                                                          types.data(), in_bytes.memory.data(), counts, bytes,
                                                          types.data());
  for (int from = 0; from < s.ranks(); ++from)
    for (Places* to : {&in, &in_bytes})
      CHECK(holds(to->at(s, from), s.mine, to->count(from), from, s.rank()));
}

void every(const Setting& s) {
  run<MPI_Barrier, MPI_Ibarrier, MPIX_Barrier_init>(s.form, 2, s.comm);
  broadcasts(s);
  gathers(s);
  scatters(s);
  allGathers(s);
  allToAlls(s);
  gatherVs(s);
  scatterVs(s);
  allGatherVs(s);
  allToAllVs(s);
}

/// Dense, but its two integers change places: bytes as they lie in memory would be wrong.
void swapped(MPI_Comm comm) {
  const int lengths[2] = {1, 1};
  const int displacements[2] = {1, 0};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  OK(MPI_Type_indexed(2, lengths, displacements, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  int pair[4] = {1, 2, 3, 4};
  const bool is_root = rankIn(comm) == 0;
  OK(MPI_Bcast(pair, is_root ? 2 : 4, is_root ? type : MPI_INT, 0, comm));
  CHECK(is_root ? pair[0] == 1 && pair[3] == 4 : pair[0] == 2 && pair[1] == 1 && pair[2] == 4 && pair[3] == 3);
  OK(MPI_Type_free(&type));
}

/// How programs send more elements than an int counts: one element of a struct of chunks and what is left. With `gap`
/// it is not dense.
void longElement(MPI_Comm comm, std::size_t bytes, int chunk, bool gap) {
  const auto chunks = static_cast<int>(bytes / static_cast<std::size_t>(chunk));
  const auto rest = static_cast<int>(bytes % static_cast<std::size_t>(chunk));
  MPI_Datatype one = MPI_DATATYPE_NULL;
  MPI_Datatype many = MPI_DATATYPE_NULL;
  OK(MPI_Type_contiguous(chunk, MPI_BYTE, &one));
  OK(MPI_Type_contiguous(chunks, one, &many));
  const int lengths[2] = {1, rest};
  const MPI_Aint displs[2] = {0, static_cast<MPI_Aint>(chunks) * chunk + (gap ? 16 : 0)};
  const MPI_Datatype types[2] = {many, MPI_BYTE};
  MPI_Datatype whole = MPI_DATATYPE_NULL;
  OK(MPI_Type_create_struct(2, lengths, displs, types, &whole));
  OK(MPI_Type_commit(&whole));
  const auto at = [](std::size_t i) { return static_cast<unsigned char>(i % 251); };
  std::vector<unsigned char> data(bytes + 16);
  const bool is_root = rankIn(comm) == 0;
  for (std::size_t i = 0; is_root && i < data.size(); ++i)
    data[i] = at(i);
  OK(MPI_Bcast(data.data(), 1, whole, 0, comm));
  std::size_t wrong = 0;
  const auto gap_from = static_cast<std::size_t>(displs[1]) - (gap ? 16 : 0);
  for (std::size_t i = 0; i < bytes + (gap ? 16 : 0); ++i) {
    const bool in_gap = gap && i >= gap_from && i < gap_from + 16;
    wrong += data[i] != (in_gap && !is_root ? 0 : at(i));
  }
  CHECK(wrong == 0);
  OK(MPI_Type_free(&whole));
  OK(MPI_Type_free(&many));
  OK(MPI_Type_free(&one));
}

/// A program commits only the types that it communicates, not those within them; predefined types may lie within, too.
void parts(MPI_Comm comm) {
  MPI_Datatype row = MPI_DATATYPE_NULL;
  MPI_Datatype block = MPI_DATATYPE_NULL;
  OK(MPI_Type_vector(2, 3, 3, MPI_DOUBLE, &row)); // dense
  OK(MPI_Type_contiguous(2, row, &block));
  MPI_Datatype real = MPI_DATATYPE_NULL;
  MPI_Datatype reals = MPI_DATATYPE_NULL;
  OK(MPI_Type_create_f90_real(15, 307, &real));
  OK(MPI_Type_contiguous(12, real, &reals));
  for (MPI_Datatype* type : {&block, &reals}) {
    OK(MPI_Type_commit(type));
    std::vector<double> values(12, rankIn(comm) == 0 ? 7.0 : 0.0);
    OK(MPI_Bcast(values.data(), 1, *type, 0, comm));
    CHECK(values == std::vector<double>(12, 7.0));
    OK(MPI_Type_free(type));
  }
  OK(MPI_Type_free(&row));
}

int copies_of_attribute = 0;

int countCopy(MPI_Datatype, int, void*, void* in, void* out, int* is_copied) {
  ++copies_of_attribute;
  *static_cast<void**>(out) = in;
  *is_copied = 1;
  return MPI_SUCCESS;
}

/// Attributes of a type are copied when the program duplicates it, and at no other time.
void attributes(MPI_Comm comm) {
  int key = MPI_KEYVAL_INVALID;
  OK(MPI_Type_create_keyval(countCopy, MPI_TYPE_NULL_DELETE_FN, &key, nullptr));
  MPI_Datatype type = MPI_DATATYPE_NULL;
  OK(MPI_Type_vector(2, 1, 2, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Type_set_attr(type, key, &key));
  int values[3] = {1, 2, 3};
  OK(MPI_Bcast(values, 1, type, 0, comm));
  MPI_Request request = MPI_REQUEST_NULL;
  OK(MPI_Ibcast(values, 1, type, 0, comm, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(copies_of_attribute == 0);
  OK(MPI_Type_free(&type));
  OK(MPI_Type_free_keyval(&key));
}

} // namespace

/// MPI gives the handle of a freed type to the next one, which is longer.
void reused(MPI_Comm comm) {
  constexpr int kLongest = 20;
  for (int length = 1; length <= kLongest; ++length) {
    MPI_Datatype type = MPI_DATATYPE_NULL;
    OK(MPI_Type_contiguous(length, MPI_INT, &type));
    OK(MPI_Type_commit(&type));
    std::vector<int> values(kLongest, rankIn(comm) == 0 ? length : -1);
    OK(MPI_Bcast(values.data(), 1, type, 0, comm));
    for (int i = 0; i < kLongest; ++i)
      CHECK(values[static_cast<std::size_t>(i)] == (i < length || rankIn(comm) == 0 ? length : -1));
    OK(MPI_Type_free(&type));
  }
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  if (argc > 1) { // "huge": by hand, because each rank takes 6 GiB
    longElement(MPI_COMM_WORLD, (std::size_t{3} << 30) + 5, 1 << 30, false);
    OK(MPI_Finalize());
    return 0;
  }
  longElement(MPI_COMM_WORLD, (3U << 20) + 5, 1 << 20, false);
  longElement(MPI_COMM_WORLD, (3U << 20) + 5, 1 << 20, true);
  parts(MPI_COMM_WORLD);
  attributes(MPI_COMM_WORLD);
  reused(MPI_COMM_WORLD);
  MPI_Datatype gapped = MPI_DATATYPE_NULL;
  MPI_Datatype pair = MPI_DATATYPE_NULL;
  OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  OK(MPI_Type_create_resized(pair, 0, 3 * sizeof(int), &gapped));
  OK(MPI_Type_commit(&gapped));
  OK(MPI_Type_commit(&pair));
  const Kind plain{MPI_INT, 1, 1};
  const Kind pairs{pair, 2, 2};
  const Kind gaps{gapped, 2, 3};
  const bool is_odd = rankIn(MPI_COMM_WORLD) % 2 == 1;
  swapped(MPI_COMM_WORLD);
  for (Form form : {Form::blocking, Form::nonBlocking, Form::persistent})
    for (bool in_place : {false, true}) {
      for (int count : {0, 1, 7, 30000})
        every({MPI_COMM_WORLD, form, count, in_place, plain});
      for (int count : {2, 6, 3000})
        every({MPI_COMM_WORLD, form, count, in_place, is_odd ? gaps : pairs});
      every({MPI_COMM_WORLD, form, 4, in_place, is_odd ? gaps : plain});
    }
  OK(MPI_Type_free(&pair));
  OK(MPI_Type_free(&gapped));
  OK(MPI_Finalize());
  return 0;
}
