// The service of a window where memory is short.
#include "windows/window_channel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <new>

#include "devices/devices.h"
#include "tests/lib/engine/operations.h"
#include "tests/lib/mesh/fake_transport.h"

namespace goss {
namespace {

using ::testing::ElementsAre;

/// Has no memory for the first `short_of` messages.
struct ShortHandler : WindowHandler {
  bool expects(int, const WindowMessage&, std::size_t) override { return true; }
  void take(int, const WindowMessage&, std::size_t, std::span<const std::byte>) override {}
  void serve(int rank, const WindowMessage&, std::size_t) override {
    if (short_of-- > 0) throw std::bad_alloc();
    served.push_back(rank);
  }
  void left(int) override {}

  int short_of = 1;
  std::vector<int> served;
};

TEST(WindowChannel, AMessageThatMemoryIsShortForFailsTheCommunicatorAndLosesNoOther) {
  test::FakeWorld world(3);
  ASSERT_TRUE(world.connected.isOk());
  const Group group({0, 1, 2}, 0, 3);
  LoggingHost host;
  Engine engine{Config()};
  OperationTable table(engine, host);
  const std::unique_ptr<Devices> devices = Devices::open(Config()).take();
  ShortHandler handler;
  WindowChannel channel({group, 1, 1000, engine, world.mesh, table, *devices}, 7, handler);
  channel.openOnLoop();
  for (RecvOperation* receive : std::exchange(world.transport->posted, {})) {
    ASSERT_TRUE(receive->onMatched(WindowMessage{.type = WindowMessage::Type::get}.encode(), 0).isOk());
    receive->onReceived(Status::ok());
  }
  ASSERT_TRUE(engine.active().hasDirty());
  engine.active().advanceDirty();
  EXPECT_THAT(host.log, ElementsAre("the service of a window: out of memory"));
  EXPECT_THAT(handler.served, ElementsAre(2));
  channel.closeOnLoop();
}

} // namespace
} // namespace goss
