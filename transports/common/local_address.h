/// Addresses by which the ranks of one process find each other's objects.
#ifndef GOSS_TRANSPORTS_COMMON_LOCAL_ADDRESS_H_
#define GOSS_TRANSPORTS_COMMON_LOCAL_ADDRESS_H_

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "gossamer/status.h"

namespace goss::transports {

/// An address: `magic`, the token of this process (16 bytes), and the number of an object in a LocalRegistry (8), which
/// is no pointer, because an address may be forged, or come from another process, or after its object is gone. Errors:
/// resource.
Result<std::string> encodeLocalAddress(std::string_view magic, std::uint64_t number);
/// The number in an address that this process has encoded with this magic; nullopt for all other bytes.
std::optional<std::uint64_t> decodeLocalAddress(std::string_view magic, std::string_view address);

/// The objects that ranks of this process may find by their numbers. Owns none. Safe for all threads.
template <typename T>
class LocalRegistry {
 public:
  /// Returns the object's number, from 1, which no other object ever gets.
  std::uint64_t add(const std::shared_ptr<T>& object) {
    const std::lock_guard lock(mutex_);
    objects_[++last_] = object;
    return last_;
  }
  void remove(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    objects_.erase(number);
  }
  /// Null: no object has this number, or it is gone.
  std::shared_ptr<T> find(std::uint64_t number) {
    const std::lock_guard lock(mutex_);
    const auto found = objects_.find(number);
    return found != objects_.end() ? found->second.lock() : nullptr;
  }

 private:
  std::mutex mutex_; ///< Guards the members below.
  std::unordered_map<std::uint64_t, std::weak_ptr<T>> objects_;
  std::uint64_t last_ = 0;
};

} // namespace goss::transports

#endif // GOSS_TRANSPORTS_COMMON_LOCAL_ADDRESS_H_
