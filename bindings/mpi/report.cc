#include "bindings/mpi/report.h"

#include <mpi.h>

#include <cstdio>
#include <map>
#include <mutex>

#include "bindings/mpi/settings.h"

namespace goss::interposer {

namespace {

struct Line {
  std::uint64_t calls = 0;
  std::uint64_t bytes = 0;
  double seconds = 0;
};

struct Lines {
  std::mutex mutex;
  std::map<std::pair<std::string, std::string>, Line> all; ///< By function and reason.
};

Lines& lines() {
  static Lines& only = *new Lines;
  return only;
}

} // namespace

Clock::time_point reportedTime() { return settings().report ? Clock::now() : Clock::time_point{}; }

void record(const char* function, const std::string& reason, std::uint64_t bytes, Clock::time_point start) {
  if (!settings().report) return;
  const std::chrono::duration<double> took = Clock::now() - start;
  const std::lock_guard lock(lines().mutex);
  Line& line = lines().all[{function, reason}];
  ++line.calls;
  line.bytes += bytes;
  line.seconds += took.count();
}

void printReport() {
  int rank = 0;
  int ranks = 0;
  PMPI_Comm_rank(MPI_COMM_WORLD, &rank);
  PMPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (!settings().report || rank != 0) return;
  const std::lock_guard lock(lines().mutex);
  Line ours;
  Line theirs;
  for (const auto& [key, line] : lines().all)
    (key.second.empty() ? ours : theirs).calls += line.calls;
  std::fprintf(stderr, "gossamer mpi: rank 0 of %d: %llu collectives by Gossamer, %llu by MPI\n", ranks,
               static_cast<unsigned long long>(ours.calls), static_cast<unsigned long long>(theirs.calls));
  for (const auto& [key, line] : lines().all) {
    const std::string where = key.second.empty() ? "by Gossamer" : "by MPI (" + key.second + ")";
    std::fprintf(stderr, "gossamer mpi: %s %s: %llu calls, %llu bytes, %.6f s\n", key.first.c_str(), where.c_str(),
                 static_cast<unsigned long long>(line.calls), static_cast<unsigned long long>(line.bytes),
                 line.seconds);
  }
}

} // namespace goss::interposer
