#include "bootstrap/bootstrap.h"

#include <fmt/format.h>

#include <utility>

#include "base/invalid.h"
#include "bootstrap/member.h"
#include "bootstrap/root.h"
#include "bootstrap/wire.h"

namespace goss {

namespace {

/// The rendezvous of a rank that is alone.
class Alone final : public Rendezvous {
 public:
  explicit Alone(platform::UniqueFd listener) : listener_(std::move(listener)) {}
  Result<std::vector<std::string>> allGather(const std::string& card, std::int64_t) override {
    return std::vector<std::string>{card};
  }
  Status check() override { return Status::ok(); }

 private:
  platform::UniqueFd listener_;
};

} // namespace

Result<std::unique_ptr<Rendezvous>> connectRendezvous(Launch launch, const Config& config) {
  if (launch.ranks < 1 || launch.ranks > kMaxRanks || launch.rank < 0 || launch.rank >= launch.ranks)
    return base::invalid(
        fmt::format("rank {} of {} ranks: ranks go from 0 to one less than their number, which is at "
                    "most {}",
                    launch.rank, launch.ranks, kMaxRanks));
  if (launch.ranks == 1) return std::unique_ptr<Rendezvous>(std::make_unique<Alone>(std::move(launch.listener)));
  return launch.rank == 0 ? BootstrapRoot::listen(std::move(launch), config)
                          : BootstrapMember::call(std::move(launch), config);
}

Result<std::vector<std::string>> rendezvous(Launch launch, const std::string& card, const Config& config) {
  auto meeting = connectRendezvous(std::move(launch), config);
  if (!meeting.isOk()) return meeting.status();
  return meeting.value()->allGather(card, 0);
}

} // namespace goss
