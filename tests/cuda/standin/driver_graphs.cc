// The driver's functions on graphs.
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cuda/standin/graphs.h"
#include "tests/cuda/standin/streams.h"

using standin::Graph;
using standin::Launch;

namespace {

/// Calls the program when the last graph that keeps it is gone; the program may not call the driver then.
class UserObject {
 public:
  UserObject(CUhostFn destroy, void* argument) : destroy_(destroy), argument_(argument) {}
  UserObject(const UserObject&) = delete;
  UserObject& operator=(const UserObject&) = delete;
  ~UserObject() {
    const standin::InHostFunction inside;
    destroy_(argument_);
  }

 private:
  const CUhostFn destroy_;
  void* const argument_;
};

/// An instantiated graph. Its launches run one after the other.
struct Executable {
  std::shared_ptr<Graph> graph;
  std::mutex mutex;
  standin::Marker end;
};

Executable* executableOf(CUgraphExec handle) { return reinterpret_cast<Executable*>(handle); }

/// Queues that end in their own time, as those of destroyed streams do.
void dropLater(std::vector<std::shared_ptr<standin::Queue>> queues) {
  std::thread([kept = std::move(queues)]() mutable { kept.clear(); }).detach();
}

} // namespace

CUresult cuUserObjectCreate(CUuserObject* object, void* argument, CUhostFn destroy, unsigned references,
                            unsigned flags) {
  if (references != 1 || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) return CUDA_ERROR_INVALID_VALUE;
  *object = reinterpret_cast<CUuserObject>(new UserObject(destroy, argument));
  return CUDA_SUCCESS;
}

CUresult cuGraphRetainUserObject(CUgraph handle, CUuserObject object, unsigned count, unsigned flags) {
  const auto graph = standin::graphOf(handle);
  if (graph == nullptr || count != 1 || flags != CU_GRAPH_USER_OBJECT_MOVE) return CUDA_ERROR_INVALID_VALUE;
  graph->kept.push_back(std::shared_ptr<UserObject>(reinterpret_cast<UserObject*>(object)));
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec* executable, CUgraph handle, unsigned long long flags) {
  if (const CUresult error = standin::enterOutsideCaptures(); error != CUDA_SUCCESS) return error;
  const auto graph = standin::graphOf(handle);
  // Flags about allocations in graphs, which the stand-in does not have, and about priorities change nothing.
  constexpr unsigned long long kHints = 1 + 8;
  if (graph == nullptr || (flags & ~kHints) != 0) return CUDA_ERROR_INVALID_VALUE;
  auto* made = new Executable;
  made->graph = graph;
  *executable = reinterpret_cast<CUgraphExec>(made);
  return CUDA_SUCCESS;
}

CUresult cuGraphGetNodes(CUgraph handle, CUgraphNode* nodes, size_t* count) {
  const auto graph = standin::graphOf(handle);
  if (graph == nullptr || nodes != nullptr) return CUDA_ERROR_INVALID_VALUE; // only their number is known
  *count = graph->nodes.size();
  return CUDA_SUCCESS;
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream stream) {
  if (const CUresult error = standin::submit(stream, nullptr); error != CUDA_SUCCESS) return error;
  standin::Stream* into = standin::streamOf(stream);
  if (const CUresult error = standin::refuseCapture(into); error != CUDA_SUCCESS) return error;
  Executable& executable = *executableOf(handle);
  const std::lock_guard lock(executable.mutex);
  const auto graph = executable.graph;
  Launch launch;
  launch.places.resize(graph->places);
  launch.lanes.push_back(into->queue);
  standin::follow(*into->queue, executable.end);
  const standin::Marker start = standin::mark(into->queue);
  while (launch.lanes.size() < graph->lanes) {
    launch.lanes.push_back(standin::newQueue(into->device));
    standin::follow(*launch.lanes.back(), start);
  }
  for (const Graph::Node& node : graph->nodes)
    node(launch);
  for (std::size_t lane = 1; lane < launch.lanes.size(); ++lane)
    standin::follow(*into->queue, standin::mark(launch.lanes[lane]));
  into->queue->push([graph](const standin::Queue&) {}); // what the graph keeps lives until then
  executable.end = standin::mark(into->queue);
  launch.lanes.erase(launch.lanes.begin());
  dropLater(std::move(launch.lanes));
  return CUDA_SUCCESS;
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  delete executableOf(handle);
  return CUDA_SUCCESS;
}

CUresult cuGraphDestroy(CUgraph handle) {
  return standin::dropHandle(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
