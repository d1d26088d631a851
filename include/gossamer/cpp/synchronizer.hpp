/// Synchronizers; sync.h says when a training loop calls what.
#ifndef GOSSAMER_CPP_SYNCHRONIZER_HPP_
#define GOSSAMER_CPP_SYNCHRONIZER_HPP_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gossamer/abi.h"
#include "gossamer/cpp/comm.hpp"
#include "gossamer/cpp/error.hpp"
#include "gossamer/cpp/topology.hpp"

namespace gossamer {

/// A tensor of the model. Synchronizers take float32 alone.
struct SyncTensor {
  const char* name = "";          ///< Must match across ranks; copied.
  std::span<float> parameter;     ///< Lent until the synchronizer is destroyed.
  std::span<float> gradient = {}; ///< As long as the parameter, or empty where the method exchanges no gradients.
  std::int32_t layer = -1;        ///< Tensors of a layer stay in one fragment; -1: a layer of its own.
};

/// Keeps the replicas of a model together. Holds its communicator.
template <class Errors = Throwing>
class BasicSynchronizer {
 public:
  template <class T>
  using Return = typename Errors::template Return<T>;

  /// Collective. `spec`: docs/synchronizers.md.
  static Return<BasicSynchronizer> create(const BasicComm<Errors>& comm, const std::string& spec) {
    goss_sync_t handle = nullptr;
    const goss_status status = goss_sync_create(comm.handle(), spec.c_str(), &handle);
    return Errors::finish(status, [&] { return BasicSynchronizer(comm.state(), handle); });
  }

  /// Adds a tensor, before start(), and gives its number, from 0 in order.
  Return<std::int32_t> add(const SyncTensor& tensor) {
    goss_sync_tensor given;
    goss_sync_tensor_init(&given, sizeof(given));
    given.name = tensor.name;
    given.parameter = tensor.parameter.data();
    given.gradient = tensor.gradient.data();
    given.count = tensor.parameter.size();
    given.layer = tensor.layer;
    std::int32_t index = -1;
    goss_status status = GOSS_SUCCESS;
    if (!tensor.gradient.empty()) {
      status = detail::expectCount("goss_sync_register", "gradient", tensor.gradient.size(), tensor.parameter.size());
    }
    if (status == GOSS_SUCCESS) status = goss_sync_register(handle(), &given, &index);
    return Errors::finish(status, [&] { return index; });
  }
  /// Collective, once: checks that the ranks agree, and gives everybody rank 0's parameters.
  Return<void> start() { return Errors::finish(goss_sync_start(handle())); }
  /// The learning rate of the steps to come.
  Return<void> setLearningRate(double rate) { return Errors::finish(goss_sync_set_lr(handle(), rate)); }
  /// Whether this rank computes in the coming step; false only with steps=dynamic.
  Return<bool> computes() {
    std::int32_t computes = 1;
    const goss_status status = goss_sync_computes(handle(), &computes);
    return Errors::finish(status, [&] { return computes != 0; });
  }
  /// Tells how long this rank computes in the step, for steps=dynamic.
  Return<void> stepTime(double seconds) { return Errors::finish(goss_sync_step_time(handle(), seconds)); }
  /// Sets the loss that one-byte evaluates instead of gradients. Both arguments must stay valid until the synchronizer
  /// is destroyed.
  Return<void> setLoss(double (*evaluate)(void* context), void* context) {
    goss_sync_loss loss;
    goss_sync_loss_init(&loss, sizeof(loss));
    loss.evaluate = evaluate;
    loss.context = context;
    return Errors::finish(goss_sync_set_loss(handle(), &loss));
  }
  /// The gradient of a tensor is final. Never blocks.
  Return<void> gradientReady(std::int32_t index) { return Errors::finish(goss_sync_gradient_ready(handle(), index)); }
  /// Collective: exchanges gradients; afterwards they are what the optimizer shall see.
  Return<void> gradients() { return Errors::finish(goss_sync_gradients(handle())); }
  /// Collective: the optimizer has changed the parameters.
  Return<void> step() { return Errors::finish(goss_sync_step(handle())); }
  /// Collective: afterwards all ranks hold the same parameters.
  Return<void> finish() { return Errors::finish(goss_sync_finish(handle())); }

  /// All that is needed to go on with the same bits, parameters apart.
  Return<std::vector<std::byte>> exportState() {
    void* bytes = nullptr;
    std::size_t size = 0;
    const goss_status status = goss_sync_export(handle(), &bytes, &size);
    return Errors::finish(status, [&] { return detail::takeBytes(bytes, size); });
  }
  Return<void> importState(std::span<const std::byte> bytes) {
    return Errors::finish(goss_sync_import(handle(), bytes.data(), bytes.size()));
  }
  /// Takes the states of all ranks of a run on another number of ranks. True: something was left behind.
  Return<bool> importAll(std::span<const std::span<const std::byte>> states) {
    std::vector<const void*> bytes;
    std::vector<std::size_t> counts;
    for (const auto& state : states) {
      bytes.push_back(state.data());
      counts.push_back(state.size());
    }
    std::int32_t dropped = 0;
    const goss_status status = goss_sync_import_all(handle(), bytes.data(), counts.data(), counts.size(), &dropped);
    return Errors::finish(status, [&] { return dropped != 0; });
  }

  /// What it does. `spec` lives as long as the synchronizer.
  Return<goss_sync_info> info() const {
    goss_sync_info info;
    goss_sync_info_init(&info, sizeof(info));
    const goss_status status = goss_sync_get_info(handle(), &info);
    return Errors::finish(status, [&] { return info; });
  }
  /// Running totals of this rank.
  Return<goss_sync_counters> counters() const {
    goss_sync_counters counters;
    goss_sync_counters_init(&counters, sizeof(counters));
    const goss_status status = goss_sync_get_counters(handle(), &counters);
    return Errors::finish(status, [&] { return counters; });
  }
  /// What auto runs and has tried, as JSON text.
  Return<std::string> trials() const {
    char* json = nullptr;
    const goss_status status = goss_sync_trials(handle(), &json);
    std::string text = json != nullptr ? json : "";
    goss_free(json);
    return Errors::finish(status, [&] { return std::move(text); });
  }
  /// Local, from any thread: calls of all ranks fail.
  Return<void> abort(const std::string& reason) { return Errors::finish(goss_sync_abort(handle(), reason.c_str())); }

  goss_sync_t handle() const { return handle_.get(); }

 private:
  BasicSynchronizer(detail::SharedComm comm, goss_sync_t handle) : comm_(std::move(comm)), handle_(handle) {}
  detail::SharedComm comm_; // outlives handle_
  detail::Owned<goss_sync_t, goss_sync_destroy> handle_;
};

} // namespace gossamer

#endif // GOSSAMER_CPP_SYNCHRONIZER_HPP_
