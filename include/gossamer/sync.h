/// Synchronizers: keeping the replicas of a model together, by gradients, every few steps, or in the background.
///
/// A synchronizer is made from a spec string such as "ddp", "diloco:h=50" or "streaming:h=48,fragments=4,tau=5".
/// docs/synchronizers.md lists all methods, their parameters and the papers they come from. A framework registers its
/// tensors once and then calls one function for each event of a step; the synchronizer fills buckets, compresses and
/// exchanges them beside the computation, and applies the results:
///
///   goss_sync_create(comm, "diloco:h=50", &sync);
///   for each tensor, in the order of the forward pass: goss_sync_register(sync, &tensor, NULL);
///   goss_sync_start(sync);
///   for each step:
///     goss_sync_set_lr(sync, lr);
///     backward pass; as tensors become final: goss_sync_gradient_ready(sync, i);
///     goss_sync_gradients(sync);  // gradients are now what the optimizer shall see
///     optimizer step, with the framework's own optimizer
///     goss_sync_step(sync);       // parameters may change
///   goss_sync_finish(sync);       // all ranks hold the same parameters
///
/// The same loop serves every method. To accumulate gradients over several backward passes, call
/// goss_sync_gradient_ready in the last one only.
///
/// - **Collective** calls are made by all ranks in the same order. The synchronizer has communicators of its own: its
///   collectives never mix with the caller's.
/// - **Threads.** One thread at a time uses a synchronizer, except for goss_sync_abort.
/// - **Buffers.** Parameters and gradients are lent from goss_sync_register to goss_sync_destroy. The caller must not
///   touch a gradient between its goss_sync_gradient_ready and goss_sync_gradients. The library reads and writes
///   parameters only inside calls. Both may lie in device memory (docs/devices.md). Calls are not ordered in a stream:
///   device memory must be ready at the call, and holds the results when the call returns. Methods compute on the host,
///   on copies in pinned memory: each step copies the tensors that the method reads from the device, and those that it
///   writes back.
/// - **Errors.** As in gossamer.h. After a failed collective call the synchronizer refuses all further work; parameters
///   may then differ between ranks.
/// - **Determinism.** The same calls on the same ranks give the same bits, also after export and import, where as many
///   communicators were made before (gossamer.h, Determinism); with steps=dynamic, given the same step times
///   (goss_sync_step_time). With adpsgd, acid and wait=0 results depend on
///   which rank is first to average, and with heloco on which is first to move the model; goss_sync_finish gives all
///   ranks the same bits. With auto they are a function of the seed and of the step times.
#ifndef GOSSAMER_SYNC_H_
#define GOSSAMER_SYNC_H_

#include "gossamer/gossamer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct goss_sync* goss_sync_t;

/// A tensor of the model. Start from GOSS_SYNC_TENSOR_INIT.
typedef struct goss_sync_tensor {
  size_t size;      ///< sizeof(goss_sync_tensor).
  const char* name; ///< Must match across ranks; copied.
  void* parameter;  ///< `count` elements.
  void* gradient;   ///< `count` elements; may be NULL where the method does not exchange gradients.
  size_t count;     ///< Must match across ranks.
  goss_dtype dtype; ///< GOSS_FLOAT32; others are refused with GOSS_ERR_UNSUPPORTED.
  int32_t layer;    ///< Tensors of a layer stay in one fragment; -1: a layer of its own.
} goss_sync_tensor;

#define GOSS_SYNC_TENSOR_INIT \
  { sizeof(goss_sync_tensor), NULL, NULL, NULL, 0, GOSS_FLOAT32, -1 }

/// Gives `tensor` the values of GOSS_SYNC_TENSOR_INIT. Errors, here and below: GOSS_ERR_INVALID_ARGUMENT.
GOSS_API goss_status goss_sync_tensor_init(goss_sync_tensor* tensor, size_t size);

/// What a synchronizer does. Set `size` before the call.
typedef struct goss_sync_info {
  size_t size;
  const char* spec;       ///< Canonical spec with all parameters; lives as long as the synchronizer.
  int32_t gradients;      ///< 0: gradients stay local; 1: goss_sync_gradients averages them over ranks; 2: it leaves a
                          ///< direction, for plain gradient descent.
  int32_t local_steps;    ///< 1: between exchanges the ranks' parameters differ.
  int32_t gradient_size;  ///< Ranks whose gradients are averaged together (1 where gradients stay local).
  int64_t dynamic_period; ///< With steps=dynamic: h, the steps between two plans (goss_sync_computes). Else 0.
} goss_sync_info;

/// Sets `size` and zeroes the rest.
GOSS_API goss_status goss_sync_info_init(goss_sync_info* info, size_t size);

