/// Gossamer's pipeline schedules (C99): functions that generate, read, write, prove, price and draw schedules, and run
/// them over a communicator.
///
/// The conventions of gossamer.h hold. A schedule is a value: for every rank the list of actions that it takes. It is
/// immutable, and any number of threads may use one at a time. docs/pipeline.md describes schedules and their costs.
#ifndef GOSSAMER_PIPELINE_H_
#define GOSSAMER_PIPELINE_H_

#include "gossamer/gossamer.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Kinds of actions. In brackets: the name in CSV files, that of torch.distributed.pipelining where it has one.
typedef enum goss_pipeline_kind {
  GOSS_PIPELINE_FORWARD = 0,         ///< [F]
  GOSS_PIPELINE_BACKWARD = 1,        ///< [B] Gradients of the input and of the weights in one pass.
  GOSS_PIPELINE_BACKWARD_INPUT = 2,  ///< [I] The half of backward that the previous stage waits for.
  GOSS_PIPELINE_BACKWARD_WEIGHT = 3, ///< [W] The other half, any time later.
  GOSS_PIPELINE_RECOMPUTE = 4,       ///< [R] Recomputes the activations of a forward that kept only its input.
  GOSS_PIPELINE_SEND_FORWARD = 5,    ///< [SEND_F] The output of the stage.
  GOSS_PIPELINE_RECV_FORWARD = 6,    ///< [RECV_F] The input of the stage.
  GOSS_PIPELINE_SEND_BACKWARD = 7,   ///< [SEND_B] The gradient of the stage's input.
  GOSS_PIPELINE_RECV_BACKWARD = 8,   ///< [RECV_B] The gradient of the stage's output.
  GOSS_PIPELINE_REDUCE = 9,          ///< [REDUCE_GRAD] The stage's gradient is complete: sum it over replicas.
  GOSS_PIPELINE_STEP = 10            ///< [STEP] Update the stage's weights.
} goss_pipeline_kind;

/// One action of a rank. The struct never grows.
typedef struct goss_pipeline_action {
  int32_t kind; ///< goss_pipeline_kind
  int32_t stage;
  int32_t micro_batch; ///< The micro-batch; for REDUCE and STEP the last one whose gradient they take.
  int32_t chain;       ///< Which replica of the model, where a schedule runs several in opposite directions; else 0.
  /// Number of updates in the weights that the action uses; for STEP, in the weights that it makes.
  int32_t version;
} goss_pipeline_action;

/// An immutable schedule of all ranks.
typedef struct goss_pipeline* goss_pipeline_t;

typedef struct goss_pipeline_request {
  size_t size;           ///< sizeof(goss_pipeline_request)
  const char* name;      ///< One of goss_pipeline_name.
  int32_t ranks;         ///< p
  int32_t micro_batches; ///< m, micro-batches of one batch.
  int32_t batches;       ///< How many batches follow one another; without a flush they overlap.
  int32_t chunks;        ///< Stages a rank of "interleaved"; ignored by the others.
  int32_t recompute;     ///< Not 0: forwards keep their input only.
  int32_t reserved;      ///< Not read.
} goss_pipeline_request;

#define GOSS_PIPELINE_REQUEST_INIT \
  { sizeof(goss_pipeline_request), "1f1b", 1, 1, 1, 2, 0, 0 }

/// Gives `request` the values of GOSS_PIPELINE_REQUEST_INIT. Errors, here and below: GOSS_ERR_INVALID_ARGUMENT.
GOSS_API goss_status goss_pipeline_request_init(goss_pipeline_request* request, size_t size);

/// The name of generator number `index`, counted from 0; NULL behind the last. Constant strings.
GOSS_API const char* goss_pipeline_name(size_t index);

/// Makes a schedule; free it with goss_pipeline_destroy. Errors: GOSS_ERR_INVALID_ARGUMENT (an unknown name, or sizes
/// that the schedule cannot have).
GOSS_API goss_status goss_pipeline_generate(const goss_pipeline_request* request, goss_pipeline_t* pipeline);

/// Reads the CSV text of torch.distributed.pipelining, one row a rank. If the text has computations only, the function
/// adds messages, reductions and steps. The schedule has passed goss_pipeline_check. Errors: GOSS_ERR_INVALID_ARGUMENT
/// naming row and cell, or the rule that is broken.
GOSS_API goss_status goss_pipeline_read(const char* text, goss_pipeline_t* pipeline);

