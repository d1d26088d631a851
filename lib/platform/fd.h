/// Ownership of a file descriptor.
#ifndef GOSS_LIB_PLATFORM_FD_H_
#define GOSS_LIB_PLATFORM_FD_H_

#include <string>
#include <utility>

namespace goss::platform {

/// Closes the descriptor that it holds. Movable, not copyable; not thread-safe.
class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(other.release()) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) reset(other.release());
    return *this;
  }
  UniqueFd(const UniqueFd&) = delete;
  UniqueFd& operator=(const UniqueFd&) = delete;
  ~UniqueFd() { reset(); }

  [[nodiscard]] int get() const { return fd_; }
  [[nodiscard]] bool valid() const { return fd_ >= 0; }
  /// Gives the descriptor away; the caller closes it.
  [[nodiscard]] int release() { return std::exchange(fd_, -1); }
  void reset(int fd = -1);

 private:
  int fd_ = -1;
};

/// An errno value as text: "Connection refused (errno 111)".
std::string errnoText(int error);

} // namespace goss::platform

#endif // GOSS_LIB_PLATFORM_FD_H_
