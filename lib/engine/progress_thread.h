/// The only place in the library that makes a thread.
#ifndef GOSS_LIB_ENGINE_PROGRESS_THREAD_H_
#define GOSS_LIB_ENGINE_PROGRESS_THREAD_H_

#include <thread>

namespace goss {

class Engine;

/// One per world: drives non-blocking operations while no caller waits, and answers probes while the application
/// computes. Named "goss-progress". Joined by the destructor.
class ProgressThread {
 public:
  explicit ProgressThread(Engine& engine);
  ~ProgressThread();

 private:
  Engine& engine_;
  std::thread thread_;
};

} // namespace goss

#endif // GOSS_LIB_ENGINE_PROGRESS_THREAD_H_
