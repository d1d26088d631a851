/* Trains logistic regression on every rank's own data, kept together by a synchronizer that a string chooses:
 *   mpirun -np 4 example_logistic_regression diloco:h=10     (or choco:gamma=0.5,codec=int8, or moshpit:dims=2x2) */
#include <gossamer/sync.h>
#include <math.h>
#include <stdio.h>

enum { kInputs = 8, kSamples = 200, kSteps = 200 };
#define TRY(call) \
  if ((call) != GOSS_SUCCESS) return fprintf(stderr, "%s\n", goss_last_error()), 1

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
      z += weights[j] * (x[j] = uniform(&state));
      side += (float)(j % 3 - 1) * x[j];
    }
    const float y = side > 0 ? 1.0f : -1.0f, p = 1.0f / (1.0f + expf(y * z)); /* p: of the wrong label */
    loss -= log(1.0 - p + 1e-9) / kSamples;
    for (int j = 0; j < kInputs; ++j)
      gradient[j] -= y * p * x[j] / kSamples;
  }
  return loss;
}

int main(int argc, char** argv) {
  float weights[kInputs] = {0}, gradient[kInputs];
  const char* spec = argc > 1 ? argv[1] : "diloco:h=10";
  goss_comm_t comm;
  goss_sync_t sync;
  int rank;
  TRY(goss_comm_create(NULL, &comm));
  TRY(goss_comm_rank(comm, &rank));
  TRY(goss_sync_create(comm, spec, &sync));
  goss_sync_tensor tensor = {sizeof tensor, "weights", weights, gradient, kInputs, GOSS_FLOAT32, -1};
  TRY(goss_sync_register(sync, &tensor, NULL));
  TRY(goss_sync_start(sync));
  for (int step = 0; step < kSteps; ++step) {
    gradient_of(weights, gradient, rank);
    TRY(goss_sync_gradients(sync)); /* what the optimizer shall see; its learning rate here is 1 */
    for (int j = 0; j < kInputs; ++j)
      weights[j] -= gradient[j];
    TRY(goss_sync_step(sync)); /* parameters may change */
  }
  TRY(goss_sync_finish(sync));
  double loss = gradient_of(weights, gradient, rank);
  TRY(goss_all_reduce(comm, &loss, &loss, 1, GOSS_FLOAT64, GOSS_AVG, NULL, NULL));
  if (rank == 0) printf("%s: loss %.4f after %d steps\n", spec, loss, kSteps);
  return goss_sync_destroy(sync) != GOSS_SUCCESS || goss_comm_destroy(comm) != GOSS_SUCCESS || loss > 0.35;
}
