// How communicators of libnccl.so.2 come and go, and what else its interface holds.
// communicators RANKS
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/bindings/nccl/support.h"

static void works(ncclComm_t comm, cudaStream_t stream) {
  int ranks = 0;
  OK(ncclCommCount(comm, &ranks));
  float* data = deviceFloats(1000);
  fill(data, 1000, 1, 1);
  OK(ncclAllReduce(data, data, 1000, ncclFloat32, ncclSum, comm, stream));
  finish(stream);
  CHECK(holds(data, 1000, (float)ranks, (float)ranks));
}

static ncclConfig_t configOf(size_t size, unsigned version, int blocking) {
  ncclConfig_t config;
  memset(&config, 0x5a, sizeof config); // what lies behind `size`, and in padding, must not count
  config.size = size;
  config.magic = NCCL_API_MAGIC;
  config.version = version;
  config.blocking = blocking;
  int* fields = &config.cgaClusterSize;
  if (size > 24) fields[0] = fields[1] = fields[2] = NCCL_CONFIG_UNDEF_INT;
  if (size > 24) config.netName = NULL, config.splitShare = NCCL_CONFIG_UNDEF_INT;
  if (size > 48) config.commName = "test";
  return config;
}

static void configs(Rank* rank) {
  static const struct {
    size_t size;
    unsigned version;
  } all[] = {{24, 21400}, {48, 21700}, {48, 21800}, {48, 22500},  {48, 22600}, {72, 22700},
             {80, 22809}, {88, 22907}, {96, 23007}, {120, 23203}, {160, 23500}};
  for (size_t i = 0; i < sizeof all / sizeof all[0]; ++i)
    for (int blocking = 0; blocking < 2; ++blocking) {
      ncclConfig_t given[2];
      given[0] = configOf(all[i].size, all[i].version, blocking);
      ncclComm_t comm = NULL;
      const ncclResult_t result = ncclCommSplit(rank->comm, 0, rank->rank, &comm, given);
      CHECK(result == (blocking ? ncclSuccess : ncclInProgress));
      CHECK(comm != NULL);
      CHECK(settled(comm) == ncclSuccess);
      if (i == 0) works(comm, rank->stream);
      OK(ncclCommDestroy(comm));
    }
  ncclConfig_t bad = configOf(120, 23203, 1);
  bad.magic = 1;
  ncclComm_t comm = NULL;
  CHECK(ncclCommSplit(rank->comm, 0, 0, &comm, &bad) == ncclInvalidArgument);
  bad = configOf(120, 23203, 2);
  CHECK(ncclCommSplit(rank->comm, 0, 0, &comm, &bad) == ncclInvalidArgument);
}

static void splits(Rank* rank) {
  ncclComm_t comm = NULL;
  const int color = rank->rank == 0 ? NCCL_SPLIT_NOCOLOR : 3;
  OK(ncclCommSplit(rank->comm, color, rank->rank, &comm, NULL));
  CHECK((comm == NULL) == (rank->rank == 0));
  if (comm == NULL) return;
  works(comm, rank->stream);
  OK(ncclCommFinalize(comm));
  CHECK(ncclCommFinalize(comm) == ncclInvalidUsage);
  OK(ncclCommDestroy(comm));
  CHECK(ncclCommDestroy(comm) == ncclInvalidArgument);
}

/// By other ways than ncclCommInitRank: not blocking, in a group, and from several ids.
static void starts(Rank* rank) {
  ncclUniqueId ids[2];
  if (rank->rank == 0) {
    OK(ncclGetUniqueId(&ids[0]));
    OK(ncclGetUniqueId(&ids[1]));
  }
  share(rank, &ids[0], 0);
  share(rank, &ids[1], 0);
  ncclConfig_t config = configOf(120, 23203, 0);
  config.minCTAs = config.maxCTAs = NCCL_CONFIG_UNDEF_INT;
  ncclComm_t first = NULL;
  ncclComm_t second = NULL;
  OK(ncclGroupStart());
  OK(ncclCommInitRankConfig(&first, rank->ranks, ids[0], rank->rank, &config));
  OK(ncclCommInitRankScalable(&second, rank->ranks, rank->rank, 1, &ids[1], NULL));
  const ncclResult_t ended = ncclGroupEnd();
  CHECK(ended == ncclInProgress);
  CHECK(settled(first) == ncclSuccess && settled(second) == ncclSuccess);
  works(first, rank->stream);
  works(second, rank->stream);
  OK(ncclCommDestroy(first));
  OK(ncclCommDestroy(second));
}

