#include "tests/transports/tcp/proxy.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "platform/stream.h"

namespace goss::test {

Proxy::Proxy(const platform::SocketAddress& target)
    : target_(target), listener_(platform::listenOn(*platform::SocketAddress::parse("127.0.0.1", 0), {}).take()) {}

platform::SocketAddress Proxy::address() const { return *platform::localAddress(listener_.get()); }

void Proxy::turn() {
  if (silent_) return;
  if (listener_.valid()) accept();
  for (std::size_t i = 0; i < pairs_.size() && budget_ > 0;) {
    const bool here = carry(pairs_[i], 0);
    const bool there = carry(pairs_[i], 1);
    const bool ended = std::all_of(pairs_[i].ways.begin(), pairs_[i].ways.end(),
                                   [](const Way& way) { return way.ended && way.bytes.empty(); });
    if (here && there && !ended)
      ++i;
    else
      pairs_.erase(pairs_.begin() + static_cast<std::ptrdiff_t>(i));
  }
  if (budget_ == 0) cut();
}

void Proxy::accept() {
  for (;;) {
    auto accepted = platform::acceptFrom(listener_.get());
    if (!accepted.isOk() || !accepted.value().fd.valid()) return;
    auto dialled = platform::dial(target_);
    if (!dialled.isOk() ||
        !platform::waitWritable(dialled.value().get(), platform::Deadline::after(std::chrono::seconds(5))))
      continue;
    platform::tuneForMessages(accepted.value().fd.get());
    platform::tuneForMessages(dialled.value().get());
    pairs_.push_back({{std::move(accepted.value().fd), dialled.take()}, {}});
  }
}

/// False: the pair is broken.
bool Proxy::carry(Pair& pair, std::size_t from) {
  Way& way = pair.ways[from];
  const int to = pair.ends[1 - from].get();
  if (way.bytes.empty() && !way.ended && allowance() > 0) {
    std::array<char, 16384> bytes;
    const std::size_t most = std::min({bytes.size(), budget_, allowance()});
    const auto got = platform::readSome(pair.ends[from].get(), bytes.data(), most);
    if (got.ended && got.error != 0) return false;
    way.ended = got.ended;
    if (got.ended) platform::endWriting(to);
    way.bytes.assign(bytes.data(), got.bytes);
    flip(way.bytes);
    carried_ += got.bytes;
    read_ += got.bytes;
    if (budget_ != kNever) budget_ -= got.bytes;
  }
  const auto put = platform::writeSome(to, way.bytes.data(), way.bytes.size());
  if (put.ended) return false;
  way.bytes.erase(0, put.bytes);
  return true;
}

void Proxy::flip(std::string& bytes) {
  if (flip_in_ == kNever) return;
  if (flip_in_ >= bytes.size()) {
    flip_in_ -= bytes.size();
    return;
  }
  bytes[flip_in_] = static_cast<char>(bytes[flip_in_] ^ 1 << flips_ % 8);
  flip_in_ = kNever;
  ++flips_;
}

void Proxy::slowDown(std::size_t bytes_per_s) {
  bytes_per_s_ = bytes_per_s;
  read_ = 0;
  slow_since_ = std::chrono::steady_clock::now();
}

std::size_t Proxy::allowance() const {
  if (bytes_per_s_ == 0) return kNever;
  const std::chrono::duration<double> slow = std::chrono::steady_clock::now() - slow_since_;
  const auto allowed = static_cast<std::size_t>(slow.count() * static_cast<double>(bytes_per_s_));
  return allowed > read_ ? allowed - read_ : 0;
}

void Proxy::cut() {
  for (const Pair& pair : pairs_)
    for (const platform::UniqueFd& end : pair.ends)
      orderly_ ? platform::endWriting(end.get()) : platform::resetOnClose(end.get());
  pairs_.clear();
  budget_ = kNever;
  ++cuts_;
}

} // namespace goss::test
