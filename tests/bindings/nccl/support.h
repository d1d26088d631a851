/// Ranks, buffers and checks of the test programs of libnccl.so.2, which are in C, as its callers may be.
#ifndef GOSS_TESTS_BINDINGS_NCCL_SUPPORT_H_
#define GOSS_TESTS_BINDINGS_NCCL_SUPPORT_H_

#include <stddef.h>
#include <stdint.h>

#include "bindings/nccl/nccl_api.h"
#include "devices/cuda/driver/driver_api.h"

/// Ends the process with the place, the expression and NCCL's text if `condition` does not hold.
void check(int condition, const char* expression, const char* file, int line);
#define CHECK(condition) check((condition) != 0, #condition, __FILE__, __LINE__)
#define OK(call) check((call) == ncclSuccess, #call, __FILE__, __LINE__)
#define CUDA(call) check((call) == CUDA_SUCCESS, #call, __FILE__, __LINE__)

enum { kCount = 1000 };

/// What a rank knows of the others.
typedef struct {
  int rank;
  int ranks;
  ncclComm_t comm; ///< Communicator of all ranks.
  cudaStream_t stream;
} Rank;

/// Runs `body` in a process for each rank, with a communicator of all, and returns 0 if all ended well, within a
/// minute. The child of rank `killed` (-1: none) may end as it likes.
int runRanks(int ranks, int killed, void (*body)(Rank* rank));

/// Moves 128 bytes from rank `root` to all.
void share(Rank* rank, void* bytes, int root);
/// Returns when all ranks but `idle` (-1: none) have called it.
void awaitAll(Rank* rank, int idle);

/// Device memory, and its contents.
float* deviceFloats(size_t count);
void put(void* device, const void* host, size_t bytes);
void get(void* host, const void* device, size_t bytes);
void finish(cudaStream_t stream);
/// Fills `count` floats in device memory with first, first + step, ...
void fill(float* device, size_t count, float first, float step);
/// Whether they are so.
int holds(const float* device, size_t count, float first, float step);
/// Whether kCount floats in device memory are NaN: neither an old value nor part of a result.
int spoiled(const float* device);
/// The config of a collective with these vendor options.
ncclCollConfig_t configWith(ncclConfigExt_t* options);
/// Polls until the communicator's state is not ncclInProgress.
ncclResult_t settled(ncclComm_t comm);
/// Polls for ten seconds until the communicator has failed, and returns how.
ncclResult_t failed(ncclComm_t comm);

/// The stand-in fails the `calls`-th call on `device` from now on, and all after it.
void cudaStandinFail(int device, uint64_t calls);
/// The stand-in refuses the `items`-th item that the calling thread puts into a stream from now on, and it alone.
void cudaStandinRefuse(uint64_t items);

#endif // GOSS_TESTS_BINDINGS_NCCL_SUPPORT_H_
