// Calls that are captured into CUDA graphs: every replay is a collective, in the order of the launches.
// graphs RANKS | reused
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bindings/nccl/graph_support.h"

enum { kLarge = 300001 };

/// Nothing runs at the capture; each launch reads what its input then holds. Calls beside the launches are others.
static void replaysMany(Rank* rank) {
  float* in = deviceFloats(kLarge);
  float* out = deviceFloats(kLarge);
  float* beside = deviceFloats(kCount);
  fill(in, kLarge, 1, 1);
  fill(out, kLarge, 7, 0);
  begin(rank->stream);
  sum(rank, in, out, kLarge);
  const Graph graph = end(rank->stream);
  finish(rank->stream);
  CHECK(holds(out, kLarge, 7, 0));
  for (int turn = 0; turn < 20; ++turn) {
    fill(in, kLarge, (float)(turn + rank->rank), 2);
    fill(beside, kCount, 1, 0);
    if (rank->rank == 0 && turn == 3) usleep(30000); // The others wait for it.
    launch(&graph, rank->stream);
    sum(rank, beside, beside, kCount);
    finish(rank->stream);
    const int others = rank->ranks * (rank->ranks - 1) / 2;
    CHECK(holds(out, kLarge, (float)(turn * rank->ranks + others), 2 * (float)rank->ranks));
    CHECK(holds(beside, kCount, (float)rank->ranks, 0));
  }
  destroy(&graph);
  // Launched again before the launch before is over: each adds up what that one has left.
  fill(in, kLarge, 1, 0);
  begin(rank->stream);
  sum(rank, in, in, kLarge);
  const Graph again = end(rank->stream);
  for (int turn = 0; turn < 5; ++turn)
    launch(&again, rank->stream);
  finish(rank->stream);
  CHECK(holds(in, kLarge, powf((float)rank->ranks, 5), 0));
  destroy(&again);
}

/// The calls of a graph come one after the other, each with the results of the one before.
static void chain(Rank* rank) {
  enum { kCalls = 12 };
  float* data = deviceFloats(kCount);
  begin(rank->stream);
  for (int i = 0; i < kCalls; ++i)
    sum(rank, data, data, i % 2 == 0 ? kCount : kCount / 2);
  const Graph graph = end(rank->stream);
  for (int turn = 0; turn < 3; ++turn) {
    fill(data, kCount, 1, 0);
    launch(&graph, rank->stream);
    finish(rank->stream);
    CHECK(holds(data, kCount / 2, powf((float)rank->ranks, kCalls), 0));
    CHECK(holds(data + kCount / 2, kCount / 2, powf((float)rank->ranks, kCalls / 2), 0));
  }
  destroy(&graph);
}

/// Two graphs in two streams, which nothing of the program orders: they share the communicator's memory.
static void twoStreams(Rank* rank) {
  cudaStream_t other = newStream();
  float* first = deviceFloats(kLarge);
  float* second = deviceFloats(kLarge);
  Graph graphs[2];
  begin(rank->stream);
  for (int i = 0; i < 3; ++i)
    sum(rank, first, first, kLarge);
  graphs[0] = end(rank->stream);
  begin(other);
  OK(ncclAllReduce(second, second, kLarge, ncclFloat32, ncclMax, rank->comm, other));
  OK(ncclAllReduce(second, second, kLarge, ncclFloat32, ncclSum, rank->comm, other));
  graphs[1] = end(other);
  for (int turn = 0; turn < 10; ++turn) {
    fill(first, kLarge, 1, 0);
    fill(second, kLarge, (float)(10 + rank->rank), 0);
    launch(&graphs[turn % 2], turn % 2 == 0 ? rank->stream : other);
    launch(&graphs[1 - turn % 2], turn % 2 == 0 ? other : rank->stream);
    finish(rank->stream);
    finish(other);
    CHECK(holds(first, kLarge, powf((float)rank->ranks, 3), 0));
    CHECK(holds(second, kLarge, (float)((10 + rank->ranks - 1) * rank->ranks), 0));
  }
  destroy(&graphs[0]);
  destroy(&graphs[1]);
}

