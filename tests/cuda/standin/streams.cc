#include "tests/cuda/standin/streams.h"

#include <map>
#include <mutex>
#include <set>
#include <thread>
#include <utility>
#include <vector>

#include "tests/cuda/standin/graphs.h"
#include "tests/cuda/standin/settings.h"

namespace standin {

namespace {

thread_local int context_of_thread = 0;
thread_local bool in_host_function = false;
/// How many items until one is refused, as cudaStandinRefuse() set it; 0: none is.
thread_local std::uint64_t refused_in = 0;
thread_local CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;

std::recursive_mutex& driver_lock = *new std::recursive_mutex; ///< It outlives the threads of queues.

/// All streams. It outlives the threads of queues, which nobody joins at the end of a process.
struct Table {
  std::mutex mutex;
  std::set<Stream*> streams;                              ///< Those that the program made.
  std::map<int, Stream*> legacy;                          ///< By device.
  std::map<std::pair<int, std::thread::id>, Stream*> own; ///< CU_STREAM_PER_THREAD.
  std::map<int, std::shared_ptr<Queue>> shared;           ///< By device; for CUDA_STANDIN_ONE_QUEUE.
};

Table& table() {
  static Table& only = *new Table;
  return only;
}

std::shared_ptr<Queue> newQueue(Table& all, int device) {
  if (!settings().one_queue) return std::make_shared<Queue>(device);
  auto& queue = all.shared[device];
  if (queue == nullptr) queue = std::make_shared<Queue>(device);
  return queue;
}

Stream* newStream(Table& all, int device, unsigned flags) {
  auto* stream = new Stream;
  stream->device = stream->context = device;
  stream->flags = flags;
  stream->queue = newQueue(all, device);
  return stream;
}

/// What runs in the legacy default stream runs after what all blocking streams hold, and before what comes into them
/// later.
void orderWithLegacy(Stream& stream) {
  Table& all = table();
  std::vector<Marker> before;
  {
    const std::lock_guard lock(all.mutex);
    const auto legacy = all.legacy.find(stream.device);
    if (legacy == all.legacy.end() || (stream.flags & CU_STREAM_NON_BLOCKING) != 0) return;
    if (legacy->second == &stream) {
      for (const Stream* other : all.streams)
        if (other->device == stream.device && (other->flags & CU_STREAM_NON_BLOCKING) == 0)
          before.push_back({other->queue, other->queue->lastTicket(), nullptr});
    } else {
      before.push_back({legacy->second->queue, legacy->second->queue->lastTicket(), nullptr});
    }
  }
  for (const Marker& marker : before)
    follow(*stream.queue, marker);
}

} // namespace

LockedDriver::LockedDriver() : held_(settings().lock) {
  if (held_) driver_lock.lock();
}
LockedDriver::~LockedDriver() {
  if (held_) driver_lock.unlock();
}

CUresult enter() {
  const LockedDriver locked; // Waits for calls that hold the lock.
  if (in_host_function) {
    complain("a host function called the driver, which is not permitted");
    return CUDA_ERROR_NOT_PERMITTED;
  }
  return static_cast<CUresult>(healthOf(currentDevice())->countCall());
}

InHostFunction::InHostFunction() { in_host_function = true; }
InHostFunction::~InHostFunction() { in_host_function = false; }

int currentDevice() { return context_of_thread % kOthers; }
int currentContext() { return context_of_thread; }
void setCurrentContext(int context) { context_of_thread = context; }

Stream* streamOf(CUstream handle) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const int device = currentDevice();
  if (handle == nullptr || handle == CU_STREAM_LEGACY) {
    Stream*& legacy = all.legacy[device];
    if (legacy == nullptr) legacy = newStream(all, device, CU_STREAM_DEFAULT);
    return legacy;
  }
  if (handle == CU_STREAM_PER_THREAD) {
    Stream*& own = all.own[{device, std::this_thread::get_id()}];
    if (own == nullptr) own = newStream(all, device, CU_STREAM_DEFAULT);
    return own;
  }
  auto* stream = reinterpret_cast<Stream*>(handle);
  if (all.streams.contains(stream)) return stream;
  complain("a call names a stream that does not exist, or was destroyed");
  return nullptr;
}

CUstream createStream(unsigned flags) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  Stream* stream = newStream(all, currentDevice(), flags);
  stream->context = currentContext();
  all.streams.insert(stream);
  return reinterpret_cast<CUstream>(stream);
}

bool destroyStream(CUstream handle) {
  Stream* stream = streamOf(handle);
  if (stream == nullptr) return false;
  {
    Table& all = table();
    const std::lock_guard lock(all.mutex);
    if (all.streams.erase(stream) == 0) return false;
  }
  // The queue ends in its own time: it may hold a wait that another thread still opens.
  std::thread([queue = std::move(stream->queue)]() mutable { queue.reset(); }).detach();
  delete stream;
  return true;
}

