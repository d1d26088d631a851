// One rank of the fault tests of synchronizers: trains with several of them at once, each in a thread with
// communicators of its own, until a rank is lost, and then goes on without that rank.
//
// Lines on standard output: "steps N N ..." every 50 ms, the number of steps that each method has made; behind a
// failure, for each method, "failed SPEC: TEXT", and "went on SPEC" or "wrong SPEC: TEXT"; "end" as the last line.
// Arguments: words, each a spec, which survivors use, too, or SPEC>SPEC: another one for the survivors. A spec that
// begins with '+' is of a method whose ranks wait for nobody.
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "gossamer/sync.h"

namespace {

using std::chrono::milliseconds;

constexpr std::size_t kElements = 256;
constexpr int kCheckedEvery = 8;      ///< Steps between two looks at the mean of all ranks.
constexpr std::size_t kSavedMost = 4; ///< Survivors are no more than a step or two apart.
constexpr int kStepsAfter = 60;
constexpr std::chrono::seconds kLongest(30); ///< After the methods that wait have failed, for the others to fail.

void say(const std::string& line) {
  static std::mutex mutex;
  const std::scoped_lock lock(mutex);
  std::printf("%s\n", line.c_str());
  std::fflush(stdout);
}

/// What a rank can go on from.
struct Saved {
  std::int64_t step = 0;
  std::string state;
  std::vector<float> x;
};

/// A method in training.
struct Method {
  std::string spec, spec_after;
  bool waits = true; ///< Its ranks make the same steps, and keep their mean in each.
  goss_comm_t comm = nullptr;
  /// train() makes it and keeps it, for others must not hear that it is destroyed before they hear of the loss.
  goss_sync_t sync = nullptr;
  std::atomic<int> steps = 0;
  std::vector<float> x = std::vector<float>(kElements);
  std::deque<Saved> saved;
};

bool isRight(goss_status status, const Method& method, const char* where) {
  if (status != GOSS_SUCCESS) say("wrong " + method.spec + ": " + where + ": " + goss_last_error());
  return status == GOSS_SUCCESS;
}

/// The mean of the ranks' vectors, in float64. Empty: the communicator has failed.
std::vector<double> meanOf(goss_comm_t comm, const std::vector<float>& x) {
  std::vector<double> mean(x.begin(), x.end());
  const goss_status status =
      goss_all_reduce(comm, mean.data(), mean.data(), mean.size(), GOSS_FLOAT64, GOSS_AVG, nullptr, nullptr);
  return status == GOSS_SUCCESS ? mean : std::vector<double>();
}

double farthest(const std::vector<double>& a, const std::vector<double>& b) {
  double most = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    most = std::max(most, std::abs(a[i] - b[i]));
  return most;
}

goss_status begin(Method& method, const std::string& spec, goss_comm_t comm, goss_sync_t* sync) {
  goss_status status = goss_sync_create(comm, spec.c_str(), sync);
  goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
  tensor.name = "x";
  tensor.parameter = method.x.data();
  tensor.count = method.x.size();
  return status == GOSS_SUCCESS ? goss_sync_register(*sync, &tensor, nullptr) : status;
}

/// Gives each rank a vector of its own, of which the mean moves by 0.
void spread(goss_comm_t comm, std::vector<float>& x) {
  std::int32_t rank = 0, size = 1;
  (void)goss_comm_rank(comm, &rank);
  (void)goss_comm_size(comm, &size);
  for (std::size_t i = 0; i < x.size(); ++i)
    x[i] += (static_cast<float>(rank) - static_cast<float>(size - 1) / 2) * (1 + static_cast<float>(i) / 64);
}

/// False: the communicator has failed.
bool save(Method& method, goss_sync_t sync) {
  void* bytes = nullptr;
  std::size_t count = 0;
  if (goss_sync_export(sync, &bytes, &count) != GOSS_SUCCESS) return false;
  method.saved.push_back({method.steps, std::string(static_cast<const char*>(bytes), count), method.x});
  goss_free(bytes);
  if (method.saved.size() > kSavedMost) method.saved.pop_front();
  return true;
}

/// Steps until one fails, as all must behind a loss: 30 s behind the failure of the `waiting` methods at the latest.
void trainUntilFailure(Method& method, const std::atomic<int>& waiting) {
  if (!isRight(begin(method, method.spec, method.comm, &method.sync), method, "create") ||
      !isRight(goss_sync_start(method.sync), method, "start"))
    return;
  goss_sync_t sync = method.sync;
  spread(method.comm, method.x);
  const std::vector<double> mean = meanOf(method.comm, method.x);
  bool is_failed = false;
  std::optional<std::chrono::steady_clock::time_point> end;
  while (!end || std::chrono::steady_clock::now() < *end) {
    if (!end && waiting == 0) end = std::chrono::steady_clock::now() + kLongest;
    if (goss_sync_gradients(sync) != GOSS_SUCCESS || goss_sync_step(sync) != GOSS_SUCCESS) {
      is_failed = true;
      break;
    }
    ++method.steps;
    // A save of the others would wait for what they have started with a rank that is stopped.
    if ((method.waits || method.steps == 1) && !save(method, sync)) is_failed = true;
    if (method.waits && method.steps % kCheckedEvery == 0) {
      const std::vector<double> now = meanOf(method.comm, method.x);
      is_failed = is_failed || now.empty();
      if (!now.empty() && farthest(now, mean) > 1e-5) say("wrong " + method.spec + ": the mean has moved");
    }
    if (is_failed) break;
    std::this_thread::sleep_for(milliseconds(2));
  }
  say(is_failed ? "failed " + method.spec + ": " + goss_last_error()
                : "wrong " + method.spec + ": its steps go on without the lost rank");
}

void train(Method& method, std::atomic<int>& waiting) {
  trainUntilFailure(method, waiting);
  waiting -= method.waits ? 1 : 0;
}

/// The states of all ranks, from the latest step that all of them have saved, which method.x then is of.
std::vector<std::string> statesOfAll(Method& method, goss_comm_t rest) {
  std::int64_t step = method.saved.back().step;
  if (method.waits) (void)goss_all_reduce(rest, &step, &step, 1, GOSS_INT64, GOSS_MIN, nullptr, nullptr);
  std::string own;
  for (const Saved& saved : method.saved) {
    if (saved.step != step) continue;
    own = saved.state;
    method.x = saved.x;
  }
  std::uint64_t most = own.size();
  std::int32_t size = 1;
  (void)goss_comm_size(rest, &size);
  (void)goss_all_reduce(rest, &most, &most, 1, GOSS_UINT64, GOSS_MAX, nullptr, nullptr);
  std::vector<std::uint64_t> sizes(static_cast<std::size_t>(size));
  const std::uint64_t mine = own.size();
  (void)goss_all_gather(rest, &mine, sizes.data(), 1, GOSS_UINT64, nullptr, nullptr);
  own.resize(most);
  std::string all(most * sizes.size(), '\0');
  (void)goss_all_gather(rest, own.data(), all.data(), most, GOSS_UINT8, nullptr, nullptr);
  std::vector<std::string> states;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    states.push_back(all.substr(i * most, sizes[i]));
  return states;
}

/// The ranks that are left go on from their mean; their replicas must agree again, or they would not all come to it.
void goOn(Method& method) {
  goss_comm_t rest = nullptr;
  if (method.saved.empty() || !isRight(goss_comm_shrink(method.comm, nullptr, &rest), method, "shrink")) return;
  const std::vector<std::string> states = statesOfAll(method, rest);
  std::vector<double> mean = meanOf(rest, method.x);
  if (mean.empty()) return say("wrong " + method.spec + ": " + goss_last_error());
  method.x.assign(mean.begin(), mean.end());
  std::vector<const void*> bytes;
  std::vector<std::size_t> counts;
  for (const std::string& state : states) {
    bytes.push_back(state.data());
    counts.push_back(state.size());
  }
  goss_sync_t sync = nullptr;
  if (!isRight(begin(method, method.spec_after, rest, &sync), method, "create") ||
      !isRight(goss_sync_import_all(sync, bytes.data(), counts.data(), bytes.size(), nullptr), method, "import") ||
      !isRight(goss_sync_start(sync), method, "start"))
    return;
  // Others may have averaged with a rank since it last looked: then the state holds more than the parameters.
  if (!method.waits && !isRight(goss_sync_finish(sync), method, "finish")) return;
  spread(rest, method.x);
  mean = meanOf(rest, method.x);
  goss_status status = GOSS_SUCCESS;
  for (int step = 0; step < kStepsAfter && status == GOSS_SUCCESS; ++step) {
    status = goss_sync_gradients(sync);
    if (status == GOSS_SUCCESS) status = goss_sync_step(sync);
  }
  if (status == GOSS_SUCCESS && !method.waits) status = goss_sync_finish(sync);
  if (!isRight(status, method, "step")) return;
  const bool is_mean = method.spec.find("heloco") == std::string::npos; // rank 0's model moves by all differences
  if (is_mean && farthest(meanOf(rest, method.x), mean) > 1e-5) say("wrong " + method.spec + ": the mean has moved");
  if (is_mean && farthest({method.x.begin(), method.x.end()}, mean) > 1e-3)
    say("wrong " + method.spec + ": a rank is not at the mean");
  say("went on " + method.spec);
  (void)goss_barrier(rest, nullptr, nullptr); // No rank leaves while another is in a step.
  goss_sync_destroy(sync);
  goss_comm_destroy(rest);
}

} // namespace

