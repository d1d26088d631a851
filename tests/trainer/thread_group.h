/// Ranks as threads of one process, with sums whose order of addition the test chooses.
#ifndef GOSS_TESTS_TRAINER_THREAD_GROUP_H_
#define GOSS_TESTS_TRAINER_THREAD_GROUP_H_

#include <atomic>
#include <barrier>
#include <cstring>
#include <functional>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "trainer/ranks/group.h"

namespace goss::trainer {

/// `tree`: neighbours first, (0+1)+(2+3), as recursive doubling adds. `sequence`: ((0+1)+2)+3, as a ring adds.
enum class SumOrder { tree, sequence };

/// State that the ranks share.
struct ThreadBoard {
  ThreadBoard(int ranks, SumOrder sum_order)
      : barrier(ranks),
        slots(static_cast<std::size_t>(ranks)),
        mail(slots.size()),
        texts(slots.size()),
        order(sum_order) {}
  std::barrier<> barrier;
  std::vector<void*> slots;
  std::vector<std::atomic<void*>> mail; // by the rank that rank 0 exchanges with: what the first of the two brought
  std::vector<std::atomic<int>> texts;  // by sender: number of texts that rank 0 has not taken
  SumOrder order;
  std::atomic<std::size_t> copied_bytes{0}; // that ranks got by broadcasts and moves
};

class ThreadGroup : public Group {
 public:
  ThreadGroup(ThreadBoard& board, int rank) : board_(board), rank_(rank) {}

  [[nodiscard]] int rank() const override { return rank_; }
  [[nodiscard]] int size() const override { return static_cast<int>(board_.slots.size()); }
  void sum(std::span<double> values) override { sumAll(values.data(), values.size()); }
  void broadcast(void* data, std::size_t bytes) override {
    exchange(data, [&] {
      if (rank_ == 0) return;
      std::memcpy(data, board_.slots[0], bytes);
      board_.copied_bytes += bytes;
    });
  }
  bool allEqual(std::uint64_t value) override {
    bool is_equal = true;
    exchange(&value, [&] {
      for (const void* slot : board_.slots)
        is_equal = is_equal && *static_cast<const std::uint64_t*>(slot) == value;
    });
    return is_equal;
  }
  void barrier() override { board_.barrier.arrive_and_wait(); }
  void move(void* data, std::size_t bytes, int peer, Direction direction) override {
    // A rendezvous of two beside the barriers of all.
    std::atomic<void*>& place = board_.mail[static_cast<std::size_t>(peer)];
    void* expected = nullptr;
    if (place.compare_exchange_strong(expected, data)) { // the first of the two waits for the other's copy
      while (place.load() == data)
        std::this_thread::yield();
      return;
    }
    board_.copied_bytes += bytes;
    if ((rank_ == 0) == (direction == Direction::toRoot)) {
      std::memcpy(data, expected, bytes);
    } else {
      std::memcpy(expected, data, bytes);
    }
    place.store(nullptr);
  }
  void sendText(const std::string&) override { ++board_.texts[static_cast<std::size_t>(rank_)]; }
  std::optional<std::string> takeText(int peer) override {
    std::atomic<int>& texts = board_.texts[static_cast<std::size_t>(peer)];
    if (texts == 0) return std::nullopt;
    --texts;
    return "";
  }
  std::shared_ptr<Replicas> synchronize(const std::string& spec) override;
  void abort(const std::string&) noexcept override {}

  /// values[i] = mean over the ranks; collective.
  void mean(std::span<float> values) {
    sumAll(values.data(), values.size());
    for (float& value : values)
      value /= static_cast<float>(size());
  }

 private:
  /// Runs `action` while the slots hold what every rank gave.
  template <typename Action>
  void exchange(void* mine, const Action& action) {
    board_.slots[static_cast<std::size_t>(rank_)] = mine;
    barrier();
    action();
    barrier();
  }

  template <typename T>
  void sumAll(T* values, std::size_t count) {
    std::vector<T> total(count);
    exchange(values, [&] {
      for (std::size_t i = 0; i < count; ++i)
        total[i] = sumOf<T>(0, board_.slots.size(), i);
    });
    std::copy(total.begin(), total.end(), values);
  }

  template <typename T>
  T sumOf(std::size_t first, std::size_t last, std::size_t i) const {
    if (last - first == 1) return static_cast<const T*>(board_.slots[first])[i];
    const std::size_t middle = board_.order == SumOrder::tree ? (first + last) / 2 : last - 1;
    return sumOf<T>(first, middle, i) + sumOf<T>(middle, last, i);
  }

  ThreadBoard& board_;
  int rank_;
};

/// Means of gradients, or of parameters every two steps when the spec is "local".
class ThreadReplicas : public SoloReplicas {
 public:
  ThreadReplicas(ThreadGroup& group, const std::string& spec) : SoloReplicas(spec), group_(group) {}
  [[nodiscard]] bool hasLocalSteps() const override { return spec() == "local"; }
  [[nodiscard]] std::size_t gradientRanks() const override {
    return hasLocalSteps() ? 1 : static_cast<std::size_t>(group_.size());
  }
  std::string start(std::span<const ReplicaTensor> tensors, const SavedSync& saved) override {
    tensors_.assign(tensors.begin(), tensors.end());
    if (!saved.states.empty()) steps_ = saved.states.front().size() - 1;
    return "";
  }
  void gradients() override {
    if (hasLocalSteps()) return;
    for (const ReplicaTensor& tensor : tensors_)
      group_.mean({tensor.gradient, tensor.count});
  }
  void step() override {
    if (hasLocalSteps() && ++steps_ % 2 == 0) finish();
  }
  void finish() override {
    for (const ReplicaTensor& tensor : tensors_)
      group_.mean({tensor.parameter, tensor.count});
  }
  [[nodiscard]] std::string state() override { return std::string(steps_ + 1, 's'); }

 private:
  ThreadGroup& group_;
  std::vector<ReplicaTensor> tensors_;
  std::size_t steps_ = 0;
};

inline std::shared_ptr<Replicas> ThreadGroup::synchronize(const std::string& spec) {
  return std::make_shared<ThreadReplicas>(*this, spec);
}

/// Runs `body` on every rank at once and joins them. `body` must not throw.
inline void runRanks(int ranks, SumOrder order, const std::function<void(Group&)>& body) {
  ThreadBoard board(ranks, order);
  std::vector<std::jthread> threads;
  for (int rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&board, &body, rank] {
      ThreadGroup group(board, rank);
      body(group);
    });
  }
}

} // namespace goss::trainer

#endif // GOSS_TESTS_TRAINER_THREAD_GROUP_H_