void synchronize(int device) {
  std::vector<Marker> ends;
  {
    Table& all = table();
    const std::lock_guard lock(all.mutex);
    const auto add = [&](const Stream* stream) {
      if (stream->device == device) ends.push_back({stream->queue, stream->queue->lastTicket(), nullptr});
    };
    for (const Stream* stream : all.streams)
      add(stream);
    for (const auto& [key, stream] : all.legacy)
      add(stream);
    for (const auto& [key, stream] : all.own)
      add(stream);
  }
  for (const Marker& end : ends)
    end.wait();
}

std::shared_ptr<Queue> newQueue(int device) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  return newQueue(all, device);
}

void joinCapture(Stream& stream, const std::shared_ptr<Graph>& graph, CUstreamCaptureMode mode) {
  stream.graph = graph;
  stream.lane = graph->lanes++;
  stream.before.clear();
  stream.capture_mode = mode;
  stream.capture = Capture::active;
}

void addNode(Stream& stream, Graph::Node node) {
  stream.graph->nodes.push_back(std::move(node));
  stream.before.resize(stream.graph->lanes);
  ++stream.before[stream.lane];
}

CUresult endCapture(const Stream& first, const std::shared_ptr<Graph>& graph) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  bool broken = false;
  bool joined = true;
  std::vector<std::uint64_t> awaited = first.before;
  awaited.resize(graph->lanes);
  const auto end = [&](Stream* stream) {
    if (stream->graph != graph) return;
    stream->before.resize(graph->lanes);
    joined = joined && awaited[stream->lane] == stream->before[stream->lane];
    broken = stream->capture.exchange(Capture::none) == Capture::broken || broken;
    stream->graph = nullptr;
  };
  for (Stream* stream : all.streams)
    end(stream);
  for (const auto& [key, stream] : all.own)
    end(stream);
  return broken ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : joined ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_UNJOINED;
}

CUresult refuseLegacy(const Stream& stream, bool breaks) {
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  const auto legacy = all.legacy.find(stream.device);
  if (legacy == all.legacy.end() || legacy->second != &stream) return CUDA_SUCCESS;
  CUresult result = CUDA_SUCCESS;
  const auto look = [&](Stream* other) {
    const bool blocking = other->device == stream.device && (other->flags & CU_STREAM_NON_BLOCKING) == 0;
    if (!blocking || other->capture == Capture::none) return;
    if (breaks) other->capture = Capture::broken;
    result = CUDA_ERROR_STREAM_CAPTURE_IMPLICIT;
  };
  for (Stream* other : all.streams)
    look(other);
  for (const auto& [key, other] : all.own)
    look(other);
  return result;
}

CUresult submit(CUstream handle, Queue::Item item) {
  if (const CUresult error = enter(); error != CUDA_SUCCESS) return error;
  Stream* stream = streamOf(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (stream->capture == Capture::broken) return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (refused_in > 0 && --refused_in == 0) return CUDA_ERROR_OUT_OF_MEMORY;
  if (stream->capture == Capture::active) {
    if (item == nullptr) return CUDA_SUCCESS;
    addNode(*stream, [lane = stream->lane, item = std::move(item)](Launch& launch) { launch.lanes[lane]->push(item); });
    return CUDA_SUCCESS;
  }
  if (const CUresult error = refuseLegacy(*stream, true); error != CUDA_SUCCESS) return error;
  orderWithLegacy(*stream);
  if (item == nullptr) return CUDA_SUCCESS;
  const std::shared_ptr<Queue> queue = stream->queue;
  const LockedDriver locked;
  queue->awaitRoom();
  queue->push(std::move(item));
  return CUDA_SUCCESS;
}

CUresult refuseCapture(Stream* stream) {
  if (stream == nullptr) return CUDA_SUCCESS;
  if (stream->capture == Capture::none) return refuseLegacy(*stream, true);
  stream->capture = Capture::broken;
  return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;
}

void exchangeCaptureMode(CUstreamCaptureMode& mode) { std::swap(mode, capture_mode); }

CUresult enterOutsideCaptures() {
  CUresult result = enter();
  if (result != CUDA_SUCCESS || capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED) return result;
  Table& all = table();
  const std::lock_guard lock(all.mutex);
  for (Stream* stream : all.streams) {
    if (stream->capture == Capture::none || stream->capture_mode != CU_STREAM_CAPTURE_MODE_GLOBAL) continue;
    result = refuseCapture(stream);
  }
  return result;
}

} // namespace standin

void cudaStandinRefuse(std::uint64_t items) { standin::refused_in = items; }

void cudaStandinUse(const void* kernel) {
  if (!standin::settings().lazy) return;
  static std::mutex& mutex = *new std::mutex;
  static std::set<const void*>& loaded = *new std::set<const void*>;
  {
    const std::lock_guard lock(mutex);
    if (!loaded.insert(kernel).second) return;
  }
  const standin::LockedDriver locked;
  standin::synchronize(standin::currentDevice());
}
