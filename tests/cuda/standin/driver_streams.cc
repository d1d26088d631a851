// The driver's functions that put work into streams, and those on streams and events.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <memory>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

#include "tests/cuda/standin/graphs.h"
#include "tests/cuda/standin/memory.h"
#include "tests/cuda/standin/settings.h"
#include "tests/cuda/standin/streams.h"

using standin::memory;
using standin::Queue;

namespace {

/// A place that a stream's work touches; a wrong one loses the context, as an illegal address does on a device.
char* touch(const Queue& queue, CUdeviceptr address, std::size_t bytes, const char* what) {
  char* place = memory().reach(address, bytes);
  if (place == nullptr) {
    standin::complain(what);
    queue.health().lose(CUDA_ERROR_ILLEGAL_ADDRESS);
  }
  return place;
}

bool isOnDevice(CUdeviceptr address) {
  const auto range = memory().find(address);
  return range && range->kind == standin::Kind::device;
}

/// Memory that the host could page out: the driver copies it before, or while, the call runs.
bool pageable(CUdeviceptr address) { return !memory().find(address) && memory().reach(address, 1) != nullptr; }

/// What a call that copies from pageable memory to the device reads before it returns, while the copy comes later.
constexpr std::size_t kInline = std::size_t{64} << 10;

CUresult copy(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream, bool wait) {
  if (bytes == 0) return standin::enter();
  const bool is_inline = pageable(from) && isOnDevice(to) && bytes <= kInline;
  if (is_inline && !(wait && standin::copiesSynchronize())) {
    const auto* source = reinterpret_cast<const char*>(from);
    return standin::submit(stream, [=, read = std::vector<char>(source, source + bytes)](const Queue& queue) {
      char* target = touch(queue, to, bytes, "a copy writes memory that was freed, or behind its end");
      if (target == nullptr) return;
      std::memcpy(target, read.data(), bytes);
      standin::countCopy(false, true, bytes);
    });
  }
  const CUresult result = standin::submit(stream, [=](const Queue& queue) {
    char* target = touch(queue, to, bytes, "a copy writes memory that was freed, or behind its end");
    const char* source = touch(queue, from, bytes, "a copy reads memory that was freed, or behind its end");
    if (target == nullptr || source == nullptr) return;
    std::memmove(target, source, bytes);
    standin::countCopy(isOnDevice(from), isOnDevice(to), bytes);
  });
  if (result != CUDA_SUCCESS || (!wait && !pageable(to) && !pageable(from))) return result;
  return cuStreamSynchronize(stream);
}

template <typename T>
CUresult writeValue(CUstream stream, CUdeviceptr to, T value) {
  if (standin::settings().memops == 0) return CUDA_ERROR_NOT_SUPPORTED;
  return standin::submit(stream, [=](const Queue& queue) {
    char* place = touch(queue, to, sizeof value, "cuStreamWriteValue writes memory that was freed");
    if (place != nullptr) std::atomic_ref(*reinterpret_cast<T*>(place)).store(value, std::memory_order_release);
  });
}

template <typename T>
bool holds(T found, T value, unsigned flags) {
  if (flags == CU_STREAM_WAIT_VALUE_GEQ) return static_cast<std::make_signed_t<T>>(found - value) >= 0;
  return flags == CU_STREAM_WAIT_VALUE_EQ ? found == value : (found & value) != 0;
}

template <typename T>
CUresult waitValue(CUstream stream, CUdeviceptr at, T value, unsigned flags) {
  if (standin::settings().memops != 1) return CUDA_ERROR_NOT_SUPPORTED;
  if (flags > CU_STREAM_WAIT_VALUE_AND) return CUDA_ERROR_INVALID_VALUE;
  return standin::submit(stream, [=](const Queue& queue) {
    while (!queue.lost()) {
      char* place = touch(queue, at, sizeof value, "cuStreamWaitValue reads memory that was freed");
      if (place == nullptr) return;
      if (holds(std::atomic_ref(*reinterpret_cast<T*>(place)).load(std::memory_order_acquire), value, flags)) return;
      std::this_thread::sleep_for(std::chrono::microseconds(20));
    }
  });
}

/// A queue as a kernel sees it that runs in it.
class Machine final : public cudaStandinMachine {
 public:
  explicit Machine(const Queue& queue) : queue_(queue) {}
  void* reach(const void* memory, size_t bytes) const override {
    return standin::memory().reach(reinterpret_cast<std::uintptr_t>(memory), bytes);
  }
  bool isLost() const override { return queue_.lost(); }