static void* abortStarting(void* handle) {
  ncclComm_t* comm = (ncclComm_t*)handle;
  while (__atomic_load_n(comm, __ATOMIC_ACQUIRE) == NULL)
    usleep(1000);
  OK(ncclCommAbort(__atomic_load_n(comm, __ATOMIC_ACQUIRE)));
  return NULL;
}

/// A blocking start that another thread aborts fails, although the other ranks come.
static void abortedStart(Rank* rank) {
  ncclUniqueId id;
  if (rank->rank == 0) OK(ncclGetUniqueId(&id));
  share(rank, &id, 0);
  ncclComm_t comm = NULL;
  if (rank->rank == 0) {
    pthread_t aborting;
    CHECK(pthread_create(&aborting, NULL, abortStarting, &comm) == 0);
    CHECK(ncclCommInitRank(&comm, rank->ranks, id, rank->rank) == ncclInvalidUsage);
    CHECK(comm == NULL && strstr(ncclGetLastError(NULL), "ncclCommAbort") != NULL);
    CHECK(pthread_join(aborting, NULL) == 0);
  } else {
    usleep(200000); // the abort comes first
    if (ncclCommInitRank(&comm, rank->ranks, id, rank->rank) == ncclSuccess) OK(ncclCommAbort(comm));
  }
  awaitAll(rank, -1);
}

/// What a split exchanges comes before calls on its parent, and before the next split, on all ranks.
static void callsBehindSplits(Rank* rank) {
  ncclConfig_t config = configOf(120, 23203, 0);
  config.minCTAs = config.maxCTAs = NCCL_CONFIG_UNDEF_INT;
  for (int turn = 0; turn < 3; ++turn) {
    ncclComm_t first = NULL;
    ncclComm_t second = NULL;
    CHECK(ncclCommSplit(rank->comm, 0, rank->rank, &first, &config) == ncclInProgress);
    if (rank->rank == 1) usleep(5000);
    CHECK(ncclCommSplit(rank->comm, 0, -rank->rank, &second, &config) == ncclInProgress);
    if (rank->rank == 1) usleep(5000);
    works(rank->comm, rank->stream);
    CHECK(settled(first) == ncclSuccess && settled(second) == ncclSuccess);
    int number = -1;
    OK(ncclCommUserRank(first, &number));
    CHECK(number == rank->rank);
    OK(ncclCommUserRank(second, &number));
    CHECK(number == rank->ranks - 1 - rank->rank);
    works(second, rank->stream);
    OK(ncclCommDestroy(first));
    OK(ncclCommDestroy(second));
  }
}

static void shrinks(Rank* rank) {
  int last = rank->ranks - 1;
  if (rank->rank == last) return;
  ncclComm_t comm = NULL;
  OK(ncclCommShrink(rank->comm, &last, 1, &comm, NULL, NCCL_SHRINK_DEFAULT));
  int ranks = 0;
  OK(ncclCommCount(comm, &ranks));
  CHECK(ranks == last);
  works(comm, rank->stream);
  OK(ncclCommDestroy(comm));
}