int main(int argc, char** argv) {
  goss_comm_t world = nullptr;
  if (goss_comm_create(nullptr, &world) != GOSS_SUCCESS) {
    say(std::string("wrong: ") + goss_last_error());
    return 2;
  }
  std::vector<std::unique_ptr<Method>> methods;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    const std::size_t from = word[0] == '+' ? 1 : 0, arrow = word.find('>');
    auto method = std::make_unique<Method>();
    method->waits = from == 0;
    method->spec = word.substr(from, arrow == std::string::npos ? arrow : arrow - from);
    method->spec_after = arrow == std::string::npos ? method->spec : word.substr(arrow + 1);
    if (!isRight(goss_comm_dup(world, &method->comm), *method, "dup")) return 2;
    methods.push_back(std::move(method));
  }
  std::vector<std::thread> threads;
  std::atomic<int> waiting = 0;
  for (const auto& method : methods)
    waiting += method->waits ? 1 : 0;
  std::atomic<std::size_t> left = methods.size();
  for (const auto& method : methods) {
    threads.emplace_back([&left, &waiting, one = method.get()] {
      train(*one, waiting);
      goOn(*one);
      --left;
    });
  }
  while (left > 0) {
    std::string line = "steps";
    for (const auto& method : methods)
      line += " " + std::to_string(method->steps);
    say(line);
    std::this_thread::sleep_for(milliseconds(50));
  }
  for (std::thread& thread : threads)
    thread.join();
  say("end");
  for (const auto& method : methods) {
    goss_sync_destroy(method->sync);
    goss_comm_destroy(method->comm);
  }
  goss_comm_destroy(world);
  return 0;
}
