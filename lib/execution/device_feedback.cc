#include "execution/device_feedback.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <tuple>
#include <utility>

#include "devices/stream_ordered.h"

namespace goss {

namespace {

/// New memory is cleared by a copy of so many zeros, and copies of that.
constexpr std::size_t kZeroBytes = 4096;
constexpr std::size_t kAlignment = 256;

constexpr std::size_t aligned(std::size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

constexpr std::size_t bytesOf(const KeptRange& kept) { return kept.range.count * sizeof(float); }

} // namespace

Status DeviceResiduals::enqueueStart(DeviceQueue& queue) const {
  for (std::size_t done = 0; done < cleared_.size();) {
    const std::size_t bytes = std::min(done == 0 ? kZeroBytes : done, cleared_.size() - done);
    const CopyJob copy{cleared_.data() + done, done == 0 ? pinned_.data() : cleared_.data(), bytes};
    if (Status status = queue.copy({&copy, 1}); !status.isOk()) return status;
    done += bytes;
  }
  return brought_.empty() ? Status::ok() : queue.copy(brought_);
}

DeviceFeedback::Intervals::const_iterator DeviceFeedback::firstTouching(const Intervals& intervals,
                                                                        std::uint64_t first) {
  auto interval = intervals.upper_bound(first);
  if (interval != intervals.begin() && std::prev(interval)->first + std::prev(interval)->second.count > first)
    --interval;
  return interval;
}

bool DeviceFeedback::overlaps(const KeptRange& kept) const {
  const auto intervals = held_.find(kept.key);
  if (intervals == held_.end() || kept.range.count == 0) return false;
  const auto interval = firstTouching(intervals->second, kept.range.first);
  return interval != intervals->second.end() && interval->first < kept.range.end();
}

/// The device memory that holds exactly these elements, and that is not being copied to the host; null: there is none.
const DeviceFeedback::Held* DeviceFeedback::find(const KeptRange& kept) const {
  const auto intervals = held_.find(kept.key);
  if (intervals == held_.end()) return nullptr;
  const auto interval = intervals->second.find(kept.range.first);
  if (interval == intervals->second.end() || interval->second.count != kept.range.count) return nullptr;
  return interval->second.returning == nullptr ? &interval->second : nullptr;
}

/// Whether the call may use the residuals of its tensor: no other call uses them, or all that do come before this call
/// in the same stream and encode the same steps on the device, so that the stream keeps their order.
bool DeviceFeedback::mayBegin(const Beginner& call) const {
  const auto use = uses_.find(call.tensor);
  if (use == uses_.end()) return call.others == 0;
  return call.stream != nullptr && !isStreamOfThread(call.stream) && use->second.stream == call.stream &&
         use->second.calls == call.others && use->second.phase_of == call.plan.phase_of;
}

Result<std::shared_ptr<const DeviceResiduals>> DeviceFeedback::open(DeviceStation& station, const Beginner& call,
                                                                    std::span<const KeptEncoding> encodings) {
  using Opened = std::shared_ptr<const DeviceResiduals>;
  if (!mayBegin(call)) return Opened();
  std::vector<KeptRange> missing;
  if (!findMissing(station, encodings, missing)) return Opened();
  auto opened = std::make_shared<DeviceResiduals>();
  if (Status status = makeRoom(station, call.reserve, missing, *opened); !status.isOk()) return status;
  opened->steps_ = call.plan.phase_of.size();
  opened->at_.assign(2 * call.fragments * opened->steps_, nullptr);
  for (const KeptEncoding& encoding : encodings) {
    if (!encoding.on_device) continue;
    const Held* held = find(encoding.kept);
    opened->at_[encoding.index + (encoding.momentum ? opened->at_.size() / 2 : 0)] = held->data;
    if (opened->blocks_.empty() || opened->blocks_.back() != held->block) opened->blocks_.push_back(held->block);
  }
  Use& use = uses_[call.tensor];
  if (use.calls++ == 0) use.phase_of = call.plan.phase_of;
  use.stream = call.stream;
  return Opened(std::move(opened));
}

bool DeviceFeedback::findMissing(const DeviceStation& station, std::span<const KeptEncoding> encodings,
                                 std::vector<KeptRange>& missing) const {
  for (const KeptEncoding& encoding : encodings) {
    const Held* held = encoding.on_device ? find(encoding.kept) : nullptr;
    if (held != nullptr ? held->station != &station : overlaps(encoding.kept)) return false;
    if (held == nullptr && encoding.on_device) missing.push_back(encoding.kept);
  }
  std::sort(missing.begin(), missing.end(), [](const KeptRange& one, const KeptRange& other) {
    return std::tie(one.key, one.range.first, one.range.count) <
           std::tie(other.key, other.range.first, other.range.count);
  });
  const auto isEqual = [](const KeptRange& one, const KeptRange& other) {
    return one.key == other.key && one.range.first == other.range.first && one.range.count == other.range.count;
  };
  missing.erase(std::unique(missing.begin(), missing.end(), isEqual), missing.end());
  return std::adjacent_find(missing.begin(), missing.end(), [](const KeptRange& one, const KeptRange& next) {
           return one.key == next.key && one.range.end() > next.range.first;
         }) == missing.end();
}

void DeviceFeedback::want(DeviceStation& station, std::span<const KeptEncoding> encodings,
                          BlockReserve& reserve) const {
  std::vector<KeptRange> missing;
  if (!findMissing(station, encodings, missing) || missing.empty()) return;
  const Room room = roomFor(missing);
  reserve.want(station.memory, room.bytes);
  reserve.want(station.pinned, room.pinned_bytes);
}

DeviceFeedback::Room DeviceFeedback::roomFor(std::span<const KeptRange> missing) const {
  Room room{0, kZeroBytes};
  for (const KeptRange& kept : missing) {
    room.bytes += aligned(bytesOf(kept));
    if (references_.holds(kept.key, kept.range)) room.pinned_bytes += aligned(bytesOf(kept));
  }
  return room;
}

/// Gets device memory for the elements, and pinned memory for those that the reference store holds.
Status DeviceFeedback::makeRoom(DeviceStation& station, BlockReserve& reserve, std::span<const KeptRange> missing,
                                DeviceResiduals& into) {
  if (missing.empty()) return Status::ok();
  const Room room = roomFor(missing);
  Result<BlockPool::Lease> memory = reserve.lease(station.memory, room.bytes);
  if (!memory.isOk()) return memory.status();
  Result<BlockPool::Lease> pinned = reserve.lease(station.pinned, room.pinned_bytes);
  if (!pinned.isOk()) return pinned.status();
  const auto block = std::make_shared<BlockPool::Lease>(memory.take());
  into.pinned_ = pinned.take();
  std::memset(into.pinned_.data(), 0, kZeroBytes);
  into.cleared_ = {block->data(), room.bytes};
  std::byte* to = block->data();
  std::byte* from = into.pinned_.data() + kZeroBytes;
  for (const KeptRange& kept : missing) {
    auto* data = reinterpret_cast<float*>(to);
    if (references_.holds(kept.key, kept.range)) {
      references_.take(kept.key, kept.range.first, {reinterpret_cast<float*>(from), kept.range.count});
      into.brought_.push_back({to, from, bytesOf(kept)});
      from += aligned(bytesOf(kept));
    }
    held_[kept.key].emplace(kept.range.first, Held{kept.range.count, &station, block, data, nullptr});
    to += aligned(bytesOf(kept));
  }
  return Status::ok();
}

void DeviceFeedback::close(std::uint64_t tensor) {
  const auto use = uses_.find(tensor);
  if (use != uses_.end() && --use->second.calls == 0) uses_.erase(use);
}

Result<bool> DeviceFeedback::advanceReturn(Held& held) {
  if (held.returning != nullptr) {
    Result<bool> done = held.returning->copy.isDone();
    if (done.isOk()) return done;
    held.returning->copy.withdraw();
    if (!held.returning->copy.isBusy()) held.returning.reset(); // The next call tries again.
    return done;
  }
  DeviceStation& station = *held.station;
  held.returning = std::make_unique<Return>(station);
  held.returning->copy.start(*station.in, [&held, &station, &pinned = held.returning->pinned]() -> Status {
    const std::size_t bytes = held.count * sizeof(float);
    Result<BlockPool::Lease> leased = station.pinned.lease(bytes);
    if (!leased.isOk()) return leased.status();
    pinned = leased.take();
    const CopyJob copy{pinned.data(), held.data, bytes};
    return station.in->copy({&copy, 1});
  });
  return false;
}

Result<bool> DeviceFeedback::moveToHost(const ReferenceKey& key, Intervals& intervals, ElementRange range) {
  if (uses_.count(key.tensor) > 0) return false;
  bool all = true;
  for (auto interval = intervals.begin(); interval != intervals.end();) {
    Held& held = interval->second;
    const ElementRange there{interval->first, held.count};
    if (there.end() <= range.first || range.end() <= there.first) {
      ++interval;
      continue;
    }
    Result<bool> come = advanceReturn(held);
    if (!come.isOk()) return come;
    if (!come.value()) {
      all = false;
      ++interval;
      continue;
    }
    const Result<std::span<float>> on_host = references_.open(key, there);
    if (!on_host.isOk()) return on_host.status();
    std::memcpy(on_host.value().data(), held.returning->pinned.data(), held.count * sizeof(float));
    interval = intervals.erase(interval);
  }
  return all;
}

Result<bool> DeviceFeedback::moveToHost(const KeptRange& kept) {
  const auto intervals = held_.find(kept.key);
  if (intervals == held_.end() || !overlaps(kept)) return true;
  Result<bool> on_host = moveToHost(kept.key, intervals->second, kept.range);
  if (intervals->second.empty()) held_.erase(intervals);
  return on_host;
}

Result<bool> DeviceFeedback::moveToHost(std::uint64_t tensor) {
  bool all = true;
  for (auto intervals = held_.begin(); intervals != held_.end();) {
    if (tensor != 0 && intervals->first.tensor != tensor) {
      ++intervals;
      continue;
    }
    Result<bool> on_host = moveToHost(intervals->first, intervals->second, {0, ~std::uint64_t{0}});
    if (!on_host.isOk()) return on_host;
    all = all && on_host.value();
    intervals = intervals->second.empty() ? held_.erase(intervals) : std::next(intervals);
  }
  return all;
}

} // namespace goss
