/// Gossamer's windows (C99): ranks read and change each other's memory without a call there, and average in pairs.
///
/// The conventions of gossamer.h hold. A **window** is memory of each rank of a communicator, as many elements of one
/// dtype on all. A rank, the *origin*, works on the memory of another or of itself, the *target*. The target's library
/// does what the origin asks, in whatever call its threads are, or in its progress thread while they are in none; so
/// while a window is open that thread drives the world, and blocking calls of it take some microseconds more.
///
/// Order. What one rank asks of one target is done in the order of its calls. Between origins there is no order, but
/// every element is changed by one at a time: concurrent accumulates lose nothing, and a get reads no half-written
/// element. A put or an accumulate as a whole is not atomic; that is what goss_window_lock is for.
///
/// The owner. A rank reads and writes its own part directly while no other can change it: under its own lock, where
/// origins use that, or between barriers behind flushes. At other times it uses goss_window_get, put and accumulate
/// with itself as the target.
///
/// Errors. Besides those of each call: GOSS_ERR_INVALID_ARGUMENT for a rank, range or type that the window does not
/// have (nothing is sent); GOSS_ERR_UNSUPPORTED for device memory and options other than `timeout_ms`;
/// GOSS_ERR_TIMEOUT, which names the target, at the deadline: of what had been asked some, all or nothing is done, and
/// the communicator goes on; GOSS_ERR_PEER_LOST when a rank is lost, as in all calls of the communicator, and where the
/// target has destroyed its own, at once and of this call alone. Any thread may call.
#ifndef GOSSAMER_WINDOW_H_
#define GOSSAMER_WINDOW_H_

#include "gossamer/gossamer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct goss_window* goss_window_t;

/// As the target of goss_window_flush: all ranks.
#define GOSS_ALL_TARGETS (-1)

/// Collective, blocking: all ranks of `comm` call it, in the same order as all its collectives. `memory` has `count`
/// elements of host memory, is the caller's, and must stay until the window is freed. Windows are freed before the
/// communicator; destroying that frees them, too. At most 65535 windows of a communicator. Errors: GOSS_ERR_MISMATCH on
/// all ranks, naming two, where counts or dtypes differ: there is no window, and the communicator goes on.
GOSS_API goss_status goss_window_create(goss_comm_t comm, void* memory, size_t count, goss_dtype dtype,
                                        const goss_options* options, goss_window_t* window);

/// Collective, blocking: waits until all that any rank has asked is done, frees the window and sets *window to NULL.
/// Errors, and the window stays: GOSS_ERR_INVALID_ARGUMENT while this rank holds a lock or has a request that is not
/// over. After any other error the window is freed all the same.
GOSS_API goss_status goss_window_free(goss_window_t* window);

// ---- Access ----
//
// Local, not collective. `offset` is the first element of the target's part. The caller's buffer is lent until the
// request is complete; `request` NULL: until the call returns, also in a group.

/// Writes `count` elements to the target. Complete when the buffer may be used again; goss_window_flush waits until
/// they are in the target's memory.
GOSS_API goss_status goss_window_put(goss_window_t window, const void* data, size_t count, int32_t target,
                                     size_t offset, const goss_options* options, goss_request_t* request);

/// Target's element = element `op` data's, for every element exactly once. `op` is one that reductions of the dtype
/// take, but not GOSS_AVG or GOSS_PREMUL_SUM. Sums of integers do not depend on the order of origins; those of floats
/// may, in their last bits. Complete as goss_window_put.
GOSS_API goss_status goss_window_accumulate(goss_window_t window, const void* data, size_t count, goss_op op,
                                            int32_t target, size_t offset, const goss_options* options,
                                            goss_request_t* request);

/// Reads `count` elements of the target, as they are at one moment, but for puts that are on their way.
GOSS_API goss_status goss_window_get(goss_window_t window, void* data, size_t count, int32_t target, size_t offset,
                                     const goss_options* options, goss_request_t* request);

/// Blocks until the target has done all that this rank has asked of it.
GOSS_API goss_status goss_window_flush(goss_window_t window, int32_t target, const goss_options* options);

/// How many puts, accumulates and pair averages of `origin` are done in this rank's part: what BlueFog calls a window's
/// version (Ying et al., "BlueFog", 2021). Never falls. Local, never blocks.
GOSS_API goss_status goss_window_version(goss_window_t window, int32_t origin, uint64_t* version);

/// Blocks until this rank has the target's lock, which one rank has at a time, first come, first served. It keeps out
/// other ranks that lock, not those that do not. Errors: GOSS_ERR_INVALID_ARGUMENT if this rank has it, or another
/// thread waits for it. A rank that is lost with the lock fails the communicator; one that destroys its own gives the
/// lock up.
GOSS_API goss_status goss_window_lock(goss_window_t window, int32_t target, const goss_options* options);

/// Gives the lock up, without blocking: whoever has it next sees all that this rank asked before. Errors:
/// GOSS_ERR_INVALID_ARGUMENT if this rank does not have it.
GOSS_API goss_status goss_window_unlock(goss_window_t window, int32_t target);

// ---- Averages of pairs ----

/// A second range, as long as the first. The struct never grows.
typedef struct goss_shadow {
  size_t offset; ///< Its first element, at both ranks.
  double factor; ///< See goss_pair_average; finite.
} goss_shadow;

/// Elements `offset` ... `offset + count - 1` of this rank (x) and of `partner` (y), of a floating type, become their
/// mean: x = x - d, y = y + d with d = (x - y) / 2, which is rounded once. So the sum of both is kept to rounding, also
/// where they are changed by accumulates meanwhile. Averages of a window take place one after the other, as in AD-PSGD
/// (Lian et al., "Asynchronous Decentralized Parallel Stochastic Gradient Descent", ICML 2018), but on every graph: any
/// number of ranks may call at once with any partners, and none waits for one that waits for it. The partner calls
/// nothing. With `shadow` also x' = x' - factor * d and y' = y' + factor * d, in the ranges from shadow->offset on:
/// with factor sqrt(chi1 / chi2) the step of A2CiD2 (Nabli et al., "A2CiD2: Accelerating Asynchronous Communication in
/// Decentralized Deep Learning", NeurIPS 2023). Complete when this rank's part is changed; the partner's is at the
/// latest when goss_window_flush returns. Which average is first depends on time, so results are not the same bits run
/// to run. Errors: GOSS_ERR_INVALID_ARGUMENT also for this rank itself, and GOSS_ERR_UNSUPPORTED for other dtypes.
GOSS_API goss_status goss_pair_average(goss_window_t window, int32_t partner, size_t count, size_t offset,
                                       const goss_shadow* shadow, const goss_options* options, goss_request_t* request);

#ifdef __cplusplus
}
#endif

#endif // GOSSAMER_WINDOW_H_
