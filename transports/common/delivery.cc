#include "transports/common/delivery.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "transports/common/errors.h"

namespace goss::transports {

namespace {

constexpr std::size_t kViewMultiple = 64;
constexpr std::uintptr_t kViewAlignment = 16;

bool isAligned(const std::byte* at) { return reinterpret_cast<std::uintptr_t>(at) % kViewAlignment == 0; }

} // namespace

void Delivery::accept(const MessageHeader& header, RecvOperation& operation) {
  total_ = header.bytes;
  done_ = emitted_ = 0;
  carried_ = 0;
  kept_ = nullptr;
  claim_ = nullptr;
  operation_ = &operation;
  operation.hook.extra = reinterpret_cast<std::uintptr_t>(this);
  streams_ = operation.streams;
  cursor_ = operation.consumes ? PieceCursor() : PieceCursor(operation.pieces);
  status_ = Status::ok();
  ReplyOffer& reply = operation.reply;
  reply.buffer = reply.can_write && reply.tag == reply_tag_ ? reply_buffer_ : nullptr;
  const std::size_t capacity = operation.capacity;
  Status matched = operation.onMatched(header.envelope, static_cast<std::size_t>(header.bytes));
  if (operation_) { // The callback did not cancel it.
    status_ = std::move(matched);
    if (status_.isOk() && header.bytes > capacity) status_ = truncatedError(peer_, header.bytes, capacity);
  }
  finishIfComplete();
}

void Delivery::acceptWhole(const MessageHeader& header, RecvOperation& operation, std::span<const std::byte> bytes) {
  if (operation.consumes || operation.streams || operation.pieces.size() != 1 || bytes.empty() ||
      bytes.size() > operation.capacity) {
    accept(header, operation);
    deliver(bytes);
    return;
  }
  // accept() and deliver(), without the steps that only messages in several parts need.
  total_ = header.bytes;
  done_ = 0;
  operation_ = &operation;
  operation.hook.extra = reinterpret_cast<std::uintptr_t>(this);
  Status matched = operation.onMatched(header.envelope, bytes.size());
  if (operation_ != nullptr) { // The callback did not cancel it.
    if (matched.isOk()) std::memcpy(operation.pieces.front().iov_base, bytes.data(), bytes.size());
    status_ = std::move(matched);
  }
  done_ = total_;
  finishIfComplete();
}

void Delivery::acceptWithout(const MessageHeader& header, Unexpected* kept) {
  kept_ = kept;
  total_ = header.bytes;
  done_ = 0;
  finishIfComplete();
}

void Delivery::deliver(std::span<const std::byte> bytes) {
  if (bytes.empty()) return;
  if (kept_) {
    std::memcpy(kept_->payload.get() + kept_->arrived, bytes.data(), bytes.size());
    kept_->arrived += bytes.size();
  } else if (delivers()) {
    if (operation_->consumes) {
      consume(bytes);
    } else {
      if (streams_) {
        cursor_.scatterStreaming(bytes);
      } else {
        cursor_.scatter(bytes);
      }
    }
  }
  done_ += bytes.size();
  finishIfComplete();
}

std::size_t Delivery::space(std::span<iovec> out, std::size_t max_bytes) {
  std::size_t most = static_cast<std::size_t>(std::min<std::uint64_t>(max_bytes, remaining()));
  if (out.empty() || most == 0) return 0;
  if (kept_) {
    out[0] = {kept_->payload.get() + kept_->arrived, most};
    return 1;
  }
  if (delivers() && !operation_->consumes) return cursor_.list(out, most);
  std::size_t carried = delivers() ? carried_ : 0;
  out[0] = {bounce() + carried, std::min(most, kBounceBytes - carried)};
  return 1;
}

void Delivery::commit(std::size_t bytes) {
  if (bytes == 0) return;
  if (kept_) {
    kept_->arrived += bytes;
  } else if (delivers()) {
    if (operation_->consumes) {
      carried_ += bytes;
      flushBounce();
    } else {
      cursor_.advance(bytes);
    }
  }
  done_ += bytes;
  finishIfComplete();
}

void Delivery::consume(std::span<const std::byte> bytes) {
  while (!bytes.empty() && operation_) {
    if (carried_ == 0 && isAligned(bytes.data())) {
      bool last = emitted_ + bytes.size() == total_;
      std::size_t direct = last ? bytes.size() : bytes.size() / kViewMultiple * kViewMultiple;
      if (direct > 0) {
        std::span<const std::byte> view = bytes.first(direct);
        bytes = bytes.subspan(direct);
        emit(view);
        continue;
      }
    }
    std::size_t step = std::min(bytes.size(), kBounceBytes - carried_);
    std::memcpy(bounce() + carried_, bytes.data(), step);
    bytes = bytes.subspan(step);
    carried_ += step;
    flushBounce();
  }
}

void Delivery::flushBounce() {
  bool last = emitted_ + carried_ == total_;
  std::size_t whole = last ? carried_ : carried_ / kViewMultiple * kViewMultiple;
  if (whole == 0) return;
  std::size_t rest = carried_ - whole;
  emit({bounce(), whole});
  std::memmove(bounce(), bounce() + whole, rest);
  carried_ = rest;
}

void Delivery::emit(std::span<const std::byte> view) {
  std::size_t offset = static_cast<std::size_t>(emitted_);
  emitted_ += view.size();
  operation_->onData(offset, view);
}

void Delivery::finishIfComplete() {
  if (done_ != total_) return;
  if (statistics_ != nullptr) statistics_->countReceived(total_);
  if (kept_) {
    kept_->delivery = nullptr;
    kept_ = nullptr;
  }
  RecvOperation* operation = operation_;
  if (!operation) return;
  operation_ = nullptr;
  operation->hook.extra = 0;
  operation->onReceived(std::exchange(status_, Status::ok()));
}

void Delivery::finishDropped() {
  done_ = total_;
  finishIfComplete();
}

void Delivery::drop() {
  operation_->hook.extra = 0;
  operation_ = nullptr;
}

void Delivery::clear() {
  kept_ = nullptr;
  claim_ = nullptr;
  total_ = done_ = 0;
}

RecvOperation* Delivery::detach() {
  total_ = done_ = 0;
  RecvOperation* operation = operation_;
  if (operation != nullptr) {
    drop();
    status_ = Status::ok();
  }
  return operation;
}

void Delivery::abort(const Status& status) {
  kept_ = nullptr;
  if (RecvOperation* operation = detach()) operation->onReceived(status);
}

std::byte* Delivery::bounce() {
  if (!bounce_) bounce_ = std::make_unique_for_overwrite<Bounce>();
  return bounce_->bytes;
}

} // namespace goss::transports
