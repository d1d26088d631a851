#include "tests/bindings/nccl/graph_support.h"

void begin(cudaStream_t stream) { CUDA(cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL)); }

Graph end(cudaStream_t stream) {
  Graph made;
  CUDA(cuStreamEndCapture(stream, &made.graph));
  CUDA(cuGraphInstantiateWithFlags(&made.executable, made.graph, 0));
  return made;
}

void launch(const Graph* graph, cudaStream_t stream) { CUDA(cuGraphLaunch(graph->executable, stream)); }

void destroy(const Graph* graph) {
  CUDA(cuGraphExecDestroy(graph->executable));
  CUDA(cuGraphDestroy(graph->graph));
}

cudaStream_t newStream(void) {
  cudaStream_t stream;
  CUDA(cuStreamCreate(&stream, CU_STREAM_NON_BLOCKING));
  return stream;
}

void waitFor(cudaStream_t stream, cudaStream_t awaited) {
  CUevent event;
  CUDA(cuEventCreate(&event, CU_EVENT_DISABLE_TIMING));
  CUDA(cuEventRecord(event, awaited));
  CUDA(cuStreamWaitEvent(stream, event, 0));
  CUDA(cuEventDestroy_v2(event));
}

void sum(Rank* rank, const float* from, float* to, size_t count) {
  OK(ncclAllReduce(from, to, count, ncclFloat32, ncclSum, rank->comm, rank->stream));
}
