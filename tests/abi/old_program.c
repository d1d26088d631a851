/* A program of the first version: compiled with the frozen headers, it runs with today's library, which writes nothing
   behind its structs. */
#include <stdio.h>
#include <string.h>

#include "gossamer/compression.h"
#include "gossamer/gossamer.h"
#include "gossamer/pipeline.h"
#include "gossamer/sync.h"

#ifndef GOSS_FROZEN_HEADERS
#error "these are not the frozen headers"
#endif

enum { kGuardBytes = 1024, kGuard = 0xa5 };

static int failures = 0;

static void check(int holds, const char* what) {
  if (holds) return;
  printf("%s does not hold; last error: %s\n", what, goss_last_error());
  ++failures;
}
#define CHECK(condition) check((condition), #condition)

static void expectGuard(const unsigned char* guard, const char* what) {
  int intact = 1;
  for (int i = 0; i < kGuardBytes; ++i)
    intact = intact && guard[i] == kGuard;
  check(intact, what);
}

/* `it` with bytes behind it that nobody may touch. */
#define GUARDED(type, name)           \
  struct {                            \
    type it;                          \
    unsigned char guard[kGuardBytes]; \
  } name;                             \
  memset(&name, kGuard, sizeof name)
#define EXPECT_GUARD(name) expectGuard((name).guard, "nothing is written behind " #name)

static goss_comm_t createAlone(void) {
  goss_comm_t comm = NULL;
  GUARDED(goss_config, config);
  CHECK(goss_config_init(&config.it) == GOSS_SUCCESS);
  EXPECT_GUARD(config);
  CHECK(config.it.size == sizeof(goss_config));
  CHECK(config.it.rank == -1 && config.it.transport == NULL && config.it.timeout_ms > 0);
  config.it.timeout_ms = 20000;
  config.it.algorithm = NULL;
  CHECK(goss_comm_create(&config.it, &comm) == GOSS_SUCCESS);
  EXPECT_GUARD(config);
  return comm;
}

static void runCollectives(goss_comm_t comm) {
  float values[64];
  int i = 0;
  goss_request_t request = NULL;
  goss_request_t sent = NULL;
  GUARDED(goss_options, options);
  GUARDED(goss_counters, counters);
  GUARDED(goss_message, message);
  const goss_options defaults = GOSS_OPTIONS_INIT;
  for (i = 0; i < 64; ++i)
    values[i] = (float)i;
  options.it = defaults;
  options.it.codec = "none";
  CHECK(goss_all_reduce(comm, values, values, 64, GOSS_FLOAT32, GOSS_SUM, &options.it, NULL) == GOSS_SUCCESS);
  CHECK(values[63] == 63.0f);
  CHECK(goss_recv(comm, values + 8, 4, GOSS_FLOAT32, 0, 7, NULL, &request) == GOSS_SUCCESS);
  CHECK(goss_send(comm, values, 4, GOSS_FLOAT32, 0, 7, NULL, &sent) == GOSS_SUCCESS);
  CHECK(goss_wait(&request, &message.it) == GOSS_SUCCESS && goss_wait(&sent, NULL) == GOSS_SUCCESS);
  CHECK(message.it.bytes == 16 && message.it.tag == 7 && message.it.source == 0 && values[9] == 1.0f);
  EXPECT_GUARD(message);
  counters.it.size = sizeof(goss_counters);
  CHECK(goss_comm_counters(comm, &counters.it) == GOSS_SUCCESS);
  CHECK(counters.it.size == sizeof(goss_counters) && counters.it.operations >= 3);
  EXPECT_GUARD(counters);
}

static size_t maxBytes(void* context, size_t count) {
  (void)context;
  return 4 * count;
}
static size_t encode(void* context, const float* values, size_t count, void* payload) {
  (void)context;
  memcpy(payload, values, 4 * count);
  return 4 * count;
}
static int decode(void* context, const void* payload, size_t bytes, size_t count, float* values) {
  (void)context;
  if (bytes != 4 * count) return 1;
  memcpy(values, payload, bytes);
  return 0;
}

static void registerCodec(goss_comm_t comm) {
  GUARDED(goss_codec_functions, functions);
  functions.it.size = sizeof(goss_codec_functions);
  functions.it.context = NULL;
  functions.it.block = 0;
  functions.it.max_bytes = maxBytes;
  functions.it.encode = encode;
  functions.it.decode = decode;
  CHECK(goss_codec_register(comm, "verbatim", &functions.it) == GOSS_SUCCESS);
  EXPECT_GUARD(functions);
}

