/// Session tickets that a calling process keeps, so that the next session with the same peer is shorter.
#ifndef GOSS_LIB_SECURITY_OPENSSL_TICKET_STORE_H_
#define GOSS_LIB_SECURITY_OPENSSL_TICKET_STORE_H_

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "security/openssl/handles.h"

namespace goss::security {

/// The newest ticket of each peer, by its identity. Any thread: sessions of several threads share it.
class TicketStore {
 public:
  /// Stores a ticket. When full, drops tickets of further peers, whose next session is then a full one.
  void keep(const std::string& identity, SessionPtr ticket);
  /// The ticket; null where there is none. It stays stored: several broken connections to one peer can be resumed
  /// together.
  [[nodiscard]] SessionPtr find(std::string_view identity) const;

 private:
  static constexpr std::size_t kMax = 4096;

  mutable std::mutex mutex_;
  std::map<std::string, SessionPtr, std::less<>> tickets_;
};

} // namespace goss::security

#endif // GOSS_LIB_SECURITY_OPENSSL_TICKET_STORE_H_
