#include "bindings/mpi/types.h"

#include <array>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace goss::interposer {

namespace {

/// Larger ones count as not contiguous: they are packed, which is always right.
constexpr MPI_Aint kLargestTried = 1 << 20;

/// Whether MPI_Pack leaves every byte of one dense element where it is. Each byte is told by four patterns.
bool packsInOrder(MPI_Datatype type, int bytes) {
  std::vector<unsigned char> element(static_cast<std::size_t>(bytes));
  std::vector<unsigned char> packed(element.size());
  for (unsigned shift = 0; shift < 32; shift += 8) {
    for (std::size_t i = 0; i < element.size(); ++i)
      element[i] = static_cast<unsigned char>(i >> shift);
    int position = 0;
    if (PMPI_Pack(element.data(), 1, type, packed.data(), bytes, &position, MPI_COMM_SELF) != MPI_SUCCESS) return false;
    if (position != bytes || packed != element) return false;
  }
  return true;
}

TypeFacts examine(MPI_Datatype type) {
  MPI_Count bytes = 0;
  MPI_Count lower = 0;
  MPI_Count extent = 0;
  MPI_Count true_lower = 0;
  MPI_Count true_extent = 0;
  PMPI_Type_size_x(type, &bytes);
  PMPI_Type_get_extent_x(type, &lower, &extent);
  PMPI_Type_get_true_extent_x(type, &true_lower, &true_extent);
  TypeFacts facts;
  facts.bytes = static_cast<std::size_t>(bytes);
  facts.extent = static_cast<MPI_Aint>(extent);
  if (bytes == 0) return {0, facts.extent, true};
  const bool is_dense = lower == 0 && true_lower == 0 && extent == bytes && true_extent == bytes;
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = MPI_COMBINER_NAMED;
  PMPI_Type_get_envelope(type, &integers, &addresses, &types, &combiner);
  const bool is_named = combiner == MPI_COMBINER_NAMED;
  const bool is_tried = !is_named && bytes <= kLargestTried;
  facts.is_contiguous = is_dense && (is_named || (is_tried && packsInOrder(type, static_cast<int>(bytes))));
  return facts;
}

int forget(MPI_Datatype, int, void* facts, void*) {
  delete static_cast<TypeFacts*>(facts);
  return MPI_SUCCESS;
}

int factsKey() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, forget, &made, nullptr);
    return made;
  }();
  return key;
}

/// Operations that MPI allows on a kind of type, as bits of goss_op.
constexpr unsigned bit(goss_op op) { return 1U << op; }
constexpr unsigned kSums = bit(GOSS_SUM) | bit(GOSS_PROD) | bit(GOSS_MIN) | bit(GOSS_MAX);
constexpr unsigned kBits = bit(GOSS_BAND) | bit(GOSS_BOR) | bit(GOSS_BXOR);
constexpr unsigned kTruths = bit(GOSS_LAND) | bit(GOSS_LOR) | bit(GOSS_LXOR);

struct Number {
  goss_dtype dtype = GOSS_UINT8;
  unsigned ops = 0;
  std::size_t per_element = 1;
};

using Numbers = std::unordered_map<MPI_Datatype, Number>;

/// Integers of 1, 4 and 8 bytes; Gossamer has none of 2.
void addInteger(Numbers& numbers, MPI_Datatype type, bool has_sign, unsigned ops) {
  if (type == MPI_DATATYPE_NULL) return;
  int bytes = 0;
  PMPI_Type_size(type, &bytes);
  if (bytes == 1) numbers[type] = {has_sign ? GOSS_INT8 : GOSS_UINT8, ops};
  if (bytes == 4) numbers[type] = {has_sign ? GOSS_INT32 : GOSS_UINT32, ops};
  if (bytes == 8) numbers[type] = {has_sign ? GOSS_INT64 : GOSS_UINT64, ops};
}