/// The schedule as CSV text; free it with goss_free. `is_complete` 0: computations only, as PyTorch loads them.
GOSS_API goss_status goss_pipeline_write(goss_pipeline_t pipeline, int32_t is_complete, char** text);

GOSS_API goss_status goss_pipeline_destroy(goss_pipeline_t pipeline);

/// Numbers of ranks, of stages, and of micro-batches over all batches. Any pointer may be NULL.
GOSS_API goss_status goss_pipeline_size(goss_pipeline_t pipeline, int32_t* ranks, int32_t* stages,
                                        int32_t* micro_batches);
/// The rank that holds `stage`.
GOSS_API goss_status goss_pipeline_stage_rank(goss_pipeline_t pipeline, int32_t stage, int32_t* rank);
/// The list of `rank`; it lives as long as the schedule.
GOSS_API goss_status goss_pipeline_actions(goss_pipeline_t pipeline, int32_t rank, const goss_pipeline_action** actions,
                                           size_t* count);

/// Proves the schedule correct; docs/pipeline.md lists the rules. `most_activations` and `most_versions` are limits on
/// what a rank holds at once, in micro-batches of one stage and versions of one stage's weights; 0: none. Errors:
/// GOSS_ERR_INVALID_ARGUMENT that names the rule, the rank and the action.
GOSS_API goss_status goss_pipeline_check(goss_pipeline_t pipeline, int32_t most_activations, int32_t most_versions);

/// Costs of every stage, and of every link between two ranks.
typedef struct goss_pipeline_costs {
  size_t size; ///< sizeof(goss_pipeline_costs)
  double forward_s;
  double backward_input_s; ///< Time of I; B takes this and backward_weight_s.
  double backward_weight_s;
  double recompute_s;
  double activation_bytes;      ///< Bytes held for the activations of one micro-batch.
  double boundary_bytes;        ///< Bytes of one message between stages.
  double latency_s;             ///< Latency of a link.
  double bandwidth_bytes_per_s; ///< Bandwidth of a link; 0: without limit.
  const double* stage_times_s;  ///< NULL, or [stages][3]: forward, input and weight gradient of each stage
} goss_pipeline_costs;

#define GOSS_PIPELINE_COSTS_INIT \
  { sizeof(goss_pipeline_costs), 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, NULL }

/// Gives `costs` the values of GOSS_PIPELINE_COSTS_INIT.
GOSS_API goss_status goss_pipeline_costs_init(goss_pipeline_costs* costs, size_t size);

/// Prices the schedule and writes a JSON text to *json: makespan_s, bubble_s (largest idle time of a rank between its
/// first and last computation), and per rank span_s, busy_s, peak_bytes, peak_activations and live_versions, and the
/// bytes of each link. Free it with goss_free. `costs` NULL: one second for everything, free links. Errors:
/// GOSS_ERR_INVALID_ARGUMENT, also for a schedule that does not pass goss_pipeline_check.
GOSS_API goss_status goss_pipeline_simulate(goss_pipeline_t pipeline, const goss_pipeline_costs* costs, char** json);

/// Draws the priced schedule as text, or as SVG with `is_svg` not 0. Free it with goss_free. Errors: as above.
GOSS_API goss_status goss_pipeline_draw(goss_pipeline_t pipeline, const goss_pipeline_costs* costs, int32_t is_svg,
                                        char** text);

/// Compresses activations and their gradients between ranks, and keeps for AQ-SGD the last activations of every sample.
/// Each rank has one; it must outlive the runs that use it, one run at a time. After a run has failed on any rank, all
/// ranks must make new codecs before they use deltas again, because the two ends of a boundary may keep different
/// activations.
typedef struct goss_pipeline_codec* goss_pipeline_codec_t;

typedef struct goss_pipeline_codec_request {
  size_t size;          ///< sizeof(goss_pipeline_codec_request)
  size_t sample_elems;  ///< Float32 elements of one sample at a boundary.
  const char* forward;  ///< Codec of activations (docs/compressors.md), such as "int4:block=128"; NULL: as they are.
  const char* backward; ///< Codec of their gradients; NULL: as they are.
  /// Not 0: AQ-SGD (Wang et al. 2022, arXiv 2206.01299). The sender encodes the difference to the activations that the
  /// receiver has of the same sample; the first activations of a sample are sent uncompressed.
  int32_t deltas;
  const char* cache_directory; ///< Where AQ-SGD keeps samples, in a file that ends with the codec; NULL: in memory.
} goss_pipeline_codec_request;

