/// Times of a run, in seconds.
#ifndef GOSS_TRAINER_BASE_TIME_LIMIT_H_
#define GOSS_TRAINER_BASE_TIME_LIMIT_H_

#include <chrono>

namespace goss::trainer {

inline double secondsSince(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// How long a run may take; time counts from construction, or from restart().
class TimeLimit {
 public:
  explicit TimeLimit(double limit_s) : limit_s_(limit_s) {} ///< 0: no limit
  void restart() { started_ = std::chrono::steady_clock::now(); }
  [[nodiscard]] bool isSet() const { return limit_s_ > 0; }
  [[nodiscard]] bool isOver() const { return isSet() && secondsSince(started_) > limit_s_; }

 private:
  double limit_s_;
  std::chrono::steady_clock::time_point started_ = std::chrono::steady_clock::now();
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_BASE_TIME_LIMIT_H_
