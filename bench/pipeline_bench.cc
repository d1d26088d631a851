// goss-pipeline-bench: the bubbles of pipeline schedules, measured on real ranks whose stages sleep for equal times,
// beside the simulator's. Start it with 'mpirun -np P goss-pipeline-bench'.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "gossamer/pipeline.h"
#include "tools/commandline/command_line.h"

namespace {

using Clock = std::chrono::steady_clock;

struct Arguments {
  std::vector<std::string> schedules = {"gpipe", "1f1b", "zb-h1"};
  int micro_batches = 8;
  double unit_ms = 20;
  int repetitions = 3;
  std::size_t boundary_bytes = 65536;
  double tolerance = 0; // 0: print only
};

void check(goss_status status) {
  if (status != GOSS_SUCCESS) throw std::runtime_error(goss_last_error());
}

/// What one rank measured in one run.
struct Measurement {
  Clock::time_point first;
  Clock::time_point last;
  double busy_s = 0;
  bool has_begun = false;
};

struct Sleeper {
  double unit_s = 0; // duration of F, I or W of all stages of a rank
  Measurement seen;

  static std::int32_t run(void* context, const goss_pipeline_action* action, const void*, void*) {
    auto& self = *static_cast<Sleeper*>(context);
    if (action->kind == GOSS_PIPELINE_REDUCE || action->kind == GOSS_PIPELINE_STEP) return 0;
    const Clock::time_point start = Clock::now();
    const double units = action->kind == GOSS_PIPELINE_BACKWARD ? 2 : 1;
    std::this_thread::sleep_until(
        start + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(units * self.unit_s)));
    const Clock::time_point end = Clock::now();
    if (!self.seen.has_begun) self.seen.first = start;
    self.seen.has_begun = true;
    self.seen.last = end;
    self.seen.busy_s += std::chrono::duration<double>(end - start).count();
    return 0;
  }
};

struct Contestant {
  std::string name;
  goss_pipeline_t pipeline = nullptr;
  double unit_s = 0;
  double expected_s = 0;
  std::vector<double> measured_s;

  [[nodiscard]] double median() const {
    std::vector<double> sorted = measured_s;
    std::sort(sorted.begin(), sorted.end());
    return sorted[sorted.size() / 2];
  }
};

Contestant makeContestant(const std::string& name, const Arguments& arguments, int ranks) {
  Contestant made;
  made.name = name;
  const std::size_t slash = name.find('/');
  const std::string schedule = name.substr(0, slash);
  goss_pipeline_request request = GOSS_PIPELINE_REQUEST_INIT;
  request.name = schedule.c_str();
  request.ranks = ranks;
  request.batches = slash == std::string::npos ? 1 : std::max(1, std::atoi(name.c_str() + slash + 1));
  request.micro_batches = arguments.micro_batches / request.batches;
  check(goss_pipeline_generate(&request, &made.pipeline));
  std::int32_t stages = 0;
  check(goss_pipeline_size(made.pipeline, nullptr, &stages, nullptr));
  made.unit_s = arguments.unit_ms * 1e-3 * ranks / stages;
  goss_pipeline_costs costs = GOSS_PIPELINE_COSTS_INIT;
  costs.forward_s = costs.backward_input_s = costs.backward_weight_s = made.unit_s;
  char* text = nullptr;
  check(goss_pipeline_simulate(made.pipeline, &costs, &text));
  const std::unique_ptr<char, void (*)(void*)> owner(text, goss_free);
  made.expected_s = nlohmann::json::parse(text)["bubble_s"];
  return made;
}

/// Collective: the largest idle time of a rank between its first and its last computation.
double measure(const Contestant& contestant, const Arguments& arguments, goss_comm_t comm) {
  Sleeper sleeper;
  sleeper.unit_s = contestant.unit_s;
  const goss_pipeline_work work{
      sizeof(goss_pipeline_work), arguments.boundary_bytes, &sleeper, &Sleeper::run, nullptr, nullptr};
  check(goss_barrier(comm, nullptr, nullptr));
  check(goss_pipeline_run(contestant.pipeline, comm, &work));
  const Measurement& seen = sleeper.seen;
  double bubble_s = std::chrono::duration<double>(seen.last - seen.first).count() - seen.busy_s;
  check(goss_all_reduce(comm, &bubble_s, &bubble_s, 1, GOSS_FLOAT64, GOSS_MAX, nullptr, nullptr));
  return bubble_s;
}