/// A capture takes in a second stream, whose call comes behind that of the first.
static void forked(Rank* rank) {
  cudaStream_t other = newStream();
  float* first = deviceFloats(kLarge);
  float* second = deviceFloats(kLarge);
  begin(rank->stream);
  waitFor(other, rank->stream);
  sum(rank, first, first, kLarge);
  OK(ncclAllReduce(second, second, kLarge, ncclFloat32, ncclMax, rank->comm, other));
  sum(rank, first, first, kLarge);
  waitFor(rank->stream, other);
  const Graph graph = end(rank->stream);
  for (int turn = 0; turn < 5; ++turn) {
    fill(first, kLarge, 1, 0);
    fill(second, kLarge, (float)rank->rank, 0);
    launch(&graph, rank->stream);
    finish(rank->stream);
    CHECK(holds(first, kLarge, (float)(rank->ranks * rank->ranks), 0));
    CHECK(holds(second, kLarge, (float)(rank->ranks - 1), 0));
  }
  destroy(&graph);
}

/// One graph holds calls of all kinds, with messages in a group.
static void kinds(Rank* rank) {
  const int ranks = rank->ranks;
  const size_t count = 5000;
  float* in = deviceFloats(count * (size_t)ranks);
  float* out[7];
  for (int i = 0; i < 7; ++i)
    out[i] = deviceFloats(count * (size_t)ranks);
  const int next = (rank->rank + 1) % ranks;
  const int last = (rank->rank + ranks - 1) % ranks;
  ncclComm_t comm = rank->comm;
  cudaStream_t stream = rank->stream;
  begin(stream);
  OK(ncclAllGather(in, out[0], count, ncclFloat32, comm, stream));
  OK(ncclReduceScatter(in, out[1], count, ncclFloat32, ncclSum, comm, stream));
  OK(ncclBroadcast(in, out[2], count, ncclFloat32, ranks - 1, comm, stream));
  OK(ncclReduce(in, rank->rank == 1 ? out[3] : NULL, count, ncclFloat32, ncclSum, 1, comm, stream));
  OK(ncclAlltoAll(in, out[4], count, ncclFloat32, comm, stream));
  OK(ncclGroupStart());
  OK(ncclSend(in, count, ncclFloat32, next, comm, stream));
  OK(ncclSend(in + count, count, ncclFloat32, next, comm, stream));
  OK(ncclRecv(out[5], count, ncclFloat32, last, comm, stream));
  OK(ncclRecv(out[5] + count, count, ncclFloat32, last, comm, stream));
  OK(ncclGroupEnd());
  OK(ncclGroupStart());
  OK(ncclAllReduce(in, out[6], 10, ncclFloat32, ncclSum, comm, stream));
  OK(ncclAllReduce(in, out[6] + 10, 10, ncclFloat32, ncclMax, comm, stream));
  OK(ncclGroupEnd());
  OK(ncclAllReduce(in, out[6], 0, ncclFloat32, ncclSum, comm, stream));
  const Graph graph = end(stream);
  const float total = (float)(ranks * (ranks - 1) / 2);
  for (int turn = 1; turn < 4; ++turn) {
    // Rank r has blocks r + 100 b.
    for (int b = 0; b < ranks; ++b)
      fill(in + (size_t)b * count, count, (float)(turn * 1000 + rank->rank + 100 * b), 0);
    launch(&graph, stream);
    finish(stream);
    const float base = (float)(turn * 1000);
    for (int b = 0; b < ranks; ++b) {
      CHECK(holds(out[0] + (size_t)b * count, count, base + (float)b, 0));
      CHECK(holds(out[4] + (size_t)b * count, count, base + (float)(b + 100 * rank->rank), 0));
    }
    CHECK(holds(out[1], count, (base + 100 * (float)rank->rank) * (float)ranks + total, 0));
    CHECK(holds(out[2], count, base + (float)(ranks - 1), 0));
    if (rank->rank == 1) CHECK(holds(out[3], count, base * (float)ranks + total, 0));
    CHECK(holds(out[5], count, base + (float)last, 0));
    CHECK(holds(out[5] + count, count, base + (float)last + 100, 0));
    CHECK(holds(out[6], 10, base * (float)ranks + total, 0));
    CHECK(holds(out[6] + 10, 10, base + (float)(ranks - 1), 0));
  }
  destroy(&graph);
}

