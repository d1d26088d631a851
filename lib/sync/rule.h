/// The seam of methods that work on the whole model in every step: with neighbours, by votes, or through replicas.
#ifndef GOSS_LIB_SYNC_RULE_H_
#define GOSS_LIB_SYNC_RULE_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "sync/gossip_peers.h"

namespace goss::sync {

/// The model of one rank, all tensors in one vector. Equally long: x, g where there is one, and each vector of state.
struct Model {
  std::span<float> x;                      ///< Parameters.
  std::span<float> g;                      ///< beforeOptimizer of a rule with gradients: the gradients. Else empty.
  std::span<std::vector<float>> state;     ///< Needs::vectors of them; what lasts from step to step.
  std::span<double> scalars;               ///< Needs::scalars of them; what lasts beside the vectors.
  std::uint64_t step = 0;                  ///< The step that is being made, from 1.
  double lr = 1;                           ///< Learning rate of the optimizer.
  std::span<const std::size_t> sizes = {}; ///< Elements of each tensor, in the order in which they lie in x.
  /// The caller's loss at the parameters x; null: the caller has given none. A rule that has moved x for it moves it
  /// back, also when it fails.
  const std::function<Result<double>()>* loss = nullptr;
};

/// Immutable: what lasts is in Model::state, so that checkpoints can save it. Computes in float32.
class Rule {
 public:
  struct Needs {
    std::size_t vectors = 0; ///< Number of vectors in Model::state.
    bool gradients = false;  ///< beforeOptimizer() sees and changes the gradients.
    bool descent = false;    ///< The rule leaves a direction: the optimizer is plain gradient descent.
    std::string topology;    ///< Spec; "": the rule has no neighbours.
    /// goss_topology_property values that the topology must have.
    std::vector<std::int32_t> properties = {};
    /// Every exchange of this rank is of the same elements with the same ranks, so that error feedback has a meaning.
    bool same_elements = true;
    bool equal = false;      ///< After each step all ranks have the same parameters.
    std::size_t ranks = 0;   ///< The communicator must have so many; 0: any number.
    std::size_t scalars = 0; ///< Number of values in Model::scalars.
    /// Number of vectors, the first ones of Model::state, that go to GossipPeers::pairs(), where other ranks change
    /// them. What lies there is saved with the state.
    std::size_t shared = 0;
    /// The first so many of Model::scalars lie behind the shared vectors, in float32.
    std::size_t shared_scalars = 0;
    /// Only rank 0's shared vectors count; all ranks change them.
    bool centre = false;
    /// The rule averages among the ranks of a group that are there, by GossipPeers::groups().
    bool groups = false;
    /// `vectors` and `scalars` hold for each round of the topology's period; those of a round lie behind each other.
    bool per_round = false;
    /// The rule encodes vectors by GossipPeers::mixEncoded() or meanEncoded(), for which a codec must have one phase.
    bool encodes = false;
    /// After the ranks have changed, the state begins anew from the parameters: the saved state is not read.
    bool begins_anew = false;
  };

  virtual ~Rule() = default;
  [[nodiscard]] virtual Needs needs() const = 0;
  /// Fills the state, which is zero, from parameters that are equal on all ranks.
  virtual void begin(const Model&) const {}
  /// The ranks have changed: the state is the mean of the old ranks', and the parameters are equal on all.
  virtual void rejoin(const Model&) const {}
  /// Collective, in goss_sync_start behind an import. Model::step is the step in which this rank saved its state. When
  /// all ranks return ok, they go on from the latest of their steps. By default ranks with neighbours, with shared
  /// vectors or with groups do so, because each has a model of its own, which exchanges bring closer; other rules keep
  /// the same vectors on all ranks, and would keep different ones for ever.
  virtual Status resume(GossipPeers& peers, const Model& model) const {
    const Needs own = needs();
    const bool each_has_its_own = !own.topology.empty() || own.shared > 0 || own.groups;
    return each_has_its_own ? Status::ok() : peers.sameStep(model.step);
  }
  /// Whether step `step`, counted from 1, calls beforeOptimizer() and afterOptimizer(). A step that calls neither
  /// copies nothing. Equal on all ranks.
  [[nodiscard]] virtual bool actsBefore(std::uint64_t) const { return false; }
  [[nodiscard]] virtual bool actsAfter(std::uint64_t) const { return false; }
  /// Collective: between the backward pass and the optimizer.
  virtual Status beforeOptimizer(GossipPeers&, const Model&) const { return Status::ok(); }
  /// Collective: behind the optimizer.
  virtual Status afterOptimizer(GossipPeers&, const Model&) const { return Status::ok(); }
  /// Collective: makes the parameters of all ranks equal.
  virtual Status finish(GossipPeers& peers, const Model& model) const { return peers.exactMean(model.x); }
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_RULE_H_
