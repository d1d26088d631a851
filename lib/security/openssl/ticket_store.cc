#include "security/openssl/ticket_store.h"

namespace goss::security {

void TicketStore::keep(const std::string& identity, SessionPtr ticket) {
  const std::lock_guard lock(mutex_);
  if (tickets_.size() < kMax || tickets_.find(identity) != tickets_.end())
    tickets_.insert_or_assign(identity, std::move(ticket));
}

SessionPtr TicketStore::find(std::string_view identity) const {
  const std::lock_guard lock(mutex_);
  const auto found = tickets_.find(identity);
  if (found == tickets_.end()) return nullptr;
  SSL_SESSION_up_ref(found->second.get());
  return SessionPtr(found->second.get());
}

} // namespace goss::security
