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
#include "transports/tcp/stream/record_stream.h"

namespace goss::transports::tcp {

/// Keeps the poller's interest in step with as few system calls as possible. One that is resumable does not end when
/// its socket does: it is lost, reads and writes nothing, until resume() gives it another one and the stream goes on
/// where it was, or giveUp() ends it. One that is checked, too, is lost when bytes were changed on their way; it ends
/// then, if it is not resumable or that happens again and again. One thread.
class Connection {
 public:
  Connection() = default;

  /// How its bytes travel in records.
  struct Manner {
    bool checked = false;
    bool resumable = true;
    std::uint32_t epoch = 0; ///< How often its caller has resumed it.
  };

  /// Errors: resource.
  Status open(platform::Stream stream, platform::Poller& poller, std::uint64_t token, bool reads);
  /// The same, in records; its socket is always read.
  Status openRecords(platform::Stream stream, platform::Poller& poller, std::uint64_t token, Manner manner);
  /// Takes the place of its socket, which is closed if it is not lost yet. Errors: resource.
  Status resume(platform::Stream stream, std::uint32_t epoch);
  /// It was opened at some time.
  [[nodiscard]] bool wasOpened() const { return poller_ != nullptr; }
  [[nodiscard]] bool isLost() const { return records_ && records_->lost && !records_->over; }
  /// Lost for good.
  [[nodiscard]] bool isOver() const { return records_ && records_->over; }
  /// It is lost, or the other end has not said yet where it goes on.
  [[nodiscard]] bool isResuming() const {
    return isLost() || (records_ && !records_->over && records_->stream.isRestarting());
  }
  /// And the other end may lack something that was written.
  [[nodiscard]] bool owesBytes() const { return isResuming() && hasUnacknowledged(); }
  [[nodiscard]] std::uint32_t epoch() const { return records_ ? records_->epoch : 0; }
  /// Lost by an orderly end of stream, not by an error.
  [[nodiscard]] bool wasClosed() const { return records_ && records_->closed; }
  [[nodiscard]] const std::string& lostReason() const { return records_->reason; }
  [[nodiscard]] bool isMalformed() const { return records_ && records_->stream.isMalformed(); }
  /// Lost because bytes were changed on their way.
  [[nodiscard]] bool wasChanged() const { return records_ && records_->stream.isChanged(); }
  /// Its socket is of no use any more; not yet known here.
  void lose(std::string why);
  /// It will not be resumed: after what has arrived it ends, because of `why`.
  void giveUp(const std::string& why);

  /// The poller forgets it too.
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
  platform::StreamResult write(const void* from, std::size_t size) {
    const iovec piece{const_cast<void*>(from), size}; // Only read.
    return write(std::span(&piece, 1));
  }
  /// Why a read or a write has ended.
  [[nodiscard]] std::string reason(const platform::StreamResult& result) const;
  /// Bytes came that the socket does not show any more.
  [[nodiscard]] bool hasInput() const {
    return stream_.hasInput() || (records_ && (records_->stream.hasInput() || (records_->over && !records_->shut)));
  }
  /// Written bytes are not in the socket yet.
  [[nodiscard]] bool hasOutput() const {
    return stream_.hasOutput() || (records_ && !records_->over && records_->stream.hasUnsent());
  }
  /// Brings them there, as far as it has room.
  void flush() {
    if (records_) return flushRecords();
    if (!hasOutput()) return;
    stream_.flush();
    watchWrites(false);
  }
  /// Tells the other end of all that was read.
  void acknowledge();
  /// Something that was written is not known to have been read, and may still be sent again.
  [[nodiscard]] bool hasUnacknowledged() const {
    return records_ && !records_->over && records_->stream.hasUnacknowledged();
  }
  /// As RecordStream's; 0 where the system has all that was written.
  [[nodiscard]] std::uint64_t acknowledged() const { return records_ ? records_->stream.acknowledged() : 0; }
  [[nodiscard]] std::uint64_t sent() const { return records_ ? records_->stream.sent() : 0; }
  /// Reads what has come and forgets it. True: the other end has closed, or the connection is lost.
  bool forgetInput();

  /// To be called as bytes move: minds the pace.
  void mindPace() {
    if (isOpen()) pace_.update(fd());
  }
  /// At most so many bytes a second leave from now on, over sockets to come too; 0: as many as the user allows.
  void pace(std::uint64_t bytes_per_s) { pace_.advise(isOpen() ? fd() : -1, bytes_per_s); }
  void watchReads(bool on) {
    wanted_ = on;
    watch(on || records_, writes_);
  }
  /// Stays on while there is output to be flushed.
  void watchWrites(bool on) {
    watch(reads_, records_ ? stream_.hasOutput() || records_->stream.wantsRoom() : on || hasOutput());
  }

 private:
  struct Records {
    explicit Records(const Manner& manner)
        : stream(kWindowBytes, manner.checked), resumable(manner.resumable), epoch(manner.epoch) {}
    RecordStream stream;
    const bool resumable;
    std::uint32_t epoch;
    int changes = 0;         ///< How often bytes were changed since the stream was here,
    std::uint64_t moved = 0; ///< with so many read and acknowledged.
    bool lost = false;
    bool closed = false;
    bool over = false; ///< And will not be resumed.
    bool shut = false; ///< By this end.
    std::string reason;
  };

  void watch(bool reads, bool writes) {
    if (!isOpen() || (reads == reads_ && writes == writes_)) return;
    reads_ = reads;
    writes_ = writes;
    // Changing a descriptor that is in the set can fail only for lack of kernel memory; the next change tries again.
    [[maybe_unused]] const Status changed = poller_->change(fd(), reads, writes, token_);
  }
  platform::StreamResult readRecords(std::span<const iovec> to);
  platform::StreamResult writeRecords(std::span<const iovec> from);
  void flushRecords();
  void pull();
  void lost(const platform::StreamResult& end);

  /// After so many without a byte of progress the way is given up: what changes bytes there does not do so by chance.
  static constexpr int kMaxChanges = 100;

  platform::Stream stream_;
  PaceGuard pace_;
  platform::Poller* poller_ = nullptr;
  std::uint64_t token_ = 0;
  bool reads_ = false;
  bool writes_ = false;
  bool wanted_ = false;              ///< Its bytes are read as they come, by those who asked to watch it.
  std::unique_ptr<Records> records_; ///< Null: its bytes are the socket's.
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_LINK_CONNECTION_H_
