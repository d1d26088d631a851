// Calls that are captured into CUDA graphs, and fail.
// graph_failures killed | held | abort | mismatch | device | destroyed | lonely | refused | report | gone
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "tests/bindings/nccl/graph_support.h"

static double seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

typedef struct {
  Graph graph;
  float* data;
} Begun;

enum { kCalls = 3 };

/// A graph with kCalls sums that all ranks have captured, and another that has run once.
static Begun captured(Rank* rank, size_t count) {
  Begun made = {{NULL, NULL}, deviceFloats(2 * kCount)};
  fill(made.data, kCount, 3, 0);
  float* first = deviceFloats(10);
  fill(first, 10, 1, 0);
  begin(rank->stream);
  sum(rank, first, first, 10);
  const Graph ready = end(rank->stream);
  launch(&ready, rank->stream);
  finish(rank->stream);
  CHECK(holds(first, 10, (float)rank->ranks, 0));
  begin(rank->stream);
  for (int i = 0; i < kCalls; ++i)
    sum(rank, made.data, made.data, count);
  made.graph = end(rank->stream);
  awaitAll(rank, -1); // A failure comes when all have captured.
  return made;
}

/// The replay waits until the abort, and is spoiled then; so is each one after it.
static void abortAndLook(Rank* rank, const Begun* begun) {
  usleep(50000);
  CHECK(cuStreamQuery(rank->stream) == CUDA_ERROR_NOT_READY);
  OK(ncclCommAbort(rank->comm));
  rank->comm = NULL;
  finish(rank->stream);
  CHECK(spoiled(begun->data));
  fill(begun->data, kCount, 3, 0);
  launch(&begun->graph, rank->stream);
  finish(rank->stream);
  CHECK(spoiled(begun->data));
}

static void killed(Rank* rank) {
  const Begun begun = captured(rank, kCount);
  if (rank->rank == 1) raise(SIGKILL);
  launch(&begun.graph, rank->stream);
  CHECK(failed(rank->comm) == ncclRemoteError);
  CHECK(strstr(ncclGetLastError(rank->comm), "rank 1") != NULL);
  abortAndLook(rank, &begun);
}

static void mismatch(Rank* rank) {
  const Begun begun = captured(rank, rank->rank == 0 ? kCount : 2 * kCount);
  launch(&begun.graph, rank->stream);
  const ncclResult_t how = failed(rank->comm);
  CHECK(how == ncclInvalidUsage || how == ncclRemoteError);
  CHECK(strstr(ncclGetLastError(rank->comm), "does not match") != NULL);
  abortAndLook(rank, &begun);
}

static void* abortLater(void* comm) {
  usleep(200000);
  OK(ncclCommAbort(comm));
  return NULL;
}

/// Rank 1 never launches; another thread of rank 0 ends it, and rank 1 hears of it.
static void aborted(Rank* rank) {
  const Begun begun = captured(rank, kCount);
  if (rank->rank == 1) {
    CHECK(failed(rank->comm) == ncclRemoteError);
    CHECK(strstr(ncclGetLastError(rank->comm), "ncclCommAbort on rank 0") != NULL);
    float* data = deviceFloats(1);
    CHECK(ncclAllReduce(data, data, 1, ncclFloat32, ncclSum, rank->comm, rank->stream) == ncclRemoteError);
    return;
  }
  launch(&begun.graph, rank->stream);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, abortLater, rank->comm) == 0);
  finish(rank->stream); // until the abort
  pthread_join(thread, NULL);
  rank->comm = NULL;
  CHECK(spoiled(begun.data));
}

/// The device of rank 1 fails while the others wait for its replay: they are told whose.
static void deviceLost(Rank* rank) {
  const Begun begun = captured(rank, kCount);
  if (rank->rank == 1)
    cudaStandinFail(0, 1);
  else
    launch(&begun.graph, rank->stream);
  CHECK(failed(rank->comm) == (rank->rank == 1 ? ncclUnhandledCudaError : ncclRemoteError));
  CHECK(strstr(ncclGetLastError(rank->comm), "cuda device 0") != NULL);
  if (rank->rank == 0) {
    abortAndLook(rank, &begun);
    return;
  }
  OK(ncclCommAbort(rank->comm));
  rank->comm = NULL;
}

