// goss-device-limits: what the streams of a GPU allow a staged call: copies, fragments that pass through pinned memory
// and gates, the latency of a gate of each kind, whether a closed one holds other streams back, which calls of the
// driver wait for it, and how much a stream takes behind it.
#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <functional>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "devices/cuda/device.h"
#include "devices/cuda/driver/driver.h"
#include "devices/cuda/kernels.h"
#include "devices/cuda/queue.h"
#include "devices/device_station.h"
#include "devices/stream_gate.h"
#include "tools/commandline/command_line.h"

namespace goss::bench {

namespace {

using devices::cuda::CudaDevice;
using devices::cuda::CudaQueue;
using devices::cuda::Driver;
using devices::cuda::GateKernels;
using Clock = std::chrono::steady_clock;

constexpr std::uint32_t kSlots = 8;
constexpr int kOtherStreams = 40; ///< More than the 32 hardware queues that CUDA_DEVICE_MAX_CONNECTIONS allows.
constexpr std::chrono::seconds kPatience(10);

struct Options {
  std::size_t bytes = std::size_t{256} << 20;
  std::size_t fragment = std::size_t{1} << 20;
  int samples = 9;
  int gates = 1000;
};

void require(const Status& status) {
  if (!status.isOk()) throw std::runtime_error(status.text());
}
template <typename T>
T require(Result<T> result) {
  require(result.status());
  return result.take();
}

double secondsSince(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

double medianOf(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// False: it takes longer than kPatience.
bool eventually(const std::function<bool()>& holds) {
  for (const auto end = Clock::now() + kPatience; !holds();)
    if (Clock::now() > end) return false;
  return true;
}

void finish(CudaDevice& device, DeviceQueue& queue) {
  const auto event = require(device.event());
  require(queue.record(*event));
  while (!require(event->isDone())) {
  }
}

Flag flagAt(const DeviceBlock& pinned, std::size_t index) { return reinterpret_cast<Flag>(pinned.data()) + index; }

/// Seconds that one copy takes, the median of several.
double copySeconds(CudaDevice& device, void* to, const void* from, std::size_t bytes, int samples) {
  const auto queue = require(device.queue(nullptr));
  std::vector<double> seconds;
  for (int i = 0; i <= samples; ++i) {
    const auto begin = Clock::now();
    const CopyJob job{to, from, bytes};
    require(queue->copy({&job, 1}));
    finish(device, *queue);
    if (i > 0) seconds.push_back(secondsSince(begin)); // The first one warms up.
  }
  return medianOf(seconds);
}

/// Seconds for a vector that comes to the host and goes back as a call's in a stream does, fragment by fragment.
double stagedSeconds(DeviceStation& station, std::byte* memory, std::size_t bytes, std::size_t fragment, int samples) {
  const auto fragments = static_cast<std::uint32_t>(bytes / fragment);
  const auto stream = require(station.device.queue(nullptr));
  std::vector<double> seconds;
  for (int i = 0; i <= samples; ++i) {
    const StreamGate::Shape shape{.fragments = fragments, .slots = kSlots, .gates = 1, .slot_bytes = fragment};
    BlockReserve reserve;
    const auto gate = require(StreamGate::make(station, stream->stream(), shape, reserve));
    const auto work = [&](DeviceQueue& queue, std::uint32_t at, std::uint32_t phase) {
      std::byte* slot = gate->slot(at % kSlots);
      std::byte* place = memory + at * fragment;
      const CopyJob job = phase == 0 ? CopyJob{slot, place, fragment} : CopyJob{place, slot, fragment};
      return queue.copy({&job, 1});
    };
    const auto begin = Clock::now();
    require(gate->enqueueArrivals(work));
    require(gate->enqueueGates(work));
    gate->setEnqueued();
    for (std::uint32_t at = 0; at < fragments; ++at) {
      if (!eventually([&] { return gate->hasDone(at, 0); })) throw std::runtime_error("a fragment does not arrive");
      gate->open(at, 1);
    }
    while (!require(gate->hasLeft())) {
    }
    if (i > 0) seconds.push_back(secondsSince(begin));
  }
  return medianOf(seconds);
}

std::unique_ptr<DeviceQueue> queueWith(CudaDevice& device, const GateKernels* gates) {
  return require(CudaQueue::make(device.context(), nullptr, gates));
}

/// Seconds from the host's opening of a gate to the host's sight of what the stream does behind it.
double gateSeconds(CudaDevice& device, const GateKernels* gates, int count) {
  const auto pinned = require(device.allocate(MemoryKind::pinned, 256));
  const Flag go = flagAt(*pinned, 0);
  const Flag done = flagAt(*pinned, 32);
  *go = *done = 0;
  std::vector<double> seconds;
  const auto queue = queueWith(device, gates);
  for (std::uint32_t i = 1; i <= static_cast<std::uint32_t>(count); ++i) {
    require(queue->await(go, i));
    require(queue->raise(done, i));
    std::this_thread::sleep_for(std::chrono::microseconds(50)); // The stream is at the gate.
    const auto begin = Clock::now();
    std::atomic_ref(*go).store(i, std::memory_order_release);
    if (!eventually([&] { return std::atomic_ref(*done).load(std::memory_order_acquire) == i; }))
      throw std::runtime_error("a stream does not go on behind an open gate");
    seconds.push_back(secondsSince(begin));
  }
  return medianOf(seconds);
}

/// In how many of the other streams a copy ends while one stream is at a closed gate.
int passing(CudaDevice& device, const GateKernels* gates, std::byte* memory) {
  const auto pinned = require(device.allocate(MemoryKind::pinned, 4096));
  const Flag go = flagAt(*pinned, 0);
  *go = 0;
  std::vector<std::unique_ptr<DeviceQueue>> others;
  std::vector<std::unique_ptr<DeviceEvent>> events;
  for (int i = 0; i < kOtherStreams; ++i) {
    others.push_back(queueWith(device, gates));
    events.push_back(require(device.event()));
  }
  const auto closed = queueWith(device, gates);
  require(closed->await(go, 1));
  for (std::size_t i = 0; i < others.size(); ++i) {
    const CopyJob job{pinned->data() + 64, memory, 64};
    require(others[i]->copy({&job, 1}));
    require(others[i]->record(*events[i]));
  }
  std::this_thread::sleep_for(std::chrono::milliseconds(200));
  int passed = 0;
  for (const auto& event : events)
    passed += require(event->isDone()) ? 1 : 0;
  std::atomic_ref(*go).store(1, std::memory_order_release);
  for (const auto& other : others)
    finish(device, *other);
  return passed;
}

/// A stream that stands at a gate.
class ClosedGate {
 public:
  ClosedGate(CudaDevice& device, const GateKernels* gates)
      : flag_(require(device.allocate(MemoryKind::pinned, 64))), stream_(queueWith(device, gates)) {
    *flagAt(*flag_, 0) = 0;
    require(stream_->await(flagAt(*flag_, 0), 1));
    std::this_thread::sleep_for(std::chrono::milliseconds(2)); // The stream is at the gate.
  }
  [[nodiscard]] DeviceQueue& stream() const { return *stream_; }
  void open() const { std::atomic_ref(*flagAt(*flag_, 0)).store(1, std::memory_order_release); }
  ~ClosedGate() { open(); }

 private:
  const std::unique_ptr<DeviceBlock> flag_;
  const std::unique_ptr<DeviceQueue> stream_;
};

/// Says whether `call` returns while a stream of the device stands at a gate.
void sayWhetherWaits(CudaDevice& device, const GateKernels* gates, const char* name,
                     const std::function<void()>& call) {
  constexpr std::chrono::milliseconds kLong(300);
  const ClosedGate gate(device, gates);
  std::atomic<bool> done{false};
  std::string failure;
  std::jthread caller([&] {
    try {
      call();
    } catch (const std::exception& error) {
      failure = error.what();
    }
    done = true;
  });
  const auto begin = Clock::now();
  while (!done && Clock::now() - begin < kLong)
    std::this_thread::sleep_for(std::chrono::microseconds(10));
  const double seconds = secondsSince(begin);
  if (done) {
    fmt::print("  {:<44} returns after {:.0f} us\n", name, seconds * 1e6);
  } else {
    fmt::print("  {:<44} WAITS for the gate\n", name);
  }
  gate.open();
  caller.join();
  if (!failure.empty()) fmt::print("    and fails: {}\n", failure);
}

void measureWaits(CudaDevice& device, const Driver& driver, const char* kind, const GateKernels* gates) {
  constexpr std::size_t kSmall = 4096;
  constexpr std::size_t kLarge = std::size_t{64} << 20;
  fmt::print("while a stream stands at a gate by {}:\n", kind);
  const auto say = [&](const char* name, const std::function<void()>& call) {
    sayWhetherWaits(device, gates, name, call);
  };
  std::unique_ptr<DeviceBlock> block;
  std::unique_ptr<DeviceQueue> queue;
  std::unique_ptr<DeviceEvent> event;
  std::unique_ptr<CudaDevice> other;
  say("a stream is created", [&] { queue = require(device.queue(nullptr)); });
  say("an event is created", [&] { event = require(device.event()); });
  say("a small block is pinned", [&] { block = require(device.allocate(MemoryKind::pinned, kSmall)); });
  say("a small block is unpinned", [&] { block.reset(); });
  say("64 MiB are pinned", [&] { block = require(device.allocate(MemoryKind::pinned, kLarge)); });
  say("64 MiB are unpinned", [&] { block.reset(); });
  say("4 KiB of the device are allocated", [&] { block = require(device.allocate(MemoryKind::device, kSmall)); });
  say("4 KiB of the device are freed", [&] { block.reset(); });
  say("64 MiB of the device are allocated", [&] { block = require(device.allocate(MemoryKind::device, kLarge)); });
  say("64 MiB of the device are exported (CUDA IPC)", [&] { (void)device.exportMemory(block->data()); });
  say("64 MiB of the device are freed", [&] { block.reset(); });
  say("the device is opened once more", [&] { other = require(CudaDevice::open(driver, 0)); });
  say("the kernels are loaded", [&] { require(device.prepareArithmetic()); });
  const auto memory = require(device.allocate(MemoryKind::device, kSmall));
  const CopyJob within{memory->data(), memory->data() + kSmall / 2, kSmall / 2};
  say("a copy in another stream", [&] {
    require(queue->copy({&within, 1}));
    finish(device, *queue);
  });
  ReduceJob reduce;
  reduce.dtype = GOSS_FLOAT32;
  reduce.op = GOSS_SUM;
  reduce.to = memory->data();
  reduce.a = memory->data();
  reduce.b = memory->data() + kSmall / 2;
  reduce.count = 16;
  say("a kernel in another stream", [&] {
    require(queue->reduce(reduce));
    finish(device, *queue);
  });
  say("a stream is destroyed", [&] { queue.reset(); });
}

/// Says which calls of a second thread return while `blocked` keeps a first one in the driver, until a gate opens.
void sayWhatWaitsBeside(CudaDevice& device, const char* title, const std::function<void(const ClosedGate&)>& blocked) {
  constexpr std::chrono::milliseconds kLong(300);
  fmt::print("while a thread {}:\n", title);
  const auto queue = require(device.queue(nullptr));
  const auto event = require(device.event());
  require(queue->record(*event));
  const auto memory = require(device.allocate(MemoryKind::device, 4096));
  const auto pinned = require(device.allocate(MemoryKind::pinned, 4096));
  const CopyJob job{pinned->data(), memory->data(), 4096};
  std::unique_ptr<DeviceBlock> block;
  const std::vector<std::pair<const char*, std::function<void()>>> calls{
      {"an event is queried", [&] { (void)event->isDone(); }},
      {"a copy in another stream",
       [&] {
         require(queue->copy({&job, 1}));
       }},
      {"a flag in another stream", [&] { require(queue->raise(flagAt(*pinned, 1000), 1)); }},
      {"a block is pinned", [&] { block = require(device.allocate(MemoryKind::pinned, 4096)); }},
      {"the context is made current", [&] { const devices::cuda::InContext inside(device.context()); }}};
  for (const auto& [name, call] : calls) {
    std::unique_ptr<ClosedGate> gate = std::make_unique<ClosedGate>(device, nullptr);
    std::atomic<int> left{2};
    std::jthread first([&] {
      blocked(*gate);
      --left;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(50)); // The first thread is in the driver.
    const bool was_blocked = left == 2;
    std::jthread second([&] {
      call();
      --left;
    });
    const auto begin = Clock::now();
    while (left == 2 && Clock::now() - begin < kLong)
      std::this_thread::sleep_for(std::chrono::microseconds(10));
    fmt::print("  {:<44} {}\n", name,
               !was_blocked ? "was not tried: the first thread is through"
               : left == 2  ? "WAITS, too"
                            : "returns");
    gate->open();
    first.join();
    second.join();
  }
}

void measureLocks(CudaDevice& device, std::byte* memory) {
  std::vector<std::unique_ptr<DeviceBlock>> blocks;
  for (int i = 0; i < 10; ++i)
    blocks.push_back(require(device.allocate(i < 5 ? MemoryKind::pinned : MemoryKind::device, 4096)));
  const auto free = [&](const ClosedGate& /*gate*/) { blocks.pop_back(); };
  sayWhatWaitsBeside(device, "frees memory of the device", free);
  sayWhatWaitsBeside(device, "unpins memory", free);
  const auto pinned = require(device.allocate(MemoryKind::pinned, 4096));
  sayWhatWaitsBeside(device, "enqueues more than a stream takes", [&](const ClosedGate& gate) {
    const CopyJob job{pinned->data() + 64, memory, 64};
    for (int i = 0; i < 2000; ++i)
      require(gate.stream().copy({&job, 1}));
  });
}

/// Counts the tries in which a stream reads from device memory what was there before a copy that has returned.
int staleReads(CudaDevice& device, std::byte* memory, int tries) {
  const auto queue = require(device.queue(nullptr));
  const auto pinned = require(device.allocate(MemoryKind::pinned, 4096));
  using Copy = CUresult (*)(CUdeviceptr to, const void* from, std::size_t bytes);
  const auto copy = reinterpret_cast<Copy>(::dlsym(::dlopen("libcuda.so.1", RTLD_NOW), "cuMemcpyHtoD_v2"));
  int stale = 0;
  for (int i = 1; i <= tries; ++i) {
    const std::uint64_t value = static_cast<std::uint64_t>(i);
    {
      const devices::cuda::InContext inside(device.context());
      copy(reinterpret_cast<CUdeviceptr>(memory), &value, sizeof value);
    }
    const CopyJob job{pinned->data(), memory, sizeof value};
    require(queue->copy({&job, 1}));
    finish(device, *queue);
    std::uint64_t read = 0;
    std::memcpy(&read, pinned->data(), sizeof read);
    stale += read != value ? 1 : 0;
  }
  return stale;
}

void sayStaleReads(CudaDevice& device, const Driver& driver, std::byte* memory) {
  constexpr int kTries = 1000;
  fmt::print("behind a copy from pageable memory a stream reads what was there before in {} of {} times",
             staleReads(device, memory, kTries), kTries);
  unsigned flags = 0;
  {
    const devices::cuda::InContext inside(device.context());
    if (driver.ctxSetFlags == nullptr || driver.ctxGetFlags(&flags) != CUDA_SUCCESS ||
        driver.ctxSetFlags(flags & ~CU_CTX_SYNC_MEMOPS) != CUDA_SUCCESS) {
      fmt::print("\n");
      return;
    }
  }
  fmt::print("; without CU_CTX_SYNC_MEMOPS {} times\n", staleReads(device, memory, kTries));
  const devices::cuda::InContext inside(device.context());
  driver.ctxSetFlags(flags);
}

/// Counts the copies with a flag each that a stream takes behind a closed gate before the thread that enqueues waits.
void measureDepth(CudaDevice& device, const char* kind, const GateKernels* gates, std::byte* memory) {
  constexpr int kMax = 20000;
  const auto pinned = require(device.allocate(MemoryKind::pinned, 4096));
  std::atomic<int> enqueued{0};
  std::jthread caller;
  {
    const ClosedGate gate(device, gates);
    caller = std::jthread([&] {
      const CopyJob job{pinned->data() + 64, memory, 64};
      for (; enqueued < kMax; ++enqueued) {
        require(gate.stream().copy({&job, 1}));
        require(gate.stream().raise(flagAt(*pinned, 0), 1));
      }
    });
    for (int before = -1; before != enqueued;) {
      before = enqueued;
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
    }
    fmt::print("behind a gate by {} a stream takes {}{} copies and flags\n", kind, enqueued == kMax ? "more than " : "",
               enqueued.load());
    gate.open();
    caller.join();
  }
}

void measureGates(CudaDevice& device, const char* kind, const GateKernels* gates, std::byte* memory, int count) {
  fmt::print("gate by {:<18} {:7.1f} us from the host through the stream and back, median of {}\n", kind,
             gateSeconds(device, gates, count) * 1e6, count);
  fmt::print("closed gate by {:<11} copies of {} of {} other streams pass it\n", kind, passing(device, gates, memory),
             kOtherStreams);
}

void measureCopies(CudaDevice& device, std::byte* memory, const Options& options) {
  const auto [bytes, fragment, samples, gates] = options;
  const auto pinned = require(device.allocate(MemoryKind::pinned, bytes));
  std::fill_n(pinned->data(), bytes, std::byte{1});
  const double down = copySeconds(device, pinned->data(), memory, bytes, samples);
  const double up = copySeconds(device, memory, pinned->data(), bytes, samples);
  DeviceStation station(device, require(device.queue(nullptr)), require(device.queue(nullptr)));
  const double staged = stagedSeconds(station, memory, bytes, fragment, samples);
  const auto gigabytes = static_cast<double>(bytes) * 1e-9;
  fmt::print("cuMemcpyAsync to the host   {:7.2f} GB/s, {} bytes\n", gigabytes / down, bytes);
  fmt::print("cuMemcpyAsync to the device {:7.2f} GB/s\n", gigabytes / up);
  fmt::print("staged there and back       {:7.2f} GB/s in fragments of {} bytes: {:.0f} % of both copies alone\n",
             gigabytes / staged, fragment, 100 * (down + up) / staged);
}

int run(const Options& options) {
  const Driver* driver = require(Driver::load(false));
  const auto device = require(CudaDevice::open(*driver, 0));
  const auto memory = require(device->allocate(MemoryKind::device, options.bytes));
  fmt::print("{}\n", device->name());
  measureCopies(*device, memory->data(), options);
  sayStaleReads(*device, *driver, memory->data());
  const auto word = require(device->allocate(MemoryKind::pinned, 64));
  if (queueWith(*device, nullptr)->raise(flagAt(*word, 0), 1).isOk()) {
    measureGates(*device, "memory operations", nullptr, memory->data(), options.gates);
    measureWaits(*device, *driver, "memory operations", nullptr);
    measureDepth(*device, "memory operations", nullptr, memory->data());
    measureLocks(*device, memory->data());
  } else {
    fmt::print("gate by memory operations: the streams have none\n");
  }
  const auto& library = devices::cuda::kernelLibrary();
  const devices::cuda::InContext inside(device->context());
  const Status status = library.isOk() ? library.value()->load() : library.status();
  if (!status.isOk()) {
    fmt::print("gate by kernel: {}\n", status.text());
    return 0;
  }
  measureGates(*device, "kernel", &library.value()->gates, memory->data(), options.gates);
  measureWaits(*device, *driver, "kernel", &library.value()->gates);
  measureDepth(*device, "kernel", &library.value()->gates, memory->data());
  return 0;
}

} // namespace

} // namespace goss::bench

int main(int argc, char** argv) {
  goss::bench::Options options;
  goss::CommandLine line{"What the streams of CUDA device 0 allow a staged call"};
  line.option("--bytes", options.bytes, "Bytes of the vector").range(1ul << 16, 1ul << 36);
  line.option("--fragment", options.fragment, "Bytes of a fragment, of which the vector is a multiple")
      .range(256ul, 1ul << 30);
  line.option("--samples", options.samples, "Copies per figure; the median is printed").range(1, 1000);
  line.option("--gates", options.gates, "Gates that are opened").range(1, 1000000);
  if (const auto status = line.parseOrPrint(argc, argv)) return *status;
  try {
    return goss::bench::run(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "goss-device-limits: {}\n", error.what());
    return 1;
  }
}
