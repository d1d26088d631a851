/* How the programs of scripts/scale end when a call of Gossamer fails. */
#ifndef GOSS_BENCH_SCALE_CHECK_H_
#define GOSS_BENCH_SCALE_CHECK_H_

#include <gossamer/gossamer.h>
#include <stdio.h>
#include <stdlib.h>

static inline void check(goss_status status, const char* what) {
  if (status == GOSS_SUCCESS) return;
  fprintf(stderr, "%s: %s: %s\n", what, goss_status_string(status), goss_last_error());
  exit(1);
}

#endif
