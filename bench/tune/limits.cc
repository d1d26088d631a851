#include "bench/tune/limits.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <barrier>
#include <functional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "bench/connected_pair.h"
#include "bench/suite/runner.h"
#include "kernels/kernels.h"

namespace goss::bench {

namespace {

constexpr int kRounds = 7;
constexpr std::size_t kMinBytesPerRound = std::size_t{64} << 20;

using Buffer = std::vector<unsigned char>;

int repeatsOf(std::size_t bytes) {
  return static_cast<int>(std::clamp<std::size_t>(kMinBytesPerRound / bytes, 1, 2000));
}

double medianUsOf(std::size_t bytes, const std::function<void()>& once) {
  std::vector<double> times;
  for (int round = 0; round < kRounds; ++round) {
    const double start = nowUs();
    for (int i = 0; i < repeatsOf(bytes); ++i)
      once();
    times.push_back((nowUs() - start) / repeatsOf(bytes));
  }
  return median(times);
}

void add(unsigned char* sum, const unsigned char* a, const unsigned char* b, std::size_t bytes) {
  kernels::reduce(GOSS_FLOAT32, GOSS_SUM, sum, a, b, bytes / sizeof(float));
}

void fail(const char* what) { throw std::runtime_error(std::string("the loopback test: ") + what + " failed"); }

void exchange(int fd, const unsigned char* out, unsigned char* in, std::size_t bytes) {
  constexpr std::size_t kMaxPerCall = 256 * 1024;
  std::size_t sent = 0;
  std::size_t received = 0;
  while (sent < bytes || received < bytes) {
    if (sent < bytes) {
      const ssize_t moved = ::send(fd, out + sent, std::min(bytes - sent, kMaxPerCall), MSG_NOSIGNAL);
      sent += moved > 0 ? static_cast<std::size_t>(moved) : 0;
    }
    if (received < bytes) {
      const ssize_t moved = ::recv(fd, in + received, std::min(bytes - received, kMaxPerCall), 0);
      if (moved == 0) fail("recv");
      received += moved > 0 ? static_cast<std::size_t>(moved) : 0;
    }
  }
}

} // namespace

double reduceRate(std::size_t bytes) {
  Buffer a(bytes), b(bytes);
  return static_cast<double>(bytes) / medianUsOf(bytes, [&] { add(a.data(), a.data(), b.data(), bytes); }) * 1e-3;
}

double copyRate(std::size_t bytes) {
  Buffer a(bytes), b(bytes);
  return static_cast<double>(bytes) / medianUsOf(bytes, [&] { kernels::copy(a.data(), b.data(), bytes); }) * 1e-3;
}

double twoCoreSumUs(std::size_t bytes) {
  Buffer a(bytes), b(bytes);
  std::barrier together(2);
  double us[2] = {};
  const auto body = [&](int self) {
    Buffer sum(bytes);
    us[self] = medianUsOf(bytes, [&] {
      add(sum.data(), a.data(), b.data(), bytes);
      together.arrive_and_wait();
    });
  };
  std::thread other(body, 1);
  body(0);
  other.join();
  return std::max(us[0], us[1]);
}

double loopbackExchangeUs(std::size_t bytes) {
  const auto [here, there] = connectedPair();
  Buffer out(bytes), in(bytes);
  const pid_t child = ::fork();
  if (child < 0) fail("fork");
  const int fd = child == 0 ? there : here;
  ::close(child == 0 ? here : there);
  const double us = medianUsOf(bytes, [&] { exchange(fd, out.data(), in.data(), bytes); });
  ::close(fd);
  if (child == 0) ::_exit(0);
  ::waitpid(child, nullptr, 0);
  return us;
}

} // namespace goss::bench