/// All but the last rank have a communicator, and take the last one in; the id comes from the last of the old ones.
static void grows(Rank* rank) {
  const int last = rank->ranks - 1;
  const int root = last - 1;
  ncclComm_t old = NULL;
  OK(ncclCommSplit(rank->comm, rank->rank == last ? NCCL_SPLIT_NOCOLOR : 0, rank->rank, &old, NULL));
  ncclUniqueId id;
  if (rank->rank == root) OK(ncclCommGetUniqueId(old, &id));
  share(rank, &id, root);
  ncclComm_t comm = NULL;
  const ncclUniqueId* given = rank->rank == root || rank->rank == last ? &id : NULL;
  OK(ncclCommGrow(old, rank->ranks, given, rank->rank == last ? last : -1, &comm, NULL));
  int number = -1;
  OK(ncclCommUserRank(comm, &number));
  CHECK(number == rank->rank);
  works(comm, rank->stream);
  OK(ncclCommDestroy(comm));
  if (old != NULL) OK(ncclCommDestroy(old));
}

static void information(Rank* rank) {
  int value = 0;
  OK(ncclGetVersion(&value));
  CHECK(value == 22809);
  OK(ncclCommCount(rank->comm, &value));
  CHECK(value == rank->ranks);
  OK(ncclCommCuDevice(rank->comm, &value));
  CHECK(value == 0);
  CHECK(strcmp(ncclGetErrorString(ncclSuccess), "no error") == 0);
  CHECK(ncclCommCount((ncclComm_t)&value, &value) == ncclInvalidArgument);
  const ncclTeam_t world = ncclTeamWorld(rank->comm);
  CHECK(world.nRanks == rank->ranks && world.rank == rank->rank);
  CHECK(ncclTeamRankToWorld(rank->comm, world, 0) == 0);
  const char** keys = NULL;
  OK(ncclParamGetAllParameterKeys(&keys, &value));
  CHECK(value > 0);
  ncclParamHandle_t handle = NULL;
  OK(ncclParamBind(&handle, "GOSS_NCCL_REPORT"));
  int64_t number = -1;
  OK(ncclParamGetI64(handle, &number));
  CHECK(ncclParamBind(&handle, "NCCL_NOTHING") == ncclInvalidArgument);
  ncclSimInfo_t info = {sizeof info, NCCL_SIM_INFO_MAGIC, NCCL_VERSION_CODE, 0};
  OK(ncclGroupStart());
  OK(ncclGroupSimulateEnd(&info));
  CHECK(info.estimatedTime < 0);
}

static void memory(Rank* rank) {
  void* data = NULL;
  OK(ncclMemAlloc(&data, 4096));
  void* registration = &registration;
  OK(ncclCommRegister(rank->comm, data, 4096, &registration));
  OK(ncclCommDeregister(rank->comm, registration));
  ncclWindow_t window = NULL;
  OK(ncclCommWindowRegister(rank->comm, data, 4096, &window, 1));
  CHECK(window != NULL);
  void* again = NULL;
  OK(ncclWinGetUserPtr(rank->comm, window, &again));
  CHECK(again == data);
  fill(data, 1024, 1, 0);
  OK(ncclAllReduce(data, data, 1024, ncclFloat32, ncclSum, rank->comm, rank->stream));
  finish(rank->stream);
  CHECK(holds(data, 1024, (float)rank->ranks, 0));
  OK(ncclCommWindowDeregister(rank->comm, window));
  OK(ncclMemFree(data));
  CHECK(ncclMemFree(&data) == ncclInvalidArgument);
  uint64_t value = 1;
  OK(ncclCommSuspend(rank->comm, 1));
  CHECK(ncclAllReduce(NULL, NULL, 0, ncclFloat32, ncclSum, rank->comm, rank->stream) == ncclInvalidUsage);
  OK(ncclCommResume(rank->comm));
  OK(ncclCommMemStats(rank->comm, 3, &value));
  CHECK(value == 0);
}

static void body(Rank* rank) {
  information(rank);
  memory(rank);
  configs(rank);
  splits(rank);
  starts(rank);
  abortedStart(rank);
  callsBehindSplits(rank);
  shrinks(rank);
  grows(rank);
}

int main(int argc, char** argv) { return argc < 2 ? 2 : runRanks(atoi(argv[1]), -1, body); }
