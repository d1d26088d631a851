// What a failure leaves: an error that names who is to blame, and no old number in any result.
// failures HOW; main() lists what HOW may be.
#define _GNU_SOURCE
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bindings/nccl/support.h"

static float* begun(Rank* rank) {
  float* data = deviceFloats(kCount);
  fill(data, kCount, 3, 0);
  OK(ncclAllReduce(data, data, kCount, ncclFloat32, ncclSum, rank->comm, rank->stream));
  return data;
}

/// The stream stays closed until the abort, and the result is spoiled then.
static void abortAndLook(Rank* rank, const float* data) {
  usleep(50000);
  CHECK(cuStreamQuery(rank->stream) == CUDA_ERROR_NOT_READY);
  OK(ncclCommAbort(rank->comm));
  rank->comm = NULL;
  finish(rank->stream);
  CHECK(spoiled(data));
}

static void killedOne(Rank* rank) {
  const float* data = rank->rank == 1 ? NULL : begun(rank);
  awaitAll(rank, 1);
  if (rank->rank == 1) raise(SIGKILL);
  CHECK(failed(rank->comm) == ncclRemoteError);
  CHECK(strstr(ncclGetLastError(rank->comm), "rank 1") != NULL);
  // Without a communicator, as PyTorch asks.
  CHECK(strstr(ncclGetLastError(NULL), "rank 1") != NULL);
  CHECK(strstr(ncclGetErrorString(ncclRemoteError), "network error: rank 1") != NULL);
  abortAndLook(rank, data);
}

static void stoppedOne(Rank* rank) {
  if (rank->rank == 1) {
    raise(SIGSTOP);
    _exit(0);
  }
  const float* data = begun(rank);
  CHECK(failed(rank->comm) == ncclRemoteError);
  CHECK(strstr(ncclGetLastError(rank->comm), "1") != NULL);
  abortAndLook(rank, data);
}

static void mismatched(Rank* rank) {
  float* data = deviceFloats(2 * kCount);
  fill(data, kCount, 3, 0);
  const size_t count = rank->rank == 0 ? kCount : 2 * kCount;
  OK(ncclAllReduce(data, data, count, ncclFloat32, ncclSum, rank->comm, rank->stream));
  const ncclResult_t how = failed(rank->comm);
  CHECK(how == ncclInvalidUsage || how == ncclRemoteError);
  CHECK(strstr(ncclGetLastError(rank->comm), "does not match") != NULL);
  abortAndLook(rank, data);
}

/// Rank 1 receives less than rank 0 sends, behind a receive that waits: both learn of it.
static void tooLong(Rank* rank) {
  float* data = deviceFloats(2 * kCount);
  fill(data, 2 * kCount, 3, 0);
  char told[128] = {0};
  if (rank->rank == 0) {
    OK(ncclSend(data, 2 * kCount, ncclFloat32, 1, rank->comm, rank->stream));
    const float* reduced = begun(rank);
    share(rank, told, 0); // only now may anything fail
    CHECK(failed(rank->comm) == ncclRemoteError);
    CHECK(strstr(ncclGetLastError(rank->comm), "rank 1") != NULL);
    share(rank, told, 0);
    abortAndLook(rank, reduced);
    return;
  }
  share(rank, told, 0);
  OK(ncclGroupStart());
  OK(ncclRecv(data + kCount, kCount, ncclFloat32, 1, rank->comm, rank->stream)); // nobody sends it
  OK(ncclRecv(data, kCount, ncclFloat32, 0, rank->comm, rank->stream));
  OK(ncclGroupEnd());
  CHECK(failed(rank->comm) != ncclSuccess);
  share(rank, told, 0); // rank 0 knows before the abort
  OK(ncclCommAbort(rank->comm));
  rank->comm = NULL;
  finish(rank->stream);
  CHECK(spoiled(data) && spoiled(data + kCount));
}

static void* abortLater(void* comm) {
  usleep(200000);
  OK(ncclCommAbort(comm));
  return NULL;
}

/// Rank 1 never calls; another thread of rank 0 ends it.
static void aborted(Rank* rank) {
  if (rank->rank == 1) {
    usleep(500000);
    return;
  }
  const float* data = begun(rank);
  pthread_t thread;
  CHECK(pthread_create(&thread, NULL, abortLater, rank->comm) == 0);
  finish(rank->stream); // until the abort
  pthread_join(thread, NULL);
  rank->comm = NULL;
  CHECK(spoiled(data));
}

