/// The inboxes of ranks that share one process.
#ifndef GOSS_TRANSPORTS_LOOPBACK_ENDPOINT_H_
#define GOSS_TRANSPORTS_LOOPBACK_ENDPOINT_H_

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

#include "gossamer/status.h"
#include "gossamer/transport_context.h"
#include "platform/poller.h"
#include "transports/common/message_header.h"
#include "transports/common/offer.h"
#include "transports/loopback/loans.h"

namespace goss::transports::loopback {

struct Mail {
  enum class Kind { hello, eager, offer, taken, withdrawn, goodbye };
  Kind kind = Kind::hello;
  int from = -1;
  MessageHeader header;
  std::unique_ptr<std::byte[]> payload; ///< eager: a copy of the bytes, aligned as operator new does (16).
  std::shared_ptr<Offer> offer;         ///< offer: the message; taken: the message whose buffers are free again.
};

/// Safe for all threads of the process.
class Endpoint {
 public:
  Endpoint(const TransportContext& context, platform::Wakeup wakeup);

  /// Puts one mail into the inbox and wakes the owner if it sleeps. False: the owner has closed.
  bool put(Mail mail);
  /// Moves the inbox's mails to the end of `into`; owner only.
  void take(std::vector<Mail>& into);
  /// Whether take() would find mail. Cheap, and may lag behind.
  [[nodiscard]] bool hasMail() const { return has_mail_.load(std::memory_order_acquire); }
  /// Owner only. False: there is mail, do not sleep.
  bool prepareToSleep();
  void sleepEnded();
  /// Closes the inbox: put() returns false from now on, and findEndpoint() null.
  void close();

  [[nodiscard]] int fd() const { return wakeup_.fd(); }
  [[nodiscard]] const std::array<std::byte, 16>& job() const { return job_; }
  /// The loans of this inbox's owner.
  Loans& loans() { return loans_; }
  /// Bytes of eager messages from `sender` that have not matched their receives here.
  std::atomic<std::size_t>& eagerBytes(int sender) { return eager_bytes_[static_cast<std::size_t>(sender)]; }

 private:
  friend Result<std::string> publish(const std::shared_ptr<Endpoint>& endpoint);

  const std::array<std::byte, 16> job_;
  const platform::Wakeup wakeup_;
  std::vector<std::atomic<std::size_t>> eager_bytes_; ///< By sender.
  Loans loans_;
  std::uint64_t number_ = 0; ///< In this process; 0: it is not published.
  std::atomic<bool> has_mail_{false};
  std::mutex mutex_; ///< Guards the members below.
  std::vector<Mail> inbox_;
  bool sleeping_ = false;
  bool closed_ = false;
};

/// Returns the endpoint's address, by which ranks of this process find it until it closes; once. Errors: resource.
Result<std::string> publish(const std::shared_ptr<Endpoint>& endpoint);
/// Whether an endpoint of this process has or had this address.
bool isOfThisProcess(std::string_view address);
/// The endpoint with this address; null: it has closed, or never was in this process.
std::shared_ptr<Endpoint> findEndpoint(std::string_view address);

} // namespace goss::transports::loopback

#endif // GOSS_TRANSPORTS_LOOPBACK_ENDPOINT_H_
