#include "trainer/files/checkpoint_writer.h"

#include <pthread.h>

#include <utility>

#include "trainer/base/error.h"

namespace goss::trainer {

CheckpointWriter::CheckpointWriter(CheckpointStore store, const ModelConfig& config, const ParameterTable& table)
    : store_(std::move(store)), config_(config), table_(table) {}

CheckpointWriter::~CheckpointWriter() {
  if (thread_.joinable()) thread_.join();
}

void CheckpointWriter::start(TrainingState state) {
  step_ = state.step;
  is_done_ = false;
  thread_ = std::thread([this, moved = std::move(state)] {
    pthread_setname_np(pthread_self(), "goss-checkpoint");
    try {
      store_.save(config_, table_, moved);
    } catch (const std::exception& error) {
      error_ = error.what();
    }
    is_done_ = true;
  });
}

std::optional<std::size_t> CheckpointWriter::poll() { return is_done_ ? finish() : std::nullopt; }

std::optional<std::size_t> CheckpointWriter::finish() {
  if (!thread_.joinable()) return std::nullopt;
  thread_.join();
  is_done_ = false;
  if (!error_.empty()) fail("{}", std::exchange(error_, ""));
  return step_;
}

} // namespace goss::trainer
