/// One rank's thread of a program.
#ifndef GOSS_TESTS_RANDOM_LANE_RUN_H_
#define GOSS_TESTS_RANDOM_LANE_RUN_H_

#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "gossamer/gossamer.h"
#include "tests/random/program.h"
#include "tests/random/work.h"

namespace goss::test {

/// Runs a lane's steps, and waits for what they start when this rank likes to. One thread.
class LaneRun {
 public:
  /// `own`: the lane's first communicator, which the caller keeps. `manner`: draws what ranks may do differently.
  LaneRun(const Lane& lane, goss_comm_t own, std::uint64_t manner)
      : lane_(lane), comms_{own}, alive_{true}, random_(manner) {}

  /// "" when all calls succeed with the right results, else the first failure; unless that is a mismatch, which the
  /// other ranks learn of by themselves, all its communicators are then aborted.
  std::string run();
  /// The call that failed, once run() has returned: its status, and its text in goss_last_error(). GOSS_SUCCESS and "":
  /// none has failed; there may have been a wrong result.
  [[nodiscard]] goss_status status() const { return status_; }
  [[nodiscard]] const std::string& error() const { return error_; }

  /// Before run(): the results of the steps first..last-1 may be anything, since this rank calls something else than
  /// the others.
  void leaveUnchecked(std::size_t first, std::size_t last) {
    unchecked_first_ = first;
    unchecked_last_ = last;
  }

 private:
  /// Requests that were started and not waited for to their end.
  struct Pending {
    std::unique_ptr<Work> work;
    std::vector<goss_request_t> requests;
    std::size_t step = 0;
    std::size_t due = 0;    ///< The step after which all ranks have waited for it.
    std::size_t likely = 0; ///< The step after which this rank waits for it, or posts its late receives.
    bool late = false;      ///< Some receives are posted when it is `likely`, and it is waited for when it is due.
    bool persistent = false;
    bool rested = false; ///< Nothing is left to be posted.
    bool waited = false;
    int starts_left = 0;
  };

  bool runStep(std::size_t index);
  bool divide(std::size_t index);
  bool drop(std::size_t index);
  bool runGroup(std::size_t first, std::size_t last);
  bool begin(std::size_t index);

  /// Does what is due after step `index`, and what this rank likes to do by then.
  bool settle(std::size_t index);
  bool settleAll();
  bool postRest(Pending& pending);
  bool wait(Pending& pending);
  bool waitFor(Pending& pending, const std::vector<std::size_t>& order);
  bool startAgain(Pending& pending, std::size_t index);
  bool free(Pending& pending);

  bool expect(goss_status status, std::size_t step, const std::string& what);
  bool expectRight(const std::string& difference, const Pending& pending);
  void finish();

  std::size_t below(std::size_t bound) { return static_cast<std::size_t>(random_() % bound); }
  [[nodiscard]] goss_comm_t commOf(const Step& step) const { return comms_[static_cast<std::size_t>(step.comm)]; }

  const Lane& lane_;
  std::vector<goss_comm_t> comms_;
  std::vector<bool> alive_;
  std::mt19937_64 random_;
  std::vector<Pending> pending_;
  std::size_t unchecked_first_ = 0;
  std::size_t unchecked_last_ = 0;
  std::string failure_;
  goss_status status_ = GOSS_SUCCESS;
  std::string error_;
};

} // namespace goss::test

#endif // GOSS_TESTS_RANDOM_LANE_RUN_H_
