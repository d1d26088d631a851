#include "bindings/mpi/types.h"

#include <array>
#include <cstdint>
#include <mutex>
#include <unordered_map>
#include <vector>

namespace goss::interposer {

namespace {

/// Types of more bytes are not tested by packsInOrder(): they are packed, which is always right, unless their structure
/// shows that they have no gaps.
constexpr MPI_Aint kMaxTestedBytes = 1 << 20;

/// Whether MPI_Pack keeps the order of the bytes of one element without gaps. Four patterns tell each byte from others.
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

struct Envelope {
  int integers = 0;
  int addresses = 0;
  int types = 0;
  int combiner = MPI_COMBINER_NAMED;
};

Envelope envelopeOf(MPI_Datatype type) {
  Envelope envelope;
  PMPI_Type_get_envelope(type, &envelope.integers, &envelope.addresses, &envelope.types, &envelope.combiner);
  return envelope;
}

/// Whether MPI_Type_get_contents returns a copy of such a type, which its caller owns. Predefined types are not copied.
bool isCopied(MPI_Datatype type) {
  switch (envelopeOf(type).combiner) {
    case MPI_COMBINER_NAMED:
    case MPI_COMBINER_F90_REAL:
    case MPI_COMBINER_F90_COMPLEX:
    case MPI_COMBINER_F90_INTEGER:
      return false;
    default:
      return true;
  }
}

/// How a type was made (MPI_Type_get_contents). It commits the copies of types that it gets, for the program needs to
/// commit only types that it communicates, and frees them.
class Structure {
 public:
  explicit Structure(MPI_Datatype type) {
    const Envelope envelope = envelopeOf(type);
    combiner_ = envelope.combiner;
    if (isNamed()) return;
    integers_.resize(static_cast<std::size_t>(envelope.integers));
    addresses_.resize(static_cast<std::size_t>(envelope.addresses));
    types_.resize(static_cast<std::size_t>(envelope.types));
    PMPI_Type_get_contents(type, envelope.integers, envelope.addresses, envelope.types, integers_.data(),
                           addresses_.data(), types_.data());
    for (MPI_Datatype& each : types_)
      if (isCopied(each)) PMPI_Type_commit(&each);
  }
  ~Structure() {
    for (MPI_Datatype& each : types_)
      if (isCopied(each)) PMPI_Type_free(&each);
  }
  Structure(const Structure&) = delete;
  Structure& operator=(const Structure&) = delete;

  [[nodiscard]] bool isNamed() const { return combiner_ == MPI_COMBINER_NAMED; }
  /// Whether it is a row of elements without gaps: contiguous types and structs, the way to counts above 2^31.
  [[nodiscard]] bool isRow() const {
    if (combiner_ == MPI_COMBINER_CONTIGUOUS || combiner_ == MPI_COMBINER_DUP) return factsOf(types_[0]).is_contiguous;
    if (combiner_ != MPI_COMBINER_STRUCT) return false;
    MPI_Aint end = 0;
    for (std::size_t i = 0; i < types_.size(); ++i) {
      const TypeFacts facts = factsOf(types_[i]);
      if (integers_[i + 1] == 0 || facts.bytes == 0) continue;
      if (!facts.is_contiguous || addresses_[i] != end) return false;
      end += integers_[i + 1] * static_cast<MPI_Aint>(facts.bytes); // the first integer is the number of blocks
    }
    return true;
  }

 private:
  int combiner_ = MPI_COMBINER_NAMED;
  std::vector<int> integers_;
  std::vector<MPI_Aint> addresses_;
  std::vector<MPI_Datatype> types_;
};

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
  if (!is_dense) return facts;
  const Structure structure(type);
  facts.is_contiguous = structure.isNamed() || structure.isRow() ||
                        (bytes <= kMaxTestedBytes && packsInOrder(type, static_cast<int>(bytes)));
  return facts;
}

int deleteFacts(MPI_Datatype, int, void* facts, void*) {
  freedTypes().add();
  delete static_cast<TypeFacts*>(facts);
  return MPI_SUCCESS;
}

int factsKey() {
  static const int key = [] {
    int made = MPI_KEYVAL_INVALID;
    PMPI_Type_create_keyval(MPI_TYPE_NULL_COPY_FN, deleteFacts, &made, nullptr);
    return made;
  }();
  return key;
}

/// Sets of operations that MPI allows on a kind of type, one bit for each goss_op.
constexpr unsigned bit(goss_op op) { return 1U << op; }
constexpr unsigned kArithmeticOps = bit(GOSS_SUM) | bit(GOSS_PROD) | bit(GOSS_MIN) | bit(GOSS_MAX);
constexpr unsigned kBitwiseOps = bit(GOSS_BAND) | bit(GOSS_BOR) | bit(GOSS_BXOR);
constexpr unsigned kLogicalOps = bit(GOSS_LAND) | bit(GOSS_LOR) | bit(GOSS_LXOR);

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
  const unsigned ops = parts == 1 ? kArithmeticOps : bit(GOSS_SUM);
  if (static_cast<std::size_t>(bytes) == 4 * parts) numbers[type] = {GOSS_FLOAT32, ops, parts};
  if (static_cast<std::size_t>(bytes) == 8 * parts) numbers[type] = {GOSS_FLOAT64, ops, parts};
}

