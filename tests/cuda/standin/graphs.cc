#include "tests/cuda/standin/graphs.h"

#include <map>
#include <mutex>
#include <utility>

namespace standin {

namespace {

struct Table {
  std::mutex mutex;
  std::uint64_t last_id = 0;
  std::map<Graph*, std::weak_ptr<Graph>> living; ///< Those of the past too, which are gone.
  std::map<Graph*, std::shared_ptr<Graph>> given;
};

Table& table() {
  static Table& only = *new Table;
  return only;
}

} // namespace

std::shared_ptr<Graph> newGraph() {
  auto graph = std::make_shared<Graph>();
  const std::lock_guard lock(table().mutex);
  graph->id = ++table().last_id;
  table().living[graph.get()] = graph;
  return graph;
}

CUgraph handleOf(const std::shared_ptr<Graph>& graph) { return reinterpret_cast<CUgraph>(graph.get()); }

void giveHandle(const std::shared_ptr<Graph>& graph) {
  const std::lock_guard lock(table().mutex);
  table().given[graph.get()] = graph;
}

bool dropHandle(CUgraph handle) {
  std::shared_ptr<Graph> last; // destroyed after the lock is given back
  const std::lock_guard lock(table().mutex);
  const auto found = table().given.find(reinterpret_cast<Graph*>(handle));
  if (found == table().given.end()) return false;
  last = std::move(found->second);
  table().given.erase(found);
  return true;
}

std::shared_ptr<Graph> graphOf(CUgraph handle) {
  const std::lock_guard lock(table().mutex);
  const auto found = table().living.find(reinterpret_cast<Graph*>(handle));
  return found == table().living.end() ? nullptr : found->second.lock();
}

} // namespace standin
