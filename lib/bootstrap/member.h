/// A Rendezvous on every rank but 0.
#ifndef GOSS_LIB_BOOTSTRAP_MEMBER_H_
#define GOSS_LIB_BOOTSTRAP_MEMBER_H_

#include <memory>
#include <string>
#include <vector>

#include "bootstrap/launch.h"
#include "bootstrap/rendezvous.h"
#include "bootstrap/wire.h"
#include "platform/clock.h"
#include "platform/filtered_stream.h"
#include "platform/socket.h"

namespace goss {

/// Calls rank 0 until it answers, then exchanges frames with it.
class BootstrapMember final : public Rendezvous {
 public:
  static Result<std::unique_ptr<Rendezvous>> call(Launch launch, const Config& config);

  Result<std::vector<std::string>> allGather(const std::string& card, std::int64_t timeout_ms) override;
  Status check() override;

 private:
  BootstrapMember(Launch launch, const Config& config);
  Status callUntilAnswered();
  /// Calls each of `candidates` once, until one answers. `last` receives the error of the last call that failed.
  Status callEach(const std::vector<platform::SocketAddress>& candidates, std::string& last);
  /// Connects a socket.
  Result<platform::UniqueFd> dial(const platform::SocketAddress& address, platform::Deadline deadline);
  /// Calls one address; ok when welcome. An error of kind bootstrap or protocol with scope communicator is rank 0's
  /// refusal.
  Status callOnce(const platform::SocketAddress& address, platform::Deadline deadline);
  Result<std::vector<std::string>> exchange(const std::string& card, std::int64_t span_ms, platform::Deadline deadline);
  [[nodiscard]] Status leftError(const std::string& why) const;
  /// Derives the site from both ends of the connection, as rank 0 sees them (in `welcome`) and as this rank does.
  Status findSite(std::string_view welcome);
  /// Runs the TLS greeting on stream_, and checks that the other end is rank 0.
  Status secure(const platform::SocketAddress& address, platform::Deadline deadline);
  [[nodiscard]] Status refusedBy(const platform::SocketAddress& address, const std::string& why) const;
  Status readFrame(BootstrapHeader& header, std::string& payload, platform::Deadline deadline);
  /// Rank 0's numeric addresses, else those that the name service returns now: it may know a starting host only later.
  [[nodiscard]] Result<std::vector<platform::SocketAddress>> addresses() const;
  [[nodiscard]] std::string rootName() const;

  const Launch launch_;
  const Config config_;
  const platform::Deadline first_deadline_;
  std::uint64_t caller_ = 0;
  /// Null: no encryption. Declared before the stream that holds its filter.
  std::unique_ptr<platform::StreamSecurity> security_;
  platform::Stream stream_;
  std::string begun_;           ///< Bytes of the next frame that check() has read.
  bool nobody_listens_ = false; ///< Every address refused the last round of calls.
  std::uint32_t round_ = 0;
  Status over_; ///< Set by the first error.
};

} // namespace goss

#endif // GOSS_LIB_BOOTSTRAP_MEMBER_H_