Numbers makeNumbers() {
  Numbers numbers;
  for (MPI_Datatype type : {MPI_SIGNED_CHAR, MPI_INT, MPI_LONG, MPI_LONG_LONG, MPI_INT8_T, MPI_INT32_T, MPI_INT64_T})
    addInteger(numbers, type, true, kArithmeticOps | kBitwiseOps | kLogicalOps);
  for (MPI_Datatype type : {MPI_UNSIGNED_CHAR, MPI_UNSIGNED, MPI_UNSIGNED_LONG, MPI_UNSIGNED_LONG_LONG, MPI_UINT8_T,
                            MPI_UINT32_T, MPI_UINT64_T})
    addInteger(numbers, type, false, kArithmeticOps | kBitwiseOps | kLogicalOps);
  for (MPI_Datatype type : {MPI_INTEGER, MPI_INTEGER1, MPI_INTEGER4, MPI_INTEGER8, MPI_AINT, MPI_OFFSET, MPI_COUNT})
    addInteger(numbers, type, true, kArithmeticOps | kBitwiseOps);
  addInteger(numbers, MPI_BYTE, false, kBitwiseOps);
  // Fortran's .true. is 1 here, as what Gossamer computes is.
  addInteger(numbers, MPI_LOGICAL, true, kLogicalOps);
  for (MPI_Datatype type : {MPI_C_BOOL, MPI_CXX_BOOL})
    numbers[type] = {GOSS_BOOL, kLogicalOps};
  for (MPI_Datatype type : {MPI_FLOAT, MPI_DOUBLE, MPI_REAL, MPI_DOUBLE_PRECISION, MPI_REAL4, MPI_REAL8})
    addFloat(numbers, type, 1);
  for (MPI_Datatype type : {MPI_C_FLOAT_COMPLEX, MPI_C_DOUBLE_COMPLEX, MPI_CXX_FLOAT_COMPLEX, MPI_CXX_DOUBLE_COMPLEX,
                            MPI_COMPLEX, MPI_DOUBLE_COMPLEX, MPI_COMPLEX8, MPI_COMPLEX16})
    addFloat(numbers, type, 2);
  numbers.erase(MPI_DATATYPE_NULL);
  return numbers;
}

std::optional<goss_op> opOf(MPI_Op op) {
  static const std::array<std::pair<MPI_Op, goss_op>, 10> all{{{MPI_SUM, GOSS_SUM},
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

TypeFacts cachedFactsOf(MPI_Datatype type) {
  // Without the lock two threads could set the attribute, and the second would free what the first may be reading. A
  // type is examined by way of those that it holds.
  static std::recursive_mutex& mutex = *new std::recursive_mutex;
  const std::lock_guard lock(mutex);
  void* cached = nullptr;
  int is_cached = 0;
  PMPI_Type_get_attr(type, factsKey(), &cached, &is_cached);
  if (is_cached != 0) return *static_cast<TypeFacts*>(cached);
  const TypeFacts facts = examine(type);
  PMPI_Type_set_attr(type, factsKey(), new TypeFacts(facts));
  return facts;
}

} // namespace

FreedCounter& freedTypes() {
  static FreedCounter only;
  return only;
}

TypeFacts factsOf(MPI_Datatype type) {
  thread_local LastLookup<MPI_Datatype, TypeFacts> last;
  if (const TypeFacts* found = last.find(type, freedTypes()); found != nullptr) return *found;
  const std::uint64_t freed = freedTypes().count();
  const TypeFacts facts = cachedFactsOf(type);
  last.set(type, freed, facts);
  return facts;
}

std::optional<Arithmetic> arithmeticOf(MPI_Datatype type, MPI_Op op) {
  static const Numbers& numbers = *new Numbers(makeNumbers()); // destructors of static objects may still reduce
  const auto number = numbers.find(type);
  const std::optional<goss_op> ours = opOf(op);
  if (number == numbers.end() || !ours.has_value() || (number->second.ops & bit(*ours)) == 0) return std::nullopt;
  return Arithmetic{number->second.dtype, *ours, number->second.per_element};
}

} // namespace goss::interposer