 private:
  const Queue& queue_;
};

standin::Event* eventOf(CUevent event) { return reinterpret_cast<standin::Event*>(event); }

standin::Marker markerOf(CUevent event) {
  standin::Event* found = eventOf(event);
  const std::lock_guard lock(found->mutex);
  return found->marker;
}

/// Puts the event at the end of `queue`.
void recordNow(standin::Event& event, const std::shared_ptr<Queue>& queue) {
  const std::lock_guard lock(event.mutex);
  event.marker = standin::mark(queue);
  event.recorded = true;
  event.captured = false;
}

bool isCaptured(CUevent event) {
  const std::lock_guard lock(eventOf(event)->mutex);
  return eventOf(event)->captured;
}

} // namespace

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, size_t bytes) { return copy(to, from, bytes, nullptr, true); }
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy(to, from, bytes, stream, false);
}
CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void* from, size_t bytes) {
  return copy(to, reinterpret_cast<CUdeviceptr>(from), bytes, nullptr, true);
}
CUresult cuMemcpyDtoH_v2(void* to, CUdeviceptr from, size_t bytes) {
  return copy(reinterpret_cast<CUdeviceptr>(to), from, bytes, nullptr, true);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return copy(to, reinterpret_cast<CUdeviceptr>(from), bytes, stream, false);
}
CUresult cuMemcpyDtoHAsync_v2(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copy(reinterpret_cast<CUdeviceptr>(to), from, bytes, stream, false);
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t bytes, CUstream stream) {
  return standin::submit(stream, [=](const Queue& queue) {
    char* place = touch(queue, to, bytes, "cuMemsetD8Async writes memory that was freed, or behind its end");
    if (place != nullptr) std::memset(place, value, bytes);
  });
}

int cudaStandinLaunch(void* stream, cudaStandinKernel* kernel) {
  std::shared_ptr<cudaStandinKernel> kept(kernel);
  const CUresult result = standin::submit(static_cast<CUstream>(stream), [kept](const Queue& queue) {
    const int error = kept->run(Machine(queue));
    if (error == CUDA_SUCCESS || queue.lost()) return;
    if (error == CUDA_ERROR_ILLEGAL_ADDRESS)
      standin::complain("a kernel touches memory that was freed, or behind its end");
    queue.health().lose(error);
  });
  const bool captured =
      result == CUDA_SUCCESS && standin::streamOf(static_cast<CUstream>(stream))->capture != standin::Capture::none;
  if (result != CUDA_SUCCESS || captured || !standin::settings().launch_blocking) return result;
  return cuStreamSynchronize(static_cast<CUstream>(stream));
}

CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* argument) {
  return standin::submit(stream, [=](const Queue&) {
    const standin::InHostFunction inside;
    function(argument);
  });
}

CUresult cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr to, uint32_t value, unsigned /*flags*/) {
  return writeValue(stream, to, value);
}
CUresult cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr at, uint32_t value, unsigned flags) {
  return waitValue(stream, at, value, flags);
}
CUresult cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr to, uint64_t value, unsigned /*flags*/) {
  return writeValue(stream, to, value);
}
CUresult cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr at, uint64_t value, unsigned flags) {
  return waitValue(stream, at, value, flags);
}

