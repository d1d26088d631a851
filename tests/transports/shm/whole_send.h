/// A send that several tests of shared memory use.
#ifndef GOSS_TESTS_TRANSPORTS_SHM_WHOLE_SEND_H_
#define GOSS_TESTS_TRANSPORTS_SHM_WHOLE_SEND_H_

#include <sys/uio.h>

#include <cstddef>

#include "gossamer/transport.h"

namespace goss::transports {

/// A message in one piece to rank 1.
struct WholeSend final : SendOperation {
  WholeSend(std::byte* from, std::size_t length, Tag with_tag = 1) : piece{from, length} {
    peer = 1;
    tag = with_tag;
    pieces = {&piece, 1};
    bytes = length;
  }
  void onSent(const Status& result) override {
    ++completions;
    status = result;
  }
  iovec piece;
  int completions = 0;
  Status status;
};

} // namespace goss::transports

#endif // GOSS_TESTS_TRANSPORTS_SHM_WHOLE_SEND_H_
