// Collectives, messages, groups and reductions of libnccl.so.2 on device buffers, in stream order.
// collectives RANKS
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bindings/nccl/support.h"

static const size_t kCounts[] = {0, 1, 77, 4096, 300001};
enum { kSizes = sizeof kCounts / sizeof kCounts[0], kMaxCount = 300001 };

static float sumOf(const Rank* rank) { return (float)(rank->ranks * (rank->ranks + 1)) / 2; }

static void allReduces(Rank* rank) {
  float* send = deviceFloats(kMaxCount);
  float* recv = deviceFloats(kMaxCount);
  for (int s = 0; s < kSizes; ++s) {
    const size_t count = kCounts[s];
    fill(send, count, (float)rank->rank + 1, 1);
    OK(ncclAllReduce(send, recv, count, ncclFloat32, ncclSum, rank->comm, rank->stream));
    OK(ncclAllReduce(recv, recv, count, ncclFloat32, ncclMax, rank->comm, rank->stream)); // in place, no wait between
    finish(rank->stream);
    CHECK(holds(recv, count, sumOf(rank), (float)rank->ranks));
    OK(ncclAllReduce(send, send, count, ncclFloat32, ncclMin, rank->comm, rank->stream));
    finish(rank->stream);
    CHECK(holds(send, count, 1, 1));
  }
  fill(send, 100, 2, 0);
  OK(ncclAllReduce(send, recv, 100, ncclFloat32, ncclProd, rank->comm, NULL)); // the legacy default stream
  OK(ncclAllReduce(recv, recv, 100, ncclFloat32, ncclAvg, rank->comm, NULL));
  finish(NULL);
  CHECK(holds(recv, 100, (float)(1 << rank->ranks), 0));
}

static void types(Rank* rank) {
  static const ncclDataType_t all[] = {ncclInt8,    ncclUint8,    ncclInt32,      ncclUint32,
                                       ncclInt64,   ncclUint64,   ncclFloat16,    ncclFloat32,
                                       ncclFloat64, ncclBfloat16, ncclFloat8e4m3, ncclFloat8e5m2};
  static const int sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2, 1, 1};
  char* buffer = (char*)deviceFloats(4096);
  char zero[8 * 333];
  for (size_t t = 0; t < sizeof all / sizeof all[0]; ++t)
    for (int op = ncclSum; op <= ncclAvg; ++op) {
      memset(zero, 0, sizeof zero);
      put(buffer, zero, (size_t)sizes[t] * 333);
      OK(ncclAllReduce(buffer, buffer, 333, all[t], (ncclRedOp_t)op, rank->comm, rank->stream));
      finish(rank->stream);
      memset(zero, 1, sizeof zero);
      get(zero, buffer, (size_t)sizes[t] * 333);
      for (int i = 0; i < sizes[t] * 333; ++i)
        CHECK(zero[i] == 0);
    }
  CHECK(ncclAllReduce(buffer, buffer, 1, ncclNumTypes, ncclSum, rank->comm, rank->stream) == ncclInvalidArgument);
}

static void rooted(Rank* rank) {
  float* send = deviceFloats(kMaxCount);
  float* recv = deviceFloats(kMaxCount);
  for (int s = 0; s < kSizes; ++s)
    for (int root = 0; root < rank->ranks; ++root) {
      const size_t count = kCounts[s];
      const int am = rank->rank == root;
      fill(send, count, (float)rank->rank + 1, 2);
      fill(recv, count, -1, 0);
      OK(ncclReduce(send, am ? recv : NULL, count, ncclFloat32, ncclSum, root, rank->comm, rank->stream));
      finish(rank->stream);
      CHECK(holds(recv, count, am ? sumOf(rank) : -1, am ? 2 * (float)rank->ranks : 0));
      OK(ncclBroadcast(send, recv, count, ncclFloat32, root, rank->comm, rank->stream));
      OK(ncclBcast(send, count, ncclFloat32, root, rank->comm, rank->stream));
      finish(rank->stream);
      CHECK(holds(recv, count, (float)root + 1, 2));
      CHECK(holds(send, count, (float)root + 1, 2));
    }
}

