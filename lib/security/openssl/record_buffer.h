/// Encrypted bytes between OpenSSL and a socket.
#ifndef GOSS_LIB_SECURITY_OPENSSL_RECORD_BUFFER_H_
#define GOSS_LIB_SECURITY_OPENSSL_RECORD_BUFFER_H_

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace goss::security {

/// A FIFO buffer that grows as it is filled and never shrinks. One thread.
class RecordBuffer {
 public:
  [[nodiscard]] bool empty() const { return begin_ == end_; }
  [[nodiscard]] std::string_view contents() const { return {bytes_.get() + begin_, end_ - begin_}; }
  [[nodiscard]] std::size_t capacity() const { return capacity_; }

  void consume(std::size_t count) {
    begin_ += count;
    if (begin_ == end_) begin_ = end_ = 0;
  }
  /// Space for at least `count` more bytes, to be followed by commit().
  char* room(std::size_t count) {
    if (capacity_ - end_ < count) move(count);
    return bytes_.get() + end_;
  }
  void commit(std::size_t count) { end_ += count; }
  void append(const char* from, std::size_t count) {
    std::memcpy(room(count), from, count);
    commit(count);
  }
  [[nodiscard]] std::size_t space() const { return capacity_ - end_; }

 private:
  void move(std::size_t count) {
    const std::size_t held = end_ - begin_;
    if (capacity_ - held < count) {
      const std::size_t capacity = std::max(held + count, 2 * capacity_);
      auto bytes = std::make_unique_for_overwrite<char[]>(capacity);
      if (held > 0) std::memcpy(bytes.get(), bytes_.get() + begin_, held);
      bytes_ = std::move(bytes);
      capacity_ = capacity;
    } else if (held > 0) {
      std::memmove(bytes_.get(), bytes_.get() + begin_, held);
    }
    begin_ = 0;
    end_ = held;
  }

  std::unique_ptr<char[]> bytes_;
  std::size_t capacity_ = 0;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

} // namespace goss::security

#endif // GOSS_LIB_SECURITY_OPENSSL_RECORD_BUFFER_H_
