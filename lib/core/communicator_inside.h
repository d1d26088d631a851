/// For the sources of Communicator alone: a thread that blocks inside, for whom the destructor waits.
#ifndef GOSS_LIB_CORE_COMMUNICATOR_INSIDE_H_
#define GOSS_LIB_CORE_COMMUNICATOR_INSIDE_H_

#include "core/communicator.h"

namespace goss::core {

/// Lives while the engine's lock is held.
class Communicator::Inside {
 public:
  Inside(Communicator& communicator, Engine::Lock& lock) : communicator_(communicator), lock_(lock) {
    ++communicator_.inside_;
  }
  ~Inside() {
    if (--communicator_.inside_ == 0 && communicator_.closing_) communicator_.engine().notify(lock_);
  }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

 private:
  Communicator& communicator_;
  Engine::Lock& lock_;
};

} // namespace goss::core

#endif // GOSS_LIB_CORE_COMMUNICATOR_INSIDE_H_
