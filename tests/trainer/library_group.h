/// Ranks as threads whose models the library's synchronizers keep together.
#ifndef GOSS_TESTS_TRAINER_LIBRARY_GROUP_H_
#define GOSS_TESTS_TRAINER_LIBRARY_GROUP_H_

#include <memory>
#include <string>

#include "tests/trainer/thread_group.h"
#include "trainer/ranks/library_replicas.h"

namespace goss::trainer {

class LibraryGroup : public ThreadGroup {
 public:
  LibraryGroup(ThreadBoard& board, int rank, goss_comm_t comm) : ThreadGroup(board, rank), comm_(comm) {}
  std::shared_ptr<Replicas> synchronize(const std::string& spec) override {
    return std::make_shared<LibraryReplicas>(comm_, spec);
  }

 private:
  goss_comm_t comm_;
};

} // namespace goss::trainer

#endif // GOSS_TESTS_TRAINER_LIBRARY_GROUP_H_
