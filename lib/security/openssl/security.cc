#include "security/security.h"

#include <fmt/format.h>

#include "base/log.h"
#include "security/openssl/credentials.h"
#include "security/openssl/tls_filter.h"

namespace goss::security {

namespace {

constexpr std::string_view kSharedKey("psk:");
constexpr std::string_view kCertificates("certs:");

class TlsSecurity final : public platform::StreamSecurity {
 public:
  explicit TlsSecurity(const Config& config) : log_(config.log_level) {}

  Status load(const std::string& setting) {
    if (setting.starts_with(kCertificates)) {
      folder_ = setting.substr(kCertificates.size());
      stamp_ = certificatesStamp(folder_);
    } else if (!setting.starts_with(kSharedKey)) {
      return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                           fmt::format("GOSS_TLS is \"{}\"; it must be psk:FILE or certs:DIR", setting));
    }
    auto loaded = folder_.empty() ? loadSharedKey(setting.substr(kSharedKey.size())) : loadCertificates(folder_);
    if (!loaded.isOk()) return loaded.status();
    credentials_ = loaded.take();
    records_ = makeRecordMethod();
    return records_ ? Status::ok() : Status::error(GOSS_ERR_RESOURCE, "OpenSSL has no memory for a stream");
  }

  Result<std::unique_ptr<platform::StreamFilter>> caller(std::string_view whom) override { return make(true, whom); }
  Result<std::unique_ptr<platform::StreamFilter>> callee() override { return make(false, {}); }
  [[nodiscard]] std::string_view identity() const override { return credentials_->identity(); }

 private:
  Result<std::unique_ptr<platform::StreamFilter>> make(bool calls, std::string_view whom) {
    if (!folder_.empty()) reloadWhenChanged();
    auto session = Session::create(credentials_->context(), records_.get(), calls);
    if (!session.isOk()) return session.status();
    if (calls) credentials_->resume(*session.value(), whom);
    return std::unique_ptr<platform::StreamFilter>(std::make_unique<TlsFilter>(credentials_, session.take(), calls));
  }

  void reloadWhenChanged() {
    std::string stamp = certificatesStamp(folder_);
    if (stamp == stamp_) return;
    stamp_ = std::move(stamp);
    auto loaded = loadCertificates(folder_);
    if (!loaded.isOk()) {
      log_.warn(fmt::format("changed certificates are not taken over: {}", loaded.status().text()));
    } else if (loaded.value()->identity() != credentials_->identity()) {
      // The others identify this rank by its key, so a new key takes effect in the next run.
      log_.warn(
          fmt::format("changed certificates in {} are not taken over: they have another key; renew certificates "
                      "with the same key, or start again",
                      folder_));
    } else if (const std::string_view file = credentials_->restrictionMissingIn(*loaded.value()); !file.empty()) {
      log_.warn(
          fmt::format("changed certificates in {} are not taken over: {} is gone, without which more peers would "
                      "be trusted; put it back, or start again",
                      folder_, file));
    } else {
      credentials_ = loaded.take();
    }
  }

  const base::Log log_;
  std::string folder_; ///< Empty with a shared key.
  std::string stamp_;
  std::shared_ptr<const Credentials> credentials_;
  BioMethodPtr records_;
};

} // namespace

Result<std::unique_ptr<platform::StreamSecurity>> openSecurity(const Config& config) {
  auto security = std::make_unique<TlsSecurity>(config);
  Status loaded = security->load(config.tls);
  if (!loaded.isOk()) return loaded;
  return std::unique_ptr<platform::StreamSecurity>(std::move(security));
}

} // namespace goss::security
