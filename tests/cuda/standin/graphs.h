/// CUDA graphs of the stand-in: what captured streams hold, to be put into queues again and again.
#ifndef GOSS_TESTS_CUDA_STANDIN_GRAPHS_H_
#define GOSS_TESTS_CUDA_STANDIN_GRAPHS_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "devices/cuda/driver/driver_api.h"
#include "tests/cuda/standin/queue.h"

namespace standin {

/// One launch of a graph: what was captured from different streams runs in different queues, in the order of events
/// alone.
struct Launch {
  std::vector<std::shared_ptr<Queue>>
      lanes;                  ///< By captured stream; the first is the one that the graph is launched in.
  std::vector<Marker> places; ///< By event that was recorded in the capture.
};

struct Graph {
  using Node = std::function<void(Launch&)>;

  std::uint64_t id = 0;
  std::size_t lanes = 0;
  std::size_t places = 0;
  std::vector<Node> nodes;                 ///< In the order in which they were captured.
  std::vector<std::shared_ptr<void>> kept; ///< What the program gave the graph to keep.
};

/// A new graph; the handle is the program's from giveHandle() to dropHandle().
std::shared_ptr<Graph> newGraph();
CUgraph handleOf(const std::shared_ptr<Graph>& graph);
void giveHandle(const std::shared_ptr<Graph>& graph);
bool dropHandle(CUgraph handle);
/// Null: no such graph is being captured, or was handed out.
std::shared_ptr<Graph> graphOf(CUgraph handle);

} // namespace standin

#endif // GOSS_TESTS_CUDA_STANDIN_GRAPHS_H_