/// Running totals of one synchronizer on this rank. Set `size` before the call.
typedef struct goss_sync_counters {
  size_t size;
  uint64_t steps;           ///< goss_sync_step calls.
  uint64_t exchanges;       ///< Completed exchanges of a bucket or fragment.
  uint64_t exchanged_bytes; ///< Float32 bytes of the vectors of these exchanges, before compression.
  uint64_t wire_bytes_sent; ///< Payload bytes handed to transports, headers excluded.
  uint64_t wire_bytes_received;
  uint64_t waited_ns; ///< Time that calls spent waiting for exchanges.
  /// Bytes of wire_bytes_sent that goss_sync_create, goss_sync_start and the averaging in goss_sync_finish sent; the
  /// exchanges of the steps sent the rest.
  uint64_t setup_bytes_sent;
} goss_sync_counters;

/// Sets `size` and zeroes the rest.
GOSS_API goss_status goss_sync_counters_init(goss_sync_counters* counters, size_t size);

/// Collective over `comm`, which must outlive the synchronizer. Errors: GOSS_ERR_INVALID_ARGUMENT naming what is wrong
/// with the spec, GOSS_ERR_UNSUPPORTED for a codec that no collective runs, both before anything is sent.
GOSS_API goss_status goss_sync_create(goss_comm_t comm, const char* spec, goss_sync_t* sync);

/// Local; only before goss_sync_start. Tensors are numbered from 0 in order; `index` may be NULL. Errors besides, for
/// device memory: GOSS_ERR_RESOURCE when there is no pinned memory for its copy; GOSS_ERR_DEVICE.
GOSS_API goss_status goss_sync_register(goss_sync_t sync, const goss_sync_tensor* tensor, int32_t* index);

/// Collective, once, after all tensors are registered: checks that the ranks agree, and gives all ranks the parameters
/// of rank 0, which are sent only if the ranks' hashes differ; after goss_sync_import, every rank keeps its own
/// parameters instead. Errors: GOSS_ERR_MISMATCH when specs, tensors or the steps of imported states differ between
/// ranks.
GOSS_API goss_status goss_sync_start(goss_sync_t sync);

/// Local, between steps: the learning rate (>= 0) of the steps to come. SlowMo, QSR and DeMo use it; 1 before the call.
GOSS_API goss_status goss_sync_set_lr(goss_sync_t sync, double lr);

/// The loss function of a method without a backward pass. Start from GOSS_SYNC_LOSS_INIT.
typedef struct goss_sync_loss {
  size_t size; ///< sizeof(goss_sync_loss).
  /// Returns this rank's loss on the step's data, at the values that the parameters have at the call.
  /// goss_sync_gradients calls it, in the caller's thread. It must not call functions of this synchronizer.
  double (*evaluate)(void* context);
  void* context; ///< Given to `evaluate`; the caller's.
} goss_sync_loss;

#define GOSS_SYNC_LOSS_INIT \
  { sizeof(goss_sync_loss), NULL, NULL }

/// Gives `loss` the values of GOSS_SYNC_LOSS_INIT.
GOSS_API goss_status goss_sync_loss_init(goss_sync_loss* loss, size_t size);

/// Local, between steps: sets the loss that `one-byte` evaluates in goss_sync_gradients, twice for each of its
/// directions. That method reads no gradients, and writes its direction into them. The parameters are unchanged when
/// goss_sync_gradients returns. A loss that is not finite fails the step on all ranks. Other methods do not call it.
GOSS_API goss_status goss_sync_set_loss(goss_sync_t sync, const goss_sync_loss* loss);

/// Local, before each step: sets *computes to 0 if this rank skips the coming step, because it is slower than others
/// and the synchronizer's spec has steps=dynamic; otherwise to 1. A rank that skips a step computes no gradient and
/// makes no optimizer step, but it calls goss_sync_step, so that all ranks call it equally often. With steps=dynamic
/// every rank must call this function before each step; otherwise the call is optional.
GOSS_API goss_status goss_sync_computes(goss_sync_t sync, int32_t* computes);

/// Local, during a step: sets the seconds (above 0) that this rank computes in the step, for steps=dynamic, or with
/// auto the seconds of the whole step. Without this call the synchronizer measures the time from one goss_sync_step to
/// the next, with everything that a framework does between steps. Plans, and so the bits of results, depend on these
/// times.
GOSS_API goss_status goss_sync_step_time(goss_sync_t sync, double seconds);

/// Marks the gradient of a tensor as final for this step. A bucket's exchange starts when all its gradients are final.
/// Never waits for other ranks, but waits for the copy of a gradient that lies in device memory. The order of tensors
/// may differ between ranks; the reverse of registration overlaps best. A no-op where gradients stay local.
GOSS_API goss_status goss_sync_gradient_ready(goss_sync_t sync, int32_t index);

