/// One socket of a link, and what it waits for.
#ifndef GOSS_TRANSPORTS_TCP_LINK_CONNECTION_H_
#define GOSS_TRANSPORTS_TCP_LINK_CONNECTION_H_

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "platform/filtered_stream.h"
#include "platform/poller.h"
#include "transports/tcp/link/pace_guard.h"
#include "transports/tcp/link/poll_interest.h"
#include "transports/tcp/stream/record_stream.h"

namespace goss::transports::tcp {

/// A resumable connection whose socket is lost reads and writes nothing until resume() gives it another socket, over
/// which the stream continues, or giveUp() ends it. A checked connection also loses its socket when bytes were
/// corrupted on the network. It then ends if it is not resumable, or if that happens again and again. One thread.
class Connection {
 public:
  Connection() = default;

  /// Options of a connection whose bytes travel in records.
  struct RecordOptions {
    bool checked = false;
    bool resumable = true;
    std::uint32_t epoch = 0; ///< How often the rank that calls has resumed it.
  };

  /// Errors: resource.
  Status open(platform::Stream stream, platform::Poller& poller, std::uint64_t token, bool reads);
  /// As open(), with records; the poller always watches the socket for input.
  Status openRecords(platform::Stream stream, platform::Poller& poller, std::uint64_t token, RecordOptions options);
  /// Replaces the socket, which is closed if it is not lost yet. Errors: resource.
  Status resume(platform::Stream stream, std::uint32_t epoch);
  /// Whether it was ever opened.
  [[nodiscard]] bool wasOpened() const { return interest_.hasBegun(); }
  [[nodiscard]] bool isLost() const { return records_ && records_->lost && !records_->over; }
  /// Whether the connection is lost and will not be resumed.
  [[nodiscard]] bool isOver() const { return records_ && records_->over; }
  /// Whether the connection is lost, or is resumed and the other end has not acknowledged yet how many bytes it has.
  [[nodiscard]] bool isResuming() const {
    return isLost() || (records_ && !records_->over && records_->stream.isRestarting());
  }
  /// Whether it is being resumed and the other end may lack bytes that were written.
  [[nodiscard]] bool owesBytes() const { return isResuming() && hasUnacknowledged(); }
  [[nodiscard]] std::uint32_t epoch() const { return records_ ? records_->epoch : 0; }
  /// Whether the connection was lost by an orderly end of stream, not by an error.
  [[nodiscard]] bool wasClosed() const { return records_ && records_->closed; }
  [[nodiscard]] const std::string& lostReason() const { return records_->reason; }
  [[nodiscard]] bool isMalformed() const { return records_ && records_->stream.isMalformed(); }
  /// Whether the connection was lost because bytes were corrupted on the network.
  [[nodiscard]] bool wasCorrupted() const { return records_ && records_->stream.isCorrupted(); }
  /// Marks the connection as lost: the caller knows that its socket is dead.
  void lose(std::string why);
  /// The connection will not be resumed: it ends after the bytes that have arrived, because of `why`.
  void giveUp(const std::string& why);

  /// Also removes the socket from the poller.
  void close();
  [[nodiscard]] bool isOpen() const { return stream_.isOpen(); }
  [[nodiscard]] int fd() const { return stream_.fd(); }

  platform::StreamResult read(std::span<const iovec> to) { return records_ ? readRecords(to) : stream_.read(to); }
  platform::StreamResult read(void* to, std::size_t size) {
    const iovec piece{to, size};
    return read(std::span(&piece, 1));
  }
  platform::StreamResult write(std::span<const iovec> from) {
    return records_ ? writeRecords(from) : stream_.write(from);
  }
  /// Why a read or a write has ended.
  [[nodiscard]] std::string reason(const platform::StreamResult& result) const;
  /// Whether bytes came that the socket no longer shows as readable.
  [[nodiscard]] bool hasInput() const {
    return stream_.hasInput() || (records_ && (records_->stream.hasInput() || (records_->over && !records_->shut)));
  }
  /// Whether written bytes are not in the socket yet.
  [[nodiscard]] bool hasOutput() const {
    return stream_.hasOutput() || (records_ && !records_->over && records_->stream.hasUnsent());
  }
  /// Moves written bytes to the socket as far as it has space.
  void flush() {
    if (records_) return flushRecords();
    if (!hasOutput()) return;
    stream_.flush();
    watchWrites(false);
  }
  /// Acknowledges all bytes that were read to the other end.
  void acknowledge();
  /// Whether bytes were written that the other end is not known to have read, so that they may be sent again.
  [[nodiscard]] bool hasUnacknowledged() const {
    return records_ && !records_->over && records_->stream.hasUnacknowledged();
  }
  /// As RecordStream::acknowledged(); 0 where the system has all bytes that were written.
  [[nodiscard]] std::uint64_t acknowledged() const { return records_ ? records_->stream.acknowledged() : 0; }
  [[nodiscard]] std::uint64_t sent() const { return records_ ? records_->stream.sent() : 0; }
  /// Reads and drops bytes that have arrived. True: the other end has closed, or the connection is lost.
  bool dropInput();

  /// Called as bytes move: updates the pace.
  void updatePace() {
    if (isOpen()) pace_.update(fd());
  }
  /// At most so many bytes a second leave from now on, also over later sockets; 0: as many as the user allows.
  void pace(std::uint64_t bytes_per_s) { pace_.advise(isOpen() ? fd() : -1, bytes_per_s); }
  void watchReads(bool on) {
    wanted_ = on;
    if (isOpen()) interest_.change(fd(), on || records_, interest_.writes());
  }
  /// Watches for space; stays on while there is output to be flushed.
  void watchWrites(bool on) {
    if (!isOpen()) return;
    const bool writes = records_ ? stream_.hasOutput() || records_->stream.awaitsSpace() : on || hasOutput();
    interest_.change(fd(), interest_.reads(), writes);
  }

 private:
  struct Records {
    explicit Records(const RecordOptions& options)
        : stream(kWindowBytes, options.checked), resumable(options.resumable), epoch(options.epoch) {}
    RecordStream stream;
    const bool resumable;
    std::uint32_t epoch;
    int corruptions = 0;     ///< How often bytes were corrupted since the stream was at position `moved`.
    std::uint64_t moved = 0; ///< Bytes read and acknowledged at that time.
    bool lost = false;
    bool closed = false;
    bool over = false; ///< Lost, and not to be resumed.
    bool shut = false; ///< Closed by this end.
    std::string reason;
  };

  platform::StreamResult readRecords(std::span<const iovec> to);
  platform::StreamResult writeRecords(std::span<const iovec> from);
  void flushRecords();
  void pull();
  void lost(const platform::StreamResult& end);

  /// After so many corruptions without a byte of progress the connection is given up: whatever corrupts bytes there
  /// does not do so by chance.
  static constexpr int kMaxCorruptions = 100;

  platform::Stream stream_;
  PaceGuard pace_;
  PollInterest interest_;
  bool wanted_ = false;              ///< A caller of watchReads() wants its bytes as they come.
  std::unique_ptr<Records> records_; ///< Null: the connection's bytes are the socket's.
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_LINK_CONNECTION_H_
