/// Signals in threads of the library.
#ifndef GOSS_LIB_PLATFORM_SIGNALS_H_
#define GOSS_LIB_PLATFORM_SIGNALS_H_

#include <pthread.h>
#include <signal.h>

namespace goss::platform {

/// Lives while a thread is made: the library must not handle the application's signals, and a thread inherits the
/// signal mask of its creator. The creator's mask is restored, also when no thread can be made.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_SIGNALS_H_
