/// The ranks that train together, as the trainer sees them. goss-train's is DataParallel, on Gossamer's C ABI.
#ifndef GOSS_TRAINER_RANKS_GROUP_H_
#define GOSS_TRAINER_RANKS_GROUP_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "trainer/ranks/replicas.h"

namespace goss::trainer {

/// All calls but those named local, rank and size are collective: every rank makes them in the same order
/// with the same counts. Buffers are host memory. Failures throw Error with the library's text. One thread.
class Group {
 public:
  virtual ~Group() = default;
  Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  [[nodiscard]] virtual int rank() const = 0;
  [[nodiscard]] virtual int size() const = 0;

  /// values[i] = sum over ranks of values[i]; all ranks then hold identical bits.
  virtual void sum(std::span<double> values) = 0;
  /// The values that all ranks gave, as many each, by rank.
  std::vector<double> gather(std::span<const double> own) {
    std::vector<double> all(static_cast<std::size_t>(size()) * own.size(), 0.0);
    std::copy(own.begin(), own.end(), all.data() + static_cast<std::size_t>(rank()) * own.size());
    sum(all);
    return all;
  }
  /// As sum(), in the background: takeSum() gives the sums in the order of their start, one for each. This default
  /// computes at once.
  virtual void startSum(std::vector<double> values) {
    sum(values);
    sums_.push_back(std::move(values));
  }
  virtual std::vector<double> takeSum() {
    std::vector<double> values = std::move(sums_.front());
    sums_.pop_front();
    return values;
  }
  /// Copies rank 0's bytes to every rank.
  virtual void broadcast(void* data, std::size_t bytes) = 0;
  /// True on every rank when all ranks gave the same value.
  virtual bool allEqual(std::uint64_t value) = 0;
  virtual void barrier() = 0;
  /// Rank 0 and rank `peer` (not 0) call it: the bytes move from one's `data` to the other's.
  enum class Direction { toRoot, fromRoot };
  virtual void move(void* data, std::size_t bytes, int peer, Direction direction) = 0;
  /// Local, on all ranks but 0: sends a short text, which may be empty, to rank 0. Never waits.
  virtual void sendText(const std::string& text) = 0;
  /// Local, on rank 0: takes a text that rank `peer` has sent, if one has come. Never waits.
  virtual std::optional<std::string> takeText(int peer) = 0;
  /// Collective: makes the synchronizer that keeps the ranks' models together. The group must outlive it, and has one
  /// at a time.
  virtual std::shared_ptr<Replicas> synchronize(const std::string& spec) = 0;
  /// Local: bytes that this rank's calls have sent to other ranks so far, without those of its Replicas.
  [[nodiscard]] virtual std::uint64_t bytesSent() const { return 0; }
  /// Local: likewise those that it has received.
  [[nodiscard]] virtual std::uint64_t bytesReceived() const { return 0; }
  /// Local: makes the pending and later calls of every rank fail with `reason`, those of its Replicas included.
  virtual void abort(const std::string& reason) noexcept = 0;

 private:
  std::deque<std::vector<double>> sums_;
};

/// A group of one rank, for tests and for tools that need no other rank.
class SoloGroup : public Group {
 public:
  [[nodiscard]] int rank() const override { return 0; }
  [[nodiscard]] int size() const override { return 1; }
  void sum(std::span<double>) override {}
  void broadcast(void*, std::size_t) override {}
  bool allEqual(std::uint64_t) override { return true; }
  void barrier() override {}
  void move(void*, std::size_t, int, Direction) override {}
  void sendText(const std::string&) override {}
  std::optional<std::string> takeText(int) override { return std::nullopt; }
  std::shared_ptr<Replicas> synchronize(const std::string& spec) override {
    return std::make_shared<SoloReplicas>(spec);
  }
  void abort(const std::string&) noexcept override {}
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_RANKS_GROUP_H_
