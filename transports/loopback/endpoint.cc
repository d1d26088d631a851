#include "transports/loopback/endpoint.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/wire.h"
#include "transports/common/process_identity.h"

namespace goss::transports::loopback {

namespace {

constexpr std::string_view kMagic = "GLB1";

/// The part of an address before the pointer.
std::string_view prefixOf(std::string_view address) {
  return address.substr(0, address.size() - std::min(address.size(), sizeof(std::uint64_t)));
}

} // namespace

Endpoint::Endpoint(const TransportContext& context, platform::Wakeup wakeup)
    : job_(context.job), wakeup_(std::move(wakeup)), eager_bytes_(static_cast<std::size_t>(context.size)) {}

bool Endpoint::put(Mail mail) {
  bool wake = false;
  {
    std::lock_guard lock(mutex_);
    if (closed_) return false;
    inbox_.push_back(std::move(mail));
    has_mail_.store(true, std::memory_order_release);
    wake = std::exchange(sleeping_, false);
  }
  if (wake) wakeup_.notify();
  return true;
}

void Endpoint::take(std::vector<Mail>& into) {
  std::lock_guard lock(mutex_);
  has_mail_.store(false, std::memory_order_relaxed);
  if (into.empty()) {
    into.swap(inbox_);
  } else {
    into.insert(into.end(), std::make_move_iterator(inbox_.begin()), std::make_move_iterator(inbox_.end()));
    inbox_.clear();
  }
}

bool Endpoint::prepareToSleep() {
  std::lock_guard lock(mutex_);
  sleeping_ = inbox_.empty();
  return sleeping_;
}

void Endpoint::sleepEnded() {
  {
    std::lock_guard lock(mutex_);
    sleeping_ = false;
  }
  wakeup_.drain();
}

void Endpoint::close() {
  std::vector<Mail> dropped; // Declared first, so that it is destroyed after the mutex is unlocked.
  std::lock_guard lock(mutex_);
  closed_ = true;
  dropped.swap(inbox_);
}

std::string encodeAddress(const Endpoint& endpoint) {
  base::WireWriter writer;
  writer.raw(kMagic)
      .raw(processIdentity())
      .integer(static_cast<std::uint64_t>(reinterpret_cast<std::uintptr_t>(&endpoint)));
  return writer.take();
}

bool isOfOneProcess(std::string_view own, std::string_view address) {
  return !own.empty() && own.size() == address.size() && prefixOf(own) == prefixOf(address);
}

std::shared_ptr<Endpoint> resolveAddress(std::string_view own, std::string_view address) {
  if (!isOfOneProcess(own, address)) return nullptr;
  auto pointer = base::loadLittleEndian<std::uint64_t>(address.data() + address.size() - sizeof(std::uint64_t));
  return reinterpret_cast<Endpoint*>(static_cast<std::uintptr_t>(pointer))->shared_from_this();
}

} // namespace goss::transports::loopback
