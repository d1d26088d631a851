#define _GNU_SOURCE // NOLINT(bugprone-reserved-identifier): the C library reads it
#include "tests/bindings/nccl/support.h"

#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

enum { kSeconds = 60, kIdBytes = 128, kShared = 64 };

/// Memory of all ranks: what share() moves, one place after the other.
typedef struct {
  volatile int written[kShared];
  char bytes[kShared][kIdBytes];
} Board;

static Board* board;
static int shares;

void check(int condition, const char* expression, const char* file, int line) {
  if (condition) return;
  fprintf(stderr, "%s:%d: process %d: %s; last error: %s\n", file, line, getpid(), expression, ncclGetLastError(NULL));
  fflush(stderr);
  _exit(1);
}

void share(Rank* rank, void* bytes, int root) {
  const int place = shares++;
  CHECK(place < kShared);
  if (rank->rank == root) {
    memcpy(board->bytes[place], bytes, kIdBytes);
    __sync_synchronize();
    board->written[place] = 1;
  }
  while (board->written[place] == 0)
    usleep(1000);
  __sync_synchronize();
  memcpy(bytes, board->bytes[place], kIdBytes);
}

void awaitAll(Rank* rank, int idle) {
  char told[kIdBytes] = {0};
  for (int r = 0; r < rank->ranks; ++r)
    if (r != idle) share(rank, told, r);
}

static void runOne(int number, int ranks, void (*body)(Rank* rank)) {
  Rank rank = {number, ranks, NULL, NULL};
  alarm(kSeconds);
  // The stand-in of rank 1 alone fails: it reads its variables at the first call.
  const char* fail_at = getenv("GOSS_TEST_FAIL_AT");
  if (fail_at != NULL && number == 1) setenv("CUDA_STANDIN_FAIL_AT", fail_at, 1);
  CUcontext context = NULL;
  CUDA(cuInit(0));
  CUDA(cuDevicePrimaryCtxRetain(&context, 0));
  CUDA(cuCtxSetCurrent(context));
  CUDA(cuStreamCreate(&rank.stream, CU_STREAM_NON_BLOCKING));
  ncclUniqueId id;
  if (number == 0) OK(ncclGetUniqueId(&id));
  share(&rank, &id, 0);
  OK(ncclCommInitRank(&rank.comm, ranks, id, number));
  awaitAll(&rank, -1); // A rank that fails does so when all have a communicator.
  body(&rank);
  if (rank.comm != NULL) OK(ncclCommDestroy(rank.comm));
  fflush(NULL);
  _exit(0);
}

int runRanks(int ranks, int killed, void (*body)(Rank* rank)) {
  board = mmap(NULL, sizeof(Board), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (board == MAP_FAILED) return 1;
  pid_t children[16];
  for (int r = 0; r < ranks; ++r) {
    children[r] = fork();
    if (children[r] == 0) runOne(r, ranks, body);
  }
  int bad = 0;
  for (int r = 0; r < ranks; ++r) {
    int status = 0;
    if (r == killed) continue;
    waitpid(children[r], &status, 0);
    if (status != 0) fprintf(stderr, "rank %d of %d ended with status %d\n", r, ranks, status);
    bad |= status != 0;
  }
  if (killed < 0) return bad;
  kill(children[killed], SIGKILL); // it may be stopped
  waitpid(children[killed], NULL, 0);
  return bad;
}

float* deviceFloats(size_t count) {
  CUdeviceptr memory = 0;
  CUDA(cuMemAlloc_v2(&memory, (count + 1) * sizeof(float)));
  return (float*)(uintptr_t)memory;
}

void put(void* device, const void* host, size_t bytes) {
  if (bytes == 0) return;
  CUDA(cuMemcpyHtoD_v2((CUdeviceptr)(uintptr_t)device, host, bytes)); // It may return before the bytes are there.
  CUDA(cuStreamSynchronize(NULL));
}

void get(void* host, const void* device, size_t bytes) {
  if (bytes > 0) CUDA(cuMemcpyDtoH_v2(host, (CUdeviceptr)(uintptr_t)device, bytes));
}

void finish(cudaStream_t stream) { CUDA(cuStreamSynchronize(stream)); }

void fill(float* device, size_t count, float first, float step) {
  float* host = malloc((count + 1) * sizeof *host);
  for (size_t i = 0; i < count; ++i)
    host[i] = first + step * (float)i;
  put(device, host, count * sizeof *host);
  free(host);
}

int holds(const float* device, size_t count, float first, float step) {
  float* host = malloc((count + 1) * sizeof *host);
  get(host, device, count * sizeof *host);
  size_t bad = 0;
  for (size_t i = 0; i < count; ++i) {
    const float wanted = first + step * (float)i;
    if (host[i] != wanted && bad++ == 0)
      fprintf(stderr, "element %zu of %zu is %g instead of %g\n", i, count, (double)host[i], (double)wanted);
  }
  free(host);
  return bad == 0;
}

int spoiled(const float* device) {
  float host[kCount];
  get(host, device, sizeof host);
  for (int i = 0; i < kCount; ++i)
    if (!isnan(host[i])) return 0;
  return 1;
}

ncclCollConfig_t configWith(ncclConfigExt_t* options) {
  const ncclCollConfig_t config = {sizeof config,
                                   NCCL_API_MAGIC,
                                   NCCL_VERSION_CODE,
                                   options,
                                   NCCL_CONFIG_UNDEF_INT,
                                   NCCL_CONFIG_UNDEF_INT,
                                   NCCL_CONFIG_UNDEF_INT,
                                   NCCL_CONFIG_UNDEF_INT,
                                   NULL,
                                   1,
                                   NCCL_CONFIG_UNDEF_INT,
                                   0,
                                   NULL};
  return config;
}

ncclResult_t settled(ncclComm_t comm) {
  ncclResult_t state = ncclInProgress;
  while (state == ncclInProgress) {
    OK(ncclCommGetAsyncError(comm, &state));
    usleep(1000);
  }
  return state;
}

ncclResult_t failed(ncclComm_t comm) {
  ncclResult_t state = ncclSuccess;
  for (int turn = 0; turn < 10000 && state == ncclSuccess; ++turn) {
    OK(ncclCommGetAsyncError(comm, &state));
    usleep(1000);
  }
  return state;
}
