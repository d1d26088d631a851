/// GOSS_MPI_REPORT: which calls of this rank Gossamer served and which MPI, and why.
#ifndef GOSS_BINDINGS_MPI_REPORT_H_
#define GOSS_BINDINGS_MPI_REPORT_H_

#include <chrono>
#include <cstdint>
#include <string>

namespace goss::interposer {

using Clock = std::chrono::steady_clock;

/// Returns the time at which a call begins, for record(). Where no report is asked for, reads no clock and returns any
/// time.
Clock::time_point reportedTime();

/// Counts a call that ends now. `reason`: why MPI served it; "": Gossamer did. Costs nothing where no report is asked
/// for.
void record(const char* function, const std::string& reason, std::uint64_t bytes, Clock::time_point start);

/// Writes the report of rank 0 to standard error.
void printReport();

} // namespace goss::interposer

#endif // GOSS_BINDINGS_MPI_REPORT_H_
