#include "bench/suite/gloo_engine.h"

#include <fmt/format.h>
#include <gloo/allreduce.h>
#include <gloo/allreduce_halving_doubling.h>
#include <gloo/barrier.h>
#include <gloo/config.h>
#include <gloo/math.h>
#include <gloo/rendezvous/context.h>
#include <gloo/rendezvous/file_store.h>
#include <gloo/transport/tcp/device.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/suite/clock.h"

namespace goss::bench {

namespace {

/// A new directory that all ranks see, removed when all have destroyed the object. Gloo's ranks find each other through
/// files; with ranks on several hosts the system's temporary directory must be shared.
class SharedDirectory {
 public:
  explicit SharedDirectory(GossEngine& goss) : goss_(goss) {
    std::array<char, 256> path{};
    if (goss.rank() == 0) {
      const std::string pattern = (std::filesystem::temp_directory_path() / "goss-bench-gloo-XXXXXX").string();
      if (pattern.size() < path.size()) std::memcpy(path.data(), pattern.data(), pattern.size());
      if (path[0] == 0 || ::mkdtemp(path.data()) == nullptr) path[0] = 0;
    }
    CollectiveCall call;
    call.collective = Collective::broadcast;
    call.send = call.recv = path.data();
    call.count = path.size();
    call.dtype = GOSS_UINT8;
    goss.run(call);
    if (path[0] == 0) throw std::runtime_error("cannot make a directory for Gloo's ranks to meet; is TMPDIR writable?");
    path_ = path.data();
  }
  ~SharedDirectory() {
    std::error_code ignored;
    if (goss_.rank() == 0) std::filesystem::remove_all(path_, ignored);
  }
  SharedDirectory(const SharedDirectory&) = delete;
  SharedDirectory& operator=(const SharedDirectory&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  GossEngine& goss_;
  std::string path_;
};

enum class Way : std::size_t { ring, bcube, halvingDoubling };
constexpr std::array kWays = {"ring", "bcube", "halving-doubling"};
constexpr int kTrials = 3;

/// Runs all-reduce only, with the fastest of Gloo's algorithms for each size: settle() tries them.
class GlooEngine final : public Engine {
 public:
  explicit GlooEngine(GossEngine& goss)
      : goss_(goss), context_(std::make_shared<gloo::rendezvous::Context>(goss.rank(), goss.size())) {
    gloo::transport::tcp::attr attributes;
    const char* interface = std::getenv("GOSS_INTERFACE");
    attributes.iface = interface != nullptr && *interface != 0 ? interface : "lo";
    auto device = gloo::transport::tcp::CreateDevice(attributes);
    const SharedDirectory directory(goss);
    gloo::rendezvous::FileStore store(directory.path());
    context_->connectFullMesh(store, device);
    goss.barrier(); // All have read the others' files.
  }

  [[nodiscard]] const char* name() const override { return "Gloo"; }
  [[nodiscard]] std::string version() const override {
    return fmt::format("Gloo {}.{}.{}", GLOO_VERSION_MAJOR, GLOO_VERSION_MINOR, GLOO_VERSION_PATCH);
  }
  [[nodiscard]] std::string variant() const override { return kWays[static_cast<std::size_t>(way_)]; }

  void settle(const CollectiveCall& call) override {
    std::array<double, kWays.size()> least_us;
    for (std::size_t i = 0; i < kWays.size(); ++i) {
      way_ = static_cast<Way>(i);
      least_us[i] = 1e30;
      for (int trial = 0; trial < kTrials; ++trial) {
        barrier();
        const double start = nowUs();
        run(call);
        least_us[i] = std::min(least_us[i], nowUs() - start);
      }
    }
    goss_.combine(least_us.data(), least_us.size(), GOSS_MAX);
    way_ = static_cast<Way>(std::min_element(least_us.begin(), least_us.end()) - least_us.begin());
  }

