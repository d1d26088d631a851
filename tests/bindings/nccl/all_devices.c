// One thread with a communicator for each of two devices, as ncclCommInitAll makes them.
#include "tests/bindings/nccl/support.h"

static void reduceOnBoth(ncclComm_t* comms, const CUcontext* contexts, const cudaStream_t* streams, size_t count) {
  float* data[2];
  for (int d = 0; d < 2; ++d) {
    CUDA(cuCtxSetCurrent(contexts[d]));
    data[d] = deviceFloats(count);
    fill(data[d], count, (float)d, 1);
  }
  OK(ncclGroupStart());
  for (int d = 0; d < 2; ++d)
    OK(ncclAllReduce(data[d], data[d], count, ncclFloat32, ncclSum, comms[d], streams[d]));
  OK(ncclGroupEnd());
  for (int d = 0; d < 2; ++d) {
    CUDA(cuCtxSetCurrent(contexts[d]));
    finish(streams[d]);
    CHECK(holds(data[d], count, 1, 2));
  }
}

/// The scalars of a group come behind other calls of it, of both ranks.
static void scaleOnBoth(ncclComm_t* comms, const CUcontext* contexts, const cudaStream_t* streams) {
  const float half = 0.5f;
  ncclComm_t more[2];
  ncclRedOp_t ops[2];
  float* data[2];
  OK(ncclCommInitAll(more, 2, NULL));
  for (int d = 0; d < 2; ++d) {
    CUDA(cuCtxSetCurrent(contexts[d]));
    data[d] = deviceFloats(100);
    fill(data[d], 100, 4, 0);
    float* scalar = deviceFloats(1);
    put(scalar, &half, sizeof half);
    OK(ncclRedOpCreatePreMulSum(&ops[d], scalar, ncclFloat32, ncclScalarDevice, more[d]));
  }
  OK(ncclGroupStart());
  for (int d = 0; d < 2; ++d) {
    OK(ncclAllReduce(data[d], data[d], 100, ncclFloat32, ncclSum, comms[d], streams[d]));
    OK(ncclAllReduce(data[d], data[d], 100, ncclFloat32, ops[d], more[d], streams[d]));
  }
  OK(ncclGroupEnd());
  for (int d = 0; d < 2; ++d) {
    CUDA(cuCtxSetCurrent(contexts[d]));
    finish(streams[d]);
    CHECK(holds(data[d], 100, 8, 0));
    OK(ncclCommDestroy(more[d]));
  }
}

int main(void) {
  CUDA(cuInit(0));
  CUcontext contexts[2];
  cudaStream_t streams[2];
  for (int d = 0; d < 2; ++d) {
    CUDA(cuDevicePrimaryCtxRetain(&contexts[d], d));
    CUDA(cuCtxSetCurrent(contexts[d]));
    CUDA(cuStreamCreate(&streams[d], CU_STREAM_NON_BLOCKING));
  }
  ncclComm_t comms[2];
  OK(ncclCommInitAll(comms, 2, NULL));
  for (int d = 0; d < 2; ++d) {
    int device = -1;
    OK(ncclCommCuDevice(comms[d], &device));
    CHECK(device == d);
  }
  reduceOnBoth(comms, contexts, streams, 1000);
  reduceOnBoth(comms, contexts, streams, 0);
  const cudaStream_t legacy[2] = {NULL, NULL}; // each device's own
  reduceOnBoth(comms, contexts, legacy, 0);
  reduceOnBoth(comms, contexts, legacy, 1000);
  reduceOnBoth(comms, contexts, streams, 2000001);
  scaleOnBoth(comms, contexts, streams);
  // A stream of the other device is refused.
  CUDA(cuCtxSetCurrent(contexts[0]));
  float* data = deviceFloats(10);
  CHECK(ncclAllReduce(data, data, 10, ncclFloat32, ncclSum, comms[0], streams[1]) == ncclInvalidArgument);
  const int none[2] = {0, 7};
  ncclComm_t more[2];
  CHECK(ncclCommInitAll(more, 2, none) == ncclInvalidArgument);
  for (int d = 0; d < 2; ++d)
    OK(ncclCommDestroy(comms[d]));
  return 0;
}