static void synchronize(goss_comm_t comm) {
  float parameter[4] = {1, 2, 3, 4};
  float gradient[4] = {1, 1, 1, 1};
  goss_sync_t sync = NULL;
  int32_t index = -1;
  const goss_sync_tensor defaults = GOSS_SYNC_TENSOR_INIT;
  GUARDED(goss_sync_tensor, tensor);
  GUARDED(goss_sync_info, info);
  GUARDED(goss_sync_counters, counters);
  tensor.it = defaults;
  tensor.it.name = "weights";
  tensor.it.parameter = parameter;
  tensor.it.gradient = gradient;
  tensor.it.count = 4;
  CHECK(goss_sync_create(comm, "ddp", &sync) == GOSS_SUCCESS);
  CHECK(goss_sync_register(sync, &tensor.it, &index) == GOSS_SUCCESS && index == 0);
  CHECK(goss_sync_start(sync) == GOSS_SUCCESS);
  CHECK(goss_sync_gradients(sync) == GOSS_SUCCESS && goss_sync_step(sync) == GOSS_SUCCESS);
  info.it.size = sizeof(goss_sync_info);
  counters.it.size = sizeof(goss_sync_counters);
  CHECK(goss_sync_get_info(sync, &info.it) == GOSS_SUCCESS && info.it.gradients == 1);
  CHECK(goss_sync_get_counters(sync, &counters.it) == GOSS_SUCCESS && counters.it.steps == 1);
  EXPECT_GUARD(tensor);
  EXPECT_GUARD(info);
  EXPECT_GUARD(counters);
  CHECK(goss_sync_destroy(sync) == GOSS_SUCCESS);
}

static int32_t compute(void* context, const goss_pipeline_action* action, const void* input, void* output) {
  (void)action, (void)input, (void)output;
  ++*(int*)context;
  return 0;
}

static void runPipeline(goss_comm_t comm) {
  int actions = 0;
  char* text = NULL;
  goss_pipeline_t pipeline = NULL;
  goss_pipeline_codec_t codec = NULL;
  const goss_pipeline_request request_defaults = GOSS_PIPELINE_REQUEST_INIT;
  const goss_pipeline_costs costs_defaults = GOSS_PIPELINE_COSTS_INIT;
  const goss_pipeline_codec_request codec_defaults = GOSS_PIPELINE_CODEC_REQUEST_INIT;
  GUARDED(goss_pipeline_request, request);
  GUARDED(goss_pipeline_costs, costs);
  GUARDED(goss_pipeline_codec_request, codec_request);
  GUARDED(goss_pipeline_work, work);
  request.it = request_defaults;
  memset((char*)&request.it.recompute + sizeof request.it.recompute, kGuard,
         sizeof request.it - offsetof(goss_pipeline_request, recompute) - sizeof request.it.recompute);
  request.it.micro_batches = 4;
  costs.it = costs_defaults;
  codec_request.it = codec_defaults;
  codec_request.it.sample_elems = 8;
  memset(&work.it, 0, sizeof work.it);
  work.it.size = sizeof(goss_pipeline_work);
  work.it.boundary_bytes = 64;
  work.it.context = &actions;
  work.it.run = compute;
  CHECK(goss_pipeline_generate(&request.it, &pipeline) == GOSS_SUCCESS);
  CHECK(goss_pipeline_simulate(pipeline, &costs.it, &text) == GOSS_SUCCESS && text != NULL);
  goss_free(text);
  CHECK(goss_pipeline_codec_create(comm, &codec_request.it, &codec) == GOSS_SUCCESS);
  CHECK(goss_pipeline_run(pipeline, comm, &work.it) == GOSS_SUCCESS && actions >= 8);
  EXPECT_GUARD(request);
  EXPECT_GUARD(costs);
  EXPECT_GUARD(codec_request);
  EXPECT_GUARD(work);
  CHECK(goss_pipeline_codec_destroy(codec) == GOSS_SUCCESS && goss_pipeline_destroy(pipeline) == GOSS_SUCCESS);
}

int main(void) {
  goss_comm_t comm = createAlone();
  if (comm == NULL) return 1;
  runCollectives(comm);
  registerCodec(comm);
  synchronize(comm);
  runPipeline(comm);
  CHECK(goss_comm_destroy(comm) == GOSS_SUCCESS);
  if (failures == 0) printf("a program of the first version runs\n");
  return failures == 0 ? 0 : 1;
}