/// Prints the table; false when a bubble differs from the simulated one by more than the tolerance, or a schedule does
/// not have a smaller one than those before it that should have a larger.
bool report(const std::vector<Contestant>& contestants, const Arguments& arguments) {
  bool is_fine = true;
  fmt::print("{:<12} {:>14} {:>14} {:>8}\n", "schedule", "simulated (ms)", "measured (ms)", "off");
  for (const Contestant& contestant : contestants) {
    const double measured = contestant.median();
    const double off = contestant.expected_s > 0 ? measured / contestant.expected_s - 1 : 0;
    is_fine = is_fine && std::abs(off) <= arguments.tolerance;
    fmt::print("{:<12} {:>14.2f} {:>14.2f} {:>7.1f}%\n", contestant.name, contestant.expected_s * 1e3, measured * 1e3,
               off * 100);
    for (const Contestant& other : contestants) {
      if (contestant.expected_s < other.expected_s * 0.99) is_fine = is_fine && measured < other.median();
    }
  }
  return is_fine || arguments.tolerance == 0;
}

int bench(const Arguments& arguments) {
  goss_comm_t comm = nullptr;
  check(goss_comm_create(nullptr, &comm));
  std::int32_t rank = 0;
  std::int32_t ranks = 1;
  check(goss_comm_rank(comm, &rank));
  check(goss_comm_size(comm, &ranks));
  std::vector<Contestant> contestants;
  for (const std::string& name : arguments.schedules)
    contestants.push_back(makeContestant(name, arguments, ranks));
  // alternating, so that a disturbance of the machine affects all of them
  for (int i = 0; i < arguments.repetitions; ++i) {
    for (Contestant& contestant : contestants)
      contestant.measured_s.push_back(measure(contestant, arguments, comm));
  }
  bool is_fine = true;
  if (rank == 0) {
    fmt::print("{} ranks, {} micro-batches, F = I = W = {} ms a rank, {} bytes a message, median of {}\n", ranks,
               arguments.micro_batches, arguments.unit_ms, arguments.boundary_bytes, arguments.repetitions);
    is_fine = report(contestants, arguments);
  }
  for (const Contestant& contestant : contestants)
    goss_pipeline_destroy(contestant.pipeline);
  check(goss_barrier(comm, nullptr, nullptr));
  goss_comm_destroy(comm);
  return is_fine ? 0 : 1;
}

} // namespace

int main(int argc, char** argv) {
  Arguments arguments;
  goss::CommandLine line("Measures the bubbles of pipeline schedules with stages that sleep, beside the simulator's.");
  line.showDefaults();
  line.option("--schedules", arguments.schedules,
              "Names that goss-explain pipeline knows; NAME/B: the micro-batches in B batches, with a flush after each")
      .delimiter(',');
  line.option("--micro-batches,-m", arguments.micro_batches, "Micro-batches of a batch");
  line.option("--unit-ms", arguments.unit_ms, "Milliseconds of F, I and W of a rank's layers").range(0.01, 10000.0);
  line.option("--repetitions", arguments.repetitions, "Runs of each schedule").range(1, 1000);
  line.option("--boundary-bytes", arguments.boundary_bytes, "Bytes of a message between stages");
  line.option("--tolerance", arguments.tolerance,
              "Fail when a bubble is off by more than this fraction, or the order is not the simulator's; 0: never");
  if (const auto status = line.parseOrPrint(argc, argv)) return *status;
  try {
    return bench(arguments);
  } catch (const std::exception& error) {
    fmt::print(stderr, "goss-pipeline-bench: {}\n", error.what());
    return 1;
  }
}