CUresult cuStreamCreate(CUstream* stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }
CUresult cuStreamCreateWithPriority(CUstream* stream, unsigned flags, int /*priority*/) {
  if (const CUresult error = standin::enter(); error != CUDA_SUCCESS) return error;
  *stream = standin::createStream(flags);
  return CUDA_SUCCESS;
}
CUresult cuStreamDestroy_v2(CUstream stream) {
  return standin::destroyStream(stream) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuStreamQuery(CUstream handle) {
  if (const CUresult error = standin::enter(); error != CUDA_SUCCESS) return error;
  standin::Stream* stream = standin::streamOf(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult error = standin::refuseCapture(stream); error != CUDA_SUCCESS) return error;
  return stream->queue->done(stream->queue->lastTicket()) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuStreamSynchronize(CUstream handle) {
  if (const CUresult error = standin::enter(); error != CUDA_SUCCESS) return error;
  standin::Stream* stream = standin::streamOf(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult error = standin::refuseCapture(stream); error != CUDA_SUCCESS) return error;
  stream->queue->wait(stream->queue->lastTicket());
  return static_cast<CUresult>(stream->queue->health().error.load());
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent event, unsigned flags) {
  standin::Event& awaited = *eventOf(event);
  if (standin::Stream* stream = standin::streamOf(handle); stream != nullptr && flags != CU_EVENT_WAIT_EXTERNAL) {
    const std::lock_guard lock(awaited.mutex);
    // A stream that waits for a captured event is captured from then on.
    const auto graph = awaited.captured ? awaited.graph.lock() : nullptr;
    if (graph != nullptr && stream->capture == standin::Capture::none)
      standin::joinCapture(*stream, graph, CU_STREAM_CAPTURE_MODE_RELAXED);
  }
  const CUresult result = standin::submit(handle, nullptr);
  if (result != CUDA_SUCCESS) return result;
  standin::Stream& stream = *standin::streamOf(handle);
  if (stream.capture == standin::Capture::none) {
    standin::follow(*stream.queue, markerOf(event));
    return result;
  }
  const std::lock_guard lock(awaited.mutex);
  if (flags == CU_EVENT_WAIT_EXTERNAL) {
    standin::addNode(stream, [lane = stream.lane, event](standin::Launch& launch) {
      standin::follow(*launch.lanes[lane], markerOf(event));
    });
    return result;
  }
  if (!awaited.captured || awaited.graph.lock() != stream.graph) { // nothing in a graph waits for what is outside of it
    stream.capture = standin::Capture::broken;
    return CUDA_ERROR_STREAM_CAPTURE_ISOLATION;
  }
  stream.before.resize(stream.graph->lanes);
  for (std::size_t lane = 0; lane < awaited.before.size(); ++lane)
    stream.before[lane] = std::max(stream.before[lane], awaited.before[lane]);
  stream.graph->nodes.emplace_back([lane = stream.lane, place = awaited.place](standin::Launch& launch) {
    standin::follow(*launch.lanes[lane], launch.places[place]);
  });
  return result;
}

CUresult cuStreamGetCtx(CUstream handle, CUcontext* context) {
  standin::Stream* stream = standin::streamOf(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *context = standin::handleOf(stream->context);
  return CUDA_SUCCESS;
}
CUresult cuStreamGetFlags(CUstream handle, unsigned* flags) {
  const standin::Stream* stream = standin::streamOf(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *flags = stream->flags;
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus* status) {
  if (const CUresult error = standin::enter(); error != CUDA_SUCCESS) return error;
  const standin::Stream* stream = standin::streamOf(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *status = static_cast<CUstreamCaptureStatus>(stream->capture.load());
  return standin::refuseLegacy(*stream, false);
}
CUresult cuStreamGetCaptureInfo_v2(CUstream handle, CUstreamCaptureStatus* status, uint64_t* id, CUgraph* graph,
                                   const CUgraphNode** /*dependencies*/, size_t* /*count*/) {
  const CUresult result = cuStreamIsCapturing(handle, status);
  if (result != CUDA_SUCCESS || *status != CU_STREAM_CAPTURE_STATUS_ACTIVE) return result;
  const standin::Stream* stream = standin::streamOf(handle);
  if (id != nullptr) *id = stream->graph->id;
  if (graph != nullptr) *graph = standin::handleOf(stream->graph);
  return CUDA_SUCCESS;
}
CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  standin::Stream* stream = standin::streamOf(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  const bool legacy = handle == nullptr || handle == CU_STREAM_LEGACY;
  if (legacy || stream->capture != standin::Capture::none) return CUDA_ERROR_ILLEGAL_STATE;
  standin::joinCapture(*stream, standin::newGraph(), mode);
  return CUDA_SUCCESS;
}
CUresult cuStreamEndCapture(CUstream handle, CUgraph* graph) {
  standin::Stream* stream = standin::streamOf(handle);
  if (stream == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  *graph = nullptr;
  if (stream->capture == standin::Capture::none) return CUDA_ERROR_ILLEGAL_STATE;
  if (stream->lane != 0) return CUDA_ERROR_STREAM_CAPTURE_UNMATCHED;
  const auto captured = stream->graph;
  if (const CUresult error = standin::endCapture(*stream, captured); error != CUDA_SUCCESS) return error;
  standin::giveHandle(captured);
  *graph = standin::handleOf(captured);
  return CUDA_SUCCESS;
}
CUresult cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode* mode) {
  standin::exchangeCaptureMode(*mode);
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent* event, unsigned /*flags*/) {
  if (const CUresult error = standin::enter(); error != CUDA_SUCCESS) return error;
  *event = reinterpret_cast<CUevent>(new standin::Event);
  return CUDA_SUCCESS;
}
CUresult cuEventDestroy_v2(CUevent event) {
  const standin::LockedDriver locked; // Waits for calls that hold the lock.
  delete eventOf(event);
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent event, CUstream stream) {
  return cuEventRecordWithFlags(event, stream, CU_EVENT_DEFAULT);
}

CUresult cuEventRecordWithFlags(CUevent event, CUstream handle, unsigned flags) {
  const CUresult result = standin::submit(handle, nullptr);
  if (result != CUDA_SUCCESS) return result;
  standin::Stream& stream = *standin::streamOf(handle);
  standin::Event& found = *eventOf(event);
  if (stream.capture != standin::Capture::none && flags == CU_EVENT_RECORD_EXTERNAL) {
    standin::addNode(stream, [lane = stream.lane, event](standin::Launch& launch) {
      recordNow(*eventOf(event), launch.lanes[lane]);
    });
  } else if (stream.capture != standin::Capture::none) {
    const std::lock_guard lock(found.mutex);
    found.captured = true;
    found.graph = stream.graph;
    found.place = stream.graph->places++;
    found.before = stream.before;
    stream.graph->nodes.emplace_back([lane = stream.lane, place = found.place](standin::Launch& launch) {
      launch.places[place] = standin::mark(launch.lanes[lane]);
    });
  } else {
    recordNow(found, stream.queue);
  }
  return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent event) {
  if (const CUresult error = standin::enterOutsideCaptures(); error != CUDA_SUCCESS) return error;
  if (isCaptured(event)) return CUDA_ERROR_CAPTURED_EVENT;
  return markerOf(event).done() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent event) {
  if (const CUresult error = standin::enter(); error != CUDA_SUCCESS) return error;
  const standin::Marker marker = markerOf(event);
  marker.wait();
  return marker.queue == nullptr ? CUDA_SUCCESS : static_cast<CUresult>(marker.queue->health().error.load());
}

CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to) {
  const standin::Marker first = markerOf(from);
  const standin::Marker second = markerOf(to);
  if (first.queue == nullptr || second.queue == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!first.done() || !second.done()) return CUDA_ERROR_NOT_READY;
  *milliseconds = std::chrono::duration<float, std::milli>(*second.at - *first.at).count();
  return CUDA_SUCCESS;
}
