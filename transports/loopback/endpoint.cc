#include "transports/loopback/endpoint.h"

#include <iterator>
#include <utility>

#include "transports/common/local_address.h"

namespace goss::transports::loopback {

namespace {

constexpr std::string_view kMagic = "GLB2";

/// Ranks that are threads of one process share nothing but addresses, so the registry is static. It is never destroyed,
/// because static objects of the program may close endpoints at the very end.
LocalRegistry<Endpoint>& endpoints() {
  static auto& registry = *new LocalRegistry<Endpoint>();
  return registry;
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
  endpoints().remove(number_);
  std::vector<Mail> dropped; // Declared first, so that it is destroyed after the mutex is unlocked.
  std::lock_guard lock(mutex_);
  closed_ = true;
  dropped.swap(inbox_);
}

Result<std::string> publish(const std::shared_ptr<Endpoint>& endpoint) {
  endpoint->number_ = endpoints().add(endpoint);
  return encodeLocalAddress(kMagic, endpoint->number_);
}

bool isOfThisProcess(std::string_view address) { return decodeLocalAddress(kMagic, address).has_value(); }

std::shared_ptr<Endpoint> findEndpoint(std::string_view address) {
  const auto number = decodeLocalAddress(kMagic, address);
  return number.has_value() ? endpoints().find(*number) : nullptr;
}

} // namespace goss::transports::loopback
