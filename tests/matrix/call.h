/// A case as a call: its buffers, the call itself, and the names of the algorithms that may run it.
#ifndef GOSS_TESTS_MATRIX_CALL_H_
#define GOSS_TESTS_MATRIX_CALL_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "gossamer/gossamer.h"
#include "tests/matrix/expected.h"

namespace goss::test {

/// The buffers of one rank's call, with guards around them.
class Buffers {
 public:
  Buffers(const Case& test, int rank, int ranks);

  [[nodiscard]] const void* send() const { return base() + send_first_ * element_; }
  [[nodiscard]] void* recv() { return base() + recv_first_ * element_; }
  /// All bytes, guards included: what the caller copies to device memory and back, if the call's buffers lie there.
  [[nodiscard]] std::vector<std::byte>& memory() { return memory_; }
  /// From now on the call's buffers lie in memory().size() bytes of device memory, and the call is a part of `stream`.
  void lieOnDevice(std::byte* memory, void* stream) {
    device_ = memory;
    stream_ = stream;
  }
  [[nodiscard]] void* stream() const { return stream_; }
  /// As before the call.
  void reset() { memory_ = before_; }
  /// The first element that is not as expected after the call, or "".
  [[nodiscard]] std::string difference() const;

  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int ranks() const { return ranks_; }

 private:
  [[nodiscard]] std::byte* base() const {
    return device_ != nullptr ? device_ : const_cast<std::byte*>(memory_.data());
  }
  void fill(const Case& test);
  void expect(const Case& test);

  int rank_;
  int ranks_;
  std::size_t element_;
  std::size_t send_count_;
  std::size_t recv_count_;
  std::size_t recv_first_ = 0;
  std::size_t send_first_ = 0;
  std::vector<std::byte> before_;
  std::vector<std::byte> memory_;
  std::vector<std::byte> expected_;
  std::byte* device_ = nullptr;
  void* stream_ = nullptr;
};

/// Calls what `test` says, with `flags` in the options; `request` as the C ABI has it.
goss_status call(goss_comm_t comm, const Case& test, Buffers& buffers, std::uint32_t flags = 0,
                 goss_request_t* request = nullptr);

/// The collective's name in the C ABI, such as "allreduce".
const char* abiName(Collective collective);
/// Names of all algorithms that may run a collective of so many ranks.
std::vector<std::string> algorithmsFor(Collective collective, int ranks);

} // namespace goss::test

#endif // GOSS_TESTS_MATRIX_CALL_H_
