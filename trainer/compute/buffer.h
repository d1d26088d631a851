/// An owned array in a backend's memory.
#ifndef GOSS_TRAINER_COMPUTE_BUFFER_H_
#define GOSS_TRAINER_COMPUTE_BUFFER_H_

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "trainer/compute/ops.h"

namespace goss::trainer {

template <typename T>
class Buffer {
 public:
  /// `ops` must outlive the buffer. Contents are unspecified.
  Buffer(Ops& ops, std::size_t count)
      : ops_(&ops), data_(static_cast<T*>(ops.allocate(count * sizeof(T)))), size_(count) {}
  ~Buffer() {
    if (data_ != nullptr) ops_->release(data_);
  }
  Buffer(Buffer&& other) noexcept
      : ops_(other.ops_), data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer& operator=(Buffer&&) = delete;

  T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }

  /// Copies all of `host`, which is not longer than the buffer, into the buffer.
  void upload(std::span<const T> host) { ops_->upload(data_, host.data(), host.size_bytes()); }
  [[nodiscard]] std::vector<T> download() const {
    std::vector<T> host(size_);
    ops_->download(host.data(), data_, size_ * sizeof(T));
    return host;
  }

 private:
  Ops* ops_;
  T* data_;
  std::size_t size_;
};

} // namespace goss::trainer

#endif // GOSS_TRAINER_COMPUTE_BUFFER_H_
