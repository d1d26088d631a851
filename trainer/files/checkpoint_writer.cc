#include "trainer/files/checkpoint_writer.h"

#include <pthread.h>

#include <exception>
#include <utility>

#include "trainer/base/error.h"

namespace goss::trainer {

CheckpointWriter::~CheckpointWriter() {
  if (thread_.joinable()) thread_.join();
}

void CheckpointWriter::start(std::function<void()> job) {
  is_done_ = false;
  thread_ = std::thread([this, run = std::move(job)] {
    pthread_setname_np(pthread_self(), "goss-checkpoint");
    try {
      run();
    } catch (const std::exception& error) {
      error_ = error.what();
    }
    is_done_ = true;
  });
}

bool CheckpointWriter::finish() {
  if (!thread_.joinable()) return false;
  thread_.join();
  is_done_ = false;
  if (!error_.empty()) fail("{}", std::exchange(error_, ""));
  return true;
}

} // namespace goss::trainer