/// Collective: treats the gradients of all other tensors as final, and returns when all gradients are exchanged.
GOSS_API goss_status goss_sync_gradients(goss_sync_t sync);

/// Collective: the optimizer has changed the parameters. Blocks only in steps in which an exchange must be applied.
/// With adpsgd, acid, heloco and wait=0 the call is local: ranks may make unequal numbers of steps. Without wait=1
/// adpsgd and acid never block, and heloco only while another rank moves the model.
GOSS_API goss_status goss_sync_step(goss_sync_t sync);

/// Collective: completes and applies the exchanges in flight, keeps the steps that no exchange has had, and averages
/// the parameters if the ranks' differ. Training may continue.
GOSS_API goss_status goss_sync_finish(goss_sync_t sync);

/// Local, between steps: waits for the exchanges in flight, then copies the state that is needed to continue with the
/// same bits (reference parameters, outer momenta, exchanges not yet applied, the state of codecs) into *bytes; free it
/// with goss_free. Each rank has a state of its own. The framework saves the parameters. With adpsgd, acid, heloco, and
/// sgp with wait=0, ranks that make steps at the same time may change the mean of the ranks' states; after
/// goss_sync_finish no rank does. With heloco this function, goss_sync_step and goss_sync_finish read rank 0's memory:
/// on other ranks they fail with GOSS_ERR_PEER_LOST once rank 0 has destroyed its synchronizer.
GOSS_API goss_status goss_sync_export(goss_sync_t sync, void** bytes, size_t* count);

/// Local; before goss_sync_start, after all tensors are registered, on all ranks or none, once. goss_sync_start gives
/// GOSS_ERR_MISMATCH when the ranks' states are of different steps; in gossip, and with heloco, ef21, papa, sparta and
/// noloco, it lets the ranks go on from the latest of these steps. Errors, after which nothing has changed:
/// GOSS_ERR_PROTOCOL for damaged bytes, GOSS_ERR_INVALID_ARGUMENT for bytes of another spec or of other tensors.
GOSS_API goss_status goss_sync_import(goss_sync_t sync, const void* bytes, size_t count);

/// Local, instead of goss_sync_import: takes the states of all ranks of a run on another number of ranks, islands or
/// stages, and finds tensors by their names. All ranks give the same states. References, outer momenta, exchanges that
/// are not yet applied and DeMo's momenta become the mean over the ranks that saved the tensor; mostly these ranks hold
/// equal values. The residuals of error feedback are spread evenly over the ranks. With steps=dynamic the ranks make a
/// new plan. *dropped (may be NULL) is set to 1 if a part of the state is dropped: PowerSGD's factors, or residuals of
/// a codec that the spec no longer has. The method must be the same; its parameters may differ. All ranks should begin
/// with the mean of the parameters that belong to the states. If ranks may make unequal numbers of steps
/// (goss_sync_step), the largest number counts; otherwise states of different steps are an error. Other errors: as
/// goss_sync_import, and states that lack a tensor which is registered here.
GOSS_API goss_status goss_sync_import_all(goss_sync_t sync, const void* const* bytes, const size_t* counts,
                                          size_t states, int32_t* dropped);

GOSS_API goss_status goss_sync_get_info(goss_sync_t sync, goss_sync_info* info);
GOSS_API goss_status goss_sync_get_counters(goss_sync_t sync, goss_sync_counters* counters);

/// Local, from any thread: pending and later calls fail on all ranks with GOSS_ERR_ABORTED and `reason`; with auto,
/// calls that are pending while a trial begins may fail at their deadline instead, with GOSS_ERR_TIMEOUT. Buffers stay
/// lent until goss_sync_destroy.
GOSS_API goss_status goss_sync_abort(goss_sync_t sync, const char* reason);

/// Local. Exchanges in flight fail; afterwards all buffers are the caller's again. NULL is allowed.
GOSS_API goss_status goss_sync_destroy(goss_sync_t sync);

/// Local: what `auto` has tried, as JSON text, the same on all ranks: {"runs" (the spec at work), "settled" (0: it
/// still tries), "trials": [{"spec", "first_step", "seconds" (of a step of the slowest rank; null: its error ended it
/// before), "error" (docs/relaxations.md), "kept" (1: within the budget, and the fastest until then)}]}; "{}" for other
/// methods. Free it with goss_free.
GOSS_API goss_status goss_sync_trials(goss_sync_t sync, char** json);

/// All methods as JSON text: [{"name", "summary", "paper", "depends_on_time" (see Determinism; false for sgp
/// and moshpit, whose results depend on it with wait=0 alone), "parameters": [{"key", "default", "meaning"}]}]. Free it
/// with goss_free.
GOSS_API goss_status goss_sync_methods(char** json);

#ifdef __cplusplus
}
#endif

#endif // GOSSAMER_SYNC_H_
