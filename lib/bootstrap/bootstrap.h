/// How the ranks of a world find each other: detectLaunch() says who this process is, connectRendezvous() meets the
/// others.
///
/// Every rank calls rank 0, which gathers one opaque card from each and gives all of them to all. docs/formats.md has
/// the bytes.
#ifndef GOSS_LIB_BOOTSTRAP_BOOTSTRAP_H_
#define GOSS_LIB_BOOTSTRAP_BOOTSTRAP_H_

#include <memory>
#include <string>
#include <vector>

#include "bootstrap/launch.h"
#include "bootstrap/rendezvous.h"
#include "gossamer/config.h"
#include "gossamer/status.h"

namespace goss {

/// Rank 0 begins to listen, the others find it, up to bootstrap_timeout_ms; the first allGather() shares that span.
/// Errors: bootstrap naming rank 0 and its address, or rank 0's reason for refusing us; resource.
Result<std::unique_ptr<Rendezvous>> connectRendezvous(const Launch& launch, const Config& config);

/// connectRendezvous() and one allGather().
Result<std::vector<std::string>> rendezvous(const Launch& launch, const std::string& card, const Config& config);

} // namespace goss

#endif // GOSS_LIB_BOOTSTRAP_BOOTSTRAP_H_
