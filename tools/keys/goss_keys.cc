// goss-keys: makes, lists and revokes the credentials of secured runs.
#include <fmt/format.h>

#include <string>
#include <vector>

#include "tools/commandline/command_line.h"
#include "tools/keys/authority.h"

namespace {

struct Arguments {
  std::string folder;
  std::string out;
  std::string authority_name = "Gossamer authority";
  goss::keys::PeerRequest peer;
  int authority_days = 3650;
  bool self_signed = false;
  std::vector<std::string> certificates;
};

int report(const goss::Status& status, const std::string& done) {
  if (status.isOk()) {
    if (!done.empty()) fmt::print("{}\n", done);
    return 0;
  }
  fmt::print(stderr, "goss-keys: {}\n", status.text());
  return 1;
}

int makeAuthority(const Arguments& given) {
  return report(
      goss::keys::makeAuthority(given.folder, given.authority_name, given.authority_days),
      fmt::format("{0}/ca.key is the authority's secret: it stays on this machine.\n{0}/ca.pem and {0}/crl.pem "
                  "go to every peer (goss-keys issue puts them there).",
                  given.folder));
}

int issue(const Arguments& given) {
  const std::string out = given.out.empty() ? given.peer.name : given.out;
  const goss::Status status = given.self_signed ? goss::keys::issueSelfSigned(out, given.peer)
                                                : goss::keys::issue(given.folder, out, given.peer);
  if (!status.isOk()) return report(status, {});
  const auto fingerprint = goss::keys::fingerprintOf(out + "/cert.pem");
  if (!fingerprint.isOk()) return report(fingerprint.status(), {});
  fmt::print("{} {} {}\n", fingerprint.value(), given.peer.ranks, given.peer.name);
  if (given.self_signed)
    fmt::print("Put this line, and those of all others, into the file `peers` of every peer's folder.\n");
  fmt::print("Copy the folder to that peer over a safe way and set GOSS_TLS=certs:{} there.\n", out);
  return 0;
}

int fingerprints(const Arguments& given) {
  for (const std::string& path : given.certificates) {
    const auto fingerprint = goss::keys::fingerprintOf(path);
    if (!fingerprint.isOk()) return report(fingerprint.status(), {});
    fmt::print("{} {}\n", fingerprint.value(), path);
  }
  return 0;
}

} // namespace

int main(int argc, char** argv) {
  goss::CommandLine line(
      "Credentials for GOSS_TLS. One swarm key is the simplest: goss-keys psk run.key, copy it to every host, "
      "GOSS_TLS=psk:run.key. Certificates say who each peer is and can be revoked: goss-keys ca my-ca; goss-keys issue "
      "alice --ca my-ca --ranks 0-3; copy the folder alice to that host, GOSS_TLS=certs:alice. docs/security.md tells "
      "which to choose. Files are written with mode 0600, and none is overwritten.",
      "goss-keys");
  line.requireOneCommand();
  Arguments given;

  goss::CommandLine ca = line.command("ca", "make a private authority: DIR/ca.key, ca.pem and crl.pem");
  ca.option("DIR", given.folder, "new folder").required();
  ca.option("--name", given.authority_name, "its name, for people").showDefault();
  ca.option("--days", given.authority_days, "how long it is valid").range(1, 36500).showDefault();

  goss::CommandLine peer = line.command("issue", "make a peer's folder: key.pem, cert.pem, and what it trusts");
  peer.option("NAME", given.peer.name, "the peer's name, for people and logs").required();
  peer.option("--ranks", given.peer.ranks, "which ranks it may be: \"any\", or a list such as 0-7,12").required();
  auto authority = peer.option("--ca", given.folder, "the authority's folder");
  const auto self = peer.flag("--self-signed", given.self_signed, "without an authority, for lists of trusted keys");
  authority.excludes(self);
  peer.option("--out", given.out, "new folder [NAME]");
  peer.option("--days", given.peer.days, "how long it is valid").range(1, 36500).showDefault();

  goss::CommandLine revoke = line.command("revoke", "add certificates to the authority's crl.pem");
  revoke.option("--ca", given.folder, "the authority's folder").required();
  revoke.option("CERT", given.certificates, "certificate files").required();

  goss::CommandLine fingerprint = line.command("fingerprint", "print the SHA-256 of certificates' public keys");
  fingerprint.option("CERT", given.certificates, "certificate files").required();

  goss::CommandLine psk = line.command("psk", "make a swarm key, which all ranks share");
  psk.option("FILE", given.out, "new file").required();

  if (const auto status = line.parseOrPrint(argc, argv)) return *status;
  if (ca.isGiven()) return makeAuthority(given);
  if (peer.isGiven()) {
    if (given.self_signed || !given.folder.empty()) return issue(given);
    return report(goss::Status::error(GOSS_ERR_INVALID_ARGUMENT, "name the authority with --ca, or say --self-signed"),
                  {});
  }
  if (fingerprint.isGiven()) return fingerprints(given);
  if (psk.isGiven())
    return report(goss::keys::makeSharedKey(given.out),
                  "Copy it to every host over a safe way and set GOSS_TLS=psk:" + given.out + " there.");
  for (const std::string& path : given.certificates) {
    const goss::Status status = goss::keys::revoke(given.folder, path);
    if (!status.isOk()) return report(status, {});
  }
  fmt::print("Copy {}/crl.pem into every peer's folder: it holds for new connections at once.\n", given.folder);
  return 0;
}
