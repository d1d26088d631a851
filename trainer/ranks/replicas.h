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

/// Host memory of one tensor, lent until the Replicas are destroyed.
struct ReplicaTensor {
  std::string name;
  float* parameter = nullptr;
  float* gradient = nullptr;
  std::size_t count = 0;
  int layer = 0;
};

/// A state() of an earlier run.
struct SavedSync {
  std::vector<std::string> states; ///< This rank's own state, or those of all ranks of another grid; empty: none.
  bool is_own = true;
};

/// Running totals of this rank.
struct ReplicaTraffic {
  std::uint64_t exchanges = 0;       ///< Exchanges that steps asked for.
  std::uint64_t exchanged_bytes = 0; ///< Bytes of float32 vectors, before compression.
  std::uint64_t wire_bytes_sent = 0;
  /// Bytes of wire_bytes_sent that the start and the end sent, apart from the steps.
  std::uint64_t setup_bytes_sent = 0;
  double waited_s = 0; ///< Time in which this rank computed nothing, because it waited for others' data.
};

/// The events of a training step, in the order of their declaration. Collective where gossamer/sync.h says so. Failures
/// throw Error with the library's text. One thread.
class Replicas {
 public:
  virtual ~Replicas() = default;
  Replicas() = default;
  Replicas(const Replicas&) = delete;
  Replicas& operator=(const Replicas&) = delete;

  /// Canonical spec: equal texts give equal trajectories.
  [[nodiscard]] virtual std::string spec() const = 0;
  /// Ranks whose gradients are averaged together in every step: consecutive ones.
  [[nodiscard]] virtual std::size_t gradientRanks() const = 0;
  /// Whether the optimizer gets signs, for plain gradient descent.
  [[nodiscard]] virtual bool givesSigns() const { return false; }
  /// Whether ranks differ between exchanges: in parameters, or in what codecs keep.
  [[nodiscard]] virtual bool hasLocalSteps() const = 0;

  /// Gives every rank rank 0's parameters. With a saved state every rank keeps its own, which are equal where the state
  /// is of another grid. Returns, in words, which part of that state has no place in this run; empty: none.
  virtual std::string start(std::span<const ReplicaTensor> tensors, const SavedSync& saved) = 0;
  virtual void setLr(double lr) = 0;
  /// With ranks of different speed: the number of steps between two plans of who computes which; 0: every rank computes
  /// all.
  [[nodiscard]] virtual std::size_t dynamicPeriod() const { return 0; }
  /// Before a step: whether this rank computes it. If not, only step() is called.
  virtual bool computes() { return true; }
  /// Tells how long this rank has computed in the step.
  virtual void stepTook(double /*seconds*/) {}
  virtual void gradientReady(std::size_t tensor) = 0;
  virtual void gradients() = 0;
  virtual void step() = 0;
  /// Afterwards all ranks hold the same parameters.
  virtual void finish() = 0;
  /// The state that this rank needs, beside its parameters, to continue with the same bits. Local.
  [[nodiscard]] virtual std::string state() = 0;
  [[nodiscard]] virtual ReplicaTraffic traffic() const = 0;
};

/// A warning if ranks that train apart between exchanges have had no exchange; else "".
[[nodiscard]] inline std::string missedExchanges(const Replicas& replicas) {
  if (!replicas.hasLocalSteps() || replicas.traffic().exchanges > 0) return "";
  return "warning: " + replicas.spec() +
         " had no exchange in this run: each rank has trained by itself. Give it shorter periods or more steps.";
}

/// The replicas of a model of which there is one copy.
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
