/* What the programs of scripts/scale share: the sizes, the clock, and the line that they print. */
#ifndef GOSS_BENCH_SCALE_FIRST_CALLS_H_
#define GOSS_BENCH_SCALE_FIRST_CALLS_H_

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { kSizes = 3, kLaterCalls = 100 };
static const size_t kBytes[kSizes] = {8, 256 << 10, 4 << 20};

/* Seconds of the slowest rank. */
struct times {
  double create;
  double first[kSizes]; /* By kBytes. */
  double later;         /* A call of 8 bytes, in the mean of kLaterCalls. */
};
enum { kTimes = sizeof(struct times) / sizeof(double) };

static inline double now_s(void) {
  struct timespec at;
  clock_gettime(CLOCK_MONOTONIC, &at);
  return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/* A vector of ones that is as large as the largest size. */
static inline float* ones(void) {
  const size_t count = kBytes[kSizes - 1] / sizeof(float);
  float* values = (float*)malloc(kBytes[kSizes - 1]);
  size_t i;
  for (i = 0; values != NULL && i < count; ++i)
    values[i] = 1;
  return values;
}

/* Ends the program when a sum of ones over the ranks is wrong. */
static inline void expect_sum(const float* sums, size_t bytes, int ranks) {
  const size_t last = bytes / sizeof(float) - 1;
  if (sums[0] == (float)ranks && sums[last] == (float)ranks) return;
  fprintf(stderr, "%zu bytes: sums %g and %g of %d ones\n", bytes, sums[0], sums[last], ranks);
  exit(1);
}

static inline void print_times(const struct times* most) {
  printf(
      "{\"create_s\": %.6f, \"first_8_s\": %.6f, \"first_256K_s\": %.6f, \"first_4M_s\": %.6f, \"later_8_us\": %.2f}\n",
      most->create, most->first[0], most->first[1], most->first[2], most->later * 1e6);
}

#endif
