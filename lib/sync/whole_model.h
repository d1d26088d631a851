/// Runs a rule over all registered tensors as one vector.
#ifndef GOSS_LIB_SYNC_WHOLE_MODEL_H_
#define GOSS_LIB_SYNC_WHOLE_MODEL_H_

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/wire.h"
#include "sync/outer_state.h"
#include "sync/rule.h"

namespace goss::sync {

/// Holds the state of the rule. One thread.
class WholeModel {
 public:
  /// All outlive it. `loss`: the caller's, at the parameters as they lie in the tensors; may be empty, and change.
  WholeModel(const Rule& rule, GossipPeers& peers, const std::function<Result<double>()>& loss)
      : rule_(rule),
        peers_(peers),
        loss_(loss),
        evaluate_([this] {
          write(false);
          return loss_();
        }),
        state_(rule.needs().vectors * (rule.needs().per_round ? peers.period() : 1)),
        scalars_(rule.needs().scalars * (rule.needs().per_round ? peers.period() : 1)),
        has_gradients_(rule.needs().gradients) {}

  WholeModel(const WholeModel&) = delete;
  WholeModel& operator=(const WholeModel&) = delete;

  /// Adds a tensor; `tensor` is its number among those registered.
  void add(std::span<float> parameter, std::span<float> gradient, std::uint64_t tensor);
  /// Takes the parameters, which are equal on all ranks, and begins the rule's state.
  void begin();
  /// Collective, behind load() or adopt(): makes what the ranks keep of each other agree. Ranks that have saved their
  /// states in different steps go on from the latest, `step`, all in the same round, or all get GOSS_ERR_MISMATCH.
  Status resume(std::uint64_t& step);
  /// Collective, behind begin(), resume() or adopt(): gives the shared vectors to the other ranks.
  Status share();
  /// Local: copies the shared vectors, which other ranks have changed, back into the state.
  Status fetch();
  /// Collective: makes step `step`, counted from 1. The model is copied in and out only where the rule acts. After an
  /// error the tensors hold what they held before, also where the rule has looked at the loss elsewhere.
  Status beforeOptimizer(std::uint64_t step, double lr);
  Status afterOptimizer(std::uint64_t step, double lr);
  Status finish(std::uint64_t step, double lr);

  [[nodiscard]] const std::vector<std::uint64_t>& tensors() const { return tensors_; }
  /// Writes the state in the form of a fragment's (docs/formats.md), and apart from it the scalars.
  void save(base::WireWriter& writer) const;
  void saveScalars(base::WireWriter& writer) const;
  /// False when the bytes are not of this model, which must then be discarded.
  bool load(base::WireReader& reader);
  void loadScalars(base::WireReader& reader);
  /// Restores what other ranks have saved, as their mean; the parameters are equal on all ranks. False: they lack it.
  bool adopt(const OuterState& saved, std::span<const std::string> names);

 private:
  void read();
  void write(bool gradients);
  Model model(std::uint64_t step, double lr);

  const Rule& rule_;
  GossipPeers& peers_;
  const std::function<Result<double>()>& loss_;
  const std::function<Result<double>()> evaluate_; // of the parameters in x_
  std::vector<std::span<float>> parameters_;
  std::vector<std::span<float>> gradients_;
  std::vector<std::uint64_t> tensors_;
  std::vector<std::size_t> sizes_; // of the tensors
  std::vector<float> x_;
  std::vector<float> g_;
  std::vector<std::vector<float>> state_;
  std::vector<double> scalars_;
  bool has_gradients_;
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_WHOLE_MODEL_H_
