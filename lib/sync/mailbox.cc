#include "sync/mailbox.h"

#include <string>
#include <utility>

namespace goss::sync {

Status called(goss_status status) {
  if (status == GOSS_SUCCESS) {
    return Status::ok();
  }
  std::string text = goss_last_error();
  std::int32_t culprit = -1;
  (void)goss_last_error_rank(nullptr, &culprit);
  return Status::error(status, std::move(text), ErrorScope::operation, culprit);
}

Status Mailbox::send(std::span<const std::byte> bytes, int to, int tag) {
  return called(goss_send(comm_, bytes.data(), bytes.size(), GOSS_UINT8, to, tag, nullptr, nullptr));
}

Status Mailbox::startSend(std::span<const float> values, int to, int tag, goss_request_t* request) {
  return called(goss_send(comm_, values.data(), values.size(), GOSS_FLOAT32, to, tag, nullptr, request));
}

Status Mailbox::startReceive(std::span<float> values, int from, int tag, goss_request_t* request) {
  return called(goss_recv(comm_, values.data(), values.size(), GOSS_FLOAT32, from, tag, nullptr, request));
}

Status Mailbox::waitAll(std::span<goss_request_t> requests) {
  return called(goss_wait_all(requests.data(), requests.size()));
}

Result<goss_message> Mailbox::receiveAny(std::span<std::byte> bytes, int tag) {
  goss_message message{};
  goss_request_t request = nullptr;
  Status status =
      called(goss_recv(comm_, bytes.data(), bytes.size(), GOSS_UINT8, GOSS_ANY_SOURCE, tag, nullptr, &request));
  if (status.isOk()) {
    status = called(goss_wait(&request, &message));
  }
  return status.isOk() ? Result<goss_message>(message) : Result<goss_message>(status);
}

Result<bool> Mailbox::hasMessage(int tag) {
  int found = 0;
  const Status status = called(goss_iprobe(comm_, GOSS_ANY_SOURCE, tag, &found, nullptr));
  return status.isOk() ? Result<bool>(found != 0) : Result<bool>(status);
}

} // namespace goss::sync
