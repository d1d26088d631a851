#include "windows/window_memory.h"

#include <array>
#include <cstring>

#include "call/call.h"
#include "kernels/kernels.h"

namespace goss {

std::size_t WindowMemory::bytesOf(std::uint64_t count) const { return count * dtypeBytes(dtype_); }

void WindowMemory::change(const WindowMessage& message, std::size_t at, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  std::byte* to = place(message.offset) + at;
  if (message.type == WindowMessage::Type::put) {
    std::memmove(to, bytes.data(), bytes.size()); // Of this rank itself it may be a part of the window.
  } else {
    kernels::reduce(dtype_, message.op, to, to, bytes.data(), bytes.size() / dtypeBytes(dtype_));
  }
}

void WindowMemory::read(const WindowRange& range, std::byte* to) const {
  if (range.count > 0) std::memmove(to, place(range.offset), bytesOf(range.count));
}

void WindowMemory::add(std::uint64_t offset, double factor, std::size_t at, std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  std::byte* to = place(offset) + at;
  const std::array<const void*, 2> sources = {to, bytes.data()};
  const std::array<double, 2> weights = {1, factor};
  kernels::weightedSum(dtype_, to, sources, weights, bytes.size() / dtypeBytes(dtype_));
}

void WindowMemory::halveDifference(const WindowRange& range, std::byte* theirs) const {
  if (range.count == 0) return;
  const std::array<const void*, 2> sources = {place(range.offset), theirs};
  const std::array<double, 2> weights = {0.5, -0.5};
  kernels::weightedSum(dtype_, theirs, sources, weights, range.count);
}

} // namespace goss
