#include "transports/tcp/relay/byte_forwarder.h"

#include "platform/socket.h"
#include "platform/stream.h"

namespace goss::transports::tcp {

ByteForwarder::ByteForwarder(platform::Stream one, platform::Stream other, platform::Poller& poller,
                             std::uint64_t token)
    : ends_{std::move(one), std::move(other)}, poller_(poller), token_(token) {
  for (Flow& flow : flows_)
    flow.buffer = std::make_unique_for_overwrite<char[]>(kBufferBytes);
}

Status ByteForwarder::open() {
  for (std::size_t end = 0; end < 2; ++end)
    if (Status watched = poller_.add(ends_[end].fd(), true, false, token_ + end); !watched.isOk()) return watched;
  return Status::ok();
}

bool ByteForwarder::run() {
  bool any = false;
  for (int round = 0; round < kMaxRounds && !over_; ++round) {
    bool moved = pass(0);
    moved = pass(1) || moved;
    any = any || moved;
    if (!moved) break;
  }
  if (over_) return any;
  finish(0);
  finish(1);
  for (std::size_t end = 0; end < 2 && !over_; ++end)
    watch(end);
  const bool ending = flows_[0].ended || flows_[1].ended || flows_[0].done || flows_[1].done;
  if (ending && (any || linger_.never())) linger_ = platform::Deadline::after(kLinger);
  return any;
}

/// One read from `from` and one write to the other side.
bool ByteForwarder::pass(std::size_t from) {
  Flow& flow = flows_[from];
  if (flow.done) return false;
  const bool filled = fill(flow, ends_[from]);
  return drain(flow, ends_[1 - from]) || filled;
}

bool ByteForwarder::fill(Flow& flow, platform::Stream& source) {
  if (flow.begin == flow.end) flow.begin = flow.end = 0;
  if (flow.ended || flow.end == kBufferBytes) return false;
  const platform::StreamResult got = source.read(flow.buffer.get() + flow.end, kBufferBytes - flow.end);
  flow.ended = got.ended;
  flow.broken = got.ended && got.error != 0;
  flow.end += got.bytes;
  bytes_ += got.bytes;
  return got.bytes > 0;
}

bool ByteForwarder::drain(Flow& flow, platform::Stream& sink) {
  sink.flush();
  if (flow.begin == flow.end) return false;
  const platform::StreamResult sent = sink.write({flow.buffer.get() + flow.begin, flow.end - flow.begin});
  flow.begin += sent.bytes;
  // What the sink sent before it broke is still forwarded; then its own flow ends, and the forwarder.
  if (sent.ended) flow.done = true;
  return sent.bytes > 0;
}

/// Forwards an end of stream to the sink, once it has all bytes before the end.
void ByteForwarder::finish(std::size_t from) {
  Flow& flow = flows_[from];
  if (!flow.done && flow.ended && flow.begin == flow.end && !ends_[1 - from].hasOutput()) {
    if (flow.broken) return breakBoth();
    platform::endWriting(ends_[1 - from].fd());
    flow.done = true;
  }
  over_ = over_ || (flows_[0].done && flows_[1].done);
}

void ByteForwarder::watch(std::size_t end) {
  const Flow& from = flows_[end];
  const Flow& to = flows_[1 - end];
  const bool reads = !from.ended && !from.done && (from.end < kBufferBytes || from.begin == from.end);
  const bool writes = !to.done && (to.begin < to.end || ends_[end].hasOutput());
  const bool watched = reads_[end] || writes_[end];
  if (reads_[end] == reads && writes_[end] == writes) return;
  reads_[end] = reads;
  writes_[end] = writes;
  const int fd = ends_[end].fd();
  // The poller would report a broken socket without end, even if nothing is watched.
  if (!reads && !writes) return poller_.remove(fd);
  const Status changed =
      watched ? poller_.change(fd, reads, writes, token_ + end) : poller_.add(fd, reads, writes, token_ + end);
  if (!changed.isOk()) breakBoth();
}

bool ByteForwarder::hasWork() const {
  for (std::size_t end = 0; end < 2; ++end)
    if (reads_[end] && ends_[end].hasInput()) return true;
  return false;
}

void ByteForwarder::tick() {
  if (linger_.expired()) breakBoth();
}

void ByteForwarder::breakBoth() {
  for (platform::Stream& end : ends_)
    platform::resetOnClose(end.fd());
  over_ = true;
}

} // namespace goss::transports::tcp
