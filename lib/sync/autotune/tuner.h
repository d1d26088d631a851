/// Decides what `auto` tries next, from the times and errors of what it has tried.
#ifndef GOSS_LIB_SYNC_AUTOTUNE_TUNER_H_
#define GOSS_LIB_SYNC_AUTOTUNE_TUNER_H_

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/wire.h"
#include "sync/composition.h"

namespace goss::sync {

/// A pure function of its settings and of what it is told, which is the same on all ranks: so are its decisions. It
/// starts from float32 gradients in buckets of 1 MiB, and turns one knob after the other, buckets, levels, codec and
/// topology. Of each it tries all values, in an order drawn by the seed, and goes on with the fastest that is within
/// the budget. One thread.
class Tuner {
 public:
  explicit Tuner(const Tuning& tuning);

  /// Whether this group of ranks has an all-reduce of two levels. Before all others, and equal on all ranks.
  void setLevels(bool has_levels) { has_levels_ = has_levels; }

  /// The spec of the synchronizer that is at work.
  [[nodiscard]] std::string spec() const { return specOf(running_); }
  /// Whether the next step measures the error: in a trial the steps of its first half, in which gossiping ranks drift
  /// apart, and its last one; later one step in Tuning::check. The other steps of a trial are timed. Choices that are
  /// exact but for rounding are not measured.
  [[nodiscard]] bool measures() const;
  /// Records the error of a step that measures(). Returns whether the error is within the budget; if not, the caller
  /// must use the exact result instead.
  bool noteError(double error);
  /// One more step is made; returns whether decide() is due. `seconds`: what it took this rank.
  bool noteStep(double seconds);
  /// This rank's mean seconds of a step of the trial; 0: none was timed.
  [[nodiscard]] double seconds() const;
  /// `seconds`: the trial's mean of the slowest rank. Returns whether spec() has changed.
  bool decide(double seconds);

  /// Called after load() if this group of ranks has no two-level all-reduce: removes the levels from all that was
  /// loaded. Returns whether spec() has changed by that; its trial then begins again.
  bool dropLevels();

  [[nodiscard]] std::uint64_t steps() const { return step_; }
  /// As goss_sync_trials() says.
  [[nodiscard]] std::string describe() const;
  /// `own` false: without what only this rank knows, so that ranks that are in the same state write the same bytes.
  void save(base::WireWriter& writer, bool own = true) const;
  /// False: the bytes are not of this tuner, which must then be discarded.
  bool load(base::WireReader& reader);

 private:
  static constexpr std::size_t kKnobs = 4;
  /// The number of each knob's value.
  using Choice = std::array<std::uint8_t, kKnobs>;
  struct Trial {
    Choice choice{};
    std::uint64_t first_step = 0;
    double seconds = 0; ///< 0: not timed.
    double error = 0;
    bool is_kept = false;
  };

  [[nodiscard]] std::string specOf(const Choice& choice) const;
  [[nodiscard]] static bool isExact(const Choice& choice);
  [[nodiscard]] std::size_t valuesOf(std::size_t knob) const;
  [[nodiscard]] std::vector<std::uint8_t> orderOf(std::size_t knob) const;
  /// Whether a step of a trial counts for the trial's time; the trial has made `made` steps before it.
  [[nodiscard]] bool isTimed(std::uint64_t made) const;
  void begin(const Choice& choice);
  void next();
  void fallBack();

  Tuning tuning_;
  bool has_levels_ = false;
  std::vector<Trial> trials_;
  Choice best_{};
  double best_seconds_ = 0;
  Choice running_{};
  std::uint64_t knob_ = 0;  ///< The knob that is turned; kKnobs: settled.
  std::uint64_t tried_ = 0; ///< Values of it that were tried.
  std::uint64_t step_ = 0;  ///< Steps made.
  std::uint64_t first_ = 0; ///< step_ when running_ began.
  double sum_ = 0;          ///< Seconds of the timed steps of the trial.
  double error_ = 0;        ///< The largest error of running_.
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_AUTOTUNE_TUNER_H_