static void gathers(Rank* rank) {
  const size_t most = 100001;
  const size_t n = (size_t)rank->ranks;
  float* one = deviceFloats(most);
  float* all = deviceFloats(most * n);
  for (size_t count = 1; count <= most; count = count * 317 + 1) {
    fill(one, count, (float)rank->rank, 1);
    OK(ncclAllGather(one, all, count, ncclFloat32, rank->comm, rank->stream));
    finish(rank->stream);
    for (size_t r = 0; r < n; ++r)
      CHECK(holds(all + r * count, count, (float)r, 1));
    fill(all + (size_t)rank->rank * count, count, (float)rank->rank + 5, 1);
    OK(ncclAllGather(all + (size_t)rank->rank * count, all, count, ncclFloat32, rank->comm, rank->stream)); // in place
    finish(rank->stream);
    for (size_t r = 0; r < n; ++r)
      CHECK(holds(all + r * count, count, (float)r + 5, 1));
    for (size_t r = 0; r < n; ++r)
      fill(all + r * count, count, (float)(r + 1), 0);
    OK(ncclReduceScatter(all, one, count, ncclFloat32, ncclSum, rank->comm, rank->stream));
    finish(rank->stream);
    CHECK(holds(one, count, (float)((rank->rank + 1) * rank->ranks), 0));
    fill(one, count, (float)rank->rank, 1);
    const int root = rank->ranks - 1;
    OK(ncclGather(one, all, count, ncclFloat32, root, rank->comm, rank->stream));
    finish(rank->stream);
    for (size_t r = 0; r < n && rank->rank == root; ++r)
      CHECK(holds(all + r * count, count, (float)r, 1));
    OK(ncclScatter(all, one, count, ncclFloat32, root, rank->comm, rank->stream));
    finish(rank->stream);
    CHECK(holds(one, count, (float)rank->rank, 1));
  }
}

static void allToAlls(Rank* rank) {
  const size_t count = 50001;
  const size_t n = (size_t)rank->ranks;
  float* send = deviceFloats(count * n);
  float* recv = deviceFloats(count * n);
  for (size_t r = 0; r < n; ++r)
    fill(send + r * count, count, (float)(100 * rank->rank + (int)r), 0);
  OK(ncclAlltoAll(send, recv, count, ncclFloat32, rank->comm, rank->stream));
  finish(rank->stream);
  for (size_t r = 0; r < n; ++r)
    CHECK(holds(recv + r * count, count, (float)(100 * (int)r + rank->rank), 0));
}

/// Each rank sends to all ranks, itself included, and receives from them: more at once than staging memory holds.
static void messages(Rank* rank, size_t count, int each) {
  const size_t n = (size_t)rank->ranks;
  float* send = deviceFloats(count * n * (size_t)each);
  float* recv = deviceFloats(count * n * (size_t)each);
  for (size_t r = 0; r < n * (size_t)each; ++r)
    fill(send + r * count, count, (float)(1000 * rank->rank + (int)r), 0);
  OK(ncclGroupStart());
  OK(ncclGroupStart());
  for (size_t r = 0; r < n; ++r)
    for (int e = 0; e < each; ++e)
      OK(ncclSend(send + (r * (size_t)each + (size_t)e) * count, count, ncclFloat32, (int)r, rank->comm, rank->stream));
  OK(ncclGroupEnd()); // the inner end starts nothing
  for (size_t r = 0; r < n; ++r)
    for (int e = 0; e < each; ++e)
      OK(ncclRecv(recv + (r * (size_t)each + (size_t)e) * count, count, ncclFloat32, (int)r, rank->comm, rank->stream));
  OK(ncclGroupEnd());
  finish(rank->stream);
  for (size_t r = 0; r < n; ++r)
    for (int e = 0; e < each; ++e)
      CHECK(holds(recv + (r * (size_t)each + (size_t)e) * count, count, (float)(1000 * (int)r + rank->rank * each + e),
                  0));
  CUDA(cuMemFree_v2((CUdeviceptr)(uintptr_t)send));
  CUDA(cuMemFree_v2((CUdeviceptr)(uintptr_t)recv));
}

