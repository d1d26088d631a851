#include "security/openssl/tls_filter.h"

#include <errno.h>

#include <algorithm>
#include <cstring>

namespace goss::security {

using platform::Greeting;
using platform::StreamResult;

namespace {

/// A record with the fatal alert protocol_version.
constexpr std::string_view kVersionAlert("\x15\x03\x03\x00\x02\x02\x46", 7);

} // namespace

Greeting TlsFilter::greet(int fd) {
  while (state_ == State::handshake || state_ == State::proof) {
    const bool moved = state_ == State::handshake ? shakeHands() : awaitProof();
    flush(fd); // Sends the alert, too, which tells the other end why.
    if (moved) continue;
    const Fetched fetched = fetch(fd);
    if (fetched == Fetched::end) return fail({});
    if (fetched == Fetched::nothing) return Greeting::underway;
  }
  return state_ == State::ready ? Greeting::ready : Greeting::failed;
}

Greeting TlsFilter::fail(std::string why) {
  failure_ = std::move(why);
  state_ = State::failed;
  return Greeting::failed;
}

/// False: the handshake needs more input.
bool TlsFilter::shakeHands() {
  const Session::Outcome outcome = session_->handshake();
  if (outcome == Session::Outcome::needsInput) return false;
  if (outcome != Session::Outcome::done) {
    // OpenSSL does not answer bytes that are no TLS; an alert tells an unencrypted caller which protocol is expected.
    if (!calls_ && session_->outgoing().empty())
      session_->outgoing().append(kVersionAlert.data(), kVersionAlert.size());
    fail(session_->failure());
    return true;
  }
  const std::string proof = credentials_->prove(*session_, calls_);
  if (proof.size() != credentials_->proofBytes() ||
      (!proof.empty() && session_->encrypt(proof) != Session::Outcome::done)) {
    fail("this process could not prove who it is");
    return true;
  }
  state_ = State::proof;
  return true;
}

bool TlsFilter::awaitProof() {
  const std::size_t wanted = credentials_->proofBytes();
  if (proof_.size() < wanted) {
    std::string more(wanted - proof_.size(), '\0');
    const Session::Moved moved = session_->decrypt(more);
    proof_.append(more, 0, moved.bytes);
    if (proof_.size() < wanted) {
      if (moved.bytes > 0) return true;
      if (moved.outcome == Session::Outcome::needsInput) return false;
      fail(session_->failure());
      return true;
    }
  }
  auto peer = credentials_->identify(*session_, calls_, proof_);
  if (!peer.isOk()) {
    fail(peer.status().text());
    return true;
  }
  peer_ = peer.take();
  state_ = State::ready;
  return true;
}

TlsFilter::Fetched TlsFilter::fetch(int fd) {
  if (end_.ended) return Fetched::end;
  RecordBuffer& incoming = session_->incoming();
  const std::size_t batch = state_ == State::ready ? kBatchBytes : kGreetingBytes;
  if (incoming.contents().size() >= batch) return Fetched::nothing;
  const std::size_t size = batch - incoming.contents().size();
  const StreamResult got = readUnder(fd, incoming.room(size), size);
  incoming.commit(got.bytes);
  if (got.ended) {
    // A write that met a reset has taken the error off the socket, and the read then finds an orderly end. EPIPE only
    // says that an end has come before.
    const bool reset = got.error == 0 && write_end_.error != 0 && write_end_.error != EPIPE;
    end_ = reset ? write_end_ : got;
    return Fetched::end;
  }
  return got.bytes > 0 ? Fetched::some : Fetched::nothing;
}

StreamResult TlsFilter::readUnder(int fd, void* to, std::size_t size) {
  if (!under_) return platform::readSome(fd, to, size);
  const iovec piece{to, size};
  return under_->read(fd, std::span(&piece, 1));
}

StreamResult TlsFilter::writeUnder(int fd, std::string_view bytes) {
  if (!under_) return platform::writeSome(fd, bytes.data(), bytes.size());
  const iovec piece{const_cast<char*>(bytes.data()), bytes.size()}; // Only read.
  return under_->write(fd, std::span(&piece, 1));
}

StreamResult TlsFilter::read(int fd, std::span<const iovec> to) {
  StreamResult result;
  bool dry = false;
  if (owesAnswers()) return result;
  for (const iovec& piece : to) {
    std::size_t filled = 0;
    while (filled < piece.iov_len) {
      const Session::Moved moved =
          session_->decrypt({static_cast<char*>(piece.iov_base) + filled, piece.iov_len - filled});
      filled += moved.bytes;
      result.bytes += moved.bytes;
      if (filled == piece.iov_len) break;
      if (moved.bytes > 0) continue;
      const bool over = moved.outcome != Session::Outcome::needsInput;
      if (over && moved.outcome == Session::Outcome::failed && failure_.empty()) failure_ = session_->failure();
      const Fetched fetched = over || dry ? Fetched::nothing : fetch(fd);
      if (fetched == Fetched::some) {
        // A short read has emptied the socket: reading again would return nothing.
        dry = session_->incoming().contents().size() < kBatchBytes;
        continue;
      }
      flush(fd);
      if (result.bytes > 0 || (!over && fetched == Fetched::nothing)) return result;
      if (over) return {0, true, moved.outcome == Session::Outcome::failed ? EBADMSG : 0};
      return end_;
    }
  }
  return result;
}

bool TlsFilter::owesAnswers() const { return session_->outgoing().contents().size() > 2 * kBatchBytes; }

bool TlsFilter::batchIsFull() const { return session_->outgoing().contents().size() >= kBatchBytes; }

std::string_view TlsFilter::nextPiece(std::span<const iovec> from, std::size_t skip) {
  std::size_t at = 0;
  while (at < from.size() && skip >= from[at].iov_len)
    skip -= from[at++].iov_len;
  if (at == from.size()) return {};
  const std::string_view first(static_cast<const char*>(from[at].iov_base) + skip, from[at].iov_len - skip);
  if (first.size() >= kRecordBytes || at + 1 == from.size()) {
    const std::size_t room = kBatchBytes - std::min(kBatchBytes, session_->outgoing().contents().size());
    return first.substr(0, std::max(room, kRecordBytes));
  }
  // A frame and its payload become one record, because a record costs as much as a kilobyte.
  if (!gathered_) gathered_ = std::make_unique_for_overwrite<char[]>(kRecordBytes);
  std::size_t size = 0;
  for (; at < from.size() && size < kRecordBytes; ++at, skip = 0) {
    const std::size_t part = std::min(from[at].iov_len - skip, kRecordBytes - size);
    std::memcpy(gathered_.get() + size, static_cast<const char*>(from[at].iov_base) + skip, part);
    size += part;
  }
  return {gathered_.get(), size};
}

StreamResult TlsFilter::write(int fd, std::span<const iovec> from) {
  StreamResult result;
  flush(fd);
  while (!hasOutput() && failure_.empty() && !write_end_.ended) {
    std::string_view piece;
    while (!batchIsFull() && !(piece = nextPiece(from, result.bytes)).empty()) {
      if (session_->encrypt(piece) != Session::Outcome::done) {
        failure_ = session_->failure();
        return {0, true, EBADMSG};
      }
      result.bytes += piece.size();
    }
    flush(fd);
    if (piece.empty()) break;
  }
  // A session that failed will never write again; returning no error would look like a full socket.
  if (result.bytes == 0 && !failure_.empty()) return {0, true, EBADMSG};
  // Bytes that were encrypted for a broken connection are lost, as in any socket's buffer.
  return result.bytes == 0 && write_end_.ended ? write_end_ : result;
}

void TlsFilter::flush(int fd) {
  if (under_) under_->flush(fd);
  RecordBuffer& outgoing = session_->outgoing();
  while (!outgoing.empty()) {
    const StreamResult sent = writeUnder(fd, outgoing.contents());
    outgoing.consume(sent.ended ? outgoing.contents().size() : sent.bytes);
    if (sent.ended) write_end_ = sent;
    if (sent.bytes == 0) return;
  }
}

} // namespace goss::security
