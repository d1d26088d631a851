#include "tests/lib/kernels/reference.h"

#include <array>

namespace goss::testing {

namespace {

template <typename T>
T read(const unsigned char* element) {
  T value;
  std::memcpy(&value, element, sizeof value);
  return value;
}

template <typename T>
void write(unsigned char* element, T value) {
  std::memcpy(element, &value, sizeof value);
}

bool isSigned(DType dtype) { return dtype == GOSS_INT8 || dtype == GOSS_INT32 || dtype == GOSS_INT64; }

/// The integer's low 64 bits, sign-extended.
std::uint64_t readInteger(DType dtype, const unsigned char* element) {
  switch (dtype) {
    case GOSS_INT8:
      return static_cast<std::uint64_t>(std::int64_t{read<std::int8_t>(element)});
    case GOSS_UINT8:
      return read<std::uint8_t>(element);
    case GOSS_BOOL:
      return read<std::uint8_t>(element) != 0 ? 1 : 0;
    case GOSS_INT32:
      return static_cast<std::uint64_t>(std::int64_t{read<std::int32_t>(element)});
    case GOSS_UINT32:
      return read<std::uint32_t>(element);
    default:
      return read<std::uint64_t>(element);
  }
}

void writeInteger(DType dtype, unsigned char* element, std::uint64_t bits) {
  std::memcpy(element, &bits, width(dtype));
}

/// Rounded as the arithmetic of the dtype is: float32 for everything up to 32 bits.
long double inArithmetic(DType dtype, long double value) {
  return dtype == GOSS_FLOAT64 ? static_cast<long double>(static_cast<double>(value)) : static_cast<float>(value);
}

long double floatResult(DType dtype, ReduceOp op, long double a, long double b) {
  if (std::isnan(a) || std::isnan(b)) {
    return std::numeric_limits<long double>::quiet_NaN();
  }
  // A sum or product of two float32 is exact in long double's 64 bits, or rounds to float32 as the exact one does; that
  // of two doubles might not, so it is computed in double.
  const bool wide = dtype == GOSS_FLOAT64;
  switch (op) {
    case GOSS_PROD:
      return wide ? static_cast<double>(a) * static_cast<double>(b) : inArithmetic(dtype, a * b);
    case GOSS_MIN:
      return a < b || (a == b && std::signbit(a)) ? a : b;
    case GOSS_MAX:
      return a > b || (a == b && !std::signbit(a)) ? a : b;
    default:
      return wide ? static_cast<double>(a) + static_cast<double>(b) : static_cast<float>(a) + static_cast<float>(b);
  }
}

std::uint64_t integerResult(DType dtype, ReduceOp op, std::uint64_t a, std::uint64_t b) {
  const bool less = isSigned(dtype) ? static_cast<std::int64_t>(a) < static_cast<std::int64_t>(b) : a < b;
  switch (op) {
    case GOSS_PROD:
      return a * b;
    case GOSS_MIN:
      return less ? a : b;
    case GOSS_MAX:
      return less ? b : a;
    case GOSS_BAND:
      return a & b;
    case GOSS_BOR:
      return a | b;
    case GOSS_BXOR:
      return a ^ b;
    case GOSS_LAND:
      return a != 0 && b != 0 ? 1 : 0;
    case GOSS_LOR:
      return a != 0 || b != 0 ? 1 : 0;
    case GOSS_LXOR:
      return (a != 0) != (b != 0) ? 1 : 0;
    default:
      return a + b;
  }
}

} // namespace

const SmallFormat* smallFormat(DType dtype) {
  static const SmallFormat f16(5, 10, true, 0x7e00), bf16(8, 7, true, 0x7fc0), e4m3(4, 3, false, 0x7f),
      e5m2(5, 2, true, 0x7f);
  switch (dtype) {
    case GOSS_FLOAT16:
      return &f16;
    case GOSS_BFLOAT16:
      return &bf16;
    case GOSS_FLOAT8_E4M3:
      return &e4m3;
    case GOSS_FLOAT8_E5M2:
      return &e5m2;
    default:
      return nullptr;
  }
}

bool isFloating(DType dtype) { return dtype >= GOSS_FLOAT16 && dtype != GOSS_BOOL; }

std::size_t width(DType dtype) {
  constexpr std::array<std::size_t, GOSS_DTYPE_COUNT> kWidths = {1, 1, 4, 4, 8, 8, 2, 2, 4, 8, 1, 1, 1};
  return kWidths[dtype];
}

const char* dtypeName(DType dtype) {
  constexpr std::array<const char*, GOSS_DTYPE_COUNT> kNames = {"i8",   "u8",  "i32", "u32",  "i64",  "u64", "f16",
                                                                "bf16", "f32", "f64", "e4m3", "e5m2", "bool"};
  return kNames[dtype];
}

long double load(DType dtype, const unsigned char* element) {
  if (const SmallFormat* format = smallFormat(dtype)) {
    return format->decode(format->bits() == 8 ? read<std::uint8_t>(element) : read<std::uint16_t>(element));
  }
  if (dtype == GOSS_FLOAT32) {
    return read<float>(element);
  }
  if (dtype == GOSS_FLOAT64) {
    return read<double>(element);
  }
  const std::uint64_t bits = readInteger(dtype, element);
  return isSigned(dtype) ? static_cast<long double>(static_cast<std::int64_t>(bits)) : static_cast<long double>(bits);
}

void store(DType dtype, unsigned char* element, long double value) {
  if (const SmallFormat* format = smallFormat(dtype)) {
    writeInteger(dtype, element, format->encode(value));
  } else if (dtype == GOSS_FLOAT32) {
    write(element, std::isnan(value) ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(value));
  } else if (dtype == GOSS_FLOAT64) {
    write(element, std::isnan(value) ? std::numeric_limits<double>::quiet_NaN() : static_cast<double>(value));
  } else {
    writeInteger(
        dtype, element,
        value < 0 ? static_cast<std::uint64_t>(static_cast<std::int64_t>(value)) : static_cast<std::uint64_t>(value));
  }
}

void referenceReduce(DType dtype, ReduceOp op, unsigned char* out, const unsigned char* a, const unsigned char* b) {
  if (isFloating(dtype)) {
    store(dtype, out, floatResult(dtype, op, load(dtype, a), load(dtype, b)));
  } else {
    writeInteger(dtype, out, integerResult(dtype, op, readInteger(dtype, a), readInteger(dtype, b)));
  }
}

void referenceScale(DType dtype, unsigned char* out, const unsigned char* in, double factor) {
  const long double value = load(dtype, in);
  store(dtype, out,
        dtype == GOSS_FLOAT64 ? static_cast<double>(value) * factor
                              : static_cast<float>(value) * static_cast<float>(factor));
}

void referenceAverage(DType dtype, unsigned char* out, const unsigned char* in, int ranks) {
  if (isFloating(dtype)) {
    const long double value = load(dtype, in);
    store(dtype, out,
          dtype == GOSS_FLOAT64 ? static_cast<double>(value) / ranks
                                : static_cast<float>(value) / static_cast<float>(ranks));
  } else {
    const std::uint64_t bits = readInteger(dtype, in);
    const auto divisor = static_cast<std::uint64_t>(ranks);
    writeInteger(
        dtype, out,
        isSigned(dtype) ? static_cast<std::uint64_t>(static_cast<std::int64_t>(bits) / ranks) : bits / divisor);
  }
}

void referenceConvert(DType to, unsigned char* out, DType from, const unsigned char* in) {
  if (to == from) {
    std::memcpy(out, in, width(to));
  } else if (to == GOSS_BOOL) {
    *out = isFloating(from) ? load(from, in) != 0 : readInteger(from, in) != 0;
  } else if (isFloating(to)) {
    store(to, out, load(from, in));
  } else if (!isFloating(from)) {
    writeInteger(to, out, readInteger(from, in));
  } else {
    const int bits = static_cast<int>(8 * width(to)) - (isSigned(to) ? 1 : 0);
    const long double largest = std::ldexp(1.0L, bits) - 1;
    const long double smallest = isSigned(to) ? -std::ldexp(1.0L, bits) : 0;
    const long double value = load(from, in);
    store(to, out, std::isnan(value) ? 0 : std::trunc(std::clamp(value, smallest, largest)));
  }
}

Bytes randomElements(DType dtype, std::size_t count, std::uint64_t seed) {
  std::mt19937_64 random(seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(dtype));
  Bytes bytes(count * width(dtype));
  const long double infinity = std::numeric_limits<long double>::infinity();
  const std::array<long double, 10> floats = {
      0, -0.0L, infinity, -infinity, std::numeric_limits<long double>::quiet_NaN(), 1, -1, 1.5L, 448, -3};
  for (std::size_t i = 0; i < count; ++i) {
    unsigned char* element = bytes.data() + i * width(dtype);
    const std::uint64_t bits = random();
    writeInteger(dtype, element, bits);
    if (random() % 4 == 0) {
      if (isFloating(dtype)) {
        store(dtype, element, floats[bits % floats.size()]);
      } else {
        const std::array<std::uint64_t, 5> ends = {0, 1, ~std::uint64_t{0}, std::uint64_t{1} << (8 * width(dtype) - 1),
                                                   (std::uint64_t{1} << (8 * width(dtype) - 1)) - 1};
        writeInteger(dtype, element, ends[bits % ends.size()]);
      }
    }
  }
  return bytes;
}

} // namespace goss::testing
