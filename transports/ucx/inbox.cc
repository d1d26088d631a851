#include "transports/ucx/inbox.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "transports/common/errors.h"
#include "transports/ucx/worker.h"

namespace goss::transports::ucx {

namespace {

// UCX lends 32 KiB for a message however short it is; when so many wait, further ones are copied.
constexpr std::size_t kMaxLent = 32;
// Scratch memory that a fetch keeps for the next message.
constexpr std::size_t kMaxScratchBytes = 4u << 20;

MessageHeader messageHeader(const Header& header, std::size_t bytes) { return {header.tag, bytes, header.envelope}; }

} // namespace

ucs_status_t Inbox::arrive(const Header& header, Incoming incoming) {
  // A peer that sends such a number breaks the protocol.
  if (closed_ || header.number < next_number_ || early_.contains(header.number)) return UCS_OK;
  if (passOn(header, incoming)) {
    ++next_number_;
    appendEarly();
    return UCS_OK;
  }
  Arrival arrival{header, nullptr, incoming.bytes, incoming.rendezvous, nullptr};
  const bool stays = incoming.rendezvous || (incoming.stays && arrivals_.size() <= kMaxLent);
  if (!stays && incoming.bytes > 0) {
    arrival.copy = std::make_unique_for_overwrite<std::byte[]>(incoming.bytes);
    std::memcpy(arrival.copy.get(), incoming.data, incoming.bytes);
  } else if (incoming.bytes > 0) {
    arrival.data = incoming.data;
  }
  const ucs_status_t kept = arrival.data != nullptr ? UCS_INPROGRESS : UCS_OK;
  if (header.number != next_number_) {
    early_.emplace(header.number, std::move(arrival));
    return kept;
  }
  append(std::move(arrival));
  appendEarly();
  return kept;
}

/// A part that neither begins nor ends a message calls no operation's callbacks but onData, which leaves the transport
/// alone, so it need not wait for run(). Over TCP it would have to be copied for that; the last part is copied, which
/// is short. Parts that UCX hands over while an operation is cancelled or the link is given up wait all the same.
bool Inbox::passOn(const Header& header, Incoming& incoming) {
  if (!station_.passes_on || header.kind != Header::Kind::part || header.number != next_number_ || !arrivals_.empty() ||
      incoming.rendezvous || incoming.stays)
    return false;
  const std::size_t bytes = recvs_.passable(header.extra, incoming.bytes);
  if (bytes == 0) return false;
  recvs_.passOn(header.extra, {static_cast<const std::byte*>(incoming.data), bytes});
  incoming.data = static_cast<std::byte*>(incoming.data) + bytes;
  incoming.bytes -= bytes;
  return incoming.bytes == 0;
}

void Inbox::appendEarly() {
  for (auto at = early_.begin(); at != early_.end() && at->first == next_number_; at = early_.erase(at))
    append(std::move(at->second));
}

void Inbox::append(Arrival arrival) {
  ++next_number_;
  arrivals_.push_back(std::move(arrival));
}

void Inbox::releaseData(void*& data) {
  if (data != nullptr) ucp_am_data_release(station_.worker->get(), std::exchange(data, nullptr));
}

void Inbox::revoke(std::uint64_t number) {
  const auto is_it = [number](const Arrival& arrival) {
    return arrival.header.number == number && arrival.header.kind == Header::Kind::message;
  };
  if (const auto at = std::find_if(arrivals_.begin(), arrivals_.end(), is_it); at != arrivals_.end()) {
    releaseData(at->data);
    arrivals_.erase(at);
    return;
  }
  for (const auto& fetch : fetches_) {
    if (!fetch->busy || fetch->number != number || !fetch->sink.waits()) continue;
    releaseData(fetch->data);
    fetch->sink.revoke();
    recycle(*fetch);
    return;
  }
}

void Inbox::discard(Tag mask, Tag value) {
  // Fetches of which only the header has come: their senders are told that the messages were received.
  for (const auto& fetch : fetches_) {
    if (!fetch->busy || !fetch->sink.waits()) continue;
    if ((fetch->tag & mask) != value || matcher_.isPosted(fetch->tag)) continue;
    releaseData(fetch->data);
    fetch->sink.revoke();
    recycle(*fetch);
  }
  matcher_.discard(mask, value);
}

void Inbox::take(Arrival& arrival) {
  const auto kind = arrival.header.kind;
  if (kind == Header::Kind::goodbye) {
    departed_ = true;
  } else if (kind == Header::Kind::cut) {
    recvs_.withdraw(arrival.header.extra);
  } else if (!arrival.rendezvous) {
    const auto* bytes = static_cast<const std::byte*>(arrival.copy ? arrival.copy.get() : arrival.data);
    if (Status taken = takeBytes(arrival.header, {bytes, arrival.bytes}); !taken.isOk()) fail(taken);
  } else if (kind != Header::Kind::message) {
    fail(protocolError(matcher_.peer(), "a part of a message that is not there"));
  } else if (Status taken = takeLong(arrival); !taken.isOk()) {
    fail(taken);
  }
  releaseData(arrival.data);
}

Status Inbox::takeBytes(const Header& header, std::span<const std::byte> bytes) {
  if (header.kind == Header::Kind::message) return recvs_.message(messageHeader(header, bytes.size()), bytes);
  if (header.kind == Header::Kind::first) return recvs_.begin(messageHeader(header, header.total), header.extra, bytes);
  return recvs_.more(header.extra, bytes);
}

Status Inbox::takeLong(Arrival& arrival) {
  Fetch& fetch = freeFetch();
  fetch.data = arrival.data;
  fetch.bytes = arrival.bytes;
  fetch.number = arrival.header.number;
  fetch.tag = arrival.header.tag;
  const bool begun = fetch.sink.beginAbsent(messageHeader(arrival.header, arrival.bytes), [&fetch] {
    if (fetch.owner.closed_) return false; // Its bytes can no longer be fetched.
    fetch.owner.ready_.push_back(&fetch);
    return true;
  });
  if (!begun) return memoryError(matcher_.peer());
  arrival.data = nullptr;
  fetch.busy = true;
  std::erase(free_, &fetch);
  // A message outside of ready_ was discarded before it matched a receive.
  const bool claimed = std::find(ready_.begin(), ready_.end(), &fetch) != ready_.end();
  if (fetch.sink.isDropped() && !claimed) ready_.push_back(&fetch);
  return Status::ok();
}

Inbox::Fetch& Inbox::freeFetch() {
  if (free_.empty()) {
    fetches_.push_back(std::make_unique<Fetch>(*this));
    free_.push_back(fetches_.back().get());
  }
  return *free_.back();
}

void Inbox::recycle(Fetch& fetch) {
  fetch.busy = fetch.flying = false;
  if (fetch.scratch_bytes > kMaxScratchBytes) {
    fetch.scratch.reset();
    fetch.scratch_bytes = 0;
  }
  free_.push_back(&fetch);
}

void Inbox::startReady() {
  while (!ready_.empty()) {
    for (Fetch* fetch : std::exchange(ready_, {}))
      start(*fetch);
  }
}

/// Chooses where the bytes go: into the receive's own buffers, or, when it consumes them or is gone, into scratch
/// memory.
void Inbox::prepareRoom(Fetch& fetch) {
  std::size_t entries = 0;
  std::size_t room_bytes = 0;
  fetch.room.resize(std::max<std::size_t>(fetch.room.size(), 16));
  for (;; fetch.room.resize(2 * fetch.room.size())) {
    entries = fetch.sink.space(fetch.room, fetch.bytes);
    room_bytes = 0;
    for (std::size_t i = 0; i < entries; ++i)
      room_bytes += fetch.room[i].iov_len;
    if (room_bytes == fetch.bytes || entries < fetch.room.size()) break;
  }
  fetch.direct = room_bytes == fetch.bytes;
  fetch.pieces.clear();
  if (fetch.direct) {
    for (std::size_t i = 0; i < entries; ++i)
      fetch.pieces.push_back({fetch.room[i].iov_base, fetch.room[i].iov_len});
    return;
  }
  if (fetch.scratch_bytes < fetch.bytes) {
    fetch.scratch = std::make_unique_for_overwrite<std::byte[]>(fetch.bytes);
    fetch.scratch_bytes = fetch.bytes;
  }
  fetch.pieces.push_back({fetch.scratch.get(), fetch.bytes});
}

void Inbox::start(Fetch& fetch) {
  if (fetch.sink.isDropped()) { // Refused or cancelled: its sender is told that it was received.
    releaseData(fetch.data);
    fetch.sink.finishDropped();
    recycle(fetch);
    return;
  }
  prepareRoom(fetch);
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_DATATYPE |
                       UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.cb.recv_am = onFetched;
  param.user_data = &fetch;
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  const bool one = fetch.pieces.size() == 1;
  param.datatype = one ? ucp_dt_make_contig(1) : ucp_dt_make_iov();
  void* buffer = one ? fetch.pieces[0].buffer : fetch.pieces.data();
  const std::size_t count = one ? fetch.bytes : fetch.pieces.size();
  fetch.flying = true;
  ++in_flight_;
  ucs_status_ptr_t request =
      ucp_am_recv_data_nbx(station_.worker->get(), std::exchange(fetch.data, nullptr), buffer, count, &param);
  if (UCS_PTR_IS_PTR(request)) return;
  onFetched(nullptr, request == nullptr ? UCS_OK : UCS_PTR_STATUS(request), fetch.bytes, &fetch);
}

// Called by UCX, or by start().
void Inbox::onFetched(void* request, ucs_status_t status, std::size_t bytes, void* data) {
  (void)bytes;
  auto& fetch = *static_cast<Fetch*>(data);
  fetch.flying = false;
  fetch.status = status;
  ++fetch.owner.matcher_.statistics().movements;
  --fetch.owner.in_flight_;
  fetch.owner.landed_.push_back(&fetch);
  if (request != nullptr) ucp_request_free(request);
}

bool Inbox::land() {
  if (landed_.empty()) return false;
  for (Fetch* fetch : std::exchange(landed_, {})) {
    if (distrusted_) continue;
    if (fetch->status != UCS_OK) {
      // The message stays half delivered; the error that breaks the link completes its receive.
      if (trouble_.isOk()) trouble_ = ucxError(matcher_.peer(), "fetching a message from it failed", fetch->status);
      continue;
    }
    if (fetch->direct) {
      fetch->sink.commit(fetch->bytes);
    } else {
      fetch->sink.deliver({fetch->scratch.get(), fetch->bytes});
    }
    recycle(*fetch);
  }
  return true;
}

bool Inbox::run() {
  bool any = land();
  if (matcher_.hasWork()) any = matcher_.drain() || any;
  startReady();
  while (!arrivals_.empty() && trouble_.isOk()) {
    // Removed first, because callbacks may let UCX progress, which appends and revokes.
    Arrival arrival = std::move(arrivals_.front());
    arrivals_.pop_front();
    take(arrival);
    startReady();
    any = true;
  }
  any = land() || any;
  return recvs_.settle() || any;
}

bool Inbox::hasWork() const {
  return !landed_.empty() || !ready_.empty() || matcher_.hasWork() || recvs_.hasWork() || !arrivals_.empty();
}

bool Inbox::writesTo(const RecvOperation& operation) const {
  return std::any_of(fetches_.begin(), fetches_.end(), [&](const auto& fetch) {
    return fetch->flying && fetch->direct && operation.hook.extra == reinterpret_cast<std::uintptr_t>(&fetch->sink);
  });
}

void Inbox::finish() {
  closed_ = true;
  land();
  while (!arrivals_.empty() && arrivals_.front().header.kind != Header::Kind::goodbye &&
         !arrivals_.front().rendezvous && trouble_.isOk()) {
    Arrival arrival = std::move(arrivals_.front());
    arrivals_.pop_front();
    take(arrival);
  }
}

void Inbox::release() {
  closed_ = true;
  for (Arrival& arrival : arrivals_)
    releaseData(arrival.data);
  for (auto& [number, arrival] : early_)
    releaseData(arrival.data);
  arrivals_.clear();
  early_.clear();
  for (const auto& fetch : fetches_)
    releaseData(fetch->data);
  ready_.clear();
}

} // namespace goss::transports::ucx
