/// Two ends of a TCP connection over loopback, without a transport.
#ifndef GOSS_TESTS_SUPPORT_CONNECTED_SOCKETS_H_
#define GOSS_TESTS_SUPPORT_CONNECTED_SOCKETS_H_

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <utility>

#include "platform/fd.h"
#include "platform/socket.h"
#include "platform/stream.h"

namespace goss::test {

/// The caller's end and the other one; neither blocks.
inline std::pair<platform::UniqueFd, platform::UniqueFd> connectedSockets() {
  platform::UniqueFd listener(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  const auto any_port = *platform::SocketAddress::parse("127.0.0.1", 0);
  EXPECT_EQ(::bind(listener.get(), any_port.raw(), any_port.length()), 0);
  EXPECT_EQ(::listen(listener.get(), 1), 0);
  auto one = platform::dial(*platform::localAddress(listener.get()));
  EXPECT_TRUE(one.isOk());
  platform::UniqueFd other(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  EXPECT_TRUE(platform::waitWritable(one.value().get(), platform::Deadline::after(std::chrono::seconds(20))));
  return {one.take(), std::move(other)};
}

} // namespace goss::test

#endif // GOSS_TESTS_SUPPORT_CONNECTED_SOCKETS_H_