/// Floating numbers, or with `parts` 2 complex ones, which are added part by part.
void addFloat(Numbers& numbers, MPI_Datatype type, std::size_t parts) {
  if (type == MPI_DATATYPE_NULL) return;
  int bytes = 0;
  PMPI_Type_size(type, &bytes);
  const unsigned ops = parts == 1 ? kSums : bit(GOSS_SUM);
  if (static_cast<std::size_t>(bytes) == 4 * parts) numbers[type] = {GOSS_FLOAT32, ops, parts};
  if (static_cast<std::size_t>(bytes) == 8 * parts) numbers[type] = {GOSS_FLOAT64, ops, parts};
}

Numbers makeNumbers() {
  Numbers numbers;
  for (MPI_Datatype type : {MPI_SIGNED_CHAR, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_INT8_T, MPI_INT32_T, MPI_INT64_T})
    addInteger(numbers, type, true, kSums | kBits | kTruths);
  for (MPI_Datatype type : {MPI_UNSIGNED_CHAR, MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T,
                            MPI_UINT32_T, MPI_UINT64_T})
    addInteger(numbers, type, false, kSums | kBits | kTruths);
  for (MPI_Datatype type : {MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER4, MPI_INTEGER8, MPI_AINT, MPI_OFFSET, MPI_COUNT})
    addInteger(numbers, type, true, kSums | kBits);
  addInteger(numbers, MPI_BYTE, false, kBits);
  // Fortran's .true. is 1 here, as what Gossamer computes is.
  addInteger(numbers, MPI_LOGICAL, true, kTruths);
  for (MPI_Datatype type : {MPI_C_BOOL, MPI_CXX_BOOL})
    numbers[type] = {GOSS_BOOL, kTruths};
  for (MPI_Datatype type : {MPI_FLOAT, MPI_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8})
    addFloat(numbers, type, 1);
  for (MPI_Datatype type : {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX,
                            MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16})
    addFloat(numbers, type, 2);
  numbers.erase(MPI_DATATYPE_NULL);
  return numbers;
}

std::optional<goss_op> opOf(MPI_Op op) {
  const std::array<std::pair<MPI_Op, goss_op>, 10> all{{{MPI_SUM, GOSS_SUM},
                                                        {MPI_MAX, GOSS_MAX},
                                                        {MPI_MIN, GOSS_MIN},
                                                        {MPI_PROD, GOSS_PROD},
                                                        {MPI_LAND, GOSS_LAND},
                                                        {MPI_LOR, GOSS_LOR},
                                                        {MPI_LXOR, GOSS_LXOR},
                                                        {MPI_BAND, GOSS_BAND},
                                                        {MPI_BOR, GOSS_BOR},
                                                        {MPI_BXOR, GOSS_BXOR}}};
  for (const auto& [theirs, ours] : all)
    if (theirs == op) return ours;
  return std::nullopt;
}

} // namespace

TypeFacts factsOf(MPI_Datatype type) {
  // Without the lock two threads could set the attribute, and the second would free what the first may be reading.
  static std::mutex& mutex = *new std::mutex;
  const std::lock_guard lock(mutex);
  void* cached = nullptr;
  int is_cached = 0;
  PMPI_Type_get_attr(type, factsKey(), &cached, &is_cached);
  if (is_cached != 0) return *static_cast<TypeFacts*>(cached);
  const TypeFacts facts = examine(type);
  PMPI_Type_set_attr(type, factsKey(), new TypeFacts(facts));
  return facts;
}

std::optional<Arithmetic> arithmeticOf(MPI_Datatype type, MPI_Op op) {
  static const Numbers numbers = makeNumbers();
  const auto number = numbers.find(type);
  const std::optional<goss_op> ours = opOf(op);
  if (number == numbers.end() || !ours.has_value() || (number->second.ops & bit(*ours)) == 0) return std::nullopt;
  return Arithmetic{number->second.dtype, *ours, number->second.per_element};
}

} // namespace goss::interposer