/// A group whose calls are in two streams of one capture comes behind both, and before what follows in both.
static void grouped(Rank* rank) {
  cudaStream_t other = newStream();
  float* first = deviceFloats(kLarge);
  float* second = deviceFloats(kLarge);
  float* copy = deviceFloats(kLarge);
  const size_t bytes = kLarge * sizeof *copy;
  begin(rank->stream);
  waitFor(other, rank->stream);
  CUDA(cuMemcpyAsync((CUdeviceptr)(uintptr_t)second, (CUdeviceptr)(uintptr_t)copy, bytes, other));
  OK(ncclGroupStart());
  sum(rank, first, first, kLarge);
  OK(ncclAllReduce(second, second, kLarge, ncclFloat32, ncclMax, rank->comm, other));
  OK(ncclGroupEnd());
  CUDA(cuMemcpyAsync((CUdeviceptr)(uintptr_t)copy, (CUdeviceptr)(uintptr_t)second, bytes, other));
  waitFor(rank->stream, other);
  const Graph graph = end(rank->stream);
  for (int turn = 0; turn < 5; ++turn) {
    fill(first, kLarge, 1, 0);
    fill(second, kLarge, -1, 0);
    fill(copy, kLarge, (float)(turn + rank->rank), 0);
    launch(&graph, rank->stream);
    finish(rank->stream);
    CHECK(holds(first, kLarge, (float)rank->ranks, 0));
    CHECK(holds(copy, kLarge, (float)(turn + rank->ranks - 1), 0));
  }
  destroy(&graph);
}

