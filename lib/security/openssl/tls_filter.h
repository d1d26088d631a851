/// A Session between a socket and its user.
#ifndef GOSS_LIB_SECURITY_OPENSSL_TLS_FILTER_H_
#define GOSS_LIB_SECURITY_OPENSSL_TLS_FILTER_H_

#include <memory>
#include <string>

#include "platform/stream_filter.h"
#include "security/openssl/credentials.h"
#include "security/openssl/session.h"

namespace goss::security {

/// Reads and writes many records in one system call: with one call for each record, as OpenSSL's own sockets work, TLS
/// is 1.4 times slower. A caller that has not proved its identity costs the memory of one record, a member two batches.
/// One thread.
class TlsFilter final : public platform::StreamFilter {
 public:
  TlsFilter(std::shared_ptr<const Credentials> credentials, std::unique_ptr<Session> session, bool calls)
      : credentials_(std::move(credentials)), session_(std::move(session)), calls_(calls) {}

  platform::Greeting greet(int fd) override;
  [[nodiscard]] std::string failure() const override {
    return failure_.empty() && under_ ? under_->failure() : failure_;
  }
  platform::StreamResult read(int fd, std::span<const iovec> to) override;
  platform::StreamResult write(int fd, std::span<const iovec> from) override;
  void flush(int fd) override;
  [[nodiscard]] bool hasInput() const override {
    return (!session_->incoming().empty() || session_->hasPending() || (under_ && under_->hasInput())) &&
           !owesAnswers();
  }
  [[nodiscard]] bool hasOutput() const override {
    return !session_->outgoing().empty() || (under_ && under_->hasOutput());
  }
  void setUnder(std::unique_ptr<platform::StreamFilter> under) override { under_ = std::move(under); }
  [[nodiscard]] std::string_view identity() const override { return peer_.identity; }
  [[nodiscard]] std::string name() const override { return peer_.name; }
  [[nodiscard]] bool mayBe(int rank) const override { return peer_.ranks.contains(rank); }

 private:
  enum class State { handshake, proof, ready, failed };
  enum class Fetched { some, nothing, end };

  bool shakeHands();
  bool awaitProof();
  platform::Greeting fail(std::string why);
  Fetched fetch(int fd);
  platform::StreamResult readUnder(int fd, void* to, std::size_t size);
  platform::StreamResult writeUnder(int fd, std::string_view bytes);
  /// The next plain bytes of `from` to be encrypted, from `skip` on; small pieces are gathered into one.
  std::string_view nextPiece(std::span<const iovec> from, std::size_t skip);
  bool batchIsFull() const;
  /// Whether answers wait for a member that asks for new keys but does not read; they must not pile up.
  bool owesAnswers() const;

  static constexpr std::size_t kGreetingBytes = 17 * 1024;
  static constexpr std::size_t kBatchBytes = 256 * 1024;
  static constexpr std::size_t kRecordBytes = 16 * 1024;

  const std::shared_ptr<const Credentials> credentials_;
  const std::unique_ptr<Session> session_;
  const bool calls_;
  std::unique_ptr<platform::StreamFilter> under_; ///< Null: the socket.
  State state_ = State::handshake;
  std::string proof_; ///< The other end's proof, as far as it has come.
  ProvenPeer peer_;
  std::string failure_;
  platform::StreamResult end_;       ///< Result of the last read of the socket, once that has ended.
  platform::StreamResult write_end_; ///< Result of the last write, once the socket has ended.
  std::unique_ptr<char[]> gathered_;
};

} // namespace goss::security

#endif // GOSS_LIB_SECURITY_OPENSSL_TLS_FILTER_H_
