#include "tests/synchronizers/model.h"

#include <gtest/gtest.h>

#include "tests/support/thread_ranks.h"

namespace goss::test {

double gradientOf(int rank, int step, std::size_t element) {
  std::uint64_t bits = (static_cast<std::uint64_t>(rank) << 40) ^ (static_cast<std::uint64_t>(step) << 20) ^ element;
  bits = (bits + 0x9e3779b97f4a7c15u) * 0xbf58476d1ce4e5b9u;
  bits = (bits ^ (bits >> 29)) * 0x94d049bb133111ebu;
  return static_cast<double>((bits >> 33) % 9) - 4;
}

double learningRate(int step) { return step < kSteps / 2 ? 0.5 : 0.25; }

double stepSeconds(int rank) {
  constexpr double kSeconds[] = {1, 2, 4, 4};
  return kSeconds[rank % 4];
}

Vector initialParameters() {
  Vector values(kElements);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = gradientOf(99, 0, i);
  }
  return values;
}

std::size_t fragmentOf(std::size_t element, std::size_t fragments) {
  std::size_t tensor = 0, end = kTensorSizes[0];
  while (element >= end) {
    end += kTensorSizes[++tensor];
  }
  return tensor % fragments;
}

SyncRun::SyncRun(goss_comm_t comm, const std::string& spec) : parameters_(kElements), gradient_(kElements) {
  goss_comm_rank(comm, &rank_);
  const Vector initial = initialParameters();
  for (std::size_t i = 0; i < kElements; ++i) { // others than rank 0 begin with something else, to be replaced
    parameters_[i] = static_cast<float>(rank_ == 0 ? initial[i] : -77);
  }
  EXPECT_EQ(goss_sync_create(comm, spec.c_str(), &sync_), GOSS_SUCCESS) << goss_last_error();
  std::size_t at = 0;
  for (const std::size_t size : kTensorSizes) {
    goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
    const std::string name = "tensor" + std::to_string(at);
    tensor.name = name.c_str();
    tensor.parameter = parameters_.data() + at;
    tensor.gradient = gradient_.data() + at;
    tensor.count = size;
    EXPECT_EQ(goss_sync_register(sync_, &tensor, nullptr), GOSS_SUCCESS) << goss_last_error();
    at += size;
  }
}

SyncRun::~SyncRun() { goss_sync_destroy(sync_); }

void SyncRun::start() { EXPECT_EQ(goss_sync_start(sync_), GOSS_SUCCESS) << goss_last_error(); }

void SyncRun::step(int step) {
  EXPECT_EQ(goss_sync_set_lr(sync_, learningRate(step)), GOSS_SUCCESS) << goss_last_error();
  std::int32_t computes = 0;
  EXPECT_EQ(goss_sync_computes(sync_, &computes), GOSS_SUCCESS) << goss_last_error();
  if (computes == 0) {
    EXPECT_EQ(goss_sync_step(sync_), GOSS_SUCCESS) << goss_last_error();
    return;
  }
  EXPECT_EQ(goss_sync_step_time(sync_, stepSeconds(rank_)), GOSS_SUCCESS) << goss_last_error();
  for (std::size_t i = 0; i < kElements; ++i) {
    gradient_[i] = static_cast<float>(gradientOf(rank_, step, i));
  }
  for (std::int32_t tensor = static_cast<std::int32_t>(std::size(kTensorSizes)) - 1; tensor >= 0; --tensor) {
    EXPECT_EQ(goss_sync_gradient_ready(sync_, tensor), GOSS_SUCCESS) << goss_last_error();
  }
  EXPECT_EQ(goss_sync_gradients(sync_), GOSS_SUCCESS) << goss_last_error();
  for (std::size_t i = 0; i < kElements; ++i) {
    parameters_[i] -= static_cast<float>(learningRate(step)) * gradient_[i];
  }
  EXPECT_EQ(goss_sync_step(sync_), GOSS_SUCCESS) << goss_last_error();
}

std::string exported(goss_sync_t sync) {
  void* bytes = nullptr;
  std::size_t count = 0;
  EXPECT_EQ(goss_sync_export(sync, &bytes, &count), GOSS_SUCCESS) << goss_last_error();
  std::string state(static_cast<const char*>(bytes), count);
  goss_free(bytes);
  return state;
}

Trajectory runLibrary(const std::string& spec) {
  Trajectory trajectory(kSteps, std::vector<Vector>(kRanks));
  runRanks(kRanks, [&](goss_comm_t comm, int rank) {
    SyncRun run(comm, spec);
    run.start();
    for (int step = 0; step < kSteps; ++step) {
      run.step(step);
      trajectory[static_cast<std::size_t>(step)][static_cast<std::size_t>(rank)] = run.values();
    }
  });
  return trajectory;
}

Replicas startEverywhere() { return Replicas(kRanks, initialParameters()); }

void localStep(Replicas& x, int step) {
  for (int rank = 0; rank < kRanks; ++rank) {
    for (std::size_t i = 0; i < kElements; ++i) {
      x[static_cast<std::size_t>(rank)][i] -= learningRate(step) * gradientOf(rank, step, i);
    }
  }
}

Trajectory runReference(const std::function<void(int step, Replicas& x)>& sync) {
  Replicas x = startEverywhere();
  Trajectory trajectory;
  for (int step = 0; step < kSteps; ++step) {
    localStep(x, step);
    sync(step + 1, x);
    trajectory.push_back(x);
  }
  return trajectory;
}

void expectSame(const Trajectory& library, const Trajectory& reference) {
  ASSERT_EQ(library.size(), reference.size());
  for (std::size_t step = 0; step < library.size(); ++step) {
    for (std::size_t rank = 0; rank < library[step].size(); ++rank) {
      ASSERT_EQ(library[step][rank], reference[step][rank]) << "after step " << step + 1 << ", rank " << rank;
    }
  }
}

} // namespace goss::test