/// One group on two streams and two communicators.
static void groups(Rank* rank) {
  ncclComm_t other = NULL;
  OK(ncclCommSplit(rank->comm, 7, -rank->rank, &other, NULL));
  int turned = -1;
  OK(ncclCommUserRank(other, &turned));
  CHECK(turned == rank->ranks - 1 - rank->rank);
  cudaStream_t second = NULL;
  CUDA(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  float* a = deviceFloats(1000);
  float* b = deviceFloats(1000);
  float* c = deviceFloats(1000);
  fill(a, 1000, 1, 1);
  fill(b, 1000, 2, 0);
  fill(c, 1000, (float)turned, 0);
  OK(ncclGroupStart());
  OK(ncclAllReduce(a, a, 1000, ncclFloat32, ncclSum, rank->comm, rank->stream));
  OK(ncclAllReduce(b, b, 1000, ncclFloat32, ncclSum, rank->comm, second));
  OK(ncclBroadcast(c, c, 1000, ncclFloat32, 0, other, second));
  OK(ncclGroupEnd());
  // The next call on another stream comes behind the group.
  OK(ncclAllReduce(a, a, 1000, ncclFloat32, ncclMax, rank->comm, second));
  finish(second);
  finish(rank->stream);
  CHECK(holds(a, 1000, (float)rank->ranks, (float)rank->ranks));
  CHECK(holds(b, 1000, 2 * (float)rank->ranks, 0));
  CHECK(holds(c, 1000, 0, 0));
  CHECK(ncclGroupEnd() == ncclInvalidUsage);
  OK(ncclGroupStart());
  CHECK(ncclAllReduce(a, a, 1, ncclNumTypes, ncclSum, rank->comm, second) == ncclInvalidArgument);
  CHECK(ncclGroupEnd() == ncclInvalidArgument);
  OK(ncclCommDestroy(other));
}

static void preMulSums(Rank* rank) {
  float* data = deviceFloats(500001);
  float* scalar = deviceFloats(1);
  const float factor = 0.5f;
  for (int place = ncclScalarDevice; place <= ncclScalarHostImmediate; ++place) {
    float host = factor;
    fill(data, 500001, 4, 0);
    put(scalar, &host, sizeof host);
    ncclRedOp_t op;
    void* at = place == ncclScalarDevice ? (void*)scalar : (void*)&host;
    OK(ncclRedOpCreatePreMulSum(&op, at, ncclFloat32, (ncclScalarResidence_t)place, rank->comm));
    OK(ncclAllReduce(data, data, 500001, ncclFloat32, op, rank->comm, rank->stream));
    OK(ncclRedOpDestroy(op, rank->comm));
    CHECK(ncclRedOpDestroy(op, rank->comm) == ncclInvalidArgument);
    host = 0;
    finish(rank->stream);
    CHECK(holds(data, 500001, 2 * (float)rank->ranks, 0));
  }
}

/// Averages whose sums have no number in their type, and factors that are no numbers.
static void narrowTypes(Rank* rank) {
  static const struct {
    ncclDataType_t type;
    unsigned bits; ///< The numbers 40000, 192 and 40960.
    size_t bytes;
    unsigned infinity; ///< float8 e4m3 has none: not a number.
  } kTypes[] = {{ncclFloat16, 0x78e2, 2, 0x7c00}, {ncclFloat8e4m3, 0x74, 1, 0x7f}, {ncclFloat8e5m2, 0x79, 1, 0x7c}};
  char* data = (char*)deviceFloats(100);
  for (size_t t = 0; t < sizeof kTypes / sizeof kTypes[0]; ++t) {
    const size_t bytes = kTypes[t].bytes;
    unsigned got = 0;
    if ((rank->ranks & (rank->ranks - 1)) == 0) { // powers of two divide without rounding
      put(data, &kTypes[t].bits, bytes);
      OK(ncclAllReduce(data, data, 1, kTypes[t].type, ncclAvg, rank->comm, rank->stream));
      finish(rank->stream);
      get(&got, data, bytes);
      CHECK(got == kTypes[t].bits);
    }
    ncclRedOp_t op;
    OK(ncclRedOpCreatePreMulSum(&op, (void*)&kTypes[t].infinity, kTypes[t].type, ncclScalarHostImmediate, rank->comm));
    put(data, &kTypes[t].bits, bytes);
    OK(ncclAllReduce(data, data, 1, kTypes[t].type, op, rank->comm, rank->stream));
    OK(ncclRedOpDestroy(op, rank->comm));
    finish(rank->stream);
    got = 0;
    get(&got, data, bytes);
    CHECK(got == kTypes[t].infinity);
  }
}

static void linger(void* unused) {
  (void)unused;
  usleep(100000);
}

/// The second stream of a group writes the scalar of its own call, late.
static void lateScalar(Rank* rank) {
  static const float kEarly = 8;
  static const float kLate = 0.5f;
  cudaStream_t second = NULL;
  CUDA(cuStreamCreate(&second, CU_STREAM_NON_BLOCKING));
  float* sum = deviceFloats(1000);
  float* scaled = deviceFloats(1000);
  float* scalar = deviceFloats(1);
  fill(sum, 1000, 1, 0);
  fill(scaled, 1000, 4, 0);
  float* late = deviceFloats(1);
  put(scalar, &kEarly, sizeof kEarly);
  put(late, &kLate, sizeof kLate);
  ncclRedOp_t op;
  OK(ncclRedOpCreatePreMulSum(&op, scalar, ncclFloat32, ncclScalarDevice, rank->comm));
  CUDA(cuLaunchHostFunc(second, linger, NULL));
  CUDA(cuMemcpyAsync((CUdeviceptr)(uintptr_t)scalar, (CUdeviceptr)(uintptr_t)late, sizeof kLate, second));
  OK(ncclGroupStart());
  OK(ncclAllReduce(sum, sum, 1000, ncclFloat32, ncclSum, rank->comm, rank->stream));
  OK(ncclAllReduce(scaled, scaled, 1000, ncclFloat32, op, rank->comm, second));
  OK(ncclGroupEnd());
  OK(ncclRedOpDestroy(op, rank->comm));
  finish(rank->stream);
  finish(second);
  CHECK(holds(sum, 1000, (float)rank->ranks, 0));
  CHECK(holds(scaled, 1000, 2 * (float)rank->ranks, 0));
}

/// Calls whose options travel in the collective's own config.
static void vendorOptions(Rank* rank) {
  ncclConfigExt_t codec = {NULL, {GOSS_NCCL_VENDOR, GOSS_NCCL_OPTION_CODEC}, {0}};
  codec.val.s = "int8";
  ncclConfigExt_t foreign = {&codec, {1, 1}, {0}};
  ncclCollConfig_t config = configWith(&foreign);
  float* data = deviceFloats(1000);
  fill(data, 1000, 1, 0);
  OK(ncclAllReduceConfig(data, data, 1000, ncclFloat32, ncclSum, rank->comm, rank->stream, &config));
  finish(rank->stream);
  CHECK(holds(data, 1000, (float)rank->ranks, 0)); // equal values survive int8
  config.magic = 0;
  CHECK(ncclAllReduceConfig(data, data, 1000, ncclFloat32, ncclSum, rank->comm, rank->stream, &config) ==
        ncclInvalidArgument);
}

static void refusals(Rank* rank) {
  float* data = deviceFloats(10);
  float host[10];
  CHECK(ncclAllReduce(host, host, 10, ncclFloat32, ncclSum, rank->comm, rank->stream) == ncclInvalidArgument);
  CHECK(strstr(ncclGetLastError(NULL), "device memory") != NULL);
  CHECK(ncclBroadcast(data, data, 10, ncclFloat32, rank->ranks, rank->comm, rank->stream) == ncclInvalidArgument);
  CHECK(ncclAllReduce(data, data, 10, ncclFloat32, (ncclRedOp_t)99, rank->comm, rank->stream) == ncclInvalidArgument);
  CUcontext other;
  cudaStream_t foreign;
  CUDA(cuCtxCreate_v2(&other, 0, 0));
  CUDA(cuStreamCreate(&foreign, CU_STREAM_NON_BLOCKING));
  CUDA(cuCtxPopCurrent_v2(NULL));
  CHECK(ncclAllReduce(data, data, 10, ncclFloat32, ncclSum, rank->comm, foreign) == ncclInvalidArgument);
  CHECK(strstr(ncclGetLastError(NULL), "primary context") != NULL);
  CHECK(ncclPutSignal(data, 1, ncclFloat32, 0, NULL, 0, 0, 0, 0, rank->comm, rank->stream) == ncclInvalidUsage);
  CHECK(strstr(ncclGetLastError(NULL), "ncclSend") != NULL);
  // Nothing of this harms the communicator.
  fill(data, 10, 1, 0);
  OK(ncclAllReduce(data, data, 10, ncclFloat32, ncclSum, rank->comm, rank->stream));
  finish(rank->stream);
  CHECK(holds(data, 10, (float)rank->ranks, 0));
}

/// Messages that rank 0 alone was refused do not count among those that the ranks exchange.
static void refusedMessages(Rank* rank) {
  if (rank->rank == 0) {
    float* data = deviceFloats(10);
    CUgraph graph;
    cudaStream_t captured;
    CUDA(cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING));
    CUDA(cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_RELAXED));
    OK(ncclGroupStart());
    OK(ncclSend(data, 10, ncclFloat32, 1, rank->comm, rank->stream));
    OK(ncclSend(data, 10, ncclFloat32, 1, rank->comm, captured));
    CHECK(ncclGroupEnd() == ncclInvalidUsage);
    CHECK(strstr(ncclGetLastError(NULL), "captured") != NULL);
    CUDA(cuStreamEndCapture(captured, &graph));
    OK(ncclGroupStart());
    OK(ncclSend(data, 10, ncclFloat32, 1, rank->comm, rank->stream));
    CHECK(ncclRecv(NULL, 10, ncclFloat32, 1, rank->comm, rank->stream) == ncclInvalidArgument);
    CHECK(ncclGroupEnd() == ncclInvalidArgument);
    OK(ncclGroupStart());
    OK(ncclSend(data, 10, ncclFloat32, 1, rank->comm, rank->stream));
    OK(ncclGroupSimulateEnd(NULL));
  }
  messages(rank, 100, 1);
}

