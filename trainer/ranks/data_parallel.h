/// The ranks of a launch, joined by Gossamer.
#ifndef GOSS_TRAINER_RANKS_DATA_PARALLEL_H_
#define GOSS_TRAINER_RANKS_DATA_PARALLEL_H_

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gossamer/gossamer.h"
#include "trainer/ranks/group.h"
#include "trainer/ranks/library_replicas.h"

namespace goss::trainer {

/// A Group on the C ABI. Errors of the library are thrown as Error with the library's text, word for word.
class DataParallel : public Group {
 public:
  /// Collective over the launch: mpirun, torchrun-style variables, or a process alone.
  DataParallel();
  ~DataParallel() override;

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return size_; }
  [[nodiscard]] goss_comm_t comm() const { return comm_; }
  void sum(std::span<double> values) override;
  void startSum(std::vector<double> values) override;
  std::vector<double> takeSum() override;
  void broadcast(void* data, std::size_t bytes) override;
  bool allEqual(std::uint64_t value) override;
  void barrier() override;
  void move(void* data, std::size_t bytes, int peer, Direction direction) override;
  void sendText(const std::string& text) override;
  std::optional<std::string> takeText(int peer) override;
  [[nodiscard]] std::uint64_t bytesSent() const override { return counters().wire_bytes_sent; }
  [[nodiscard]] std::uint64_t bytesReceived() const override { return counters().wire_bytes_received; }
  std::shared_ptr<Replicas> synchronize(const std::string& spec) override;
  void abort(const std::string& reason) noexcept override;

 private:
  [[nodiscard]] goss_counters counters() const;
  struct StartedSum {
    std::vector<double> values; // lent until the request is done or the communicator is destroyed
    goss_request_t request = nullptr;
  };
  std::deque<StartedSum> sums_;
  std::string text_; // lent to text_sent_
  goss_request_t text_sent_ = nullptr;
  goss_comm_t comm_ = nullptr;
  int rank_ = 0;
  int size_ = 1;
  std::weak_ptr<LibraryReplicas> replicas_; // owned by the caller; aborted with the group
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_RANKS_DATA_PARALLEL_H_
