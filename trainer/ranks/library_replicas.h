/// Replicas kept together by a synchronizer of the library.
#ifndef GOSS_TRAINER_RANKS_LIBRARY_REPLICAS_H_
#define GOSS_TRAINER_RANKS_LIBRARY_REPLICAS_H_

#include <cstdint>
#include <optional>
#include <string>

#include "gossamer/sync.h"
#include "trainer/ranks/replicas.h"

namespace goss::trainer {

class LibraryReplicas : public Replicas {
 public:
  /// Collective over `comm`, which must outlive this object. `spec` as in docs/synchronizers.md. Throws Error.
  LibraryReplicas(goss_comm_t comm, const std::string& spec);
  ~LibraryReplicas() override;

  [[nodiscard]] std::string spec() const override { return info_.spec; }
  [[nodiscard]] std::size_t gradientRanks() const override { return static_cast<std::size_t>(info_.gradient_size); }
  [[nodiscard]] bool givesSigns() const override { return info_.gradients == 2; }
  /// With a codec every rank has a state of its own too, so that this is true.
  [[nodiscard]] bool hasLocalSteps() const override {
    return info_.local_steps != 0 || !spec().ends_with("codec=none");
  }
  std::string start(std::span<const ReplicaTensor> tensors, const SavedSync& saved) override;
  void setLr(double lr) override;
  [[nodiscard]] std::size_t dynamicPeriod() const override { return static_cast<std::size_t>(info_.dynamic_period); }
  bool computes() override;
  void stepTook(double seconds) override;
  void gradientReady(std::size_t tensor) override;
  void gradients() override;
  void step() override;
  void finish() override;
  [[nodiscard]] std::string state() override;
  [[nodiscard]] ReplicaTraffic traffic() const override;

  /// Makes pending and later calls of every rank fail with `reason`.
  void abort(const std::string& reason) noexcept;

 private:
  std::string adopt(const SavedSync& saved);

  goss_sync_t sync_ = nullptr;
  goss_sync_info info_{};
  std::optional<std::uint64_t> exchanges_of_steps_; ///< Set once finish() has averaged the remaining differences.
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_RANKS_LIBRARY_REPLICAS_H_
