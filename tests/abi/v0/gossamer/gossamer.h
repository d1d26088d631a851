// Frozen: as a program of the first version was compiled with it. Never changed.
#ifndef GOSSAMER_GOSSAMER_H_
#define GOSSAMER_GOSSAMER_H_

#define GOSS_FROZEN_HEADERS 1

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define GOSS_API __attribute__((visibility("default")))
#else
#define GOSS_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define GOSS_VERSION_MAJOR 0
#define GOSS_VERSION_MINOR 1
#define GOSS_VERSION_PATCH 0

typedef enum goss_status {
  GOSS_SUCCESS = 0,
  GOSS_ERR_INVALID_ARGUMENT = -1,
  GOSS_ERR_UNSUPPORTED = -2,
  GOSS_ERR_MISMATCH = -3,
  GOSS_ERR_TIMEOUT = -4,
  GOSS_ERR_PEER_LOST = -5,
  GOSS_ERR_ABORTED = -6,
  GOSS_ERR_PROTOCOL = -7,
  GOSS_ERR_RESOURCE = -8,
  GOSS_ERR_BOOTSTRAP = -9,
  GOSS_ERR_TRUNCATED = -10,
  GOSS_ERR_INTERNAL = -11
} goss_status;

typedef enum goss_dtype {
  GOSS_INT8 = 0,
  GOSS_UINT8 = 1,
  GOSS_INT32 = 2,
  GOSS_UINT32 = 3,
  GOSS_INT64 = 4,
  GOSS_UINT64 = 5,
  GOSS_FLOAT16 = 6,
  GOSS_BFLOAT16 = 7,
  GOSS_FLOAT32 = 8,
  GOSS_FLOAT64 = 9,
  GOSS_FLOAT8_E4M3 = 10,
  GOSS_FLOAT8_E5M2 = 11,
  GOSS_DTYPE_COUNT = 12
} goss_dtype;

typedef enum goss_op {
  GOSS_SUM = 0,
  GOSS_PROD = 1,
  GOSS_MIN = 2,
  GOSS_MAX = 3,
  GOSS_AVG = 4,
  GOSS_PREMUL_SUM = 5,
  GOSS_OP_COUNT = 6
} goss_op;

typedef struct goss_comm* goss_comm_t;

typedef struct goss_request* goss_request_t;

typedef struct goss_unique_id {
  char bytes[128];
} goss_unique_id;

typedef struct goss_config {
  size_t size;
  int32_t rank;
  int32_t ranks;
  const goss_unique_id* unique_id;
  int64_t timeout_ms;
  int64_t bootstrap_timeout_ms;
  const char* transport;
  const char* interface;
  uint16_t port_min;
  uint16_t port_max;
  int32_t connections_per_peer;
  const char* algorithm;
  const char* links_file;
} goss_config;

enum {

  GOSS_PERSISTENT = 1
};

typedef struct goss_options {
  size_t size;
  uint32_t flags;
  int64_t timeout_ms;
  const char* algorithm;
  double scale;
  void* stream;

  const char* codec;

  const char* return_codec;

  uint64_t tensor;
} goss_options;

#define GOSS_OPTIONS_INIT \
  { sizeof(goss_options), 0, 0, NULL, 1.0, NULL, NULL, NULL, 0 }

typedef struct goss_message {
  int32_t source;
  int32_t tag;
  size_t bytes;
} goss_message;

typedef struct goss_counters {
  size_t size;
  uint64_t operations;
  uint64_t failures;
  uint64_t payload_bytes;
  uint64_t wire_bytes_sent;
  uint64_t wire_bytes_received;
  uint64_t busy_ns;

  uint64_t placed_bytes;
} goss_counters;

GOSS_API int goss_version(void);

GOSS_API const char* goss_status_string(goss_status status);

GOSS_API const char* goss_last_error(void);

GOSS_API size_t goss_dtype_size(goss_dtype dtype);

GOSS_API goss_status goss_config_init(goss_config* config);

GOSS_API goss_status goss_unique_id_create(goss_unique_id* id);

GOSS_API goss_status goss_comm_create(const goss_config* config, goss_comm_t* comm);

GOSS_API goss_status goss_comm_split(goss_comm_t comm, int32_t color, int32_t key, goss_comm_t* new_comm);

GOSS_API goss_status goss_comm_dup(goss_comm_t comm, goss_comm_t* new_comm);

