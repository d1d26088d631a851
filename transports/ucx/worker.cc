#include "transports/ucx/worker.h"

#include <fmt/format.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <utility>
#include <vector>

#include "platform/clock.h"
#include "transports/common/errors.h"

namespace goss::transports::ucx {

namespace {

// Size of one active message with the headers that UCX and this transport add: it fits what UCX's TCP reads at once, 64
// KiB unless adjust() asks for more, and the segments of shared memory that adjust() asks for.
constexpr std::size_t kTcpPartBytes = 63u << 10;
constexpr std::size_t kLargeTcpPartBytes = 127u << 10;
constexpr const char* kTcpReadBytes = "131072";
constexpr std::size_t kMemoryPartBytes = 32u << 10;
constexpr const char* kMemorySegmentBytes = "32928";
// Bytes of a message in parts to another host that are sent ahead of its grant (kFarWindowBytes).
constexpr std::size_t kFarAheadBytes = 8u << 20;
// Bytes of those that UCX holds: two parts besides those in the socket, so that one is ready while the other leaves.
// Within the 200 ms for which a cancelled message is waited for they leave over 5 Mbit/s and more.
constexpr std::size_t kFarHeldBytes = 2 * kTcpPartBytes;

/// The text that `print` writes: UCX reports some properties in no other way.
std::string printed(const std::function<void(std::FILE*)>& print) {
  char* text = nullptr;
  std::size_t bytes = 0;
  std::FILE* stream = ::open_memstream(&text, &bytes);
  if (stream == nullptr) return "";
  print(stream);
  std::fclose(stream);
  std::string all(text, bytes);
  std::free(text);
  return all;
}

/// The value of UCX_TLS, or of its default.
std::string transportsSetting(const ucp_config_t* config) {
  const std::string all =
      printed([&](std::FILE* stream) { ucp_config_print(config, stream, nullptr, UCS_CONFIG_PRINT_CONFIG); });
  constexpr std::string_view kName = "UCX_TLS=";
  const std::size_t at = all.find(kName);
  if (at == std::string::npos) return "";
  const std::string rest = all.substr(at + kName.size());
  return rest.substr(0, rest.find('\n'));
}

/// Without MM_ERROR_HANDLING UCX does not use shared memory for endpoints that report the death of a peer. With it UCX
/// uses System V shared memory alone, which leaves nothing behind when a process is killed. By default its segments are
/// 8 KiB, and UCX assembles a message from several segments by one more copy. Unless the user has set their size, this
/// function sets it to hold a whole part of a message, which is then read in place.
///
/// UCX's TCP aborts the process when a peer dies while a part of a message has left straight from the caller's memory:
/// uct_tcp_ep_sendv() completes it a second time. Without TCP_PUT_ENABLE, and with one vector of the caller's in a
/// message (TCP_MAX_IOV), UCX 1.13 copies all that it sends. TCP_TX_SEG_SIZE is what it copies at once, and
/// TCP_RX_SEG_SIZE what it reads at once, 64 KiB by default: with 128 KiB there are half as many calls.
ucs_status_t adjust(ucp_config_t* config, Parts& parts) {
  const std::string setting = transportsSetting(config);
  // UCX warns of a setting that applies to nothing that it has found.
  const auto mayUse = [&](std::initializer_list<const char*> names) {
    return std::any_of(names.begin(), names.end(),
                       [&](const char* name) { return setting.find(name) != std::string::npos; });
  };
  ucs_status_t status = UCS_OK;
  if (mayUse({"all", "sm", "shm", "sysv", "mm", "^"})) {
    status = ucp_config_modify(config, "MM_ERROR_HANDLING", "y");
    const bool large = std::getenv("UCX_MM_SEG_SIZE") == nullptr && std::getenv("UCX_SYSV_SEG_SIZE") == nullptr;
    if (status == UCS_OK && large) status = ucp_config_modify(config, "MM_SEG_SIZE", kMemorySegmentBytes);
    if (large) parts.memory_bytes = kMemoryPartBytes;
  }
  const bool over_tcp = setting.starts_with("^") != mayUse({"all", "tcp"});
  if (!over_tcp) return status;
  // TCP's settings have no prefix here.
  const char* read_bytes = std::getenv("UCX_TCP_RX_SEG_SIZE");
  if (read_bytes == nullptr) {
    read_bytes = kTcpReadBytes;
    parts.tcp_bytes = kLargeTcpPartBytes;
  }
  const std::array<std::pair<const char*, const char*>, 4> settings{
      {{"PUT_ENABLE", "n"}, {"MAX_IOV", "1"}, {"TX_SEG_SIZE", read_bytes}, {"RX_SEG_SIZE", read_bytes}}};
  for (const auto& [name, value] : settings)
    if (status == UCS_OK) status = ucp_config_modify(config, name, value);
  return status;
}

} // namespace

Status ucxError(int peer, std::string_view what, ucs_status_t status) {
  const std::string text = fmt::format("{}: {} (UCX)", what, ucs_status_string(status));
  if (peer >= 0) return peerLostError(peer, text);
  return Status::error(GOSS_ERR_RESOURCE, text + "; UCX_LOG_LEVEL=info and UCX_TLS tell and choose what UCX uses");
}

Result<Worker> Worker::create(int ranks) {
  ucp_config_t* config = nullptr;
  ucs_status_t status = ucp_config_read(nullptr, nullptr, &config);
  if (status != UCS_OK) return ucxError(-1, "reading UCX's settings failed", status);
  Parts parts{0, kTcpPartBytes};
  status = adjust(config, parts);
  if (status != UCS_OK) {
    ucp_config_release(config);
    return ucxError(
        -1, "setting UCX's MM_ERROR_HANDLING, MM_SEG_SIZE, TCP_PUT_ENABLE, TCP_MAX_IOV and TCP_TX_SEG_SIZE failed",
        status);
  }
  ucp_params_t params{};
  params.field_mask = UCP_PARAM_FIELD_FEATURES | UCP_PARAM_FIELD_ESTIMATED_NUM_EPS | UCP_PARAM_FIELD_NAME;
  params.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  params.estimated_num_eps = static_cast<std::size_t>(ranks);
  params.name = "gossamer";
  ucp_context_h context = nullptr;
  status = ucp_init(&params, config, &context);
  ucp_config_release(config);
  if (status != UCS_OK) return ucxError(-1, "starting UCX failed", status);
  ucp_worker_params_t worker_params{};
  worker_params.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE | UCP_WORKER_PARAM_FIELD_AM_ALIGNMENT;
  worker_params.am_alignment = 64; // So that received bytes can be reduced in place.
  worker_params.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucp_worker_h worker = nullptr;
  status = ucp_worker_create(context, &worker_params, &worker);
  if (status == UCS_OK) return Worker(context, worker, parts);
  ucp_cleanup(context);
  return ucxError(-1, "making a UCX worker failed", status);
}

Worker::~Worker() {
  if (worker_ != nullptr) ucp_worker_destroy(worker_);
  if (context_ != nullptr) ucp_cleanup(context_);
}

Result<std::string> Worker::address() const {
  ucp_address_t* address = nullptr;
  std::size_t bytes = 0;
  const ucs_status_t status = ucp_worker_get_address(worker_, &address, &bytes);
  if (status != UCS_OK) return ucxError(-1, "asking UCX for this rank's address failed", status);
  std::string text(reinterpret_cast<const char*>(address), bytes);
  ucp_worker_release_address(worker_, address);
  return text;
}

Result<int> Worker::eventFd() const {
  int fd = -1;
  const ucs_status_t status = ucp_worker_get_efd(worker_, &fd);
  if (status != UCS_OK) return ucxError(-1, "UCX cannot wake a sleeper with the transports it has chosen", status);
  return fd;
}

Status Worker::setHandler(ucp_am_recv_callback_t handler, void* argument) {
  ucp_am_handler_param_t param{};
  param.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_FLAGS | UCP_AM_HANDLER_PARAM_FIELD_CB |
                     UCP_AM_HANDLER_PARAM_FIELD_ARG;
  param.id = kActiveMessageId;
  param.flags = UCP_AM_FLAG_WHOLE_MSG;
  param.cb = handler;
  param.arg = argument;
  const ucs_status_t status = ucp_worker_set_am_recv_handler(worker_, &param);
  return status == UCS_OK ? Status::ok() : ucxError(-1, "UCX has no active messages", status);
}

Result<ucp_ep_h> Worker::connect(int peer, std::string_view address, ucp_err_handler_t on_error) {
  ucp_ep_params_t params{};
  params.field_mask =
      UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE | UCP_EP_PARAM_FIELD_ERR_HANDLER;
  params.address = reinterpret_cast<const ucp_address_t*>(address.data());
  params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  params.err_handler = on_error;
  ucp_ep_h endpoint = nullptr;
  const ucs_status_t status = ucp_ep_create(worker_, &params, &endpoint);
  if (status != UCS_OK) return ucxError(peer, "no UCX transport of both hosts reaches it", status);
  return endpoint;
}

Route Worker::routeOf(ucp_ep_h endpoint, bool same_host) const {
  const std::string all = printed([&](std::FILE* stream) { ucp_ep_print_info(endpoint, stream); });
  bool shares_memory = false;
  bool only_tcp = true;
  // Lines such as "lane[0]:  3:sysv/memory.0 md[2] ...".
  for (std::size_t at = all.find("lane["); at != std::string::npos; at = all.find("lane[", at + 1)) {
    const std::string lane = all.substr(at, all.find('\n', at) - at);
    shares_memory = shares_memory || lane.find(":sysv/") != std::string::npos;
    only_tcp = only_tcp && lane.find(":tcp/") != std::string::npos;
  }
  Route route;
  if (shares_memory) {
    route.part_bytes = parts_.memory_bytes;
  } else if (only_tcp && all.find("lane[") != std::string::npos) {
    route.part_bytes = route.most_eager_bytes = same_host ? parts_.tcp_bytes : kTcpPartBytes;
    route.pads = true;
    if (!same_host) {
      route.window_bytes = kFarWindowBytes;
      route.ahead_bytes = kFarAheadBytes;
      route.held_bytes = kFarHeldBytes;
    }
  }
  return route;
}

bool Worker::progressUntil(const std::function<bool()>& done, std::chrono::milliseconds limit) {
  const auto deadline = platform::Deadline::after(limit);
  while (!done()) {
    if (progress()) continue;
    if (deadline.expired()) return done();
    ::sched_yield();
  }
  return true;
}

void Worker::finish(const std::vector<ucs_status_ptr_t>& requests, std::chrono::milliseconds limit) {
  const auto deadline = platform::Deadline::after(limit);
  for (ucs_status_ptr_t request : requests)
    finish(request, std::chrono::milliseconds(deadline.leftMs()));
}

bool Worker::finish(ucs_status_ptr_t request, std::chrono::milliseconds limit) {
  if (!UCS_PTR_IS_PTR(request)) return true;
  const bool done = progressUntil([&] { return ucp_request_check_status(request) != UCS_INPROGRESS; }, limit);
  ucp_request_free(request);
  return done;
}

} // namespace goss::transports::ucx