  void run(const CollectiveCall& call) override {
    if (call.collective == Collective::barrier) return barrier();
    if (call.collective != Collective::allReduce) notCompared();
    switch (call.dtype) {
      case GOSS_INT8:
        return allReduce<std::int8_t>(call);
      case GOSS_UINT8:
        return allReduce<std::uint8_t>(call);
      case GOSS_INT32:
        return allReduce<std::int32_t>(call);
      case GOSS_INT64:
        return allReduce<std::int64_t>(call);
      case GOSS_UINT64:
        return allReduce<std::uint64_t>(call);
      case GOSS_FLOAT16:
        return allReduce<gloo::float16>(call);
      case GOSS_FLOAT32:
        return allReduce<float>(call);
      case GOSS_FLOAT64:
        return allReduce<double>(call);
      default:
        throw std::runtime_error("Gloo has no such element type; compare with float32, float64, float16 or integers");
    }
  }

  void barrier() override {
    gloo::BarrierOptions options(context_);
    gloo::barrier(options);
  }
  void begin(const CollectiveCall&) override { notCompared(); }
  bool test() override { notCompared(); }
  void wait() override { notCompared(); }
  void prepare(const CollectiveCall&) override { notCompared(); }
  void start() override { notCompared(); }
  void release() override { notCompared(); }
  void send(const void*, std::size_t, int) override { notCompared(); }
  void recv(void*, std::size_t, int) override { notCompared(); }
  void startSend(const void*, std::size_t, int) override { notCompared(); }
  void startRecv(void*, std::size_t, int) override { notCompared(); }
  void waitAll() override { notCompared(); }

 private:
  [[noreturn]] static void notCompared() {
    throw std::runtime_error("the comparison with Gloo is for blocking allreduce; use --compare mpi for the others");
  }

  template <typename T>
  static gloo::AllreduceOptions::Func function(goss_op op) {
    void (*chosen)(void*, const void*, const void*, std::size_t) = nullptr;
    if (op == GOSS_SUM) chosen = &gloo::sum<T>;
    if (op == GOSS_PROD) chosen = &gloo::product<T>;
    if (op == GOSS_MIN) chosen = &gloo::min<T>;
    if (op == GOSS_MAX) chosen = &gloo::max<T>;
    if (chosen == nullptr) throw std::runtime_error("Gloo has no such reduction; compare with sum, prod, min or max");
    return chosen;
  }

  template <typename T>
  void allReduce(const CollectiveCall& call) {
    if (way_ == Way::halvingDoubling && call.op == GOSS_SUM) return halvingDoubling<T>(call);
    gloo::AllreduceOptions options(context_);
    options.setAlgorithm(way_ == Way::bcube ? gloo::AllreduceOptions::Algorithm::BCUBE
                                            : gloo::AllreduceOptions::Algorithm::RING);
    options.setInput(static_cast<T*>(const_cast<void*>(call.send)), call.count); // Only read.
    options.setOutput(static_cast<T*>(call.recv), call.count);
    options.setReduceFunction(function<T>(call.op));
    gloo::allreduce(options);
  }

  /// Gloo's older interface: an algorithm is prepared once for a buffer, and works in place.
  template <typename T>
  void halvingDoubling(const CollectiveCall& call) {
    if (call.recv != prepared_for_ || call.count != prepared_count_) {
      prepared_ = std::make_unique<gloo::AllreduceHalvingDoubling<T>>(
          context_, std::vector<T*>{static_cast<T*>(call.recv)}, static_cast<int>(call.count));
      prepared_for_ = call.recv;
      prepared_count_ = call.count;
    }
    std::memcpy(call.recv, call.send, call.count * sizeof(T));
    prepared_->run();
  }

  GossEngine& goss_;
  std::shared_ptr<gloo::rendezvous::Context> context_;
  Way way_ = Way::ring;
  std::unique_ptr<gloo::Algorithm> prepared_; ///< Prepared for one buffer and count.
  const void* prepared_for_ = nullptr;
  std::size_t prepared_count_ = 0;
};

} // namespace

std::unique_ptr<Engine> makeGlooEngine(GossEngine& goss) { return std::make_unique<GlooEngine>(goss); }

} // namespace goss::bench
