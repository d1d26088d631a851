/// Which step starts and which applies the exchange of which fragment. A pure function of the steps and learning rates.
#ifndef GOSS_LIB_SYNC_TIMETABLE_H_
#define GOSS_LIB_SYNC_TIMETABLE_H_

#include <cstdint>

#include "sync/composition.h"

namespace goss::sync {

/// Fragment p of P is applied in the steps s (counted from 1) with s mod H = (p + 1) H / P mod H, so that the fragments
/// are spread evenly over a period, and started `overlap` steps before (Streaming DiLoCo, section 2.3).
class Timetable {
 public:
  /// `fragments` divides timing.period; timing.overlap is at most period / fragments.
  Timetable(const Timing& timing, std::uint64_t fragments) : timing_(timing), fragments_(fragments) {}

  /// One more step is done, at learning rate `lr`.
  void advance(double lr);
  [[nodiscard]] bool starts(std::uint64_t fragment) const { return isDue(step_ + timing_.overlap, fragment); }
  [[nodiscard]] bool applies(std::uint64_t fragment) const { return isDue(step_, fragment); }

  /// The state that a checkpoint keeps.
  struct State {
    std::uint64_t step = 0; ///< Steps done.
    std::uint64_t next = 0; ///< The step that ends the period; used where periods grow.
  };
  [[nodiscard]] State state() const { return {step_, next_}; }
  void restore(const State& state) {
    step_ = state.step;
    next_ = state.next;
  }

 private:
  [[nodiscard]] bool isDue(std::uint64_t step, std::uint64_t fragment) const;
  [[nodiscard]] std::uint64_t periodAt(double lr) const;

  Timing timing_;
  std::uint64_t fragments_;
  std::uint64_t step_ = 0;
  std::uint64_t next_ = 0;
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_TIMETABLE_H_
