/* Trains logistic regression on every rank's own data, kept together by a synchronizer that a string chooses:
 *   mpirun -np 4 example_logistic_regression diloco:h=10
 *   mpirun -np 4 example_logistic_regression slowmo:h=10 */
#include <gossamer/sync.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { kInputs = 8, kSamples = 200, kSteps = 200 };

static void check(goss_status status) {
  if (status != GOSS_SUCCESS) {
    fprintf(stderr, "%s: %s\n", goss_status_string(status), goss_last_error());
    exit(1);
  }
}

static float uniform(unsigned* state) { /* in [-1, 1) */
  *state = *state * 1664525u + 1013904223u;
  return (float)(*state >> 8) / 8388608.0f - 1.0f;
}

/* Mean loss over this rank's samples; the label says on which side of a plane a sample lies. */
static double gradient_of(const float* weights, float* gradient, int rank) {
  unsigned state = 7u + (unsigned)rank;
  double loss = 0;
  for (int j = 0; j < kInputs; ++j)
    gradient[j] = 0;
  for (int i = 0; i < kSamples; ++i) {
    float x[kInputs], z = 0, side = 0;
    for (int j = 0; j < kInputs; ++j) {
      x[j] = uniform(&state);
      z += weights[j] * x[j];
      side += (float)(j % 3 - 1) * x[j];
    }
    const float y = side > 0 ? 1.0f : -1.0f;
    const float p = 1.0f / (1.0f + expf(y * z)); /* probability of the wrong label */
    loss -= log(1.0 - p + 1e-9) / kSamples;
    for (int j = 0; j < kInputs; ++j)
      gradient[j] -= y * p * x[j] / kSamples;
  }
  return loss;
}

int main(int argc, char** argv) {
  float weights[kInputs] = {0}, gradient[kInputs];
  double loss = 0;
  int32_t rank, ranks;
  goss_comm_t comm;
  goss_sync_t sync;
  goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
  check(goss_comm_create(NULL, &comm));
  check(goss_comm_rank(comm, &rank));
  check(goss_comm_size(comm, &ranks));

  check(goss_sync_create(comm, argc > 1 ? argv[1] : "diloco:h=10", &sync));
  tensor.name = "weights";
  tensor.parameter = weights;
  tensor.gradient = gradient;
  tensor.count = kInputs;
  check(goss_sync_register(sync, &tensor, NULL));
  check(goss_sync_start(sync));
  for (int step = 0; step < kSteps; ++step) {
    const float lr = 1.0f;
    check(goss_sync_set_lr(sync, lr));
    loss = gradient_of(weights, gradient, rank);
    check(goss_sync_gradient_ready(sync, 0));
    check(goss_sync_gradients(sync));
    for (int j = 0; j < kInputs; ++j)
      weights[j] -= lr * gradient[j];
    check(goss_sync_step(sync));
  }
  check(goss_sync_finish(sync));

  loss = gradient_of(weights, gradient, rank);
  check(goss_all_reduce(comm, &loss, &loss, 1, GOSS_FLOAT64, GOSS_AVG, NULL, NULL));
  if (rank == 0) printf("%d ranks, %s: loss %.4f after %d steps\n", ranks, argc > 1 ? argv[1] : "diloco", loss, kSteps);
  check(goss_sync_destroy(sync));
  check(goss_comm_destroy(comm));
  return loss < 0.35 ? 0 : 1; /* 0.69 is guessing */
}
