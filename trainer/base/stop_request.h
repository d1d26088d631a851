/// SIGTERM and SIGINT ask a run to stop after a step, with a checkpoint.
#ifndef GOSS_TRAINER_BASE_STOP_REQUEST_H_
#define GOSS_TRAINER_BASE_STOP_REQUEST_H_

#include <csignal>

namespace goss::trainer {

/// Set by a signal handler, which may touch nothing else.
inline volatile std::sig_atomic_t stop_requested = 0;

/// From now on the first SIGTERM or SIGINT sets stop_requested; a second one ends the process.
inline void noticeStopSignals() {
  struct sigaction action = {};
  action.sa_handler = [](int) { stop_requested = 1; };
  action.sa_flags = SA_RESTART | static_cast<int>(SA_RESETHAND);
  sigaction(SIGTERM, &action, nullptr);
  sigaction(SIGINT, &action, nullptr);
}

} // namespace goss::trainer

#endif // GOSS_TRAINER_BASE_STOP_REQUEST_H_
