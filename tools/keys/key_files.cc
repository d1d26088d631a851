#include "tools/keys/key_files.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <openssl/pem.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "platform/fd.h"

namespace goss::keys {

namespace {

using BioPtr = std::unique_ptr<BIO, security::Freer<BIO_free>>;

Status failed(const std::string& path, const std::string& why) {
  return Status::error(GOSS_ERR_INVALID_ARGUMENT, fmt::format("{}: {}", path, why));
}

std::string contents(BIO* memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory, &data);
  return size > 0 ? std::string(data, static_cast<std::size_t>(size)) : std::string();
}

/// `read` takes a BIO and gives an owning pointer.
template <typename Pointer, typename Read>
Result<Pointer> readPem(const std::string& path, const char* what, Read read) {
  const BioPtr file(BIO_new_file(path.c_str(), "r"));
  if (!file) {
    security::takeError();
    return failed(path, platform::errnoText(errno));
  }
  Pointer object(read(file.get()));
  if (!object) return failed(path, fmt::format("it holds no {} ({})", what, security::takeError()));
  return object;
}

} // namespace

Status makeFolder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) return Status::ok();
  return failed(path, platform::errnoText(errno));
}

Status writeFile(const std::string& path, std::string_view contents, bool replaces) {
  const std::string to = replaces ? path + ".new" : path;
  const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | (replaces ? O_TRUNC : O_EXCL);
  const platform::UniqueFd fd(::open(to.c_str(), flags, 0600));
  if (!fd.valid() && errno == EEXIST) return failed(path, "it exists already, and nothing is overwritten");
  if (!fd.valid()) return failed(to, platform::errnoText(errno));
  while (!contents.empty()) {
    const ssize_t written = ::write(fd.get(), contents.data(), contents.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return failed(to, platform::errnoText(errno));
    contents.remove_prefix(static_cast<std::size_t>(written));
  }
  if (replaces && ::rename(to.c_str(), path.c_str()) != 0) return failed(path, platform::errnoText(errno));
  return Status::ok();
}

std::string pem(X509* certificate) {
  const BioPtr memory(BIO_new(BIO_s_mem()));
  return PEM_write_bio_X509(memory.get(), certificate) == 1 ? contents(memory.get()) : std::string();
}

std::string pem(EVP_PKEY* private_key) {
  const BioPtr memory(BIO_new(BIO_s_secmem()));
  const int written = PEM_write_bio_PrivateKey(memory.get(), private_key, nullptr, nullptr, 0, nullptr, nullptr);
  return written == 1 ? contents(memory.get()) : std::string();
}

std::string pem(X509_CRL* list) {
  const BioPtr memory(BIO_new(BIO_s_mem()));
  return PEM_write_bio_X509_CRL(memory.get(), list) == 1 ? contents(memory.get()) : std::string();
}

Result<security::CertificatePtr> readCertificate(const std::string& path) {
  return readPem<security::CertificatePtr>(
      path, "certificate", [](BIO* file) { return PEM_read_bio_X509(file, nullptr, nullptr, nullptr); });
}

Result<security::KeyPtr> readPrivateKey(const std::string& path) {
  return readPem<security::KeyPtr>(path, "private key",
                                   [](BIO* file) { return PEM_read_bio_PrivateKey(file, nullptr, nullptr, nullptr); });
}

Result<CrlPtr> readRevocations(const std::string& path) {
  return readPem<CrlPtr>(path, "list of revoked certificates",
                         [](BIO* file) { return PEM_read_bio_X509_CRL(file, nullptr, nullptr, nullptr); });
}

} // namespace goss::keys
