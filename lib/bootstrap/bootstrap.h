/// How the ranks of a world find each other: detectLaunch() says who this process is, connectRendezvous() meets the
/// others.
///
/// Every rank calls rank 0, which gathers one opaque card from each rank and sends all cards to all ranks.
/// docs/formats.md describes the bytes.
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

/// Rank 0 begins to listen and the others connect, up to bootstrap_timeout_ms, which the first allGather() shares.
/// Takes Launch::listener, and closes it at the latest with the Rendezvous. Errors: bootstrap naming rank 0 and its
/// address, or rank 0's reason for refusing this rank; resource.
Result<std::unique_ptr<Rendezvous>> connectRendezvous(Launch launch, const Config& config);

/// Runs connectRendezvous() and one allGather().
Result<std::vector<std::string>> rendezvous(Launch launch, const std::string& card, const Config& config);

} // namespace goss

#endif // GOSS_LIB_BOOTSTRAP_BOOTSTRAP_H_
