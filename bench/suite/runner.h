/// The measuring loops and the statistics over ranks and rounds, shared by all benchmarks.
#ifndef GOSS_BENCH_SUITE_RUNNER_H_
#define GOSS_BENCH_SUITE_RUNNER_H_

#include <cstdlib>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "bench/suite/clock.h"
#include "bench/suite/goss_engine.h"
#include "bench/suite/options.h"
#include "bench/suite/report.h"

namespace goss::bench {

class CommonStart;

/// One rank of a running benchmark. `peer` is null without --compare and --codec, `together` without --together.
struct Rank {
  GossEngine& goss;
  Engine* peer;
  const Options& options;
  Report& report;
  bool failed = false; ///< Validation has found wrong elements.
  CommonStart* together = nullptr;
  bool warm = false; ///< Both sides have run for a while.
};

/// Iterations of one size.
struct Repeats {
  int iterations;
  int warmup;
};

/// OSU's defaults for one kind of benchmark: up to 8192 bytes, and above.
struct RepeatDefaults {
  Repeats small;
  Repeats large;
};
inline constexpr RepeatDefaults kCollectiveRepeats = {{1000, 100}, {100, 10}};
inline constexpr RepeatDefaults kLatencyRepeats = {{10000, 100}, {1000, 10}};
inline constexpr RepeatDefaults kBandwidthRepeats = {{100, 10}, {20, 2}};

/// The measured operation, run once, by Gossamer's or the peer's engine.
using Once = std::function<void(Engine&)>;

/// Takes the options' numbers, else the defaults, cut to the time limit by timing `once` (collective: the slowest rank
/// decides). Before the first short size both sides run it for a while.
Repeats repeatsFor(Rank& rank, std::size_t bytes, const RepeatDefaults& defaults, const Once& once);

/// OSU's collective loop: times each call alone, with a barrier, not timed, after it. With --together each is timed
/// from a moment that the ranks have agreed on instead. Returns this rank's mean in us; `each`, unless null, gets the
/// time of every timed call.
double meanUs(Rank& rank, Engine& engine, const Repeats& repeats, const std::function<void()>& operation,
              std::vector<double>* each = nullptr);

/// The time of a call while others are in flight: each is started before the one calls.size() - 1 earlier has been
/// waited for, with `calls` in turn, and nothing is computed in between. The time counts from the end of the last
/// untimed call to that of the last timed one, per timed call; at both moments as many calls are in flight, unless
/// there is no untimed call: then the time to fill the pipeline counts too. Returns this rank's figure in us.
double steadyUs(Engine& engine, const Repeats& repeats, std::span<const CollectiveCall> calls);

struct Statistics {
  double mean = 0;
  double min = 0;
  double max = 0;
};

/// Collective: statistics of a rank's figure over all ranks.
Statistics overRanks(GossEngine& engine, double value);

double median(std::vector<double> values);

/// Gossamer's figures and, in a comparison, the peer's.
struct Sample {
  Statistics ours;
  double peer = 0;
  std::vector<double> each; ///< With -z: the time of every call of ours, the mean over ranks.
};

/// Returns this rank's figure. With -z and for Gossamer's engine, adds the time of every call to `each`; else it is
/// null.
using Measure = std::function<double(Engine& engine, std::vector<double>* each)>;

/// Calls `measure` for Gossamer's engine; in a comparison alternately for both, --rounds times, and takes the medians.
Sample sample(Rank& rank, const Measure& measure);

/// The smallest value that at least `percent` % of the values do not exceed. `ascending` is not empty.
double percentile(const std::vector<double>& ascending, int percent);

/// With -z, appends OSU's columns of percentiles of `figures`, one a call: "Lat(us)", or "BW(MB/s)" with `bandwidth`.
void addTails(const Rank& rank, std::vector<double> figures, bool bandwidth, std::vector<Field>& fields);

/// A 4 KiB-aligned, zeroed (so touched) block, at least one byte, of the kind that --memory names. Both sides of a
/// comparison use the same.
using Memory = std::unique_ptr<unsigned char, std::function<void(unsigned char*)>>;
Memory allocate(Rank& rank, std::size_t bytes);

/// Appends the peer's figure as column "MPI <unit>" and JSON key "peer_<key>", and the ratio, in a comparison. A ratio
/// above 1 means that Gossamer is better.
struct PeerFigure {
  const char* unit;
  const char* key;
  double value;
  double ratio;
};
void addPeer(const Rank& rank, std::vector<Field>& fields, const PeerFigure& figure);

/// Adds up wrong elements over ranks, appends the Validation column with -c, and remembers a failure.
void addValidation(Rank& rank, std::vector<Field>& fields, std::uint64_t wrong);
/// Collective: the sum over ranks.
std::uint64_t totalWrong(Rank& rank, std::size_t wrong);

} // namespace goss::bench

#endif // GOSS_BENCH_SUITE_RUNNER_H_
