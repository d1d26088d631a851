#include "tests/lib/sync/methods/model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/support/calls.h"
#include "tests/support/thread_ranks.h"

namespace goss::test {

namespace {

const char* const kSpecs[] = {"ddp",
                              "local:h=3",
                              "diloco:h=4",
                              "streaming:h=8,fragments=2,tau=3,alpha=0.5",
                              "streaming:h=9,fragments=3,strided=0",
                              "eager:h=4",
                              "delayed-nesterov:h=2,buffer=3,spread=0.1",
                              "slowmo:h=4",
                              "co2:h=4",
                              "qsr:h=2,growth=1.2",
                              "diloco:h=4,islands=2",
                              "diloco:h=4,steps=dynamic",
                              "streaming:h=8,fragments=2,tau=3,steps=dynamic",
                              "diloco:h=4,steps=dynamic,islands=2,codec=int8",
                              "diloco:h=4,codec=int8",
                              "diloco:h=4,islands=2,codec=int4:block=32+ef",
                              "ddp:codec=int4:block=32,round=stochastic",
                              "streaming:h=8,fragments=2,tau=3,codec=int4:block=32,round=stochastic+ef",
                              "cocktail",
                              "cocktail:tau=0",
                              "cocktail:codec=none",
                              "cocktail:islands=2,codec=topk:ratio=0.25+int4:block=32,round=stochastic+ef",
                              "cocktail:h=3,tau=2,codec=topk:ratio=0.25+loco",
                              "cocktail:codec=topk:ratio=0.25+momentum",
                              "cocktail:h=2,tau=2,codec=randk:ratio=0.5,block=1+topk:ratio=0.5+int4:block=32+ef",
                              "async-average:h=4,tau=3",
                              "osgp:tau=2",
                              "auto:steps=4,check=3",
                              "0-1-adam:freeze=6,kappa=2,double_every=4,longest=4",
                              "demo:chunk=8,keep=3"};

} // namespace

std::vector<std::string> allSpecs() {
  std::vector<std::string> all(std::begin(kSpecs), std::end(kSpecs));
  char* json = nullptr;
  EXPECT_OK(goss_sync_methods(&json));
  const nlohmann::json methods = nlohmann::json::parse(json);
  goss_free(json);
  for (const auto& method : methods) {
    const std::string name = method["name"];
    const auto names = [&](const std::string& spec) { return spec.substr(0, spec.find(':')) == name; };
    if (method["depends_on_time"] || std::any_of(all.begin(), all.end(), names)) continue;
    const auto& parameters = method["parameters"];
    const bool has_period = std::any_of(parameters.begin(), parameters.end(),
                                        [](const auto& parameter) { return parameter["key"] == "h"; });
    all.push_back(has_period ? name + ":h=4" : name);
  }
  return all;
}

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

SyncRun::SyncRun(goss_comm_t comm, const std::string& spec, Elsewhere* elsewhere, Rates rates)
    : elsewhere_(elsewhere), rates_(rates), parameters_(kElements), gradient_(kElements) {
  goss_comm_rank(comm, &rank_);
  const Vector initial = initialParameters();
  for (std::size_t i = 0; i < kElements; ++i) { // others than rank 0 begin with something else, to be replaced
    parameters_[i] = static_cast<float>(rank_ == 0 ? initial[i] : -77);
  }
  EXPECT_EQ(goss_sync_create(comm, spec.c_str(), &sync_), GOSS_SUCCESS) << goss_last_error();
  float* const parameters = elsewhere_ != nullptr ? elsewhere_->memory() : parameters_.data();
  float* const gradient = elsewhere_ != nullptr ? elsewhere_->memory() + kElements : gradient_.data();
  std::size_t at = 0;
  for (const std::size_t size : kTensorSizes) {
    goss_sync_tensor tensor = GOSS_SYNC_TENSOR_INIT;
    const std::string name = "tensor" + std::to_string(at);
    tensor.name = name.c_str();
    tensor.parameter = parameters + at;
    tensor.gradient = gradient + at;
    tensor.count = size;
    EXPECT_EQ(goss_sync_register(sync_, &tensor, nullptr), GOSS_SUCCESS) << goss_last_error();
    at += size;
  }
}

SyncRun::~SyncRun() { goss_sync_destroy(sync_); }

void SyncRun::putTensors() {
  if (elsewhere_ == nullptr) return;
  std::vector<float> both = parameters_;
  both.insert(both.end(), gradient_.begin(), gradient_.end());
  elsewhere_->put(both);
}

goss_status SyncRun::called(const std::function<goss_status()>& call) {
  putTensors();
  const goss_status status = call();
  if (elsewhere_ == nullptr) return status;
  const std::vector<float> both = elsewhere_->get(2 * kElements);
  parameters_.assign(both.begin(), both.begin() + kElements);
  gradient_.assign(both.begin() + kElements, both.end());
  return status;
}

void SyncRun::start() {
  EXPECT_EQ(called([&] { return goss_sync_start(sync_); }), GOSS_SUCCESS) << goss_last_error();
}

void SyncRun::finish() {
  EXPECT_EQ(called([&] { return goss_sync_finish(sync_); }), GOSS_SUCCESS) << goss_last_error();
}

void SyncRun::step(int step) { EXPECT_EQ(tryStep(step), GOSS_SUCCESS) << goss_last_error(); }

goss_status SyncRun::tryStep(int step) {
  EXPECT_EQ(goss_sync_set_lr(sync_, rates_(step)), GOSS_SUCCESS) << goss_last_error();
  std::int32_t computes = 0;
  if (const goss_status status = goss_sync_computes(sync_, &computes); status != GOSS_SUCCESS) return status;
  if (computes == 0) return called([&] { return goss_sync_step(sync_); });
  EXPECT_EQ(goss_sync_step_time(sync_, stepSeconds(rank_)), GOSS_SUCCESS) << goss_last_error();
  for (std::size_t i = 0; i < kElements; ++i) {
    gradient_[i] = static_cast<float>(gradientOf(rank_, step, i));
  }
  const goss_status exchanged = called([&] {
    const std::int32_t last = elsewhere_ != nullptr ? 1 : 0; // The others are taken for ready.
    for (std::int32_t tensor = static_cast<std::int32_t>(std::size(kTensorSizes)) - 1; tensor >= last; --tensor) {
      if (const goss_status status = goss_sync_gradient_ready(sync_, tensor); status != GOSS_SUCCESS) return status;
    }
    return goss_sync_gradients(sync_);
  });
  if (exchanged != GOSS_SUCCESS) return exchanged;
  for (std::size_t i = 0; i < kElements; ++i) {
    parameters_[i] -= static_cast<float>(rates_(step)) * gradient_[i];
  }
  return called([&] { return goss_sync_step(sync_); });
}

std::string exported(goss_sync_t sync) {
  void* bytes = nullptr;
  std::size_t count = 0;
  EXPECT_EQ(goss_sync_export(sync, &bytes, &count), GOSS_SUCCESS) << goss_last_error();
  std::string state(static_cast<const char*>(bytes), count);
  goss_free(bytes);
  return state;
}

Trajectory runLibrary(const std::string& spec, Rates rates) {
  Trajectory trajectory(kSteps, std::vector<Vector>(kRanks));
  runRanks(kRanks, [&](goss_comm_t comm, int rank) {
    SyncRun run(comm, spec, nullptr, rates);
    run.start();
    for (int step = 0; step < kSteps; ++step) {
      run.step(step);
      trajectory[static_cast<std::size_t>(step)][static_cast<std::size_t>(rank)] = run.values();
    }
  });
  return trajectory;
}

Replicas startEverywhere() { return Replicas(kRanks, initialParameters()); }

void localStep(Replicas& x, int step, Rates rates) {
  for (int rank = 0; rank < kRanks; ++rank) {
    for (std::size_t i = 0; i < kElements; ++i) {
      x[static_cast<std::size_t>(rank)][i] -= rates(step) * gradientOf(rank, step, i);
    }
  }
}

Trajectory runReference(const std::function<void(int step, Replicas& x)>& sync, Rates rates) {
  Replicas x = startEverywhere();
  Trajectory trajectory;
  for (int step = 0; step < kSteps; ++step) {
    localStep(x, step, rates);
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
