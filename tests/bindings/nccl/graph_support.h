/// Captures, launches and destroys graphs.
#ifndef GOSS_TESTS_BINDINGS_NCCL_GRAPH_SUPPORT_H_
#define GOSS_TESTS_BINDINGS_NCCL_GRAPH_SUPPORT_H_

#include "tests/bindings/nccl/support.h"

typedef struct {
  CUgraph graph;
  CUgraphExec executable;
} Graph;

void begin(cudaStream_t stream);
Graph end(cudaStream_t stream);
void launch(const Graph* graph, cudaStream_t stream);
void destroy(const Graph* graph);

/// A stream that is not ordered with the legacy default stream.
cudaStream_t newStream(void);
/// `stream` waits for what is in `awaited` now.
void waitFor(cudaStream_t stream, cudaStream_t awaited);
/// All-reduces `count` floats.
void sum(Rank* rank, const float* from, float* to, size_t count);

#endif // GOSS_TESTS_BINDINGS_NCCL_GRAPH_SUPPORT_H_
