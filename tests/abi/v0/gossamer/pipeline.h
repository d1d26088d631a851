// Frozen: as a program of the first version was compiled with it. Never changed.
#ifndef GOSSAMER_PIPELINE_H_
#define GOSSAMER_PIPELINE_H_

#include "gossamer/gossamer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum goss_pipeline_kind {
  GOSS_PIPELINE_FORWARD = 0,
  GOSS_PIPELINE_BACKWARD = 1,
  GOSS_PIPELINE_BACKWARD_INPUT = 2,
  GOSS_PIPELINE_BACKWARD_WEIGHT = 3,
  GOSS_PIPELINE_RECOMPUTE = 4,
  GOSS_PIPELINE_SEND_FORWARD = 5,
  GOSS_PIPELINE_RECV_FORWARD = 6,
  GOSS_PIPELINE_SEND_BACKWARD = 7,
  GOSS_PIPELINE_RECV_BACKWARD = 8,
  GOSS_PIPELINE_REDUCE = 9,
  GOSS_PIPELINE_STEP = 10
} goss_pipeline_kind;

typedef struct goss_pipeline_action {
  int32_t kind;
  int32_t stage;
  int32_t micro_batch;
  int32_t chain;
  int32_t version;
} goss_pipeline_action;

typedef struct goss_pipeline* goss_pipeline_t;

typedef struct goss_pipeline_request {
  size_t size;
  const char* name;
  int32_t ranks;
  int32_t micro_batches;
  int32_t batches;
  int32_t chunks;
  int32_t recompute;
} goss_pipeline_request;

#define GOSS_PIPELINE_REQUEST_INIT \
  { sizeof(goss_pipeline_request), "1f1b", 1, 1, 1, 2, 0 }

GOSS_API const char* goss_pipeline_name(size_t index);

GOSS_API goss_status goss_pipeline_generate(const goss_pipeline_request* request, goss_pipeline_t* pipeline);

GOSS_API goss_status goss_pipeline_read(const char* text, goss_pipeline_t* pipeline);

GOSS_API goss_status goss_pipeline_write(goss_pipeline_t pipeline, int32_t is_complete, char** text);

GOSS_API goss_status goss_pipeline_destroy(goss_pipeline_t pipeline);

GOSS_API goss_status goss_pipeline_size(goss_pipeline_t pipeline, int32_t* ranks, int32_t* stages,
                                        int32_t* micro_batches);

GOSS_API goss_status goss_pipeline_stage_rank(goss_pipeline_t pipeline, int32_t stage, int32_t* rank);

GOSS_API goss_status goss_pipeline_actions(goss_pipeline_t pipeline, int32_t rank, const goss_pipeline_action** actions,
                                           size_t* count);

GOSS_API goss_status goss_pipeline_check(goss_pipeline_t pipeline, int32_t most_activations, int32_t most_versions);

typedef struct goss_pipeline_costs {
  size_t size;
  double forward_s;
  double backward_input_s;
  double backward_weight_s;
  double recompute_s;
  double activation_bytes;
  double boundary_bytes;
  double latency_s;
  double bandwidth_bytes_per_s;
  const double* stage_times_s;
} goss_pipeline_costs;

#define GOSS_PIPELINE_COSTS_INIT \
  { sizeof(goss_pipeline_costs), 1.0, 1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0, NULL }

GOSS_API goss_status goss_pipeline_simulate(goss_pipeline_t pipeline, const goss_pipeline_costs* costs, char** json);

GOSS_API goss_status goss_pipeline_draw(goss_pipeline_t pipeline, const goss_pipeline_costs* costs, int32_t is_svg,
                                        char** text);

typedef struct goss_pipeline_codec* goss_pipeline_codec_t;

typedef struct goss_pipeline_codec_request {
  size_t size;
  size_t sample_elems;
  const char* forward;
  const char* backward;

  int32_t deltas;
  const char* cache_directory;
} goss_pipeline_codec_request;

#define GOSS_PIPELINE_CODEC_REQUEST_INIT \
  { sizeof(goss_pipeline_codec_request), 0, NULL, NULL, 0, NULL }

GOSS_API goss_status goss_pipeline_codec_create(goss_comm_t comm, const goss_pipeline_codec_request* request,
                                                goss_pipeline_codec_t* codec);
GOSS_API goss_status goss_pipeline_codec_destroy(goss_pipeline_codec_t codec);

GOSS_API goss_status goss_pipeline_codec_export(goss_pipeline_codec_t codec, void** bytes, size_t* size);

GOSS_API goss_status goss_pipeline_codec_import(goss_pipeline_codec_t codec, const void* bytes, size_t size);

typedef struct goss_pipeline_work {
  size_t size;
  size_t boundary_bytes;
  void* context;
  int32_t (*run)(void* context, const goss_pipeline_action* action, const void* input, void* output);
  goss_pipeline_codec_t codec;

  uint64_t (*sample)(void* context, int32_t micro_batch, size_t index);
} goss_pipeline_work;

GOSS_API goss_status goss_pipeline_run(goss_pipeline_t pipeline, goss_comm_t comm, const goss_pipeline_work* work);

#ifdef __cplusplus
}
#endif

#endif
