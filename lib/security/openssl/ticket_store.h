/// What a process that calls keeps of its sessions, so that the next one with the same other end is shorter.
#ifndef GOSS_LIB_SECURITY_OPENSSL_TICKET_STORE_H_
#define GOSS_LIB_SECURITY_OPENSSL_TICKET_STORE_H_

#include <map>
#include <mutex>
#include <string>
#include <string_view>

#include "security/openssl/handles.h"

namespace goss::security {

/// The newest ticket of each other end, by its identity. Any thread: sessions of several threads share it.
class TicketStore {
 public:
  /// Full: tickets of further ends are dropped, whose next session is a whole one.
  void keep(const std::string& identity, SessionPtr ticket);
  /// Null where there is none. It stays here: connections to one end that break together begin anew together.
  [[nodiscard]] SessionPtr find(std::string_view identity) const;

 private:
  static constexpr std::size_t kMax = 4096;

  mutable std::mutex mutex_;
  std::map<std::string, SessionPtr, std::less<>> tickets_;
};

} // namespace goss::security

#endif // GOSS_LIB_SECURITY_OPENSSL_TICKET_STORE_H_
