#include "call/call.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "call/codec_pair.h"
#include "schedule/contract.h"

namespace goss {
namespace {

using ::testing::HasSubstr;

Call callOf(Collective collective, std::uint64_t count = 10, DType dtype = GOSS_FLOAT32) {
  Call call;
  call.collective = collective;
  call.dtype = dtype;
  call.count = count;
  call.root = 0;
  setUniformShape(call, 4);
  return call;
}

void expectRefused(const Call& call, const std::string& text) {
  const Status status = validate(call, 4);
  EXPECT_EQ(status.kind(), GOSS_ERR_INVALID_ARGUMENT);
  EXPECT_THAT(status.text(), HasSubstr(text));
}

TEST(CallValidation, AcceptsEveryCollective) {
  for (int i = 0; i < kCollectiveCount; ++i) {
    const Status status = validate(callOf(static_cast<Collective>(i)), 4);
    EXPECT_TRUE(status.isOk()) << status.text();
  }
}

TEST(CallValidation, NamesABadRootOnlyWhereThereIsOne) {
  for (const int root : {-1, 4}) {
    for (int i = 0; i < kCollectiveCount; ++i) {
      Call call = callOf(static_cast<Collective>(i));
      call.root = root;
      if (schedule::hasRoot(call.collective)) {
        expectRefused(call, "root " + std::to_string(root));
      } else {
        EXPECT_TRUE(validate(call, 4).isOk());
      }
    }
  }
}

TEST(CallValidation, NamesABadDtypeOpAndTimeout) {
  Call call = callOf(Collective::allReduce);
  call.dtype = GOSS_DTYPE_COUNT;
  expectRefused(call, "dtype " + std::to_string(GOSS_DTYPE_COUNT));
  call = callOf(Collective::allReduce);
  call.op = GOSS_OP_COUNT;
  expectRefused(call, "op " + std::to_string(GOSS_OP_COUNT));
  call = callOf(Collective::allReduce);
  call.timeout_ms = -1;
  expectRefused(call, "timeout_ms is -1");
}

TEST(CallValidation, RefusesFeedbackOfResultsWhereNobodyEncodesOne) {
  CodecRegistry codecs;
  for (const Collective collective : {Collective::allGather, Collective::reduceScatter, Collective::broadcast,
                                      Collective::allToAll, Collective::allReduce, Collective::reduce}) {
    Call call = callOf(collective);
    call.tensor = 1;
    call.codecs = codecs.find("int8+ef:at=server", {}).take();
    if (collective == Collective::allReduce || collective == Collective::reduce) {
      EXPECT_TRUE(validate(call, 4).isOk());
    } else {
      expectRefused(call, "at=server would keep nothing; use at=worker");
    }
    for (const char* kept : {"int8+ef", "int8+ef:at=worker"}) {
      call.codecs = codecs.find(kept, {}).take();
      EXPECT_TRUE(validate(call, 4).isOk()) << kept;
    }
  }
}

TEST(CallValidation, RefusesOpsWithoutMeaning) {
  for (int dtype = 0; dtype < GOSS_DTYPE_COUNT; ++dtype) {
    const bool is_integer = dtype < GOSS_FLOAT16;
    const bool is_bool = dtype == GOSS_BOOL;
    for (int op = 0; op < GOSS_OP_COUNT; ++op) {
      Call call = callOf(Collective::allReduce, 10, static_cast<DType>(dtype));
      call.op = static_cast<ReduceOp>(op);
      const bool orders = op == GOSS_MIN || op == GOSS_MAX;
      bool legal = orders || !is_bool;
      if (op == GOSS_PREMUL_SUM) legal = !is_integer && !is_bool;
      if (op >= GOSS_BAND && op <= GOSS_BXOR) legal = is_integer;
      if (op >= GOSS_LAND) legal = is_integer || is_bool;
      if (legal) {
        EXPECT_TRUE(validate(call, 4).isOk()) << opName(call.op) << " of " << dtypeName(call.dtype);
      } else {
        expectRefused(call, std::string("all_reduce: ") + opName(call.op) + " needs ");
        expectRefused(call, std::string(", not ") + dtypeName(call.dtype));
      }
    }
  }
  for (const Collective collective : {Collective::scan, Collective::exscan}) {
    Call call = callOf(collective);
    call.op = GOSS_AVG;
    expectRefused(call, "GOSS_AVG");
  }
}

TEST(CallValidation, RefusesWhatFitsInNoMemory) {
  constexpr std::uint64_t kMax = (std::uint64_t{1} << 62) / 4;
  EXPECT_TRUE(validate(callOf(Collective::allReduce, kMax), 4).isOk());
  expectRefused(callOf(Collective::allReduce, kMax + 1), "memory");
  // Blocks of all ranks count together.
  EXPECT_TRUE(validate(callOf(Collective::allGather, kMax / 4), 4).isOk());
  expectRefused(callOf(Collective::allGather, kMax / 4 + 1), "memory");
}

TEST(CallShapes, BlocksArePackedAndOwnBlocksStandFirst) {
  const schedule::Shape gather = blocksShape(Collective::allGather, 3, 5, 4);
  EXPECT_EQ(gather.output_blocks[2].offset_elems, 10u);
  EXPECT_EQ(gather.input_blocks[2].offset_elems, 0u);
  EXPECT_EQ(gather.input_blocks[2].count_elems, 5u);
  const schedule::Shape scatter = blocksShape(Collective::reduceScatter, 3, 5, 4);
  EXPECT_EQ(scatter.input_blocks[2].offset_elems, 10u);
  EXPECT_EQ(scatter.output_blocks[2].offset_elems, 0u);
  const std::size_t counts[] = {1, 0, 4};
  const std::size_t displs[] = {9, 3, 2};
  const schedule::Shape packed = blocksShape(Collective::allGather, counts, nullptr, 4);
  EXPECT_EQ(packed.output_blocks[2].offset_elems, 1u);
  const schedule::Shape placed = blocksShape(Collective::allGather, counts, displs, 4);
  EXPECT_EQ(placed.output_blocks[0].offset_elems, 9u);
  EXPECT_EQ(placed.output_blocks[2].count_elems, 4u);
}

TEST(CallShapes, StagingCoversWhatIsRead) {
  EXPECT_EQ(callOf(Collective::allReduce).inputSpanElems(1), 10u);
  EXPECT_EQ(callOf(Collective::allToAll).inputSpanElems(1), 40u);
  EXPECT_EQ(callOf(Collective::reduceScatter).inputSpanElems(1), 40u);
  EXPECT_EQ(callOf(Collective::allGather).inputSpanElems(1), 10u);
  EXPECT_EQ(callOf(Collective::gather).inputSpanElems(1), 10u);
}

} // namespace
} // namespace goss
