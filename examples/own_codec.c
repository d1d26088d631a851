/* A codec of one's own: float32 cut to its upper 16 bits. Registered on every rank, it is named in goss_options.codec
 * like a built-in one; merging and error feedback are built around it.
 *
 * Run it as ranks of a torchrun-style launcher, or alone. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "gossamer/compression.h"

static size_t max_bytes(void* context, size_t count) {
  (void)context;
  return 2 * count;
}

static size_t encode(void* context, const float* values, size_t count, void* payload) {
  unsigned char* to = payload;
  (void)context;
  for (size_t i = 0; i < count; ++i) {
    uint32_t bits;
    memcpy(&bits, &values[i], sizeof bits);
    to[2 * i] = (unsigned char)(bits >> 16);
    to[2 * i + 1] = (unsigned char)(bits >> 24);
  }
  return 2 * count;
}

static int decode(void* context, const void* payload, size_t bytes, size_t count, float* values) {
  const unsigned char* from = payload;
  (void)context;
  if (bytes != 2 * count) return 1; /* A peer may send anything. */
  for (size_t i = 0; i < count; ++i) {
    const uint32_t bits = (uint32_t)from[2 * i] << 16 | (uint32_t)from[2 * i + 1] << 24;
    memcpy(&values[i], &bits, sizeof bits);
  }
  return 0;
}

static void check(goss_status status, const char* what) {
  if (status == GOSS_SUCCESS) return;
  fprintf(stderr, "%s: %s\n", what, goss_last_error());
  exit(1);
}

enum { kCount = 1000 };

int main(void) {
  static float values[kCount];
  goss_comm_t comm = NULL;
  int32_t rank = 0, ranks = 1;
  const goss_codec_functions cut = {sizeof cut, NULL, 1, max_bytes, encode, decode};
  check(goss_comm_create(NULL, &comm), "goss_comm_create");
  check(goss_comm_rank(comm, &rank), "goss_comm_rank");
  check(goss_comm_size(comm, &ranks), "goss_comm_size");
  check(goss_codec_register(comm, "cut16", &cut), "goss_codec_register");

  for (size_t i = 0; i < kCount; ++i)
    values[i] = (float)(i + 1) * 0.001f * (float)(rank + 1);
  goss_options options = GOSS_OPTIONS_INIT;
  options.codec = "cut16";
  check(goss_all_reduce(comm, values, values, kCount, GOSS_FLOAT32, GOSS_SUM, &options, NULL), "goss_all_reduce");

  const float factor = (float)ranks * (float)(ranks + 1) / 2.0f;
  for (size_t i = 0; i < kCount; ++i) {
    const float exact = (float)(i + 1) * 0.001f * factor;
    /* 7 bits of fraction stay: each of two encodings loses less than one part in 128. */
    if (fabsf(values[i] - exact) > exact / 60.0f) {
      fprintf(stderr, "rank %d: element %zu is %g, not %g\n", rank, i, (double)values[i], (double)exact);
      return 1;
    }
  }
  if (rank == 0) printf("%d ranks added %d numbers with a codec of 16 bits\n", ranks, kCount);
  check(goss_comm_destroy(comm), "goss_comm_destroy");
  return 0;
}
