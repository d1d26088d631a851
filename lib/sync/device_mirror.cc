#include "sync/device_mirror.h"

#include <fmt/format.h>

#include <algorithm>
#include <thread>

namespace goss::sync {

namespace {

using Clock = std::chrono::steady_clock;

/// Interval of polls for the end of a copy, of which no descriptor tells.
constexpr std::chrono::microseconds kNap(20);

/// A longer time would overflow the clock.
constexpr std::chrono::hours kLongest(24 * 365);

} // namespace

DeviceMirror::DeviceMirror(std::chrono::milliseconds longest)
    : longest_(std::min<std::chrono::milliseconds>(longest, kLongest)) {}

DeviceMirror::~DeviceMirror() = default;

Result<DeviceMirror::Lane*> DeviceMirror::laneOf(Device& device) {
  if (const auto found = lanes_.find(device.ordinal()); found != lanes_.end()) {
    return &found->second;
  }
  Result<std::unique_ptr<DeviceQueue>> queue = device.queue(nullptr);
  if (!queue.isOk()) {
    return queue.status();
  }
  Result<std::unique_ptr<DeviceEvent>> done = device.event();
  if (!done.isOk()) {
    return done.status();
  }
  return &lanes_.try_emplace(device.ordinal(), Lane{queue.take(), done.take(), {}}).first->second;
}

Result<std::span<float>> DeviceMirror::add(Device& device, std::span<float> there) {
  const Result<Lane*> lane = laneOf(device);
  if (!lane.isOk()) {
    return lane.status();
  }
  Result<std::unique_ptr<DeviceBlock>> block = device.allocate(MemoryKind::pinned, there.size_bytes());
  if (!block.isOk()) {
    return block.status();
  }
  auto* here = reinterpret_cast<float*>(block.value()->data());
  vectors_.try_emplace(here, Vector{lane.value(), there.data(), block.take()});
  return std::span<float>(here, there.size());
}

Status DeviceMirror::copy(std::span<const std::span<float>> copies, Way way) {
  for (const std::span<float> here : copies) {
    const auto found = vectors_.find(here.data());
    if (found == vectors_.end() || here.empty()) {
      continue;
    }
    float* there = found->second.there;
    const bool fetches = way == Way::fromDevice;
    found->second.lane->jobs.push_back(
        {fetches ? here.data() : there, fetches ? there : here.data(), here.size_bytes()});
  }
  Status first;
  for (auto& [ordinal, lane] : lanes_) {
    if (lane.jobs.empty()) {
      continue;
    }
    Status status = lane.queue->copy(lane.jobs);
    lane.jobs.clear();
    if (status.isOk()) {
      status = lane.queue->record(*lane.done);
    }
    if (status.isOk()) {
      status = wait(lane);
    }
    if (first.isOk()) {
      first = status;
    }
  }
  return first;
}

Status DeviceMirror::wait(Lane& lane) const {
  const auto end = Clock::now() + longest_;
  while (true) {
    const Result<bool> done = lane.done->isDone();
    if (!done.isOk() || done.value()) {
      return done.status();
    }
    if (Clock::now() > end) {
      return Status::error(GOSS_ERR_TIMEOUT, fmt::format("a copy has not ended after {} ms", longest_.count()));
    }
    std::this_thread::sleep_for(kNap);
  }
}

} // namespace goss::sync
