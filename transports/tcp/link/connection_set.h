/// The connections of one link, and the properties of them on which both ends agree.
#ifndef GOSS_TRANSPORTS_TCP_LINK_CONNECTION_SET_H_
#define GOSS_TRANSPORTS_TCP_LINK_CONNECTION_SET_H_

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "platform/poller.h"
#include "platform/socket.h"
#include "platform/stream.h"
#include "transports/tcp/link/connection.h"
#include "transports/tcp/stream/wire.h"

namespace goss::transports::tcp {

/// The hello on the link's first connection says how many connections the link has, whether they are resumed when they
/// break, whether they are checked for changed bytes, and the token that only the two ends know. One thread.
class ConnectionSet {
 public:
  explicit ConnectionSet(int peer) : peer_(peer) {}

  /// Takes the connection on which `hello` was said: by the peer, where hello.from is its rank, else by this end. Its
  /// other end is `remote`, because a socket that the peer has reset does not tell. The rank `via` relays it (-1:
  /// none). Errors: the link has that connection already, or was told another count; resource.
  Status adopt(platform::Stream stream, const Hello& hello, platform::Poller& poller,
               const std::optional<platform::SocketAddress>& remote, int via);
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
  /// Whether the caller that said `hello` knows the token, and means these connections.
  [[nodiscard]] bool areMeantBy(const Hello& hello) const;
  /// Whether `kPick`, a function of Connection, returns true for one of them.
  template <auto kPick>
  [[nodiscard]] bool any() const {
    for (const Connection& connection : all_)
      if ((connection.*kPick)()) return true;
    return false;
  }
  [[nodiscard]] std::vector<std::size_t> lost() const;
  /// Why a connection was lost that cannot be used because of changed bytes; null: none was.
  [[nodiscard]] const std::string* reasonOfChange() const;

  /// Bytes that the peer has read. Like the next two it is 0 without records.
  [[nodiscard]] std::uint64_t acknowledged() const;
  /// The bytes that the peer has read plus those that were sent from here: grows whenever one of them does.
  [[nodiscard]] std::uint64_t carried() const {
    std::uint64_t sum = 0;
    for (const Connection& connection : all_)
      sum += connection.acknowledged() + connection.sent();
    return sum;
  }
  /// Bytes that were sent and that the peer's system has not received.
  [[nodiscard]] std::uint64_t underway() const;

 private:
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