/// A device fails behind the begin of a call, and the program destroys the graph before the thread that serves replays,
/// which looks seldom after a second, has seen it.
static void gone(Rank* rank) {
  const Begun begun = captured(rank, kCount);
  usleep(1200000);
  launch(&begun.graph, rank->stream);
  usleep(100);
  cudaStandinFail(0, 1);
  CHECK(cuStreamQuery(rank->stream) != CUDA_SUCCESS);
  destroy(&begun.graph);
  CHECK(failed(rank->comm) != ncclSuccess);
  OK(ncclCommAbort(rank->comm));
  rank->comm = NULL;
}

/// The end of a communicator waits for launches before it; those behind it are spoiled, and wait for nobody.
static void destroyed(Rank* rank) {
  const Begun begun = captured(rank, kCount);
  if (rank->rank == 1) usleep(100000);
  launch(&begun.graph, rank->stream);
  OK(ncclCommDestroy(rank->comm));
  rank->comm = NULL;
  finish(rank->stream);
  CHECK(holds(begun.data, kCount, 3 * powf((float)rank->ranks, kCalls), 0));
  launch(&begun.graph, rank->stream);
  finish(rank->stream);
  CHECK(spoiled(begun.data));
  destroy(&begun.graph);
}

/// Rank 1 captures nothing, and rank 0 ends the communicator by `finished`: nobody waits for rank 1.
static void endAlone(Rank* rank, ncclResult_t (*finished)(ncclComm_t), int launches) {
  const ncclComm_t parent = rank->comm;
  OK(ncclCommSplit(parent, 0, rank->rank, &rank->comm, NULL));
  char told[128] = {0};
  if (rank->rank == 0) {
    float* data = deviceFloats(kCount);
    begin(rank->stream);
    sum(rank, data, data, kCount);
    const Graph graph = end(rank->stream);
    for (int i = 0; i < launches; ++i)
      launch(&graph, rank->stream);
    usleep(50000);
    CHECK(cuStreamQuery(rank->stream) == (launches > 0 ? CUDA_ERROR_NOT_READY : CUDA_SUCCESS));
    OK(finished(rank->comm));
    launch(&graph, rank->stream);
    finish(rank->stream);
    CHECK(spoiled(data));
    destroy(&graph);
  }
  share(rank, told, 0);
  if (rank->rank == 1) OK(ncclCommDestroy(rank->comm));
  rank->comm = parent;
}

static void lonely(Rank* rank) {
  endAlone(rank, ncclCommAbort, 1);
  endAlone(rank, ncclCommDestroy, 0);
}

/// Without an abort graphs go on when GOSS_DEVICE_HOLD_MS, a second, has passed since the failure, however many calls
/// they have.
static void held(Rank* rank) {
  const Begun begun = captured(rank, kCount);
  if (rank->rank == 1) raise(SIGKILL);
  for (int i = 0; i < 10; ++i)
    launch(&begun.graph, rank->stream);
  CHECK(failed(rank->comm) == ncclRemoteError);
  const double failed_at = seconds();
  finish(rank->stream);
  CHECK(seconds() - failed_at < 10);
  CHECK(spoiled(begun.data));
}

