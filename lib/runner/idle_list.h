/// Objects that may be reused, as long as the memory that they keep is limited.
#ifndef GOSS_LIB_RUNNER_IDLE_LIST_H_
#define GOSS_LIB_RUNNER_IDLE_LIST_H_

#include <cstddef>
#include <list>
#include <memory>

namespace goss {

/// T::heldBytes() is the memory of an object, which does not change while it is idle. One thread at a time.
template <typename T>
class IdleList {
 public:
  static constexpr std::size_t kMax = 64;
  static constexpr std::size_t kMaxBytes = std::size_t{256} << 20;

  /// Removes the objects that are idle longest until there is space. An object that is too large by itself is not kept.
  void put(std::unique_ptr<T> idle) {
    bytes_ += idle->heldBytes();
    list_.push_back(std::move(idle));
    while (list_.size() > kMax || bytes_ > kMaxBytes) {
      // The longest idle first, except that an object which does not fit at all must not displace the others.
      const auto gone = list_.back()->heldBytes() > kMaxBytes ? std::prev(list_.end()) : list_.begin();
      bytes_ -= (*gone)->heldBytes();
      list_.erase(gone);
    }
  }

  /// Removes and returns the first object that `fits`; null: there is none.
  template <typename Fits>
  std::unique_ptr<T> take(const Fits& fits) {
    for (auto at = list_.begin(); at != list_.end(); ++at) {
      if (!fits(**at)) continue;
      std::unique_ptr<T> found = std::move(*at);
      list_.erase(at);
      bytes_ -= found->heldBytes();
      return found;
    }
    return nullptr;
  }

  [[nodiscard]] std::size_t size() const { return list_.size(); }
  [[nodiscard]] std::size_t heldBytes() const { return bytes_; }

 private:
  std::list<std::unique_ptr<T>> list_; ///< The longest idle first.
  std::size_t bytes_ = 0;
};

} // namespace goss

#endif // GOSS_LIB_RUNNER_IDLE_LIST_H_
