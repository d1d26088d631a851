#include "bindings/nccl/rings.h"

#include <algorithm>
#include <cstring>

namespace goss::nccl {

namespace {

constexpr std::size_t kFlagBytes = 256;

std::size_t aligned(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

/// Lays parts into one slot after the other.
class Packer {
 public:
  Packer(std::byte* sends, std::byte* receives, std::size_t slot_bytes, std::uint32_t sequence)
      : sends_(sends), receives_(receives), slot_bytes_(slot_bytes), next_(sequence) {}

  void add(Call& call, std::size_t first, int rank, int ranks) {
    const std::size_t count = std::min(partElements(call, ranks), call.count - first);
    const std::size_t bytes = count * elementBytes(call.type);
    const std::size_t sent = sendBlocks(call, rank, ranks);
    const std::size_t received = recvBlocks(call, rank, ranks);
    const bool scalar = call.device_scalar != nullptr && first == 0;
    take(aligned(sent * bytes) + (scalar ? 64 : 0), aligned(received * bytes));
    Gate& gate = gates_.back();
    Part part{.call = &call, .first = first, .count = count, .send = send_, .recv = recv_};
    bringIn(gate, part, sent, bytes);
    if (scalar) {
      part.scalar = send_ + aligned(sent * bytes);
      gate.in.push_back({part.scalar, call.device_scalar, elementBytes(call.type)});
    }
    bringOut(gate, part, received, bytes, rank);
    gate.parts.push_back(part);
  }

  std::vector<Gate>& gates() { return gates_; }

 private:
  /// Takes room in the current slot, or begins the next one.
  void take(std::size_t send_bytes, std::size_t recv_bytes) {
    const bool fits = send_used_ + send_bytes <= slot_bytes_ && recv_used_ + recv_bytes <= slot_bytes_;
    if (gates_.empty() || !fits) {
      gates_.push_back({.sequence = next_++, .parts = {}, .in = {}, .out = {}});
      send_used_ = recv_used_ = 0;
    }
    const std::size_t slot = gates_.back().sequence % Rings::kSlots;
    send_ = sends_ + slot * slot_bytes_ + send_used_;
    recv_ = receives_ + slot * slot_bytes_ + recv_used_;
    send_used_ += send_bytes;
    recv_used_ += recv_bytes;
  }

  static void bringIn(Gate& gate, const Part& part, std::size_t blocks, std::size_t bytes) {
    const std::size_t element = elementBytes(part.call->type);
    for (std::size_t b = 0; b < blocks && bytes > 0; ++b)
      gate.in.push_back(
          {part.send + b * bytes, part.call->send + (b * part.call->count + part.first) * element, bytes});
  }

  static void bringOut(Gate& gate, const Part& part, std::size_t blocks, std::size_t bytes, int rank) {
    const Call& call = *part.call;
    // In place at the root of a broadcast nothing changes.
    if (call.kind == Kind::broadcast && rank == call.root && call.recv == call.send) return;
    const std::size_t element = elementBytes(call.type);
    for (std::size_t b = 0; b < blocks && bytes > 0; ++b)
      gate.out.push_back({call.recv + (b * call.count + part.first) * element, part.recv + b * bytes, bytes});
  }

  std::byte* const sends_;
  std::byte* const receives_;
  const std::size_t slot_bytes_;
  std::uint32_t next_;
  std::vector<Gate> gates_;
  std::size_t send_used_ = 0;
  std::size_t recv_used_ = 0;
  std::byte* send_ = nullptr;
  std::byte* recv_ = nullptr;
};

} // namespace

Result<std::unique_ptr<Rings>> Rings::make(Device& device, std::size_t slot_bytes) {
  auto memory = device.allocate(MemoryKind::pinned, kFlagBytes + 2 * kSlots * slot_bytes);
  if (!memory.isOk()) return memory.status();
  return std::unique_ptr<Rings>(new Rings(memory.take(), slot_bytes));
}

Rings::Rings(std::unique_ptr<DeviceBlock> memory, std::size_t slot_bytes)
    : memory_(std::move(memory)),
      slot_bytes_(slot_bytes),
      flags_(reinterpret_cast<Flag>(memory_->data())),
      sends_(memory_->data() + kFlagBytes),
      receives_(sends_ + kSlots * slot_bytes) {
  std::memset(memory_->data(), 0, kFlagBytes);
}

std::vector<Gate> Rings::pack(const std::vector<std::shared_ptr<Call>>& calls, int rank, int ranks,
                              std::uint32_t sequence) {
  Packer packer(sends_, receives_, slot_bytes_, sequence);
  bool more = true;
  for (std::size_t round = 0; more; ++round) {
    more = false;
    for (const auto& call : calls) {
      const std::size_t part = partElements(*call, ranks);
      if (round > 0 && round * part >= call->count) continue;
      packer.add(*call, round * part, rank, ranks);
      more = more || (round + 1) * part < call->count;
    }
    if (round == 0 && packer.gates().size() > kSlots) return {};
  }
  return std::move(packer.gates());
}

void Rings::spoil() { std::memset(receives_, 0xff, kSlots * slot_bytes_); }

} // namespace goss::nccl
