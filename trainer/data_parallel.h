/// The ranks of a launch, joined by Gossamer.
#ifndef GOSS_TRAINER_DATA_PARALLEL_H_
#define GOSS_TRAINER_DATA_PARALLEL_H_

#include <string>
#include <vector>

#include "gossamer/gossamer.h"
#include "trainer/group.h"

namespace goss::trainer {

/// A Group on the C ABI. Errors of the library are thrown as Error with the library's text, word for word.
class DataParallel : public Group {
 public:
  /// Collective over the launch: mpirun, torchrun-style variables, or a process alone.
  DataParallel();
  ~DataParallel() override;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  void startSum(float* values, std::size_t count) override;
  void waitSums() override;
  void sum(std::span<double> values) override;
  void broadcast(void* data, std::size_t bytes) override;
  bool allEqual(std::uint64_t value) override;
  void barrier() override;
  void abort(const std::string& reason) noexcept override;

 private:
  goss_comm_t comm_ = nullptr;
  int rank_ = 0;
  int size_ = 1;
  std::vector<goss_request_t> pending_;
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_DATA_PARALLEL_H_
