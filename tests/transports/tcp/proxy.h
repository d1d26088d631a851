/// A box on the way between two ranks, which drops connections and changes bytes.
#ifndef GOSS_TESTS_TRANSPORTS_TCP_PROXY_H_
#define GOSS_TESTS_TRANSPORTS_TCP_PROXY_H_

#include <array>
#include <chrono>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "platform/fd.h"
#include "platform/socket.h"

namespace goss::test {

/// Works only in turn().
class Proxy {
 public:
  explicit Proxy(const platform::SocketAddress& target);

  /// Where it is called instead of the target.
  [[nodiscard]] platform::SocketAddress address() const;
  void turn();
  /// Resets all connections, once it has carried so many bytes more. Counts down over all of them.
  void cutAfter(std::size_t bytes) { budget_ = bytes; }
  /// Flips a bit once it has carried so many bytes more, of both ways together.
  void flipAfter(std::size_t bytes) { flip_in_ = bytes; }
  [[nodiscard]] int flips() const { return flips_; }
  /// From now on it reads at most so many bytes a second, both directions together.
  void slowDown(std::size_t bytes_per_s);
  /// Connections end in an orderly way from now on, as those of a proxy that is restarted, or are reset.
  void setOrderly(bool on) { orderly_ = on; }
  void cut();
  [[nodiscard]] int cuts() const { return cuts_; }
  [[nodiscard]] std::size_t carried() const { return carried_; }
  /// From now on, or until the next call of this function, callers get no answer.
  void setSilent(bool on) { silent_ = on; }
  /// Refuses all further callers.
  void close() { listener_.reset(); }

 private:
  struct Way {
    std::string bytes;
    bool ended = false;
  };
  struct Pair {
    std::array<platform::UniqueFd, 2> ends;
    std::array<Way, 2> ways; ///< From the end of that index.
  };
  void accept();
  bool carry(Pair& pair, std::size_t from);
  void flip(std::string& bytes);
  /// Bytes that may be read now.
  [[nodiscard]] std::size_t allowance() const;

  static constexpr std::size_t kNever = std::numeric_limits<std::size_t>::max();
  const platform::SocketAddress target_;
  platform::UniqueFd listener_;
  std::vector<Pair> pairs_;
  std::size_t budget_ = kNever;
  std::size_t bytes_per_s_ = 0; ///< 0: as fast as it can.
  std::size_t read_ = 0;        ///< Since slow_since_.
  std::chrono::steady_clock::time_point slow_since_;
  std::size_t carried_ = 0;
  std::size_t flip_in_ = kNever;
  int flips_ = 0;
  int cuts_ = 0;
  bool orderly_ = false;
  bool silent_ = false;
};

} // namespace goss::test

#endif // GOSS_TESTS_TRANSPORTS_TCP_PROXY_H_
