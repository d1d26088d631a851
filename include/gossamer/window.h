/// Gossamer's windows (C99): ranks read and change each other's memory without a call there, and average in pairs.
///
/// The conventions of gossamer.h hold. A **window** is memory of each rank of a communicator, as many elements of one
/// dtype on all. A rank, the *origin*, accesses the memory of a *target*, which is another rank or itself. The target's
/// library performs the access: inside any call that a thread of the target is in, or else in the target's progress
/// thread. Therefore the progress thread runs while a window is open, and blocking calls take some microseconds longer.
///
/// Order. A target performs the accesses of one origin in the order of the origin's calls. Accesses of different
/// origins have no order, but each element is accessed atomically: concurrent accumulates lose no update, and a get
/// reads no half-written element. A put or an accumulate as a whole is not atomic; use goss_window_lock for that.
///
/// The owner. A rank may read and write its own part directly while no other rank can change it: while it holds its own
/// lock, if all origins take that lock, or between two barriers that follow flushes. At other times it must use
/// goss_window_get, put and accumulate with itself as the target.
///
/// Errors. Besides those of each call: GOSS_ERR_INVALID_ARGUMENT for a rank, range or type that the window does not
/// have (nothing is sent); GOSS_ERR_UNSUPPORTED for device memory and options other than `timeout_ms`;
/// GOSS_ERR_TIMEOUT, which names the target, at the deadline: the target may have performed all, a part or nothing of
/// the access, and the communicator stays usable; GOSS_ERR_PEER_LOST when a rank is lost, which fails the communicator,
/// or when the target has destroyed its communicator, which fails only this call. Any thread may call.
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

/// Collective, blocking: waits until the accesses of all ranks are complete, frees the window and sets *window to NULL.
/// Errors: GOSS_ERR_INVALID_ARGUMENT while this rank holds a lock or has a pending request; then the window stays. Any
/// other error frees the window, too.
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

/// Reads `count` elements of the target, as they are at one moment, but for puts that are on their way. The target
/// copies them for that: this rank asks a target for at most 64 MiB at a time, or for one get, and sends its later
/// calls to that target as the elements come.
GOSS_API goss_status goss_window_get(goss_window_t window, void* data, size_t count, int32_t target, size_t offset,
                                     const goss_options* options, goss_request_t* request);

/// Blocks until the target has done all that this rank has asked of it.
GOSS_API goss_status goss_window_flush(goss_window_t window, int32_t target, const goss_options* options);

/// How many puts, accumulates and pair averages of `origin` are done in this rank's part: what BlueFog calls a window's
/// version (Ying et al., "BlueFog", 2021). Never falls. Local, never blocks.
GOSS_API goss_status goss_window_version(goss_window_t window, int32_t origin, uint64_t* version);

/// Blocks until this rank holds the target's lock. One rank holds it at a time, in the order of the calls' arrival at
/// the target. The lock excludes only ranks that take it, too. Errors: GOSS_ERR_INVALID_ARGUMENT if this rank holds the
/// lock, or another of its threads waits for it. If the holder is lost, the communicator fails; if it destroys its
/// communicator, the lock is released.
GOSS_API goss_status goss_window_lock(goss_window_t window, int32_t target, const goss_options* options);

/// Releases the lock, without blocking. The next holder sees all accesses that this rank started before. Errors:
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
/// Decentralized Deep Learning", NeurIPS 2023). The operation is complete when this rank's part is changed; the
/// partner's part is changed when goss_window_flush returns, if not before. The order of averages depends on timing, so
/// that results may have different bits from run to run. Errors: GOSS_ERR_INVALID_ARGUMENT also for this rank itself,
/// and GOSS_ERR_UNSUPPORTED for other dtypes.
GOSS_API goss_status goss_pair_average(goss_window_t window, int32_t partner, size_t count, size_t offset,
                                       const goss_shadow* shadow, const goss_options* options, goss_request_t* request);

#ifdef __cplusplus
}
#endif

#endif // GOSSAMER_WINDOW_H_
