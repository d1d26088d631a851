/// A tiny model that is trained by a made-up gradient, once through the library and once by a reference.
///
/// Gradients are whole numbers and every factor is a power of two, so that nothing is ever rounded: a method and its
/// published rule must agree to the last bit, in whatever order either of them adds.
#ifndef GOSS_TESTS_LIB_SYNC_METHODS_MODEL_H_
#define GOSS_TESTS_LIB_SYNC_METHODS_MODEL_H_

#include <functional>
#include <string>
#include <vector>

#include "gossamer/sync.h"

namespace goss::test {

using Vector = std::vector<double>;

inline constexpr int kRanks = 4;
inline constexpr int kSteps = 20;
inline constexpr std::size_t kTensorSizes[] = {5, 1, 7};
inline constexpr std::size_t kElements = 13;

/// parameters[step][rank]: after each step.
using Trajectory = std::vector<std::vector<Vector>>;

/// A whole number in -4..4 that depends on nothing but its arguments.
double gradientOf(int rank, int step, std::size_t element);
/// 0.5 in the first half of the run, then 0.25.
double learningRate(int step);
using Rates = double (*)(int step);
Vector initialParameters();
/// The fragment of an element when layers are strided over `fragments`; each tensor is a layer.
std::size_t fragmentOf(std::size_t element, std::size_t fragments);

/// The step times that a rank reports, for steps=dynamic.
double stepSeconds(int rank);

/// Specs of all methods but those whose results depend on time (pair_averages_test.cc).
std::vector<std::string> allSpecs();

/// Memory that the host cannot touch.
class Elsewhere {
 public:
  virtual ~Elsewhere() = default;
  /// Memory for at least 2 * kElements floats.
  virtual float* memory() = 0;
  virtual void put(const std::vector<float>& values) = 0;
  virtual std::vector<float> get(std::size_t count) = 0;
};

/// A synchronizer with the tiny model registered, driven by plain gradient descent. One rank.
class SyncRun {
 public:
  /// Null `elsewhere`: the tensors lie in ordinary memory.
  SyncRun(goss_comm_t comm, const std::string& spec, Elsewhere* elsewhere = nullptr, Rates rates = learningRate);
  ~SyncRun();
  SyncRun(const SyncRun&) = delete;
  SyncRun& operator=(const SyncRun&) = delete;

  void start();
  void finish();
  /// Gives the tensors the values of parameters(), as every step does by itself.
  void putTensors();
  /// Leaves the step out where the synchronizer says so.
  void step(int step);
  /// The same, up to the first call that fails.
  goss_status tryStep(int step);
  [[nodiscard]] goss_sync_t sync() const { return sync_; }
  std::vector<float>& parameters() { return parameters_; }
  [[nodiscard]] Vector values() const { return {parameters_.begin(), parameters_.end()}; }

 private:
  /// Makes the call; before it the tensors have these values, behind it these vectors have the tensors'.
  goss_status called(const std::function<goss_status()>& call);

  int rank_ = 0;
  Elsewhere* const elsewhere_;
  const Rates rates_;
  std::vector<float> parameters_;
  std::vector<float> gradient_;
  goss_sync_t sync_ = nullptr;
};

/// What goss_sync_export gives.
std::string exported(goss_sync_t sync);

/// Runs `spec` on kRanks ranks over kSteps steps.
Trajectory runLibrary(const std::string& spec, Rates rates = learningRate);

using Replicas = std::vector<Vector>; // [rank][element]

Replicas startEverywhere();
/// A step of every rank along its own gradient.
void localStep(Replicas& x, int step, Rates rates = learningRate);
/// Runs steps in this process; after the local part of each, `sync` may change x. `step` counts from 1 there, as papers
/// do.
Trajectory runReference(const std::function<void(int step, Replicas& x)>& sync, Rates rates = learningRate);

/// Fails the test where two trajectories differ in a bit.
void expectSame(const Trajectory& library, const Trajectory& reference);

} // namespace goss::test

#endif // GOSS_TESTS_LIB_SYNC_METHODS_MODEL_H_
