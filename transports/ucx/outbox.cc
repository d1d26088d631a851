#include "transports/ucx/outbox.h"

#include <algorithm>
#include <array>
#include <utility>

#include "transports/common/multipart_recvs.h"
#include "transports/ucx/worker.h"

namespace goss::transports::ucx {

namespace {

// SendOperation::hook.extra says where the operation is: in no list, in the queue, or the address of its Flight.
constexpr std::uint64_t kNowhere = 0;
constexpr std::uint64_t kQueued = 1;

// Padding without meaning. After a greeting all of it is sent: so much that UCX maps the segments of shared memory into
// which it copies messages; if the peer is gone by the time of the first message, UCX cannot map them any more and
// reports an error.
constexpr std::array<std::byte, 128> kPadding{};

static_assert(std::max(kPaddingBefore, kPaddingBehind) <= kPadding.size());

/// UCX takes memory without const even where it only reads.
std::byte* padding() { return const_cast<std::byte*>(kPadding.data()); }

// Long enough for a living peer to answer a revocation, short enough where the peer is not.
constexpr std::chrono::milliseconds kCancelSpan(200);

} // namespace

void Outbox::open(ucp_ep_h endpoint, std::uint64_t key, const Route& route) {
  endpoint_ = endpoint;
  key_ = key;
  route_ = route;
  sends_.setLimit(std::min(station_.unexpected_limit, route.window_bytes), route.ahead_bytes);
}

bool Outbox::post(SendOperation& operation) {
  // Urgent messages go behind those that UCX holds, and before those that wait here.
  const bool urgent = operation.tag == kUrgentTag && endpoint_ != nullptr;
  if (urgent || (queue_.empty() && hasRoom())) return launch(operation);
  operation.hook.extra = kQueued;
  queue_.pushBack(operation);
  return false;
}

bool Outbox::launch(SendOperation& operation) {
  Flight& flight = takeFlight();
  flight.operation = &operation;
  operation.hook.extra = reinterpret_cast<std::uintptr_t>(&flight);
  const std::size_t bytes = operation.bytes;
  flight.rendezvous = goesByRendezvous(bytes);
  if (goesInParts(bytes) || (!flight.rendezvous && !sends_.mayGo(operation.tag, bytes))) {
    if (route_.part_bytes > 0 || bytes == 0) return launchInParts(flight);
    flight.rendezvous = true; // However short it is: the peer keeps only its header.
  }
  flight.order = next_number_++;
  Header header;
  header.kind = Header::Kind::message;
  header.number = flight.order;
  header.tag = operation.tag;
  header.envelope = operation.envelope;
  encode(flight, header);
  for (const iovec& piece : operation.pieces)
    if (piece.iov_len > 0) flight.pieces.push_back({piece.iov_base, piece.iov_len});
  const bool complete = startPieces(flight, bytes);
  if (complete) operation.hook.extra = kNowhere;
  return complete;
}

bool Outbox::startPieces(Flight& flight, std::size_t bytes) {
  flight.held_bytes = flight.rendezvous ? 0 : bytes;
  const std::uint32_t flags = flight.rendezvous ? UCP_AM_SEND_FLAG_RNDV : UCP_AM_SEND_FLAG_EAGER;
  if (flight.pieces.size() > 1)
    return start(flight, flight.pieces.data(), flight.pieces.size(), ucp_dt_make_iov(), flags);
  const void* at = flight.pieces.empty() ? nullptr : flight.pieces[0].buffer;
  return start(flight, at, bytes, ucp_dt_make_contig(1), flags);
}

bool Outbox::launchInParts(Flight& whole) {
  sends_.begin(whole, *whole.operation);
  launchPart(whole, Header::Kind::first);
  while (hasRoom() && trouble_.isOk() && sends_.next() == &whole)
    launchPart(whole, Header::Kind::part);
  if (!whole.landed || whole.status != UCS_OK) return false; // land() completes it.
  std::erase(landed_, &whole);
  whole.operation->hook.extra = kNowhere;
  recycle(whole);
  return true;
}

bool Outbox::launchNext() {
  if (!hasRoom() || !trouble_.isOk()) return false;
  header_was_last_ = !queue_.empty() && !(header_was_last_ && sends_.next() != nullptr);
  if (header_was_last_) {
    SendOperation& operation = *queue_.popFront();
    if (launch(operation)) operation.onSent(Status::ok());
  } else if (sends_.next() != nullptr) {
    launchPart(static_cast<Flight&>(*sends_.next()), Header::Kind::part);
  } else {
    return false;
  }
  return true;
}

void Outbox::launchPart(Flight& whole, Header::Kind kind) {
  Flight& flight = takeFlight();
  flight.whole = &whole;
  flight.rendezvous = false;
  const SendOperation& operation = *whole.operation;
  const std::size_t bytes = std::min<std::size_t>(whole.allowed_bytes, route_.part_bytes);
  Header header;
  header.kind = kind;
  header.number = next_number_++;
  header.tag = operation.tag;
  header.envelope = operation.envelope;
  header.total = operation.bytes;
  header.extra = kind == Header::Kind::first ? whole.allowed_bytes : whole.number;
  header.padded = route_.pads && bytes > 0;
  encode(flight, header);
  if (header.padded) flight.pieces.push_back({padding(), kPaddingBefore});
  appendRest(flight, whole, bytes);
  if (header.padded) flight.pieces.push_back({padding(), kPaddingBehind});
  if (bytes > 0) sends_.advance(whole, bytes);
  ++whole.parts;
  if (!startPieces(flight, bytes)) return;
  --whole.parts;
  landIfSent(whole);
}

void Outbox::appendRest(Flight& flight, Flight& whole, std::size_t bytes) const {
  for (std::size_t left = bytes; left > 0;) {
    const std::span<std::byte> piece = whole.rest.current();
    const std::size_t now = std::min(piece.size(), left);
    flight.pieces.push_back({piece.data(), now});
    whole.rest.advance(now);
    left -= now;
  }
}

void Outbox::landIfSent(Flight& whole) {
  if (!whole.isOver() || whole.parts > 0 || whole.landed) return;
  whole.landed = true;
  landed_.push_back(&whole);
}

void Outbox::onAnswer(Header::Kind kind, std::uint64_t number) {
  if (MultipartSend* whole = sends_.answer(number, kind == Header::Kind::grant))
    landIfSent(static_cast<Flight&>(*whole));
}

void Outbox::sendControl(Header header) {
  if (endpoint_ == nullptr) return;
  Flight& flight = takeFlight();
  flight.operation = nullptr;
  flight.rendezvous = false;
  if (isNumbered(header.kind)) header.number = next_number_++;
  encode(flight, header);
  const std::size_t bytes = header.kind == Header::Kind::hello ? kPadding.size() : 0;
  start(flight, kPadding.data(), bytes, ucp_dt_make_contig(1), UCP_AM_SEND_FLAG_EAGER);
}

Outbox::Flight& Outbox::takeFlight() {
  if (free_.empty()) {
    flights_.push_back(std::make_unique<Flight>());
    flights_.back()->owner = this;
    free_.push_back(flights_.back().get());
  }
  Flight& flight = *free_.back();
  free_.pop_back();
  flight.pieces.clear();
  flight.landed = false;
  flight.status = UCS_OK;
  flight.rest_bytes = flight.allowed_bytes = 0;
  flight.unanswered = false;
  flight.parts = flight.held_bytes = 0;
  return flight;
}

void Outbox::encode(Flight& flight, Header header) {
  header.from = static_cast<std::uint32_t>(station_.self);
  header.key = key_;
  const bool has_tag = header.kind == Header::Kind::message || header.kind == Header::Kind::first;
  if (has_tag) header.returned = takeOwed(owed_, header.tag);
  encodeHeader(header, flight.header);
}

/// Returns true when the request is complete.
bool Outbox::start(Flight& flight, const void* buffer, std::size_t count, ucp_datatype_t datatype,
                   std::uint32_t flags) {
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FIELD_DATATYPE |
                       UCP_OP_ATTR_FIELD_FLAGS | UCP_OP_ATTR_FIELD_MEMORY_TYPE;
  param.flags = flags;
  param.cb.send = onSent;
  param.datatype = datatype;
  param.user_data = &flight;
  param.memory_type = UCS_MEMORY_TYPE_HOST;
  ucs_status_ptr_t request =
      ucp_am_send_nbx(endpoint_, kActiveMessageId, flight.header.data(), flight.header.size(), buffer, count, &param);
  if (request == nullptr) {
    recycle(flight);
    return true;
  }
  ++in_flight_;
  held_bytes_ += flight.held_bytes;
  if (UCS_PTR_IS_ERR(request)) onSent(nullptr, UCS_PTR_STATUS(request), &flight);
  return false;
}

// Called by UCX: run() calls operations back later.
void Outbox::onSent(void* request, ucs_status_t status, void* data) {
  auto& flight = *static_cast<Flight*>(data);
  Outbox& self = *flight.owner;
  --self.in_flight_;
  self.held_bytes_ -= flight.held_bytes;
  if (status != UCS_OK && self.trouble_.isOk()) self.trouble_ = ucxError(self.peer_, "sending to it failed", status);
  if (request != nullptr) ucp_request_free(request);
  Flight* whole = flight.whole;
  if (whole != nullptr) {
    if (status != UCS_OK) whole->status = status;
    self.recycle(flight);
    --whole->parts;
  } else {
    flight.status = status;
    whole = &flight;
  }
  self.landIfSent(*whole);
}

bool Outbox::land() {
  if (landed_.empty()) return false;
  for (Flight* flight : std::exchange(landed_, {})) {
    SendOperation* operation = flight->operation;
    const bool sent = flight->status == UCS_OK;
    recycle(*flight);
    if (operation == nullptr) continue;
    operation->hook.extra = kNowhere;
    operation->onSent(sent ? Status::ok() : failure_.isOk() ? trouble_ : failure_);
  }
  return true;
}

bool Outbox::run() {
  bool any = land();
  while (launchNext())
    any = true;
  return land() || any;
}

bool Outbox::cancel(SendOperation& operation) {
  if (operation.hook.extra == kNowhere) return true;
  if (operation.hook.extra == kQueued) {
    queue_.remove(operation);
    operation.hook.extra = kNowhere;
    return true;
  }
  Flight& flight = *reinterpret_cast<Flight*>(operation.hook.extra);
  if (!flight.isOver()) {
    sends_.end(flight);
    Header cut;
    cut.kind = Header::Kind::cut;
    cut.extra = flight.number;
    sendControl(cut);
    landIfSent(flight);
  }
  if (flight.rendezvous && !flight.landed) {
    Header revoke;
    revoke.kind = Header::Kind::revoke;
    revoke.number = flight.order;
    sendControl(revoke);
  }
  if (!station_.worker->progressUntil([&] { return flight.landed; }, kCancelSpan)) return false;
  forget(operation);
  return true;
}

void Outbox::forget(SendOperation& operation) {
  if (operation.hook.extra > kQueued) reinterpret_cast<Flight*>(operation.hook.extra)->operation = nullptr;
  operation.hook.extra = kNowhere;
}

void Outbox::fail(const Status& status) {
  failure_ = status;
  sends_.clear();
  land();
  // UCX has released these operations, or will not report them any more.
  for (const auto& flight : flights_) {
    SendOperation* operation = std::exchange(flight->operation, nullptr);
    if (operation == nullptr || operation->hook.extra != reinterpret_cast<std::uintptr_t>(flight.get())) continue;
    operation->hook.extra = kNowhere;
    operation->onSent(status);
  }
  while (SendOperation* operation = queue_.popFront()) {
    operation->hook.extra = kNowhere;
    operation->onSent(status);
  }
}

} // namespace goss::transports::ucx
