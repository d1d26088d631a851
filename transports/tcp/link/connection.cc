#include "transports/tcp/link/connection.h"

#include <array>

#include "platform/socket.h"

namespace goss::transports::tcp {

using platform::StreamResult;

Status Connection::open(platform::Stream stream, platform::Poller& poller, std::uint64_t token, bool reads) {
  stream_ = std::move(stream);
  pace_.reset(fd());
  return interest_.begin(poller, token, fd(), reads, stream_.hasOutput());
}

Status Connection::openRecords(platform::Stream stream, platform::Poller& poller, std::uint64_t token,
                               RecordOptions options) {
  records_ = std::make_unique<Records>(options);
  // The stream's first connection was never established, and the other end waits to be told that nothing has arrived
  // over it.
  if (options.epoch > 0) records_->stream.restart();
  Status opened = open(std::move(stream), poller, token, true);
  if (opened.isOk()) flushRecords();
  return opened;
}

Status Connection::resume(platform::Stream stream, std::uint32_t epoch) {
  records_->stream.restart();
  records_->epoch = epoch;
  records_->lost = records_->closed = false;
  Status opened = open(std::move(stream), interest_.poller(), interest_.token(), true);
  if (opened.isOk())
    flushRecords();
  else
    lose(opened.text());
  return opened;
}

void Connection::lose(std::string why) {
  if (!records_ || records_->lost) return;
  records_->lost = true;
  records_->over = records_->over || !records_->resumable;
  records_->reason = std::move(why);
  stream_.close();
}

void Connection::lost(const StreamResult& end) {
  if (records_->lost) return;
  if (wasCorrupted()) {
    // Resets the socket, so that the other end does not take this for an orderly end.
    platform::resetOnClose(fd());
    const std::uint64_t moved = records_->stream.acknowledged() + records_->stream.used();
    records_->corruptions = moved == std::exchange(records_->moved, moved) ? records_->corruptions + 1 : 1;
    lose("bytes from it were changed on their way: their CRC32C is wrong");
    records_->over = records_->over || records_->corruptions >= kMaxCorruptions;
    return;
  }
  const StreamResult told = records_->stream.firstError().value_or(end);
  records_->closed = told.error == 0;
  lose(stream_.reason(told));
}

void Connection::giveUp(const std::string& why) {
  if (!records_ || records_->over) return;
  // Reads what the system still holds of the socket.
  if (!records_->lost && isOpen() && !isMalformed()) pull();
  lose(why);
  records_->reason = why;
  records_->over = true;
}

void Connection::close() {
  stream_.close();
  if (!records_) return;
  records_->lost = records_->over = records_->shut = true;
  records_->stream.restart();
}

std::string Connection::reason(const StreamResult& result) const {
  if (isMalformed()) return "bytes that are no record of the TCP protocol";
  return records_ && records_->lost ? records_->reason : stream_.reason(result);
}

StreamResult Connection::readRecords(std::span<const iovec> to) {
  if (records_->lost) {
    const std::size_t kept = records_->stream.readKept(to);
    return {kept, kept == 0 && records_->over, 0};
  }
  const StreamResult result = records_->stream.read(stream_, to);
  if (!result.ended || isMalformed()) return result;
  lost(result);
  return {};
}

StreamResult Connection::writeRecords(std::span<const iovec> from) {
  if (records_->lost) return {0, records_->over, 0};
  const StreamResult result = records_->stream.write(stream_, from);
  if (!result.ended) return result;
  // What has arrived before still counts; the next flush finds the end.
  return {};
}

void Connection::flushRecords() {
  if (records_->lost || !isOpen()) return;
  if (!wanted_) pull();
  if (records_->lost || isMalformed()) return;
  const StreamResult flushed = records_->stream.flush(stream_);
  if (flushed.ended) {
    // Bytes that arrived before the end can still be read.
    pull();
    if (!isMalformed()) lost(flushed);
  }
  watchWrites(false);
}

void Connection::acknowledge() {
  if (!records_) return;
  records_->stream.acknowledge();
  flushRecords();
}

void Connection::pull() {
  const StreamResult pulled = records_->stream.pull(stream_);
  if (pulled.ended && !isMalformed()) lost(pulled);
}

bool Connection::dropInput() {
  if (!isOpen()) return true;
  if (records_) {
    pull();
    records_->stream.dropInput();
    return records_->lost || isMalformed();
  }
  std::array<char, 16384> rest;
  StreamResult got;
  do {
    got = platform::readSome(fd(), rest.data(), rest.size());
  } while (got.bytes > 0);
  return got.ended;
}

} // namespace goss::transports::tcp
