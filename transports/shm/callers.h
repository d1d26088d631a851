/// The socket at which the peers of this host call a rank.
#ifndef GOSS_TRANSPORTS_SHM_CALLERS_H_
#define GOSS_TRANSPORTS_SHM_CALLERS_H_

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "gossamer/transport_context.h"
#include "platform/fd.h"
#include "platform/listening_socket.h"
#include "platform/poller.h"
#include "transports/shm/rendezvous.h"

namespace goss::transports::shm {

/// Accepts callers and reads their hellos. One thread.
class Callers {
 public:
  /// Called for each hello of a rank of this world.
  using Handler = std::function<void(platform::UniqueFd socket, Hello hello)>;
  /// The listening socket's events carry `listener_token`, those of a caller `caller_tokens` plus its descriptor.
  Callers(const TransportContext& context, platform::Poller& poller, std::uint64_t listener_token,
          std::uint64_t caller_tokens, Handler handler);

  /// Listens at a new name. Errors: resource.
  Status listen(const std::string& name);
  void accept();
  /// A caller's socket is readable.
  void read(int fd);
  /// Listens again after a want of descriptors.
  void tick() { listener_->tick(); }

 private:
  bool awaitsMore(int fd);

  const TransportContext& context_;
  platform::Poller& poller_;
  const std::uint64_t listener_token_;
  const std::uint64_t caller_tokens_;
  const Handler handler_;
  std::optional<platform::ListeningSocket> listener_;
  std::vector<platform::UniqueFd> waiting_; ///< In the order of their calls; no hello has come from them yet.
};

} // namespace goss::transports::shm

#endif // GOSS_TRANSPORTS_SHM_CALLERS_H_
