/// Compressed collectives beyond goss_options.codec: error feedback in checkpoints, codecs of one's own, and what the
/// planner makes of a codec. The conventions are those of gossamer.h. docs/compressors.md says what is built in.
#ifndef GOSSAMER_COMPRESSION_H_
#define GOSSAMER_COMPRESSION_H_

#include "gossamer/gossamer.h"

#ifdef __cplusplus
extern "C" {
#endif

// ---- What error feedback keeps ----

/// Local. Writes the state that codecs keep on this rank, for a checkpoint (docs/formats.md): for all tensors the state
/// of "+ef", "+loco" and "+momentum", the factors of PowerSGD, and the positions of random streams. Free *bytes with
/// goss_free. No compressed operation may be pending. On a failed communicator the call fails with the same error,
/// because the last operation may have updated only a part of the state.
GOSS_API goss_status goss_codec_state_export(goss_comm_t comm, void** bytes, size_t* size);

/// Local, on all ranks or none. Replaces that state by one that goss_codec_state_export wrote on the same rank of as
/// many ranks.
/// Errors: GOSS_ERR_PROTOCOL for other bytes; GOSS_ERR_INVALID_ARGUMENT while an operation with a codec that works in
/// phases is pending. Nothing has changed then. Waits, as the next two, for calls on GPU buffers that use the state.
GOSS_API goss_status goss_codec_state_import(goss_comm_t comm, const void* bytes, size_t size);

/// Local. Copies what "+ef" keeps of this rank's own contributions to a tensor: values[0..count-1], what encodings of
/// its elements 0 to count - 1 have lost so far; zero where nothing is kept. The values have the scale of the vector
/// that was given to the collective. Errors: GOSS_ERR_INVALID_ARGUMENT for tensor 0, or while an operation on it with a
/// codec that works in phases is pending; the failure of the communicator once it has failed.
GOSS_API goss_status goss_codec_state_read(goss_comm_t comm, uint64_t tensor, float* values, size_t count);

/// Local. Forgets what "+ef", "+loco" and "+momentum" have kept for one tensor; 0: for all. Errors:
/// GOSS_ERR_INVALID_ARGUMENT while an operation on it with a codec that works in phases is pending.
GOSS_API goss_status goss_codec_state_reset(goss_comm_t comm, uint64_t tensor);

// ---- Codecs of one's own ----

/// A codec as functions. They are called on any thread, one at a time per communicator, must not call Gossamer, and
/// must be pure: the same input gives the same bytes on all ranks.
typedef struct goss_codec_functions {
  size_t size;   ///< sizeof(goss_codec_functions).
  void* context; ///< Handed to every function. Lives as long as the last communicator of the world.
  size_t block;  ///< Chunks of a vector begin at multiples of so many elements; 0 or 1: anywhere.
  /// Upper bound of a payload of `count` elements. Does not shrink when `count` grows.
  size_t (*max_bytes)(void* context, size_t count);
  /// Writes the payload of values[0..count-1] and returns its length, at most max_bytes(count).
  size_t (*encode)(void* context, const float* values, size_t count, void* payload);
  /// Writes all of values[0..count-1]. Returns 0, or another number for bytes that are no payload of `count` elements.
  int (*decode)(void* context, const void* payload, size_t bytes, size_t count, float* values);
} goss_codec_functions;

/// Sets `size` and zeroes the rest. Errors: GOSS_ERR_INVALID_ARGUMENT.
GOSS_API goss_status goss_codec_functions_init(goss_codec_functions* functions, size_t size);

/// Local, but all ranks must register the same. `name` (lower-case letters, digits, '_') then is a codec in
/// goss_options.codec, alone or with "+ef", for all communicators of comm's world. Error feedback and merging are built
/// around it. Errors: GOSS_ERR_INVALID_ARGUMENT for a name that is taken or malformed, or a missing function.
GOSS_API goss_status goss_codec_register(goss_comm_t comm, const char* name, const goss_codec_functions* functions);

// ---- Planning ----

/// Local. Returns the stages of built-in codec specs as JSON text; free it with goss_free. The array has an object for
/// each, with `name` and `stage`: "sparsifier", "values", "feedback" (after a '+'), or "alias" of the chain in `spec`.
/// docs/compressors.md describes the stages.
GOSS_API goss_status goss_codecs(char** json);

/// As goss_explain, for a vector or block of float32 compressed with a built-in codec.
GOSS_API goss_status goss_explain_codec(const char* collective, int32_t ranks, size_t bytes, const char* codec,
                                        const char* links, char** json);

#ifdef __cplusplus
}
#endif

#endif // GOSSAMER_COMPRESSION_H_