#define GOSS_PIPELINE_CODEC_REQUEST_INIT \
  { sizeof(goss_pipeline_codec_request), 0, NULL, NULL, 0, NULL }

/// Gives `request` the values of GOSS_PIPELINE_CODEC_REQUEST_INIT.
GOSS_API goss_status goss_pipeline_codec_request_init(goss_pipeline_codec_request* request, size_t size);

/// Local, but the requests of all ranks must be equal, except for the directories. Errors: GOSS_ERR_INVALID_ARGUMENT
/// for a codec that is unknown, keeps feedback, or whose payloads are random or of changing size; GOSS_ERR_RESOURCE for
/// the directory.
GOSS_API goss_status goss_pipeline_codec_create(goss_comm_t comm, const goss_pipeline_codec_request* request,
                                                goss_pipeline_codec_t* codec);
GOSS_API goss_status goss_pipeline_codec_destroy(goss_pipeline_codec_t codec);

/// Local, between runs: copies the activations that AQ-SGD keeps of every sample into *bytes, for a checkpoint; free it
/// with goss_free. Without deltas the bytes hold no samples. Errors: GOSS_ERR_RESOURCE when memory runs out or a file
/// cannot be read; GOSS_ERR_INVALID_ARGUMENT after a run that failed.
GOSS_API goss_status goss_pipeline_codec_export(goss_pipeline_codec_t codec, void** bytes, size_t* size);

/// Local, between runs: replaces the codec's samples by those that this rank exported, on all ranks or on none, in a
/// pipeline whose ranks have the same stages. Errors: GOSS_ERR_PROTOCOL for damaged bytes, GOSS_ERR_INVALID_ARGUMENT
/// for samples of another length or a codec without deltas, GOSS_ERR_RESOURCE. After an error nothing has changed, but
/// after GOSS_ERR_RESOURCE the codec cannot be used any more.
GOSS_API goss_status goss_pipeline_codec_import(goss_pipeline_codec_t codec, const void* bytes, size_t size);

/// The functions by which goss_pipeline_run computes. It calls `run` for every computation, reduction and step of its
/// rank, in order, in its own thread. `run` returns 0; any other value ends the run with GOSS_ERR_ABORTED.
///
/// - FORWARD: `input` is the stage's input, NULL for the first stage; `output` its output, NULL for the last stage.
/// - BACKWARD, BACKWARD_INPUT: `input` is the gradient of the stage's output, NULL for the last stage; `output` that of
///   the stage's input, NULL for the first stage.
/// - Others: both are NULL.
///
/// Both buffers have boundary_bytes bytes, belong to the runner and are valid during the call; keep a copy of what is
/// needed later. `run` may use other communicators; their calls must match across ranks by the schedule's order.
typedef struct goss_pipeline_work {
  size_t size; ///< sizeof(goss_pipeline_work)
  size_t boundary_bytes;
  void* context;
  int32_t (*run)(void* context, const goss_pipeline_action* action, const void* input, void* output);
  goss_pipeline_codec_t codec; ///< Codec of messages between ranks; NULL: uncompressed. What stays on a rank is exact.
  /// With a codec: the number of the sample at place `index` of a micro-batch, the same on both ends of a boundary.
  uint64_t (*sample)(void* context, int32_t micro_batch, size_t index);
} goss_pipeline_work;

/// Sets `size` and zeroes the rest.
GOSS_API goss_status goss_pipeline_work_init(goss_pipeline_work* work, size_t size);

/// Collective: runs the schedule, rank r of `comm` doing what the schedule has for rank r. Blocks until this rank's
/// list is done and its sends are complete. Receives are posted early, so that a schedule that passes
/// goss_pipeline_check cannot deadlock. Uses tags from 2^30 on; `comm` must have no other point-to-point traffic with
/// such tags. All ranks must give the same schedule and boundary_bytes. Errors: GOSS_ERR_INVALID_ARGUMENT (a
/// communicator of another size); those of goss_send and goss_recv; GOSS_ERR_ABORTED when `run` gave up: then the
/// communicator is aborted, so that no rank waits for ever.
GOSS_API goss_status goss_pipeline_run(goss_pipeline_t pipeline, goss_comm_t comm, const goss_pipeline_work* work);

#ifdef __cplusplus
}
#endif

#endif // GOSSAMER_PIPELINE_H_