/// The library's threads neither break the capture nor are stopped by it.
static void besideACapture(Rank* rank) {
  cudaStream_t captured;
  CUDA(cuStreamCreate(&captured, CU_STREAM_NON_BLOCKING));
  float* data = deviceFloats(200001);
  fill(data, 200001, 1, 0);
  CUDA(cuStreamBeginCapture_v2(captured, CU_STREAM_CAPTURE_MODE_GLOBAL));
  OK(ncclAllReduce(data, data, 200001, ncclFloat32, ncclSum, rank->comm, rank->stream));
  ncclComm_t comm = NULL;
  OK(ncclCommSplit(rank->comm, 0, rank->rank, &comm, NULL));
  OK(ncclAllReduce(data, data, 200001, ncclFloat32, ncclSum, comm, rank->stream));
  OK(ncclCommDestroy(comm)); // when the stream has done it
  CUgraph graph;
  CUDA(cuStreamEndCapture(captured, &graph));
  CUDA(cuStreamDestroy_v2(captured));
  finish(rank->stream);
  CHECK(holds(data, 200001, (float)(rank->ranks * rank->ranks), 0));
}

static void body(Rank* rank) {
  allReduces(rank);
  types(rank);
  rooted(rank);
  gathers(rank);
  allToAlls(rank);
  messages(rank, 100, 1);
  messages(rank, 400001, 1);
  messages(rank, 20001, 30);
  groups(rank);
  preMulSums(rank);
  narrowTypes(rank);
  lateScalar(rank);
  vendorOptions(rank);
  refusals(rank);
  refusedMessages(rank);
  besideACapture(rank);
}

int main(int argc, char** argv) { return argc < 2 ? 2 : runRanks(atoi(argv[1]), -1, body); }