/// The `item`-th thing that a call puts into the graph on rank 0 is refused: no graph comes out of the capture, all
/// ranks hear of it, and replays of another graph have no old data. `again`: another graph was captured before.
static int refuse(Rank* rank, uint64_t item, int again) {
  Begun begun = {{NULL, NULL}, deviceFloats(2 * kCount)};
  if (again) begun = captured(rank, kCount);
  if (!again && rank->rank == 1) {
    begin(rank->stream);
    sum(rank, begun.data, begun.data, kCount);
    begun.graph = end(rank->stream);
  }
  char told[128] = {0};
  share(rank, told, 1); // Rank 1 has captured its calls.
  if (!again && rank->rank == 1) launch(&begun.graph, rank->stream);
  if (rank->rank == 0) {
    float* data = deviceFloats(kCount);
    begin(rank->stream);
    cudaStandinRefuse(item);
    const ncclResult_t result = ncclAllReduce(data, data, kCount, ncclFloat32, ncclSum, rank->comm, rank->stream);
    cudaStandinRefuse(0);
    CUgraph graph;
    CHECK((cuStreamEndCapture(rank->stream, &graph) == CUDA_SUCCESS) == (result == ncclSuccess));
    told[0] = result != ncclSuccess;
    if (!told[0]) CUDA(cuGraphDestroy(graph));
  }
  share(rank, told, 0);
  if (!told[0]) return 0;
  const ncclResult_t how = failed(rank->comm);
  CHECK(rank->rank == 0 ? how == ncclUnhandledCudaError : how == ncclRemoteError);
  CHECK(strstr(ncclGetLastError(rank->comm), "cuda device 0") != NULL);
  if (again) {
    launch(&begun.graph, rank->stream);
    abortAndLook(rank, &begun);
  } else {
    OK(ncclCommAbort(rank->comm));
    finish(rank->stream);
    if (rank->rank == 1) CHECK(spoiled(begun.data));
  }
  return 1;
}

static void refused(Rank* rank) {
  const ncclComm_t parent = rank->comm;
  uint64_t items = 0;
  for (int more = 1; more != 0;) {
    OK(ncclCommSplit(parent, 0, rank->rank, &rank->comm, NULL));
    more = refuse(rank, ++items, 1);
  }
  CHECK(items == 9); // A call has eight: the wait for earlier launches, two copies, three words and two events.
  OK(ncclCommDestroy(rank->comm));
  OK(ncclCommSplit(parent, 0, rank->rank, &rank->comm, NULL));
  CHECK(refuse(rank, 1, 0));
  rank->comm = parent;
}

/// The last line of a communicator counts calls as they run.
static void reported(Rank* rank) {
  float* data = deviceFloats(kCount);
  const Begun begun = captured(rank, kCount);
  launch(&begun.graph, rank->stream);
  launch(&begun.graph, rank->stream);
  sum(rank, data, data, kCount);
  finish(rank->stream);
  fflush(stderr);
  const int errors = dup(2);
  const int file = memfd_create("errors", 0);
  dup2(file, 2);
  OK(ncclCommDestroy(rank->comm));
  rank->comm = NULL;
  dup2(errors, 2);
  char line[500] = {0};
  CHECK(pread(file, line, sizeof line - 1, 0) > 0);
  fputs(line, stderr);
  CHECK(strstr(line, ": AllReduce 1 x, 4000 bytes; 7 calls of CUDA graphs;") != NULL);
}

int main(int argc, char** argv) {
  const char* how = argc < 2 ? "" : argv[1];
  if (strcmp(how, "killed") == 0) return runRanks(3, 1, killed);
  if (strcmp(how, "held") == 0) return runRanks(2, 1, held);
  if (strcmp(how, "abort") == 0) return runRanks(2, -1, aborted);
  if (strcmp(how, "mismatch") == 0) return runRanks(2, -1, mismatch);
  if (strcmp(how, "lonely") == 0) return runRanks(2, -1, lonely);
  if (strcmp(how, "refused") == 0) return runRanks(2, -1, refused);
  if (strcmp(how, "gone") == 0) return runRanks(4, -1, gone);
  if (strcmp(how, "report") == 0) return runRanks(2, -1, reported);
  if (strcmp(how, "device") == 0) return runRanks(2, -1, deviceLost);
  return strcmp(how, "destroyed") == 0 ? runRanks(2, -1, destroyed) : 2;
}