/// Revoked while one rank waits, then shrunk to those that are left.
static void revoked(Rank* rank) {
  int last = rank->ranks - 1;
  if (rank->rank == last) {
    OK(ncclCommDestroy(rank->comm));
    rank->comm = NULL;
    return;
  }
  const float* data = begun(rank);
  awaitAll(rank, last);
  OK(ncclCommRevoke(rank->comm, 0));
  finish(rank->stream);
  CHECK(spoiled(data));
  CHECK(ncclAllReduce(data, (void*)data, kCount, ncclFloat32, ncclSum, rank->comm, rank->stream) == ncclInvalidUsage);
  ncclComm_t comm = NULL;
  OK(ncclCommShrink(rank->comm, &last, 1, &comm, NULL, NCCL_SHRINK_ABORT));
  int ranks = 0;
  OK(ncclCommCount(comm, &ranks));
  CHECK(ranks == last);
  OK(ncclCommDestroy(comm));
}

/// Those that are left after a loss shrink the communicator, and go on in the new one.
static void shrunk(Rank* rank) {
  int lost = 1;
  const float* data = rank->rank == lost ? NULL : begun(rank);
  awaitAll(rank, lost);
  if (rank->rank == lost) raise(SIGKILL);
  CHECK(failed(rank->comm) == ncclRemoteError);
  ncclComm_t comm = NULL;
  OK(ncclCommShrink(rank->comm, &lost, 1, &comm, NULL, NCCL_SHRINK_ABORT));
  ncclResult_t state = ncclRemoteError;
  OK(ncclCommGetAsyncError(rank->comm, &state));
  CHECK(state == ncclSuccess);
  OK(ncclCommFinalize(rank->comm));
  finish(rank->stream);
  CHECK(spoiled(data));
  float* next = deviceFloats(kCount);
  fill(next, kCount, 3, 0);
  OK(ncclAllReduce(next, next, kCount, ncclFloat32, ncclSum, comm, rank->stream));
  finish(rank->stream);
  float sums[kCount];
  get(sums, next, sizeof sums);
  CHECK(sums[0] == 6);
  OK(ncclCommDestroy(comm));
}

/// A device fails on rank 1 (GOSS_TEST_FAIL_AT): the others are told whose.
static void deviceLost(Rank* rank) {
  float* data = deviceFloats(kCount);
  ncclResult_t how = ncclSuccess;
  for (int turn = 0; turn < 2000 && how == ncclSuccess; ++turn) {
    how = ncclAllReduce(data, data, kCount, ncclFloat32, ncclSum, rank->comm, rank->stream);
    usleep(1000);
  }
  CHECK(how == (rank->rank == 1 ? ncclUnhandledCudaError : ncclRemoteError));
  CHECK(strstr(ncclGetLastError(rank->comm), "cuda device 0") != NULL);
  OK(ncclCommAbort(rank->comm));
  rank->comm = NULL;
}

static void* freeLater(void* memory) {
  CUDA(cuMemFree_v2((CUdeviceptr)(uintptr_t)memory));
  return NULL;
}

/// A device fails on rank 1 while a thread of rank 0 frees memory, for which the stream must pass its call: rank 0 is
/// told, and its abort lets both go on, although the driver answers nobody meanwhile.
static void deviceLostWhileFreeing(Rank* rank) {
  if (rank->rank == 1) {
    float* data = deviceFloats(kCount);
    usleep(400000);
    cudaStandinFail(0, 1);
    (void)ncclAllReduce(data, data, kCount, ncclFloat32, ncclSum, rank->comm, rank->stream);
    (void)failed(rank->comm);
    sleep(2); // Until the other rank knows.
    _exit(0);
  }
  float* freed = deviceFloats(kCount);
  begun(rank);
  pthread_t other;
  CHECK(pthread_create(&other, NULL, freeLater, freed) == 0);
  CHECK(failed(rank->comm) == ncclRemoteError);
  CHECK(strstr(ncclGetLastError(rank->comm), "cuda device 0") != NULL);
  OK(ncclCommAbort(rank->comm));
  rank->comm = NULL;
  pthread_join(other, NULL);
}

