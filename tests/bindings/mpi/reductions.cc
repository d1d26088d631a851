// Every reduction, in every form: types, operations, in place or not, roots, lengths. All of it is for Gossamer.
#include "tests/bindings/mpi/support.h"

#include <algorithm>
#include <complex>
#include <cstdint>
#include <vector>

namespace {

/// How ranks' elements become one, for values that have no rounding.
template <class T>
T combine(MPI_Op op, T a, T b) {
  if (op == MPI_SUM) return static_cast<T>(a + b);
  if (op == MPI_PROD) return static_cast<T>(a * b);
  if constexpr (!std::is_same_v<T, std::complex<float>> && !std::is_same_v<T, std::complex<double>>) {
    if (op == MPI_MAX) return a > b ? a : b;
    if (op == MPI_MIN) return a < b ? a : b;
    const bool x = a != T{};
    const bool y = b != T{};
    if (op == MPI_LAND) return static_cast<T>(x && y);
    if (op == MPI_LOR) return static_cast<T>(x || y);
    if (op == MPI_LXOR) return static_cast<T>(x != y);
  }
  if constexpr (std::is_integral_v<T>) {
    if (op == MPI_BAND) return static_cast<T>(a & b);
    if (op == MPI_BOR) return static_cast<T>(a | b);
    if (op == MPI_BXOR) return static_cast<T>(a ^ b);
  }
  CHECK(!"an operation of this test");
  return a;
}

/// Small, so that products of four are exact in every type; with zeros for logical operations. MPI_C_BOOL (char here)
/// takes 0 and 1.
template <class T>
T element(int rank, std::size_t i) {
  const std::size_t small = (static_cast<std::size_t>(rank) * 2 + i) % 4;
  return static_cast<T>(std::is_same_v<T, char> ? small / 3 : small);
}

template <class T>
std::vector<T> contribution(int rank, std::size_t count) {
  std::vector<T> all(count + 1); // MPI takes two null pointers for one buffer
  for (std::size_t i = 0; i < count; ++i)
    all[i] = element<T>(rank, i);
  return all;
}

/// The elements from `first` of the reduction over ranks 0 to `ranks` - 1.
template <class T>
bool holds(const T* got, std::size_t first, std::size_t count, MPI_Op op, int ranks) {
  for (std::size_t i = 0; i < count; ++i) {
    T expected = element<T>(0, first + i);
    for (int rank = 1; rank < ranks; ++rank)
      expected = combine<T>(op, expected, element<T>(rank, first + i));
    if (got[i] != expected) return false;
  }
  return true;
}

struct Setting {
  MPI_Comm comm;
  Form form;
  int count;
  bool in_place;
};

/// What a rank gives, and where it gets the result: in place, or not.
template <class T>
struct Buffers {
  Buffers(const Setting& setting, std::size_t elements)
      : own(contribution<T>(rankIn(setting.comm), elements)),
        result(setting.in_place ? own : std::vector<T>(elements + 1)) {}
  const void* send(bool in_place) const { return in_place ? MPI_IN_PLACE : own.data(); }
  std::vector<T> own;
  std::vector<T> result;
};

/// In place the second start of a persistent operation would reduce results.
int rounds(const Setting& setting) { return setting.in_place ? 1 : 2; }

template <class T>
void toAll(const Setting& setting, MPI_Datatype type, MPI_Op op) {
  const auto count = static_cast<std::size_t>(setting.count);
  Buffers<T> all(setting, count);
  run<MPI_Allreduce, MPI_Iallreduce, MPIX_Allreduce_init>(setting.form, rounds(setting), setting.comm,
                                                          all.send(setting.in_place), all.result.data(), setting.count,
                                                          type, op);
  CHECK(holds(all.result.data(), 0, count, op, sizeOf(setting.comm)));
}

template <class T>
void toRoots(const Setting& setting, MPI_Datatype type, MPI_Op op) {
  const auto count = static_cast<std::size_t>(setting.count);
  for (int root = 0; root < sizeOf(setting.comm); ++root) {
    Buffers<T> all(setting, count);
    const bool is_root = rankIn(setting.comm) == root;
    run<MPI_Reduce, MPI_Ireduce, MPIX_Reduce_init>(
        setting.form, rounds(setting), setting.comm, all.send(setting.in_place && is_root),
        is_root ? all.result.data() : nullptr, setting.count, type, op, root);
    CHECK(!is_root || holds(all.result.data(), 0, count, op, sizeOf(setting.comm)));
  }
}

template <class T>
void scattered(const Setting& setting, MPI_Datatype type, MPI_Op op) {
  const int ranks = sizeOf(setting.comm);
  const int rank = rankIn(setting.comm);
  const auto count = static_cast<std::size_t>(setting.count);
  Buffers<T> blocks(setting, count * static_cast<std::size_t>(ranks));
  run<MPI_Reduce_scatter_block, MPI_Ireduce_scatter_block, MPIX_Reduce_scatter_block_init>(
      setting.form, rounds(setting), setting.comm, blocks.send(setting.in_place), blocks.result.data(), setting.count,
      type, op);
  CHECK(holds(blocks.result.data(), count * static_cast<std::size_t>(rank), count, op, ranks));

  // Rank r gets `count` + r elements, but the first none.
  std::vector<int> counts(static_cast<std::size_t>(ranks), 0);
  std::size_t before = 0;
  std::size_t all = 0;
  for (int r = 1; r < ranks; ++r)
    counts[static_cast<std::size_t>(r)] = setting.count + r;
  for (int r = 0; r < ranks; ++r) {
    if (r < rank) before += static_cast<std::size_t>(counts[static_cast<std::size_t>(r)]);
    all += static_cast<std::size_t>(counts[static_cast<std::size_t>(r)]);
  }
  Buffers<T> vectors(setting, all);
  run<MPI_Reduce_scatter, MPI_Ireduce_scatter, MPIX_Reduce_scatter_init>(
      setting.form, rounds(setting), setting.comm, vectors.send(setting.in_place), vectors.result.data(),
      static_cast<const int*>(counts.data()), type, op);
  CHECK(holds(vectors.result.data(), before, static_cast<std::size_t>(counts[static_cast<std::size_t>(rank)]), op,
              ranks));
}

template <class T>
void prefixes(const Setting& setting, MPI_Datatype type, MPI_Op op) {
  const int rank = rankIn(setting.comm);
  const auto count = static_cast<std::size_t>(setting.count);
  Buffers<T> upTo(setting, count);
  run<MPI_Scan, MPI_Iscan, MPIX_Scan_init>(setting.form, rounds(setting), setting.comm, upTo.send(setting.in_place),
                                           upTo.result.data(), setting.count, type, op);
  CHECK(holds(upTo.result.data(), 0, count, op, rank + 1));

  Buffers<T> before(setting, count);
  const std::vector<T> old = before.result;
  run<MPI_Exscan, MPI_Iexscan, MPIX_Exscan_init>(setting.form, rounds(setting), setting.comm,
                                                 before.send(setting.in_place), before.result.data(), setting.count,
                                                 type, op);
  CHECK(rank == 0 ? before.result == old : holds(before.result.data(), 0, count, op, rank));
  if (setting.in_place) return;
  run<MPI_Exscan, MPI_Iexscan, MPIX_Exscan_init>(setting.form, rounds(setting), setting.comm, before.send(false),
                                                 rank == 0 ? nullptr : before.result.data(), setting.count, type, op);
}

template <class T>
void every(const Setting& setting, MPI_Datatype type, MPI_Op op) {
  toAll<T>(setting, type, op);
  toRoots<T>(setting, type, op);
  scattered<T>(setting, type, op);
  prefixes<T>(setting, type, op);
}

const std::vector<MPI_Op> kSums{MPI_SUM, MPI_PROD, MPI_MAX, MPI_MIN};
const std::vector<MPI_Op> kTruths{MPI_LAND, MPI_LOR, MPI_LXOR};
const std::vector<MPI_Op> kBits{MPI_BAND, MPI_BOR, MPI_BXOR};

/// All types by all-reduce.
template <class T>
void types(MPI_Comm comm, std::vector<MPI_Datatype> types, const std::vector<std::vector<MPI_Op>>& families) {
  for (MPI_Datatype type : types)
    for (const std::vector<MPI_Op>& family : families)
      for (MPI_Op op : family)
        toAll<T>({comm, Form::blocking, 17, false}, type, op);
}

void allTypes(MPI_Comm comm) {
  types<signed char>(comm, {MPI_SIGNED_CHAR, MPI_INT8_T}, {kSums, kTruths, kBits});
  types<unsigned char>(comm, {MPI_UNSIGNED_CHAR, MPI_UINT8_T}, {kSums, kTruths, kBits});
  types<unsigned char>(comm, {MPI_BYTE}, {kBits});
  types<int>(comm, {MPI_INT, MPI_INT32_T}, {kSums, kTruths, kBits});
  types<unsigned>(comm, {MPI_UNSIGNED, MPI_UINT32_T}, {kSums, kTruths, kBits});
  types<std::int64_t>(comm, {MPI_LONG, MPI_LONG_LONG, MPI_INT64_T}, {kSums, kTruths, kBits});
  types<std::uint64_t>(comm, {MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UINT64_T}, {kSums, kTruths, kBits});
  types<std::int64_t>(comm, {MPI_AINT, MPI_OFFSET, MPI_COUNT}, {kSums});
  types<float>(comm, {MPI_FLOAT}, {kSums});
  types<double>(comm, {MPI_DOUBLE}, {kSums});
  types<char>(comm, {MPI_C_BOOL}, {{MPI_LAND, MPI_LOR}});
  types<std::complex<float>>(comm, {MPI_C_FLOAT_COMPLEX, MPI_CXX_FLOAT_COMPLEX}, {{MPI_SUM}});
  types<std::complex<double>>(comm, {MPI_C_DOUBLE_COMPLEX, MPI_CXX_DOUBLE_COMPLEX}, {{MPI_SUM}});
}

/// A program may reduce what does not lie at a multiple of its length.
void notAligned(MPI_Comm comm) {
  alignas(8) char from[5 * sizeof(double)];
  alignas(8) char to[5 * sizeof(double)];
  const std::vector<double> own = contribution<double>(rankIn(comm), 4);
  std::vector<double> result(4);
  std::copy_n(reinterpret_cast<const char*>(own.data()), 4 * sizeof(double), from + 1);
  OK(MPI_Allreduce(from + 1, to + 3, 4, MPI_DOUBLE, MPI_SUM, comm));
  std::copy_n(to + 3, 4 * sizeof(double), reinterpret_cast<char*>(result.data()));
  CHECK(holds(result.data(), 0, 4, MPI_SUM, sizeOf(comm)));
}

} // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  allTypes(MPI_COMM_WORLD);
  notAligned(MPI_COMM_WORLD);
  for (Form form : {Form::blocking, Form::nonBlocking, Form::persistent})
    for (int count : {0, 1, 3, 1001, 70000})
      for (bool in_place : {false, true}) {
        every<int>({MPI_COMM_WORLD, form, count, in_place}, MPI_INT, MPI_MAX);
        every<double>({MPI_COMM_WORLD, form, count, in_place}, MPI_DOUBLE, MPI_SUM);
        if (count > 1000) continue;
        every<float>({MPI_COMM_WORLD, form, count, in_place}, MPI_FLOAT, MPI_PROD);
        every<std::complex<float>>({MPI_COMM_WORLD, form, count, in_place}, MPI_C_FLOAT_COMPLEX, MPI_SUM);
      }
  OK(MPI_Finalize());
  return 0;
}
