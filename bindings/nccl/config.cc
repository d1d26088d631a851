#include "bindings/nccl/config.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include "bindings/nccl/errors.h"

namespace goss::nccl {

namespace {

static_assert(sizeof(ncclConfig_t) == 120);
static_assert(sizeof(ncclCollConfig_t) == 72);
static_assert(sizeof(ncclEncryptionConfig_t) == 32);

/// The version of NCCL that added the fields which begin at `offset`.
struct Growth {
  std::size_t offset;
  unsigned version;
};
constexpr std::array kGrowth{Growth{offsetof(ncclConfig_t, cgaClusterSize), 21700},
                             Growth{offsetof(ncclConfig_t, splitShare), 21800},
                             Growth{offsetof(ncclConfig_t, trafficClass), 22600},
                             Growth{offsetof(ncclConfig_t, commName), 22700},
                             Growth{offsetof(ncclConfig_t, nChannelsPerNetPeer), 22800},
                             Growth{offsetof(ncclConfig_t, graphUsageMode), 22900},
                             Growth{offsetof(ncclConfig_t, maxP2pPeers), 23000},
                             Growth{offsetof(ncclConfig_t, launchOrderImplicit), 23100}};

constexpr std::size_t kHead = offsetof(ncclConfig_t, blocking);

/// Bytes of a config of `version` that hold fields.
std::size_t knownBytes(unsigned version) {
  std::size_t known = sizeof(ncclConfig_t);
  for (const Growth& growth : kGrowth)
    if (version < growth.version) known = std::min(known, growth.offset);
  return known;
}

Status check(const ncclConfig_t& config) {
  if (config.blocking != NCCL_CONFIG_UNDEF_INT && config.blocking != 0 && config.blocking != 1)
    return invalid(fmt::format("ncclConfig_t.blocking is {}; it must be 0 or 1", config.blocking));
  const bool both = config.minCTAs != NCCL_CONFIG_UNDEF_INT && config.maxCTAs != NCCL_CONFIG_UNDEF_INT;
  if (both && (config.minCTAs <= 0 || config.minCTAs > config.maxCTAs))
    return invalid(
        fmt::format("ncclConfig_t.minCTAs is {} and maxCTAs {}; they must be positive, and minCTAs the smaller",
                    config.minCTAs, config.maxCTAs));
  return {};
}

} // namespace

ncclConfig_t emptyConfig() {
  ncclConfig_t config{};
  config.size = sizeof config;
  config.magic = NCCL_API_MAGIC;
  config.version = NCCL_VERSION_CODE;
  for (int* field : {&config.blocking,
                     &config.cgaClusterSize,
                     &config.minCTAs,
                     &config.maxCTAs,
                     &config.splitShare,
                     &config.trafficClass,
                     &config.collnetEnable,
                     &config.CTAPolicy,
                     &config.shrinkShare,
                     &config.nvlsCTAs,
                     &config.nChannelsPerNetPeer,
                     &config.nvlinkCentricSched,
                     &config.graphUsageMode,
                     &config.numRmaCtx,
                     &config.maxP2pPeers,
                     &config.graphStreamOrdering,
                     &config.launchOrderImplicit,
                     &config.numRmaSig,
                     &config.rmaEagerInit,
                     &config.hostCftMode,
                     &config.nvlsHostMode})
    *field = NCCL_CONFIG_UNDEF_INT;
  return config;
}

Result<ncclConfig_t> readConfig(const ncclConfig_t* given) {
  ncclConfig_t config = emptyConfig();
  if (given == nullptr) return config;
  if (given->magic != NCCL_API_MAGIC || given->size < kHead + sizeof(int))
    return invalid("ncclConfig_t: begin from NCCL_CONFIG_INITIALIZER, which sets size, magic and version");
  const std::size_t bytes = std::min({given->size, sizeof config, knownBytes(given->version)});
  std::memcpy(&config.blocking, &given->blocking, bytes - kHead);
  if (Status status = check(config); !status.isOk()) return status;
  return config;
}

Result<CallConfig> readCallConfig(const ncclCollConfig_t* given) {
  CallConfig config;
  if (given == nullptr) return config;
  if (given->magic != NCCL_API_MAGIC || given->size < sizeof(ncclCollConfig_t))
    return invalid("ncclCollConfig_t: begin from NCCL_COLLCONFIG_INITIALIZER, which sets size, magic and version");
  if (given->launchCompletionEvent != nullptr)
    return Status::error(
        GOSS_ERR_UNSUPPORTED,
        "ncclCollConfig_t.launchCompletionEvent: no kernel is launched whose launch could be recorded; "
        "record an event on the stream after the call");
  const char* selection = given->algSelection;
  if (selection != nullptr && *selection != '\0' && given->forceAlgSelection != 0)
    for (const char* c = selection; *c != '\0'; ++c)
      config.algorithm += static_cast<char>(std::tolower(static_cast<unsigned char>(*c)));
  for (const ncclConfigExt_t* option = given->ext; option != nullptr; option = option->next) {
    if (option->key.vendorId != GOSS_NCCL_VENDOR) continue;
    switch (option->key.optionId) {
      case GOSS_NCCL_OPTION_CODEC:
        config.codec = option->val.s == nullptr ? "" : option->val.s;
        break;
      case GOSS_NCCL_OPTION_ALGORITHM:
        config.algorithm = option->val.s == nullptr ? "" : option->val.s;
        break;
      case GOSS_NCCL_OPTION_TIMEOUT_MS:
        config.timeout_ms = option->val.i;
        break;
      default:
        return invalid(fmt::format("ncclConfigExt_t: Gossamer has no option {}", option->key.optionId));
    }
  }
  return config;
}

} // namespace goss::nccl
