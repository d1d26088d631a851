// Frozen: as a program of the first version was compiled with it. Never changed.
#ifndef GOSSAMER_COMPRESSION_H_
#define GOSSAMER_COMPRESSION_H_

#include "gossamer/gossamer.h"

#ifdef __cplusplus
extern "C" {
#endif

GOSS_API goss_status goss_codec_state_export(goss_comm_t comm, void** bytes, size_t* size);

GOSS_API goss_status goss_codec_state_import(goss_comm_t comm, const void* bytes, size_t size);

GOSS_API goss_status goss_codec_state_read(goss_comm_t comm, uint64_t tensor, float* values, size_t count);

GOSS_API goss_status goss_codec_state_reset(goss_comm_t comm, uint64_t tensor);

typedef struct goss_codec_functions {
  size_t size;
  void* context;
  size_t block;

  size_t (*max_bytes)(void* context, size_t count);

  size_t (*encode)(void* context, const float* values, size_t count, void* payload);

  int (*decode)(void* context, const void* payload, size_t bytes, size_t count, float* values);
} goss_codec_functions;

GOSS_API goss_status goss_codec_register(goss_comm_t comm, const char* name, const goss_codec_functions* functions);

GOSS_API goss_status goss_explain_codec(const char* collective, int32_t ranks, size_t bytes, const char* codec,
                                        const char* links, char** json);

#ifdef __cplusplus
}
#endif

#endif
