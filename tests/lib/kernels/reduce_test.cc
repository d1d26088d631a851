/// reduce, scale and average of every dtype and op, on every instruction set of this machine, against the reference.
#include <gtest/gtest.h>

#include "kernels/kernels.h"
#include "kernels/table.h"
#include "tests/lib/kernels/reference.h"

namespace goss::kernels {
namespace {

using goss::testing::Bytes;
using goss::testing::dtypeName;
using goss::testing::width;

constexpr std::array<std::size_t, 9> kCounts = {0, 1, 7, 63, 64, 65, 1000, 1031, 2500};
constexpr std::size_t kMaxElements = 2500;
constexpr std::size_t kMaxStart = 9;

enum class Alias { none, a, b };

/// Elements `start`.. of one buffer; everything around them must stay as it was.
struct Case {
  DType dtype;
  std::size_t op;
  std::size_t count;
  std::size_t start;
  Alias alias;
};

Bytes expectedReduce(const Case& c, const Bytes& a, const Bytes& b, Bytes out) {
  const std::size_t bytes = width(c.dtype);
  for (std::size_t i = c.start; i < c.start + c.count; ++i) {
    goss::testing::referenceReduce(c.dtype, static_cast<ReduceOp>(c.op), out.data() + i * bytes, a.data() + i * bytes,
                                   b.data() + i * bytes);
  }
  return out;
}

void checkReduce(const Table& table, const Case& c, const Bytes& expected, const Bytes& a, const Bytes& b) {
  Bytes left = a, right = b, out(a.size(), 0xa5);
  Bytes& target = c.alias == Alias::none ? out : c.alias == Alias::a ? left : right;
  const std::size_t offset = c.start * width(c.dtype);
  table.reduce[c.dtype][c.op](target.data() + offset, left.data() + offset, right.data() + offset, c.count);
  ASSERT_EQ(target, expected) << table.isa << " " << dtypeName(c.dtype) << " op " << c.op << " count " << c.count
                              << " start " << c.start << " alias " << static_cast<int>(c.alias);
  if (c.alias != Alias::a) {
    ASSERT_EQ(left, a);
  }
  if (c.alias != Alias::b) {
    ASSERT_EQ(right, b);
  }
}

class EveryDtype : public ::testing::TestWithParam<int> {
 protected:
  DType dtype() const { return static_cast<DType>(GetParam()); }
};

INSTANTIATE_TEST_SUITE_P(Reduce, EveryDtype, ::testing::Range(0, int{GOSS_DTYPE_COUNT}),
                         [](const auto& test) { return dtypeName(static_cast<DType>(test.param)); });

TEST_P(EveryDtype, ReduceMatchesTheReferenceOnEveryInstructionSet) {
  const Bytes a = goss::testing::randomElements(dtype(), kMaxElements + kMaxStart, 1);
  const Bytes b = goss::testing::randomElements(dtype(), kMaxElements + kMaxStart, 2);
  const Bytes untouched(a.size(), 0xa5);
  for (std::size_t op = 0; op < GOSS_OP_COUNT; ++op) {
    if (!supported(dtype(), static_cast<ReduceOp>(op))) continue;
    for (const std::size_t count : kCounts) {
      for (const std::size_t start : {0u, 1u, 3u, 9u}) {
        for (const Alias alias : {Alias::none, Alias::a, Alias::b}) {
          const Case c{dtype(), op, count, start, alias};
          const Bytes& before = alias == Alias::none ? untouched : alias == Alias::a ? a : b;
          const Bytes expected = expectedReduce(c, a, b, before);
          for (const Table& table : availableTables()) {
            ASSERT_NO_FATAL_FAILURE(checkReduce(table, c, expected, a, b));
          }
        }
      }
    }
  }
}

TEST_P(EveryDtype, ReduceGivesTheSameBitsWithOperandsSwapped) {
  const Bytes a = goss::testing::randomElements(dtype(), kMaxElements, 3);
  const Bytes b = goss::testing::randomElements(dtype(), kMaxElements, 4);
  for (int op = 0; op < GOSS_OP_COUNT; ++op) {
    if (!supported(dtype(), static_cast<ReduceOp>(op))) {
      continue;
    }
    Bytes forward(a.size()), backward(a.size());
    reduce(dtype(), static_cast<ReduceOp>(op), forward.data(), a.data(), b.data(), kMaxElements);
    reduce(dtype(), static_cast<ReduceOp>(op), backward.data(), b.data(), a.data(), kMaxElements);
    EXPECT_EQ(forward, backward) << "op " << op;
  }
}

TEST_P(EveryDtype, NanSurvivesEveryOperationFromEitherSide) {
  if (!goss::testing::isFloating(dtype())) {
    GTEST_SUCCEED();
    return;
  }
  const std::size_t bytes = width(dtype());
  for (const long double other : {0.0L, 1.0L, -1.0L, std::numeric_limits<long double>::infinity()}) {
    Bytes nan(bytes), number(bytes), out(bytes);
    goss::testing::store(dtype(), nan.data(), std::numeric_limits<long double>::quiet_NaN());
    goss::testing::store(dtype(), number.data(), other);
    for (int op = 0; op < GOSS_OP_COUNT; ++op) {
      if (!supported(dtype(), static_cast<ReduceOp>(op))) continue;
      reduce(dtype(), static_cast<ReduceOp>(op), out.data(), nan.data(), number.data(), 1);
      EXPECT_EQ(out, nan) << "op " << op;
      reduce(dtype(), static_cast<ReduceOp>(op), out.data(), number.data(), nan.data(), 1);
      EXPECT_EQ(out, nan) << "op " << op;
    }
  }
}

TEST_P(EveryDtype, ScaleMatchesTheReference) {
  if (!supported(dtype(), GOSS_PREMUL_SUM)) {
    EXPECT_FALSE(goss::testing::isFloating(dtype()));
    return;
  }
  const std::size_t bytes = width(dtype());
  const Bytes in = goss::testing::randomElements(dtype(), kMaxElements, 5);
  for (const double factor : {1.0, 0.5, -3.0, 1.0 / 3.0, 0.0}) {
    Bytes expected(in.size());
    for (std::size_t i = 0; i < kMaxElements; ++i) {
      goss::testing::referenceScale(dtype(), expected.data() + i * bytes, in.data() + i * bytes, factor);
    }
    for (const Table& table : availableTables()) {
      Bytes out(in.size()), in_place = in;
      table.scale[dtype()](out.data(), in.data(), kMaxElements, factor);
      table.scale[dtype()](in_place.data(), in_place.data(), kMaxElements, factor);
      EXPECT_TRUE(out == expected) << table.isa << " factor " << factor;
      EXPECT_TRUE(in_place == expected) << table.isa << " factor " << factor << ", in place";
    }
  }
}

TEST_P(EveryDtype, AverageMatchesTheReference) {
  if (!supported(dtype(), GOSS_AVG)) {
    EXPECT_EQ(dtype(), GOSS_BOOL);
    return;
  }
  const std::size_t bytes = width(dtype());
  const Bytes in = goss::testing::randomElements(dtype(), kMaxElements, 6);
  for (const int ranks : {1, 2, 3, 7, 64, 1000, 2147483647}) {
    Bytes expected(in.size());
    for (std::size_t i = 0; i < kMaxElements; ++i) {
      goss::testing::referenceAverage(dtype(), expected.data() + i * bytes, in.data() + i * bytes, ranks);
    }
    for (const Table& table : availableTables()) {
      Bytes out(in.size()), in_place = in;
      table.average[dtype()](out.data(), in.data(), kMaxElements, ranks);
      table.average[dtype()](in_place.data(), in_place.data(), kMaxElements, ranks);
      EXPECT_TRUE(out == expected) << table.isa << " ranks " << ranks;
      EXPECT_TRUE(in_place == expected) << table.isa << " ranks " << ranks << ", in place";
    }
  }
}

/// One element: a product and a sum round once each, in float32 or wider, and the result once more.
template <typename Wide>
long double weightedElement(DType dtype, const std::vector<Bytes>& terms, const std::vector<double>& weights,
                            std::size_t at) {
  Wide sum = 0;
  for (std::size_t k = 0; k < terms.size(); ++k) {
    const auto value = static_cast<Wide>(goss::testing::load(dtype, terms[k].data() + at));
    const Wide product = static_cast<Wide>(weights[k]) * value;
    sum = k == 0 ? product : sum + product;
  }
  return sum;
}

TEST_P(EveryDtype, WeightedSumMatchesTheReferenceOnEveryInstructionSet) {
  if (!supported(dtype(), GOSS_PREMUL_SUM)) {
    EXPECT_FALSE(goss::testing::isFloating(dtype()));
    return;
  }
  const std::size_t bytes = width(dtype());
  const std::vector<double> weights = {1.0 / 3.0, -2.5, 0.0, 1e-3};
  for (const std::size_t terms : {1u, 2u, 4u}) {
    for (const std::size_t count : kCounts) {
      std::vector<Bytes> sources;
      for (std::size_t k = 0; k < terms; ++k)
        sources.push_back(goss::testing::randomElements(dtype(), count + kMaxStart, 7 + k));
      Bytes expected(sources[0].size(), 0xa5);
      for (std::size_t i = 1; i <= count; ++i) {
        const std::vector<double> used(weights.begin(), weights.begin() + static_cast<std::ptrdiff_t>(terms));
        goss::testing::store(dtype(), expected.data() + i * bytes,
                             dtype() == GOSS_FLOAT64 ? weightedElement<double>(dtype(), sources, used, i * bytes)
                                                     : weightedElement<float>(dtype(), sources, used, i * bytes));
      }
      for (const Table& table : availableTables()) {
        Bytes out(expected.size(), 0xa5), in_place = sources[terms - 1];
        std::vector<const void*> from;
        for (const Bytes& source : sources)
          from.push_back(source.data() + bytes);
        table.weighted_sum[dtype()](out.data() + bytes, {from.data(), weights.data(), terms}, count);
        EXPECT_TRUE(out == expected) << table.isa << " " << terms << " terms of " << count;
        from[terms - 1] = in_place.data() + bytes;
        table.weighted_sum[dtype()](in_place.data() + bytes, {from.data(), weights.data(), terms}, count);
        EXPECT_TRUE(std::equal(out.begin() + static_cast<std::ptrdiff_t>(bytes),
                               out.begin() + static_cast<std::ptrdiff_t>(bytes * (count + 1)),
                               in_place.begin() + static_cast<std::ptrdiff_t>(bytes)))
            << table.isa << " " << terms << " terms of " << count << ", in place";
      }
    }
  }
}

TEST(Kernels, OpsThatHaveNoMeaningForATypeAndUnknownValuesAreRefused) {
  EXPECT_FALSE(supported(GOSS_INT32, GOSS_PREMUL_SUM));
  EXPECT_TRUE(supported(GOSS_INT32, GOSS_AVG));
  EXPECT_TRUE(supported(GOSS_FLOAT8_E5M2, GOSS_PREMUL_SUM));
  for (const ReduceOp op : {GOSS_BAND, GOSS_BOR, GOSS_BXOR}) {
    EXPECT_TRUE(supported(GOSS_UINT64, op));
    EXPECT_FALSE(supported(GOSS_FLOAT32, op));
    EXPECT_FALSE(supported(GOSS_BOOL, op));
  }
  for (const ReduceOp op : {GOSS_LAND, GOSS_LOR, GOSS_LXOR}) {
    EXPECT_TRUE(supported(GOSS_INT8, op));
    EXPECT_TRUE(supported(GOSS_BOOL, op));
    EXPECT_FALSE(supported(GOSS_FLOAT16, op));
  }
  EXPECT_FALSE(supported(GOSS_BOOL, GOSS_SUM));
  EXPECT_TRUE(supported(GOSS_BOOL, GOSS_MAX));
  EXPECT_FALSE(supported(GOSS_DTYPE_COUNT, GOSS_SUM));
  EXPECT_FALSE(supported(GOSS_FLOAT32, GOSS_OP_COUNT));
}

TEST(Kernels, AnyByteButZeroIsTrueAndTrueIsOne) {
  const Bytes a = {0, 0, 1, 2, 0x80, 0xff}, b = {0, 0x10, 0, 1, 0x7f, 3};
  const auto result = [&](ReduceOp op) {
    Bytes out(a.size(), 0xa5);
    reduce(GOSS_BOOL, op, out.data(), a.data(), b.data(), a.size());
    return out;
  };
  EXPECT_EQ(result(GOSS_LAND), (Bytes{0, 0, 0, 1, 1, 1}));
  EXPECT_EQ(result(GOSS_MIN), result(GOSS_LAND));
  EXPECT_EQ(result(GOSS_LOR), (Bytes{0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(result(GOSS_MAX), result(GOSS_LOR));
  EXPECT_EQ(result(GOSS_LXOR), (Bytes{0, 1, 1, 0, 0, 0}));
}

/// Crosses the size from which copies bypass the caches, with ends that are no multiple of a vector.
TEST(Kernels, LargeOutOfPlaceReduceAndCopyAreExact) {
  constexpr std::size_t kCount = (9u << 20) / 4 + 37;
  std::vector<std::int32_t> a(kCount + 1), b(kCount + 1), out(kCount + 1, -7), copied(kCount + 1, -7);
  for (std::size_t i = 0; i < a.size(); ++i) {
    a[i] = static_cast<std::int32_t>(i * 2654435761u >> 3);
    b[i] = static_cast<std::int32_t>(i % 1000);
  }
  reduce(GOSS_INT32, GOSS_SUM, out.data() + 1, a.data() + 1, b.data() + 1, kCount - 1);
  copy(reinterpret_cast<unsigned char*>(copied.data()) + 3, reinterpret_cast<unsigned char*>(a.data()) + 1,
       4 * kCount - 9);
  EXPECT_EQ(out[0], -7);
  EXPECT_EQ(out[kCount], -7);
  for (std::size_t i = 1; i < kCount; ++i) {
    ASSERT_EQ(out[i], a[i] + b[i]) << i;
  }
  EXPECT_EQ(0, std::memcmp(reinterpret_cast<unsigned char*>(copied.data()) + 3,
                           reinterpret_cast<unsigned char*>(a.data()) + 1, 4 * kCount - 9));
  EXPECT_EQ(copied[kCount], -7);
}

TEST(Kernels, NothingOfNothingIsFine) {
  reduce(GOSS_FLOAT32, GOSS_SUM, nullptr, nullptr, nullptr, 0);
  copy(nullptr, nullptr, 0);
  scale(GOSS_BFLOAT16, nullptr, nullptr, 0, 2.0);
  average(GOSS_INT8, nullptr, nullptr, 0, 3);
  convert(GOSS_FLOAT32, nullptr, GOSS_FLOAT16, nullptr, 0);
  convert(GOSS_INT8, nullptr, GOSS_INT8, nullptr, 0);
  SUCCEED();
}

TEST_P(EveryDtype, StreamingGivesTheSameBits) {
  constexpr std::size_t kCount = 70001; // Several blocks and a rest, of every width.
  const std::size_t bytes = width(dtype());
  const Bytes a = goss::testing::randomElements(dtype(), kCount + kMaxStart, 1);
  const Bytes b = goss::testing::randomElements(dtype(), kCount + kMaxStart, 2);
  for (const ReduceOp op : {GOSS_SUM, GOSS_MAX, GOSS_LXOR}) {
    if (!supported(dtype(), op)) continue;
    for (const std::size_t start : {std::size_t{0}, std::size_t{1}, kMaxStart}) {
      const std::size_t at = start * bytes;
      Bytes expected(a.size(), 0x5a), got(a.size(), 0x5a), in_place = a;
      reduce(dtype(), op, expected.data() + at, a.data() + at, b.data() + at, kCount);
      reduceStreaming(dtype(), op, got.data() + at, a.data() + at, b.data() + at, kCount);
      ASSERT_EQ(got, expected) << dtypeName(dtype()) << " start " << start;
      reduceStreaming(dtype(), op, in_place.data() + at, in_place.data() + at, b.data() + at, kCount);
      ASSERT_TRUE(std::equal(in_place.begin() + static_cast<std::ptrdiff_t>(at),
                             in_place.begin() + static_cast<std::ptrdiff_t>(at + kCount * bytes),
                             expected.begin() + static_cast<std::ptrdiff_t>(at)));
    }
  }
}

TEST_P(EveryDtype, FinishedInTwoPlacesGivesTheSameBits) {
  constexpr std::size_t kCount = 70001;
  const Bytes a = goss::testing::randomElements(dtype(), kCount, 1);
  const Bytes b = goss::testing::randomElements(dtype(), kCount, 2);
  for (const ReduceOp op : {GOSS_SUM, GOSS_PROD, GOSS_MIN, GOSS_MAX, GOSS_AVG, GOSS_BXOR, GOSS_LAND}) {
    if (!supported(dtype(), op)) continue;
    Bytes expected(a.size()), one(a.size()), other(a.size()), left = a, right = b;
    reduce(dtype(), op, expected.data(), a.data(), b.data(), kCount);
    if (op == GOSS_AVG) average(dtype(), expected.data(), expected.data(), kCount, 3);
    finishStreaming(dtype(), op, 3, one.data(), other.data(), a.data(), b.data(), kCount);
    ASSERT_EQ(one, expected) << dtypeName(dtype()) << " op " << op;
    ASSERT_EQ(other, expected) << dtypeName(dtype()) << " op " << op;
    finishStreaming(dtype(), op, 3, left.data(), right.data(), left.data(), right.data(), kCount);
    ASSERT_EQ(left, expected) << dtypeName(dtype()) << " op " << op << " in place";
    ASSERT_EQ(right, expected) << dtypeName(dtype()) << " op " << op << " in place";
  }
}

} // namespace
} // namespace goss::kernels
