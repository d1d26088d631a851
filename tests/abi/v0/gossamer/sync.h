// Frozen: as a program of the first version was compiled with it. Never changed.
#ifndef GOSSAMER_SYNC_H_
#define GOSSAMER_SYNC_H_

#include "gossamer/gossamer.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct goss_sync* goss_sync_t;

typedef struct goss_sync_tensor {
  size_t size;
  const char* name;
  void* parameter;
  void* gradient;
  size_t count;
  goss_dtype dtype;
  int32_t layer;
} goss_sync_tensor;

#define GOSS_SYNC_TENSOR_INIT \
  { sizeof(goss_sync_tensor), NULL, NULL, NULL, 0, GOSS_FLOAT32, -1 }

typedef struct goss_sync_info {
  size_t size;
  const char* spec;
  int32_t gradients;

  int32_t local_steps;
  int32_t gradient_size;
  int64_t dynamic_period;
} goss_sync_info;

typedef struct goss_sync_counters {
  size_t size;
  uint64_t steps;
  uint64_t exchanges;
  uint64_t exchanged_bytes;
  uint64_t wire_bytes_sent;
  uint64_t wire_bytes_received;
  uint64_t waited_ns;
  uint64_t edge_bytes_sent;

} goss_sync_counters;

GOSS_API goss_status goss_sync_create(goss_comm_t comm, const char* spec, goss_sync_t* sync);

GOSS_API goss_status goss_sync_register(goss_sync_t sync, const goss_sync_tensor* tensor, int32_t* index);

GOSS_API goss_status goss_sync_start(goss_sync_t sync);

GOSS_API goss_status goss_sync_set_lr(goss_sync_t sync, double lr);

GOSS_API goss_status goss_sync_computes(goss_sync_t sync, int32_t* computes);

GOSS_API goss_status goss_sync_step_time(goss_sync_t sync, double seconds);

GOSS_API goss_status goss_sync_gradient_ready(goss_sync_t sync, int32_t index);

GOSS_API goss_status goss_sync_gradients(goss_sync_t sync);

GOSS_API goss_status goss_sync_step(goss_sync_t sync);

GOSS_API goss_status goss_sync_finish(goss_sync_t sync);

GOSS_API goss_status goss_sync_export(goss_sync_t sync, void** bytes, size_t* count);

GOSS_API goss_status goss_sync_import(goss_sync_t sync, const void* bytes, size_t count);

GOSS_API goss_status goss_sync_import_all(goss_sync_t sync, const void* const* bytes, const size_t* counts,
                                          size_t states, int32_t* dropped);

GOSS_API goss_status goss_sync_get_info(goss_sync_t sync, goss_sync_info* info);
GOSS_API goss_status goss_sync_get_counters(goss_sync_t sync, goss_sync_counters* counters);

GOSS_API goss_status goss_sync_abort(goss_sync_t sync, const char* reason);

GOSS_API goss_status goss_sync_destroy(goss_sync_t sync);

GOSS_API goss_status goss_sync_methods(char** json);

#ifdef __cplusplus
}
#endif

#endif
