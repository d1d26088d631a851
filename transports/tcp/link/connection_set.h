/// The connections of one link, and what both ends say about them.
#ifndef GOSS_TRANSPORTS_TCP_LINK_CONNECTION_SET_H_
#define GOSS_TRANSPORTS_TCP_LINK_CONNECTION_SET_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "platform/poller.h"
#include "platform/socket.h"
#include "platform/stream.h"
#include "transports/tcp/link/connection.h"
#include "transports/tcp/stream/wire.h"

namespace goss::transports::tcp {

/// The first hello says how many connections there are, whether they are resumed when they break and checked for
/// changed bytes, and the token that only the two ends know. One thread.
class ConnectionSet {
 public:
  explicit ConnectionSet(int peer) : peer_(peer) {}

  /// Takes the connection on which `hello` was said: by the peer, where hello.from is its rank, else by this end. The
  /// rank `via` relays it (-1: none). Errors: the link has that connection already, or was told another count;
  /// resource.
  Status adopt(platform::Stream stream, const Hello& hello, platform::Poller& poller, int via);
  [[nodiscard]] bool isBegun() const { return adopted_ > 0; }
  /// All of them were adopted.
  [[nodiscard]] bool isComplete() const { return adopted_ > 0 && adopted_ == all_.size(); }
  /// By index; empty before the first was adopted.
  [[nodiscard]] std::vector<Connection>& all() { return all_; }
  [[nodiscard]] const std::vector<Connection>& all() const { return all_; }

  /// The rank that relays this link, or -1.
  [[nodiscard]] int via() const { return via_; }
  /// Address of the peer, as connection 0 sees it.
  [[nodiscard]] const std::string& address() const { return address_; }
  /// The other end's address of connection `index` when it was first made.
  [[nodiscard]] const std::optional<platform::SocketAddress>& remote(std::size_t index) const {
    return remotes_[index];
  }
  /// Whether this end has made the connections, and makes them anew.
  [[nodiscard]] bool areCalledFromHere() const { return called_from_here_; }
  [[nodiscard]] bool areResumable() const { return resumable_; }
  /// Whether they have records; then they find out by reading that they are lost.
  [[nodiscard]] bool haveRecords() const { return resumable_ || checked_; }

  /// The hello that resumes (or recalls) this connection, without its sender and receiver.
  [[nodiscard]] Hello greeting(std::size_t index, Purpose purpose) const;
  /// Who says `hello` knows the token, and means these connections.
  [[nodiscard]] bool areMeantBy(const Hello& hello) const;
  /// Whether one of them is as `pick`, a function of Connection, says.
  template <typename Pick>
  [[nodiscard]] bool any(Pick pick) const {
    for (const Connection& connection : all_)
      if ((connection.*pick)()) return true;
    return false;
  }
  [[nodiscard]] std::vector<std::size_t> lost() const;
  /// Why a connection was lost that cannot be used because of changed bytes; null: none was.
  [[nodiscard]] const std::string* reasonOfChange() const;

  /// Counters of bytes of connections with records: read by the peer; sent from here; received by the peer's system.
  /// Each changes when bytes make progress.
  [[nodiscard]] std::uint64_t acknowledged() const;
  [[nodiscard]] std::uint64_t carried() const { return haveRecords() ? acknowledged() + sent() : 0; }
  [[nodiscard]] std::uint64_t underway() const;

 private:
  [[nodiscard]] std::uint64_t sent() const;

  const int peer_;
  std::vector<Connection> all_;
  std::vector<std::optional<platform::SocketAddress>> remotes_; ///< By index.
  std::size_t adopted_ = 0;
  int via_ = -1;
  std::string address_;
  bool resumable_ = false;
  bool checked_ = false;
  bool called_from_here_ = false;
  LinkToken token_{};
};

} // namespace goss::transports::tcp

#endif // GOSS_TRANSPORTS_TCP_LINK_CONNECTION_SET_H_