/// PreMulSum with a number in device memory, which is fetched behind what the stream does before.
static ncclRedOp_t scaledByDevice(Rank* rank) {
  float* scalar = deviceFloats(1);
  fill(scalar, 1, 2, 0);
  ncclRedOp_t op;
  OK(ncclRedOpCreatePreMulSum(&op, scalar, ncclFloat32, ncclScalarDevice, rank->comm));
  return op;
}

/// The stream of rank 0 does not come to the call before GOSS_TIMEOUT_MS have passed: the call says so.
static void scalarLate(Rank* rank) {
  const ncclRedOp_t op = scaledByDevice(rank);
  float* data = deviceFloats(kCount);
  fill(data, kCount, 3, 0);
  uint32_t* word = NULL;
  CUDA(cuMemHostAlloc((void**)&word, sizeof *word, 0));
  *word = 0;
  if (rank->rank == 0) {
    CUDA(cuStreamWaitValue32_v2(rank->stream, (CUdeviceptr)(uintptr_t)word, 1, CU_STREAM_WAIT_VALUE_GEQ));
  } else {
    usleep(700000); // Its own deadline is later.
  }
  const ncclResult_t how = ncclAllReduce(data, data, kCount, ncclFloat32, op, rank->comm, rank->stream);
  CHECK(rank->rank == 0 ? how != ncclSuccess : failed(rank->comm) != ncclSuccess);
  CHECK(strstr(ncclGetLastError(rank->comm), "the scalar of its PreMulSum is in device memory") != NULL);
  __atomic_store_n(word, 1, __ATOMIC_RELEASE);
  OK(ncclCommAbort(rank->comm));
  rank->comm = NULL;
  finish(rank->stream);
  CHECK(rank->rank == 0 ? holds(data, kCount, 3, 0) : spoiled(data)); // The call of rank 0 never reached its stream.
}

/// The device of rank 1 fails while the number is fetched.
static void scalarLost(Rank* rank) {
  const ncclRedOp_t op = scaledByDevice(rank);
  float* data = deviceFloats(kCount);
  OK(ncclAllReduce(data, data, kCount, ncclFloat32, op, rank->comm, rank->stream));
  finish(rank->stream);
  if (rank->rank == 1) cudaStandinFail(0, 4); // Behind the copy: the stream is asked whether it has come.
  ncclResult_t how = ncclAllReduce(data, data, kCount, ncclFloat32, op, rank->comm, rank->stream);
  if (how == ncclSuccess) how = failed(rank->comm);
  CHECK(how == (rank->rank == 1 ? ncclUnhandledCudaError : ncclRemoteError));
  CHECK(strstr(ncclGetLastError(rank->comm), "cuda device 0") != NULL);
  OK(ncclCommAbort(rank->comm));
  rank->comm = NULL;
}

/// Rank 1 aborts communicators as soon as it has them: those of slower ranks are made all the same, and fail.
static void early(Rank* rank) {
  for (int turn = 0; turn < 40; ++turn) {
    ncclComm_t comm;
    OK(ncclCommSplit(rank->comm, 0, rank->rank, &comm, NULL));
    CHECK(rank->rank == 1 || failed(comm) == ncclRemoteError);
    OK(ncclCommAbort(comm));
  }
}

int main(int argc, char** argv) {
  const char* how = argc < 2 ? "" : argv[1];
  if (strcmp(how, "killed") == 0) return runRanks(3, 1, killedOne);
  if (strcmp(how, "stopped") == 0) return runRanks(2, 1, stoppedOne);
  if (strcmp(how, "mismatch") == 0) return runRanks(2, -1, mismatched);
  if (strcmp(how, "message") == 0) return runRanks(2, -1, tooLong);
  if (strcmp(how, "abort") == 0) return runRanks(2, -1, aborted);
  if (strcmp(how, "revoke") == 0) return runRanks(3, -1, revoked);
  if (strcmp(how, "shrink") == 0) return runRanks(3, 1, shrunk);
  if (strcmp(how, "early") == 0) return runRanks(2, -1, early);
  if (strcmp(how, "scalar_late") == 0) return runRanks(2, -1, scalarLate);
  if (strcmp(how, "device_freed") == 0) return runRanks(2, 1, deviceLostWhileFreeing);
  if (strcmp(how, "scalar_lost") == 0) return runRanks(2, -1, scalarLost);
  return strcmp(how, "device") == 0 ? runRanks(2, -1, deviceLost) : 2;
}