/// Two captures at the same time.
static void interleaved(Rank* rank) {
  cudaStream_t other = newStream();
  float* first = deviceFloats(kCount);
  float* second = deviceFloats(kCount);
  CUDA(cuStreamBeginCapture_v2(rank->stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  CUDA(cuStreamBeginCapture_v2(other, CU_STREAM_CAPTURE_MODE_RELAXED));
  for (int i = 0; i < 3; ++i) {
    sum(rank, first, first, kCount);
    OK(ncclAllReduce(second, second, kCount / 2, ncclFloat32, ncclSum, rank->comm, other));
  }
  const Graph graphs[2] = {end(rank->stream), end(other)};
  for (int turn = 0; turn < 3; ++turn) {
    fill(first, kCount, 1, 0);
    fill(second, kCount, 2, 0);
    launch(&graphs[1], other);
    launch(&graphs[0], rank->stream);
    finish(rank->stream);
    finish(other);
    CHECK(holds(first, kCount, powf((float)rank->ranks, 3), 0));
    CHECK(holds(second, kCount / 2, 2 * powf((float)rank->ranks, 3), 0));
    CHECK(holds(second + kCount / 2, kCount / 2, 2, 0));
  }
  destroy(&graphs[0]);
  destroy(&graphs[1]);
}

/// The codec of the call's config holds for its replays: int8 loses a third of a step.
static void compressed(Rank* rank) {
  ncclConfigExt_t codec = {NULL, {GOSS_NCCL_VENDOR, GOSS_NCCL_OPTION_CODEC}, {0}};
  codec.val.s = "int8";
  ncclCollConfig_t config = configWith(&codec);
  float* data = deviceFloats(kCount);
  begin(rank->stream);
  OK(ncclAllReduceConfig(data, data, kCount, ncclFloat32, ncclSum, rank->comm, rank->stream, &config));
  const Graph graph = end(rank->stream);
  for (int turn = 1; turn < 4; ++turn) {
    float host[kCount];
    for (int i = 0; i < kCount; ++i)
      host[i] = i == 0 ? 127 : (float)turn + 1.0f / 3; // a step is 1
    put(data, host, sizeof host);
    launch(&graph, rank->stream);
    finish(rank->stream);
    get(host, data, sizeof host);
    const float whole = (float)(turn * rank->ranks); // But for the rounding of scales.
    CHECK(host[0] == 127 * (float)rank->ranks && fabsf(host[1] - whole) < 0.05f * whole);
  }
  destroy(&graph);
}

/// A scalar in device memory is read by each replay.
static void scalars(Rank* rank) {
  float* scalar = deviceFloats(1);
  float* data = deviceFloats(kCount);
  ncclRedOp_t op;
  OK(ncclRedOpCreatePreMulSum(&op, scalar, ncclFloat32, ncclScalarDevice, rank->comm));
  begin(rank->stream);
  OK(ncclAllReduce(data, data, kCount, ncclFloat32, op, rank->comm, rank->stream));
  const Graph graph = end(rank->stream);
  OK(ncclRedOpDestroy(op, rank->comm));
  for (int turn = 1; turn < 4; ++turn) {
    fill(scalar, 1, (float)turn, 0);
    fill(data, kCount, 2, 0);
    launch(&graph, rank->stream);
    finish(rank->stream);
    CHECK(holds(data, kCount, (float)(2 * turn * rank->ranks), 0));
  }
  destroy(&graph);
}

/// A group of which one stream is captured and another is not is refused.
static void mixed(Rank* rank) {
  cudaStream_t other = newStream();
  float* data = deviceFloats(2 * kCount);
  begin(rank->stream);
  OK(ncclGroupStart());
  sum(rank, data, data, kCount);
  OK(ncclAllReduce(data, data, kCount, ncclFloat32, ncclSum, rank->comm, other));
  CHECK(ncclGroupEnd() == ncclInvalidUsage);
  CHECK(strstr(ncclGetLastError(NULL), "another is not") != NULL);
  CUgraph graph;
  CUDA(cuStreamEndCapture(rank->stream, &graph));
  CUDA(cuGraphDestroy(graph));
}

/// Captures that the program breaks, and graphs that it destroys before they have run or while they do.
static void broken(Rank* rank) {
  float* data = deviceFloats(kCount);
  for (int turn = 0; turn < 3; ++turn) {
    begin(rank->stream);
    sum(rank, data, data, kCount);
    CUDA(cuStreamSynchronize(rank->stream) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED ? CUDA_SUCCESS
                                                                                    : CUDA_ERROR_UNKNOWN);
    CHECK(ncclAllReduce(data, data, kCount, ncclFloat32, ncclSum, rank->comm, rank->stream) != ncclSuccess);
    CUgraph graph;
    CHECK(cuStreamEndCapture(rank->stream, &graph) == CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    begin(rank->stream);
    sum(rank, data, data, kCount);
    const Graph unused = end(rank->stream);
    destroy(&unused);
    fill(data, kCount, 1, 0);
    begin(rank->stream);
    sum(rank, data, data, kCount);
    const Graph used = end(rank->stream);
    launch(&used, rank->stream);
    destroy(&used); // It runs all the same.
    finish(rank->stream);
    CHECK(holds(data, kCount, (float)rank->ranks, 0));
  }
}

/// A call in the legacy default stream would break the capture of a blocking stream: it is refused, and the capture
/// goes on.
static void legacy(Rank* rank) {
  cudaStream_t blocking;
  CUDA(cuStreamCreate(&blocking, CU_STREAM_DEFAULT));
  float* data = deviceFloats(kCount);
  float* beside = deviceFloats(kCount);
  fill(beside, kCount, 1, 0);
  begin(blocking);
  OK(ncclAllReduce(data, data, kCount, ncclFloat32, ncclSum, rank->comm, blocking));
  CHECK(ncclAllReduce(beside, beside, kCount, ncclFloat32, ncclSum, rank->comm, NULL) == ncclInvalidUsage);
  CHECK(strstr(ncclGetLastError(NULL), "legacy default stream") != NULL);
  OK(ncclAllReduce(data, data, kCount, ncclFloat32, ncclSum, rank->comm, blocking));
  const Graph graph = end(blocking);
  fill(data, kCount, 1, 0);
  launch(&graph, blocking);
  OK(ncclAllReduce(beside, beside, kCount, ncclFloat32, ncclSum, rank->comm, NULL));
  sum(rank, beside, beside, kCount);
  finish(rank->stream);
  finish(blocking);
  CHECK(holds(data, kCount, powf((float)rank->ranks, 2), 0));
  CHECK(holds(beside, kCount, powf((float)rank->ranks, 2), 0));
  destroy(&graph);
  CUDA(cuStreamDestroy_v2(blocking));
}

/// Calls that need more memory than those before leave these their own.
static void growing(Rank* rank) {
  enum { kGraphs = 4 };
  const size_t counts[kGraphs] = {10, 50000, kLarge, 100};
  float* data[kGraphs];
  Graph graphs[kGraphs];
  ncclComm_t comm;
  OK(ncclCommSplit(rank->comm, 0, rank->rank, &comm, NULL));
  for (int i = 0; i < kGraphs; ++i) {
    data[i] = deviceFloats(counts[i]);
    begin(rank->stream);
    for (int call = 0; call < 2; ++call)
      OK(ncclAllReduce(data[i], data[i], counts[i], ncclFloat32, ncclSum, comm, rank->stream));
    graphs[i] = end(rank->stream);
  }
  for (int turn = 0; turn < 2; ++turn) {
    for (int i = 0; i < kGraphs; ++i)
      fill(data[i], counts[i], (float)(i + 1), 0);
    for (int i = 0; i < kGraphs; ++i)
      launch(&graphs[turn == 0 ? i : kGraphs - 1 - i], rank->stream);
    finish(rank->stream);
    for (int i = 0; i < kGraphs; ++i)
      CHECK(holds(data[i], counts[i], (float)((i + 1) * rank->ranks * rank->ranks), 0));
  }
  for (int i = 0; i < kGraphs; ++i)
    destroy(&graphs[i]);
  OK(ncclCommDestroy(comm));
}

/// A graph runs while calls of its communicator are captured into another.
static void whileCaptured(Rank* rank) {
  cudaStream_t other = newStream();
  float* first = deviceFloats(kCount);
  float* second = deviceFloats(kCount);
  fill(first, kCount, 1, 0);
  fill(second, kCount, 2, 0);
  begin(rank->stream);
  sum(rank, first, first, kCount);
  const Graph graph = end(rank->stream);
  begin(other);
  OK(ncclAllReduce(second, second, kCount, ncclFloat32, ncclSum, rank->comm, other));
  launch(&graph, rank->stream);
  usleep(20000); // The replay looks for other ranks, and at events.
  OK(ncclAllReduce(second, second, kCount, ncclFloat32, ncclSum, rank->comm, other));
  launch(&graph, rank->stream);
  const Graph later = end(other);
  launch(&later, other);
  finish(rank->stream);
  finish(other);
  CHECK(holds(first, kCount, powf((float)rank->ranks, 2), 0));
  CHECK(holds(second, kCount, 2 * powf((float)rank->ranks, 2), 0));
  destroy(&graph);
  destroy(&later);
}

/// Computes for a tenth of a second.
static void compute(void* unused) {
  (void)unused;
  usleep(100000);
}

static void* destroyLater(void* graph) {
  CUcontext context = NULL;
  CUDA(cuDevicePrimaryCtxRetain(&context, 0));
  CUDA(cuCtxSetCurrent(context));
  usleep(50000);
  destroy(graph);
  return NULL;
}

/// To free memory waits for the graph, and the driver may answer nobody meanwhile: its calls are served all the same,
/// when another graph is destroyed at that time, too.
static void freed(Rank* rank) {
  float* data = deviceFloats(kCount);
  begin(rank->stream);
  for (int call = 0; call < 2; ++call) {
    CUDA(cuLaunchHostFunc(rank->stream, compute, NULL));
    sum(rank, data, data, kCount);
  }
  const Graph graph = end(rank->stream);
  for (int turn = 0; turn < 3; ++turn) {
    begin(rank->stream);
    sum(rank, data, data, kCount);
    Graph other = end(rank->stream);
    float* unused = deviceFloats(kCount);
    fill(data, kCount, 1, 0);
    if (rank->rank != 0) usleep(300000);
    launch(&graph, rank->stream);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, destroyLater, &other) == 0);
    CUDA(cuMemFree_v2((CUdeviceptr)(uintptr_t)unused));
    finish(rank->stream);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(holds(data, kCount, powf((float)rank->ranks, 2), 0));
  }
  destroy(&graph);
}

/// Communicators of the past leave their pinned memory to later ones: the stand-in gives out a hundred blocks.
static void reused(Rank* rank) {
  float* data = deviceFloats(kCount);
  for (int turn = 0; turn < 100; ++turn) {
    ncclComm_t comm;
    OK(ncclCommSplit(rank->comm, 0, rank->rank, &comm, NULL));
    begin(rank->stream);
    OK(ncclAllReduce(data, data, kCount, ncclFloat32, ncclSum, comm, rank->stream));
    const Graph graph = end(rank->stream);
    fill(data, kCount, 1, 0);
    launch(&graph, rank->stream);
    finish(rank->stream);
    CHECK(holds(data, kCount, (float)rank->ranks, 0));
    destroy(&graph);
    OK(ncclCommDestroy(comm));
    usleep(2000); // Its thread ends.
  }
}

static Graph captureSum(Rank* rank, ncclComm_t comm, float* data) {
  begin(rank->stream);
  OK(ncclAllReduce(data, data, kCount, ncclFloat32, ncclSum, comm, rank->stream));
  return end(rank->stream);
}

/// A capture needs nothing of the other ranks: some alone make one, or all in other orders.
static void apart(Rank* rank) {
  ncclComm_t comms[3];
  for (int i = 0; i < 3; ++i)
    OK(ncclCommSplit(rank->comm, 0, rank->rank, &comms[i], NULL));
  float* first = deviceFloats(kCount);
  float* second = deviceFloats(kCount);
  float* third = deviceFloats(kCount);
  Graph graphs[3];
  // Ranks 0 and 1 capture a message.
  begin(rank->stream);
  if (rank->rank == 0) OK(ncclSend(first, kCount, ncclFloat32, 1, comms[0], rank->stream));
  if (rank->rank == 1) OK(ncclRecv(first, kCount, ncclFloat32, 0, comms[0], rank->stream));
  graphs[0] = end(rank->stream);
  // Rank 0 captures before a call, the others behind it.
  fill(second, kCount, 1, 0);
  if (rank->rank == 0) graphs[1] = captureSum(rank, comms[1], second);
  OK(ncclAllReduce(second, second, kCount, ncclFloat32, ncclSum, comms[1], rank->stream));
  finish(rank->stream);
  if (rank->rank != 0) graphs[1] = captureSum(rank, comms[1], second);
  // Calls of two communicators are captured in two orders.
  if (rank->rank == 0) graphs[2] = captureSum(rank, comms[2], third);
  const Graph unused = captureSum(rank, comms[0], third);
  if (rank->rank != 0) graphs[2] = captureSum(rank, comms[2], third);
  destroy(&unused);
  fill(first, kCount, (float)rank->rank, 0);
  fill(third, kCount, 1, 0);
  for (int i = 0; i < 3; ++i)
    launch(&graphs[i], rank->stream);
  finish(rank->stream);
  CHECK(holds(first, kCount, rank->rank < 2 ? 0 : (float)rank->rank, 0));
  CHECK(holds(second, kCount, powf((float)rank->ranks, 2), 0));
  CHECK(holds(third, kCount, (float)rank->ranks, 0));
  for (int i = 0; i < 3; ++i) {
    destroy(&graphs[i]);
    OK(ncclCommDestroy(comms[i]));
  }
}

static void replays(Rank* rank) {
  replaysMany(rank);
  chain(rank);
  twoStreams(rank);
  forked(rank);
  grouped(rank);
  interleaved(rank);
  kinds(rank);
  compressed(rank);
  scalars(rank);
  mixed(rank);
  legacy(rank);
  apart(rank);
  growing(rank);
  whileCaptured(rank);
  broken(rank);
  freed(rank);
}

int main(int argc, char** argv) {
  const char* how = argc < 2 ? "" : argv[1];
  if (strcmp(how, "reused") == 0) return runRanks(2, -1, reused);
  return atoi(how) > 0 ? runRanks(atoi(how), -1, replays) : 2;
}
