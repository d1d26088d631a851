/// Devices, streams and events of the stand-in, and what the driver's functions are made of.
#ifndef GOSS_TESTS_CUDA_STANDIN_STREAMS_H_
#define GOSS_TESTS_CUDA_STANDIN_STREAMS_H_

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "devices/cuda/driver/driver_api.h"
#include "tests/cuda/standin/queue.h"

namespace standin {

struct Graph;
struct Launch;

/// Where a stream stands with regard to cuStreamBeginCapture.
enum class Capture : std::uint8_t { none, active, broken };

struct Stream {
  std::shared_ptr<Queue> queue;
  int device = 0;
  int context = 0;
  unsigned flags = 0;
  std::atomic<Capture> capture = Capture::none;
  CUstreamCaptureMode capture_mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  std::shared_ptr<Graph> graph; ///< What it is captured into, as the `lane`-th stream; the first began the capture.
  std::size_t lane = 0;
  std::vector<std::uint64_t> before; ///< By stream of the capture: how many of its nodes come before the next one here.
};

struct Event {
  std::mutex mutex;
  Marker marker;
  bool recorded = false;
  bool captured = false;
  std::weak_ptr<Graph> graph; ///< Recorded in this capture, as its `place`-th event.
  std::size_t place = 0;
  std::vector<std::uint64_t> before; ///< As the stream's, where it was recorded.
};

/// Counts a call that reaches a stream or an event. Not 0: what the call returns instead of doing anything, a sticky
/// error or, in a host function, that it is not permitted.
CUresult enter();
/// A call that waits for the device, or for room in a stream, holds the driver's lock meanwhile where CUDA_STANDIN_LOCK
/// is 1: every other call waits for it.
class LockedDriver {
 public:
  LockedDriver();
  LockedDriver(const LockedDriver&) = delete;
  LockedDriver& operator=(const LockedDriver&) = delete;
  ~LockedDriver();

 private:
  const bool held_;
};
/// The calling thread is in a host function for as long as this lives.
class InHostFunction {
 public:
  InHostFunction();
  InHostFunction(const InHostFunction&) = delete;
  InHostFunction& operator=(const InHostFunction&) = delete;
  ~InHostFunction();
};

/// The calling thread's device.
int currentDevice();
/// Contexts have numbers: the primary one of device d is d, its other one kOthers + d.
constexpr int kOthers = 64;
int currentContext();
void setCurrentContext(int context);
CUcontext handleOf(int context);

/// The stream behind a handle: NULL and 1 are the legacy default stream of the calling thread's device, 2 this thread's
/// own. nullptr: there is none, and standard error says so.
Stream* streamOf(CUstream handle);
CUstream createStream(unsigned flags);
/// What it holds is done first; its thread ends later.
bool destroyStream(CUstream handle);
/// Waits for all streams of the device.
void synchronize(int device);

/// A queue for work of the device.
std::shared_ptr<Queue> newQueue(int device);

/// Adds `item` to the stream; while it is captured nothing runs, and the item becomes a part of the graph. An item of
/// null brings the order with the default stream, and the errors, and nothing else.
CUresult submit(CUstream handle, Queue::Item item);
/// The stream is captured from now on, as those are that were captured into `graph` before it.
void joinCapture(Stream& stream, const std::shared_ptr<Graph>& graph, CUstreamCaptureMode mode);
/// Adds a node to the graph that the stream is captured into.
void addNode(Stream& stream, std::function<void(Launch&)> node);
/// No stream is captured into `graph` any more, which `first` began. Not success: the capture was broken, or `first`
/// does not wait for all that other streams hold.
CUresult endCapture(const Stream& first, const std::shared_ptr<Graph>& graph);
/// Not success: `stream` is the legacy default stream, and a blocking stream of its device is being captured. `breaks`:
/// the capture ends thereby.
CUresult refuseLegacy(const Stream& stream, bool breaks);
/// For what a captured stream does not allow: breaks the capture. `stream` may be nullptr.
CUresult refuseCapture(Stream* stream);
/// As cuThreadExchangeStreamCaptureMode.
void exchangeCaptureMode(CUstreamCaptureMode& mode);
/// enter() for a call that no capture can hold: where the calling thread is not in relaxed mode, it breaks all captures
/// in global mode, whichever thread's they are.
CUresult enterOutsideCaptures();

} // namespace standin

#endif // GOSS_TESTS_CUDA_STANDIN_STREAMS_H_
