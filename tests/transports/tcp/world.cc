#include "tests/transports/tcp/world.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "platform/socket.h"
#include "platform/stream.h"

namespace goss::test {

Send::Send(int to, Tag with_tag, std::size_t size) : bytes_(size), piece_{bytes_.data(), size} {
  for (std::size_t i = 0; i < size; ++i)
    bytes_[i] = static_cast<unsigned char>(i * 7 + i / 251);
  peer = to;
  tag = with_tag;
  pieces = {&piece_, 1};
  bytes = size;
}

Recv::Recv(int from, Tag with_tag, std::size_t size) : bytes_(size), piece_{bytes_.data(), size} {
  peer = from;
  tag = with_tag;
  pieces = {&piece_, 1};
  capacity = size;
}

World::World(int ranks, int open, const std::function<void(Config&)>& configure,
             const std::function<platform::SecurityMaker(const Config&)>& security)
    : size_(ranks) {
  job_.fill(std::byte{42});
  for (int rank = 0; rank < open; ++rank) {
    auto one = std::make_unique<Rank>();
    one->config.interface = "127.0.0.1";
    if (configure) configure(one->config);
    one->transport = std::make_unique<transports::TcpTransport>(
        TransportContext{rank, ranks, job_, &one->config, one.get()}, security ? security(one->config) : nullptr);
    auto address = one->transport->open();
    EXPECT_TRUE(address.isOk()) << address.status().text();
    if (address.isOk()) one->address = address.take();
    ranks_.push_back(std::move(one));
  }
}

void World::hide(int rank) {
  const std::size_t prefix = transport(rank).name() == "tls" ? platform::kIdentityBytes : 0;
  std::string& whole = (*this)[rank].address;
  auto address = transports::tcp::decodeAddress(whole.substr(prefix));
  const auto any_port = *platform::SocketAddress::parse("127.0.0.1", 0);
  platform::UniqueFd fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(::bind(fd.get(), any_port.raw(), any_port.length()), 0);
  address.value().sockets = {*platform::localAddress(fd.get())};
  whole = whole.substr(0, prefix) + transports::tcp::encodeAddress(address.value());
  held_.push_back(std::move(fd));
  hidden_.push_back(rank);
}

void World::setPatience(const transports::TcpTransport::Patience& patience) {
  for (auto& rank : ranks_)
    rank->transport->setPatience(patience);
}

World::~World() {
  for (const int rank : hidden_)
    (*this)[rank].transport.reset();
  leaveTogether(nullptr);
}

void World::leaveTogether(const std::function<void()>& meanwhile) {
  std::atomic<std::size_t> gone = 0;
  std::vector<std::thread> leaving;
  for (auto& rank : ranks_)
    leaving.emplace_back([&rank, &gone] {
      rank->transport.reset();
      ++gone;
    });
  while (meanwhile && gone < leaving.size()) {
    meanwhile();
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  for (std::thread& one : leaving)
    one.join();
}

bool World::connectAll() {
  const int open = static_cast<int>(ranks_.size());
  for (int from = 0; from < open; ++from)
    for (int to = 0; to < open; ++to)
      if (from != to && !transport(from).connect(to, (*this)[to].address).isOk()) return false;
  return until([&] {
    for (int from = 0; from < open; ++from)
      for (int to = 0; to < open; ++to)
        if (from != to && transport(from).link(to) != LinkState::ready) return false;
    return true;
  });
}

bool World::until(const std::function<bool()>& condition, std::chrono::milliseconds limit) {
  const platform::Deadline deadline = platform::Deadline::after(limit);
  while (!condition()) {
    if (deadline.expired()) return false;
    bool any = false;
    for (auto& rank : ranks_)
      if (rank->transport) any = rank->transport->progress() || any;
    if (!any) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  return true;
}

void World::driveFor(std::chrono::milliseconds span) {
  until([] { return false; }, span);
}

bool World::exchange(int from, int to, std::size_t bytes) {
  Send send(to, 5, bytes);
  Recv recv(from, 5, bytes);
  transport(to).recv(recv);
  const bool sent = transport(from).send(send);
  if (!until([&] { return recv.done && (sent || send.done); })) return false;
  return recv.status.isOk() && send.status.isOk() && recv.contents() == send.contents();
}

bool World::deliversBeforeLeaving(int from, int to) {
  Send send(to, 5, 100000);
  Recv recv(from, 5, 100000);
  transport(to).recv(recv);
  const bool sent = transport(from).send(send);
  if (!sent && !until([&] { return send.done; })) return false;
  const std::vector<Loss>& losses = (*this)[to].losses;
  const std::size_t before = losses.size();
  (*this)[from].transport.reset();
  if (!until([&] { return recv.done && losses.size() > before; })) return false;
  return recv.status.isOk() && recv.contents() == send.contents() && losses.back().peer == from &&
         losses.back().how == PeerLoss::departed;
}

platform::UniqueFd World::call(int rank) {
  const std::size_t identity = transport(rank).name() == "tls" ? platform::kIdentityBytes : 0;
  const auto address = transports::tcp::decodeAddress((*this)[rank].address.substr(identity));
  auto fd = platform::dial(address.value().sockets.front());
  EXPECT_TRUE(fd.isOk() && platform::waitWritable(fd.value().get(), platform::Deadline::after(kLong)));
  return fd.take();
}

transports::tcp::Hello World::hello(int from, int rank) const {
  transports::tcp::Hello hello;
  hello.from = static_cast<std::uint32_t>(from);
  hello.to = static_cast<std::uint32_t>(rank);
  hello.size = static_cast<std::uint32_t>(size_);
  hello.job = job_;
  return hello;
}

platform::UniqueFd World::introduce(const transports::tcp::Hello& hello, int rank) {
  platform::UniqueFd fd = call(rank);
  const std::string bytes = transports::tcp::encodeHello(hello);
  EXPECT_EQ(platform::writeSome(fd.get(), bytes.data(), bytes.size()).bytes, bytes.size());
  std::string answer;
  EXPECT_TRUE(until([&] {
    char rest[transports::tcp::kAnswerBytes];
    answer.append(rest, platform::readSome(fd.get(), rest, sizeof rest - answer.size()).bytes);
    return answer.size() == sizeof rest;
  }));
  EXPECT_EQ(answer, transports::tcp::encodeAnswer(transports::tcp::Answer::welcome));
  return fd;
}

platform::UniqueFd World::impersonate(int from, int rank) {
  EXPECT_TRUE(transport(rank).connect(from, (*this)[rank].address).isOk());
  platform::UniqueFd fd = introduce(hello(from, rank), rank);
  const std::string go = transports::tcp::encodeAnswer(transports::tcp::Answer::go);
  EXPECT_EQ(platform::writeSome(fd.get(), go.data(), go.size()).bytes, go.size());
  EXPECT_TRUE(until([&] { return transport(rank).link(from) == LinkState::ready; }));
  return fd;
}

std::multiset<std::uint64_t> paces() {
  std::multiset<std::uint64_t> all;
  for (int fd = 0; fd < 1024; ++fd)
    if (const auto pace = platform::paceLimit(fd)) all.insert(*pace);
  return all;
}

std::string World::readToEnd(int fd) {
  std::string all;
  EXPECT_TRUE(until([&] {
    char bytes[256];
    const platform::StreamResult got = platform::readSome(fd, bytes, sizeof bytes);
    all.append(bytes, got.bytes);
    return got.ended;
  }));
  return all;
}

} // namespace goss::test