GOSS_API goss_status goss_comm_shrink(goss_comm_t comm, const goss_options* options, goss_comm_t* new_comm);

GOSS_API goss_status goss_comm_rank(goss_comm_t comm, int32_t* rank);
GOSS_API goss_status goss_comm_size(goss_comm_t comm, int32_t* size);

GOSS_API goss_status goss_comm_transport(goss_comm_t comm, int32_t peer, const char** name);

GOSS_API goss_status goss_comm_abort(goss_comm_t comm, const char* reason);

GOSS_API goss_status goss_comm_destroy(goss_comm_t comm);

GOSS_API goss_status goss_comm_counters(goss_comm_t comm, goss_counters* counters);

GOSS_API goss_status goss_all_reduce(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                     goss_op op, const goss_options* options, goss_request_t* request);

GOSS_API goss_status goss_reduce(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                 goss_op op, int32_t root, const goss_options* options, goss_request_t* request);

GOSS_API goss_status goss_broadcast(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                    int32_t root, const goss_options* options, goss_request_t* request);

GOSS_API goss_status goss_all_gather(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                     const goss_options* options, goss_request_t* request);

GOSS_API goss_status goss_all_gatherv(goss_comm_t comm, const void* send, void* recv, const size_t* counts,
                                      const size_t* displs, goss_dtype dtype, const goss_options* options,
                                      goss_request_t* request);

GOSS_API goss_status goss_reduce_scatter(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                         goss_op op, const goss_options* options, goss_request_t* request);

GOSS_API goss_status goss_reduce_scatterv(goss_comm_t comm, const void* send, void* recv, const size_t* counts,
                                          goss_dtype dtype, goss_op op, const goss_options* options,
                                          goss_request_t* request);

GOSS_API goss_status goss_all_to_all(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                     const goss_options* options, goss_request_t* request);

GOSS_API goss_status goss_all_to_allv(goss_comm_t comm, const void* send, const size_t* send_counts,
                                      const size_t* send_displs, void* recv, const size_t* recv_counts,
                                      const size_t* recv_displs, goss_dtype dtype, const goss_options* options,
                                      goss_request_t* request);

GOSS_API goss_status goss_gather(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                 int32_t root, const goss_options* options, goss_request_t* request);

GOSS_API goss_status goss_scatter(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                  int32_t root, const goss_options* options, goss_request_t* request);

GOSS_API goss_status goss_scan(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                               goss_op op, const goss_options* options, goss_request_t* request);

GOSS_API goss_status goss_exscan(goss_comm_t comm, const void* send, void* recv, size_t count, goss_dtype dtype,
                                 goss_op op, const goss_options* options, goss_request_t* request);

GOSS_API goss_status goss_barrier(goss_comm_t comm, const goss_options* options, goss_request_t* request);

GOSS_API goss_status goss_send(goss_comm_t comm, const void* buffer, size_t count, goss_dtype dtype, int32_t peer,
                               int32_t tag, const goss_options* options, goss_request_t* request);

GOSS_API goss_status goss_recv(goss_comm_t comm, void* buffer, size_t count, goss_dtype dtype, int32_t peer,
                               int32_t tag, const goss_options* options, goss_request_t* request);

GOSS_API goss_status goss_sendrecv(goss_comm_t comm, const void* send, size_t send_count, int32_t dest, void* recv,
                                   size_t recv_count, int32_t source, goss_dtype dtype, int32_t tag,
                                   const goss_options* options, goss_message* message);

GOSS_API goss_status goss_test(goss_request_t* request, int* done, goss_message* message);

GOSS_API goss_status goss_wait(goss_request_t* request, goss_message* message);

GOSS_API goss_status goss_wait_any(goss_request_t* requests, size_t n, size_t* index, goss_message* message);

GOSS_API goss_status goss_wait_all(goss_request_t* requests, size_t n);

GOSS_API goss_status goss_start(goss_request_t request);

GOSS_API goss_status goss_request_free(goss_request_t* request);

GOSS_API goss_status goss_group_begin(void);
GOSS_API goss_status goss_group_end(void);

GOSS_API goss_status goss_mem_alloc(goss_comm_t comm, size_t bytes, void** memory);
GOSS_API goss_status goss_mem_free(goss_comm_t comm, void* memory);

GOSS_API goss_status goss_explain(const char* collective, int32_t ranks, size_t bytes, const char* links, char** json);
GOSS_API void goss_free(void* memory);

#ifdef __cplusplus
}
#endif

#endif
