/// How the ranks' copies of a model are kept together, as the trainer sees it. goss-train's is LibraryReplicas, on
/// gossamer/sync.h.
#ifndef GOSS_TRAINER_RANKS_REPLICAS_H_
#define GOSS_TRAINER_RANKS_REPLICAS_H_

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace goss::trainer {

/// Host memory that is lent until the Replicas are destroyed.
struct ReplicaTensor {
  std::string name;
  float* parameter = nullptr;
  float* gradient = nullptr;
  std::size_t count = 0;
  int layer = 0;
};

/// What state() gave in an earlier run.
struct SavedSync {
  std::vector<std::string> states; ///< This rank's own, or those of all ranks of another grid; empty: none.
  bool is_own = true;
};

/// Running totals of this rank.
struct ReplicaTraffic {
  std::uint64_t exchanges = 0;       ///< That steps asked for.
  std::uint64_t exchanged_bytes = 0; ///< Of float32 vectors, before compression.
  std::uint64_t wire_bytes_sent = 0;
  std::uint64_t edge_bytes_sent = 0; ///< Of these, those of the start and the end, apart from the steps'.
  double waited_s = 0;               ///< Time in which this rank computed nothing, for others' data.
};

/// The events of a training step, in the order of their declaration. Collective where gossamer/sync.h says so. Failures
/// throw Error with the library's text. One thread.
class Replicas {
 public:
  virtual ~Replicas() = default;
  Replicas() = default;
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  /// Canonical: equal texts give equal trajectories.
  [[nodiscard]] virtual std::string spec() const = 0;
  /// Ranks whose gradients are averaged together in every step: consecutive ones.
  [[nodiscard]] virtual std::size_t gradientRanks() const = 0;
  /// Whether the optimizer is handed signs, for plain gradient descent.
  [[nodiscard]] virtual bool givesSigns() const { return false; }
  /// Whether ranks have something of their own on the way: parameters, or what codecs keep.
  [[nodiscard]] virtual bool hasLocalSteps() const = 0;

  /// Everybody gets rank 0's parameters; or, with a saved state, goes on with its own, which are equal where the state
  /// is of another grid. What of that state has no place in this run, in words; empty: nothing.
  virtual std::string start(std::span<const ReplicaTensor> tensors, const SavedSync& saved) = 0;
  virtual void setLr(double lr) = 0;
  /// With ranks of different speed: the steps between two plans of who computes which; 0: every rank computes all.
  [[nodiscard]] virtual std::size_t dynamicPeriod() const { return 0; }
  /// Before a step: whether this rank computes it. If not, only step() is called.
  virtual bool computes() { return true; }
  /// How long this rank has computed in the step.
  virtual void stepTook(double /*seconds*/) {}
  virtual void gradientReady(std::size_t tensor) = 0;
  virtual void gradients() = 0;
  virtual void step() = 0;
  /// All ranks hold the same parameters afterwards.
  virtual void finish() = 0;
  /// What this rank needs, beside its parameters, to go on with the same bits. Local.
  [[nodiscard]] virtual std::string state() = 0;
  [[nodiscard]] virtual ReplicaTraffic traffic() const = 0;
};

/// A warning where ranks that train apart between exchanges have had none; else "".
[[nodiscard]] inline std::string missedExchanges(const Replicas& replicas) {
  if (!replicas.hasLocalSteps() || replicas.traffic().exchanges > 0) return "";
  return "warning: " + replicas.spec() +
         " had no exchange in this run: each rank has trained by itself. Give it shorter periods or more steps.";
}

/// A model of which there is one copy.
class SoloReplicas : public Replicas {
 public:
  explicit SoloReplicas(std::string spec) : spec_(std::move(spec)) {}
  [[nodiscard]] std::string spec() const override { return spec_; }
  [[nodiscard]] std::size_t gradientRanks() const override { return 1; }
  [[nodiscard]] bool hasLocalSteps() const override { return false; }
  std::string start(std::span<const ReplicaTensor>, const SavedSync&) override { return ""; }
  void setLr(double) override {}
  void gradientReady(std::size_t) override {}
  void gradients() override {}
  void step() override {}
  void finish() override {}
  [[nodiscard]] std::string state() override { return ""; }
  [[nodiscard]] ReplicaTraffic traffic() const override { return {}; }

 private:
  std::string spec_;
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_RANKS_REPLICAS_H_
