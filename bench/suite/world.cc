#include "bench/suite/world.h"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <exception>
#include <functional>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bench/suite/common_start.h"
#include "bench/suite/families.h"
#include "bench/suite/gloo_engine.h"
#include "bench/suite/mpi_engine.h"
#include "bench/suite/runner.h"

namespace goss::bench {

namespace {

goss_config makeConfig(const Options& options) {
  goss_config config;
  check(goss_config_init(&config), "goss_config_init");
  if (!options.transport.empty()) {
    config.transport = options.transport.c_str();
  } else if (options.threads > 0) {
    config.transport = "loopback";
  }
  return config;
}

/// Makes the other library's engine for a comparison, over the same ranks; null without one.
using PeerMaker = std::function<std::unique_ptr<Engine>(GossEngine&)>;

/// With a codec, a maker of the uncompressed engine to compare with; null without.
PeerMaker uncompressedMaker(const Options& options) {
  if (options.codec.empty()) return nullptr;
  return [](GossEngine& engine) { return engine.uncompressed(); };
}

/// Runs the benchmarks on this rank until one finds wrong elements. Returns the exit status. Throws
/// std::invalid_argument when no benchmark can run with its options.
int runBenchmarks(const std::vector<Options>& runs, GossEngine& engine, Engine* peer) {
  Report report(engine.rank() == 0, runs.front().files);
  std::optional<CommonStart> together;
  if (runs.front().together) together.emplace(engine);
  std::size_t left_out = 0;
  for (const Options& options : runs) {
    Rank rank{engine, peer, options, report};
    if (together) rank.together = &*together;
    try {
      runBenchmark(rank);
    } catch (const std::invalid_argument& error) {
      if (++left_out == runs.size()) throw;
      report.comment(fmt::format("{} of {} is left out: {}", options.benchmark, options.dtype, error.what()));
    }
    if (rank.failed) {
      if (engine.rank() == 0)
        fmt::print(stderr, "DATA VALIDATION ERROR: goss-bench {} found wrong elements; see the column Validation.\n",
                   options.benchmark);
      return 1;
    }
  }
  report.finish();
  return 0;
}

/// Runs one rank from creation to the end. Returns the exit status.
int runRank(const std::vector<Options>& runs, goss_comm_t comm, const PeerMaker& make_peer) {
  GossEngine engine(comm, runs.front().algorithm, runs.front().codec);
  try {
    const std::unique_ptr<Engine> peer = make_peer ? make_peer(engine) : nullptr;
    return runBenchmarks(runs, engine, peer.get());
  } catch (const std::invalid_argument& error) { // all ranks have the same options, and so the same error
    if (engine.rank() == 0) {
      fmt::print(stderr, "goss-bench: {}\n", error.what());
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "goss-bench: rank {}: {}\n", engine.rank(), error.what());
    engine.abort("goss-bench failed on another rank");
  }
  return 1;
}

int onThreads(const Options& options, const std::function<int(goss_comm_t)>& run) {
  goss_unique_id id;
  check(goss_unique_id_create(&id), "goss_unique_id_create");
  std::atomic<int> status{0};
  const auto body = [&](int thread) {
    try {
      goss_config config = makeConfig(options);
      config.rank = thread;
      config.ranks = options.threads;
      config.unique_id = &id;
      goss_comm_t comm = nullptr;
      check(goss_comm_create(&config, &comm), "goss_comm_create");
      status |= run(comm);
    } catch (const std::exception& error) {
      fmt::print(stderr, "goss-bench: rank {}: {}\n", thread, error.what());
      status = 1;
    }
  };
  std::vector<std::thread> threads;
  for (int thread = 0; thread < options.threads; ++thread) {
    threads.emplace_back(body, thread);
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  return status;
}

int runMpiComparison(const std::vector<Options>& runs) {
  const MpiSession session;
  int status = 1;
  try {
    const goss_config config = makeConfig(runs.front());
    status = runRank(runs, session.createComm(config), [&](GossEngine&) { return session.makeEngine(); });
  } catch (const std::exception& error) {
    fmt::print(stderr, "goss-bench: {}\n", error.what());
  }
  if (status != 0) {
    session.abort();
  }
  return status;
}

} // namespace

int onEveryRank(const Options& options, const std::function<int(goss_comm_t)>& body) {
  if (options.threads > 0) return onThreads(options, body);
  const goss_config config = makeConfig(options);
  goss_comm_t comm = nullptr;
  check(goss_comm_create(&config, &comm), "goss_comm_create");
  return body(comm);
}

int runWorld(const std::vector<Options>& runs) {
  const Options& options = runs.front();
  try {
    if (!options.codec.empty() && (!options.compare.empty() || options.validate)) {
      throw std::invalid_argument(
          "--codec is compared with the same calls uncompressed, and its results are not exact; "
          "leave out --compare and -c");
    }
    if (!options.compare.empty() && !options.device.empty()) {
      throw std::invalid_argument("--compare is about memory of the host; leave out --device");
    }
    if (!options.device.empty())
      ::setenv("GOSS_DEVICE", options.device.c_str(), 1); // This program has no other thread.
    if (!options.compare.empty() && options.threads > 0) {
      throw std::invalid_argument(
          "--compare needs ranks that are processes; start it with mpirun instead of --threads");
    }
    if (options.compare == "mpi") return runMpiComparison(runs);
    const PeerMaker peer = options.compare == "gloo" ? PeerMaker(makeGlooEngine) : uncompressedMaker(options);
    return onEveryRank(options, [&](goss_comm_t comm) { return runRank(runs, comm, peer); });
  } catch (const std::exception& error) {
    fmt::print(stderr, "goss-bench: {}\n", error.what());
    return 1;
  }
}

} // namespace goss::bench
