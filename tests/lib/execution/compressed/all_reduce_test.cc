// Compressed all_reduce: the same bits on all ranks, and an error that follows from the codec's own.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "compressors/catalogue.h"
#include "compressors/chain.h"
#include "tests/lib/execution/compressed/harness.h"
#include "tests/support/quick.h"

namespace goss::test {
namespace {

using testing::HasSubstr;

void expectSameOnAllRanks(const std::vector<Floats>& results, const std::string& what) {
  for (std::size_t rank = 1; rank < results.size(); ++rank) {
    ASSERT_EQ(results[rank].size(), results[0].size());
    if (results[0].empty()) continue;
    EXPECT_EQ(std::memcmp(results[rank].data(), results[0].data(), results[0].size() * sizeof(float)), 0)
        << what << ": rank " << rank << " has other bits than rank 0";
  }
}

/// Error of one encoding of normal numbers.
double ownError(const std::string& spec) {
  const Compression made = compressors::makeCompression(spec).take();
  const Codec& codec = *made.codec;
  const Floats values = contribution(3, 1 << 14);
  std::vector<std::byte> scratch_memory(codec.scratchBytes(values.size()) + 64), payload(codec.maxBytes(values.size()));
  void* aligned = scratch_memory.data();
  std::size_t space = scratch_memory.size();
  std::align(64, codec.scratchBytes(values.size()), aligned, space);
  EncodeSegment segment{0, values.size(), payload, 0};
  EncodeJob encode;
  encode.values = values;
  encode.scratch = std::span(static_cast<std::byte*>(aligned), codec.scratchBytes(values.size()));
  encode.segments = std::span(&segment, 1);
  EXPECT_TRUE(codec.encode(encode).isOk());
  Floats decoded(values.size());
  const PayloadView view(payload.data(), segment.bytes);
  DecodeJob decode;
  decode.payloads = std::span(&view, 1);
  decode.out = decoded;
  decode.scratch = encode.scratch;
  EXPECT_TRUE(codec.decode(decode).isOk());
  return errorOf(values, decoded);
}

bool hasPhases(std::string_view spec) { return compressors::makeCompression(spec).value().codec->traits().multi_phase; }

class EveryCodec : public testing::TestWithParam<std::size_t> {};

TEST_P(EveryCodec, GivesAllRanksTheSameBits) {
  const auto entry = compressors::builtinCodecs()[GetParam()];
  for (const int ranks : fullOr(std::vector{1, 2, 3, 8}, std::vector{2, 3})) {
    for (const std::size_t count : {std::size_t{0}, std::size_t{1}, std::size_t{5}, std::size_t{4099}}) {
      CompressedCase what{setupOf(ranks), std::string(entry.example), "", count};
      what.in_place = ranks % 2 == 0;
      const std::vector<Floats> results = allReduceCompressed(what);
      expectSameOnAllRanks(results, what.codec);
    }
  }
}

TEST_P(EveryCodec, LosesTwiceWhatOneEncodingLoses) {
  const auto entry = compressors::builtinCodecs()[GetParam()];
  if (hasPhases(entry.example)) return; // Multi-phase codecs have no payloads to compare with.
  CompressedCase what{setupOf(4), std::string(entry.example), "", 1 << 14};
  const std::vector<Floats> results = allReduceCompressed(what);
  expectSameOnAllRanks(results, what.codec);
  const double own = ownError(what.codec);
  const double error = errorOf(exactResult(what), results[0]);
  if (own >
      0.3) { // Most of a vector is lost at once: nothing follows for the sum but that it is no worse than nothing.
    EXPECT_TRUE(std::isfinite(error)) << what.codec;
    return;
  }
  // The errors of the ranks' encodings are independent and so are, in the mean of p ranks, p times smaller, as the mean
  // itself is; encoding it loses as much again. 1.5: the sum's peaks differ, float32 rounds.
  EXPECT_LE(error, 1.5 * 2 * own + 1e-12) << what.codec;
}

INSTANTIATE_TEST_SUITE_P(Catalogue, EveryCodec, testing::Range<std::size_t>(0, compressors::builtinCodecs().size()));

TEST(CompressedAllReduce, RunsOverEveryTransport) {
  for (const char* transport : {"loopback", "shm", "tcp", "sim"}) {
    for (const char* codec : {"int8", "topk:ratio=0.05+int8", "cocktail"}) {
      CompressedCase what{setupOf(3, transport), codec, "", 70001};
      const std::vector<Floats> results = allReduceCompressed(what);
      expectSameOnAllRanks(results, transport);
      const double error = errorOf(exactResult(what), results[0]);
      EXPECT_TRUE(what.codec != "int8" || error < 2e-4) << transport << ": " << error;
    }
  }
}

TEST(CompressedAllReduce, GivesTheSameResultOverEveryTransportAndEveryTime) {
  CompressedCase what{setupOf(4, "loopback", "direct"), "int4:round=stochastic", "", 9000};
  const std::vector<Floats> first = allReduceCompressed(what);
  for (const char* transport : {"loopback", "tcp"}) {
    what.setup.transport = transport;
    EXPECT_EQ(allReduceCompressed(what), first) << transport;
  }
}

TEST(CompressedAllReduce, TakesNarrowFloats) {
  for (const goss_op op : {GOSS_SUM, GOSS_AVG}) {
    CompressedCase what{setupOf(4), "int8", "", 3001};
    what.dtype = GOSS_BFLOAT16;
    what.op = op;
    const std::vector<Floats> results = allReduceCompressed(what);
    expectSameOnAllRanks(results, "bfloat16");
    EXPECT_LT(errorOf(exactResult(what), results[0]), 2e-4); // bfloat16 itself rounds to 2^-9.
  }
}

TEST(CompressedAllReduce, CutsLargeVectorsIntoFragments) {
  const unsigned mebi_elems = fullOr(4u, 1u);
  CompressedCase what{setupOf(4, "shm"), "int8", "", (mebi_elems << 20) + 17};
  const std::vector<Floats> results = allReduceCompressed(what);
  expectSameOnAllRanks(results, "large");
  EXPECT_LT(errorOf(exactResult(what), results[0]), 2e-4);
}

TEST(CompressedAllReduce, MayUseAnotherCodecOnTheWayBack) {
  CompressedCase what{setupOf(5, "", "direct"), "int4", "fp16", 5000};
  const std::vector<Floats> results = allReduceCompressed(what);
  expectSameOnAllRanks(results, "int4, then fp16");
  const double fine = errorOf(exactResult(what), results[0]);
  what.return_codec = "";
  const double coarse = errorOf(exactResult(what), allReduceCompressed(what)[0]);
  EXPECT_LT(fine, 0.7 * coarse) << "one lossy step of two is gone";
}

TEST(CompressedAllReduce, RequantizesOnlyWhenARingIsAskedFor) {
  CompressedCase what{setupOf(8, "", "ring"), "int4", "", 8192};
  const std::vector<Floats> ring = allReduceCompressed(what);
  expectSameOnAllRanks(ring, "ring");
  what.setup.algorithm = "";
  const std::vector<Floats> chosen = allReduceCompressed(what);
  EXPECT_GT(errorOf(exactResult(what), ring[0]), 1.5 * errorOf(exactResult(what), chosen[0]));
}

// Two ranks of a pair encode the same sum: with random numbers of their own they would send different bytes.
TEST(CompressedAllReduce, GivesAllRanksTheSameBitsByRecursiveDoublingOrRefuses) {
  for (const int ranks : {2, 4, 8}) {
    const RanksSetup setup = setupOf(ranks, "", "recursive-doubling");
    for (const char* codec :
         {"int8", "int4:block=32", "int8+ef", "topk:ratio=0.25+int8+ef", "fp16+ef", "e4m3", "sign+ef"})
      expectSameOnAllRanks(allReduceCompressed({setup, codec, "", 4099}), codec);
    for (const char* codec : {"int4:block=32,round=stochastic", "qsgd", "natural", "terngrad"}) {
      if (ranks == 2) { // Each rank encodes its own contribution alone.
        expectSameOnAllRanks(allReduceCompressed({setup, codec, "", 4099}), codec);
        continue;
      }
      runRanks(setup, [&](goss_comm_t comm, int) {
        Floats values(4099, 1.0f);
        goss_options options = GOSS_OPTIONS_INIT;
        options.codec = codec;
        EXPECT_EQ(goss_all_reduce(comm, values.data(), values.data(), values.size(), GOSS_FLOAT32, GOSS_SUM, &options,
                                  nullptr),
                  GOSS_ERR_INVALID_ARGUMENT);
        EXPECT_THAT(goss_last_error(), HasSubstr("different bits; use one of: direct"));
        EXPECT_THAT(goss_last_error(), testing::Not(HasSubstr(", recursive-doubling,")));
      });
    }
  }
}

TEST(CompressedAllReduce, ShowsOverflowsOnAllRanks) {
  runRanks(3, [](goss_comm_t comm, int rank) {
    Floats values(600, 1.0f);
    if (rank == 1) values[300] = std::numeric_limits<float>::quiet_NaN();
    if (rank == 2) values[10] = std::numeric_limits<float>::infinity();
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = "int8:block=64";
    ASSERT_EQ(goss_all_reduce(comm, values.data(), values.data(), 600, GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
              GOSS_SUCCESS);
    EXPECT_FALSE(std::isfinite(values[300]));
    EXPECT_FALSE(std::isfinite(values[10]));
    EXPECT_EQ(values[500], 3.0f) << "blocks without any are as they should be";
  });
}

TEST(CompressedAllReduce, SendsAsFewBytesAsItSays) {
  runRanks(setupOf(4, "tcp"), [](goss_comm_t comm, int) {
    const auto sentBy = [&](const char* codec) {
      Floats values(1 << 18, 1.0f);
      goss_counters before{sizeof before, 0, 0, 0, 0, 0, 0, 0}, after = before;
      goss_comm_counters(comm, &before);
      goss_options options = GOSS_OPTIONS_INIT;
      options.codec = codec;
      EXPECT_EQ(
          goss_all_reduce(comm, values.data(), values.data(), values.size(), GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
          GOSS_SUCCESS);
      goss_comm_counters(comm, &after);
      EXPECT_EQ(after.wire_bytes_sent - before.wire_bytes_sent, after.wire_bytes_received - before.wire_bytes_received);
      return static_cast<double>(after.wire_bytes_sent - before.wire_bytes_sent);
    };
    const double plain = sentBy(nullptr);
    EXPECT_NEAR(plain / sentBy("int8"), 4 / (1 + 4.0 / 256), 0.01);
    EXPECT_NEAR(plain / sentBy("int4"), 4 / (0.5 + 4.0 / 256), 0.05);
  });
}

TEST(CompressedAllReduce, RefusesWhatItCannotDo) {
  runRanks(2, [](goss_comm_t comm, int) {
    Floats values(10, 1.0f);
    std::int32_t integer = 0;
    goss_options options = GOSS_OPTIONS_INIT;
    const auto call = [&](goss_op op) {
      return goss_all_reduce(comm, values.data(), values.data(), 10, GOSS_FLOAT32, op, &options, nullptr);
    };
    options.codec = "int9";
    EXPECT_EQ(call(GOSS_SUM), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("int9"));
    options.codec = "int8";
    options.algorithm = "nonsense";
    EXPECT_EQ(call(GOSS_SUM), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("all_reduce has no algorithm 'nonsense'; use one of: direct"));
    options.algorithm = nullptr;
    EXPECT_EQ(call(GOSS_MAX), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_all_reduce(comm, &integer, &integer, 1, GOSS_INT32, GOSS_SUM, &options, nullptr),
              GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_EQ(goss_scan(comm, values.data(), values.data(), 10, GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
              GOSS_ERR_UNSUPPORTED);
    options.codec = "int8+ef";
    EXPECT_EQ(call(GOSS_SUM), GOSS_ERR_INVALID_ARGUMENT);
    EXPECT_THAT(goss_last_error(), HasSubstr("options.tensor"));
    options.tensor = 1;
    EXPECT_EQ(call(GOSS_SUM), GOSS_SUCCESS) << goss_last_error();
  });
}

TEST(CompressedAllReduce, NamesTheCodecsThatDoNotMatch) {
  runRanks(2, [](goss_comm_t comm, int rank) {
    Floats values(1000, 1.0f);
    goss_options options = GOSS_OPTIONS_INIT;
    options.codec = rank == 0 ? "int8" : "int4";
    EXPECT_EQ(goss_all_reduce(comm, values.data(), values.data(), 1000, GOSS_FLOAT32, GOSS_SUM, &options, nullptr),
              GOSS_ERR_MISMATCH);
    EXPECT_THAT(goss_last_error(), HasSubstr("codec 'int"));
    EXPECT_THAT(goss_last_error(), HasSubstr("another codec"));
  });
}

} // namespace
} // namespace goss::test
