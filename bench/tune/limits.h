/// The machine's own limits, to which performance tables are compared.
#ifndef GOSS_BENCH_TUNE_LIMITS_H_
#define GOSS_BENCH_TUNE_LIMITS_H_

#include <cstddef>

namespace goss::bench {

/// GB/s of one operand's bytes on one core, over buffers of `bytes`.
double reduceRate(std::size_t bytes);
double copyRate(std::size_t bytes);

/// Microseconds in which two threads, each with a result of its own, add the same two vectors of `bytes`.
double twoCoreSumUs(std::size_t bytes);

/// Microseconds in which two processes exchange `bytes` both ways over one loopback TCP connection, doing nothing else.
/// Forks: no thread may run. Throws std::runtime_error.
double loopbackExchangeUs(std::size_t bytes);

} // namespace goss::bench

#endif // GOSS_BENCH_TUNE_LIMITS_H_
