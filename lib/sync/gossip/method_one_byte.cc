// Just One Byte: Zelikman et al., "Just One Byte (per gradient): A Note on Low-Bandwidth Decentralized Language Model
// Finetuning Using Shared Randomness", 2023, with the estimate of Spall, "Multivariate Stochastic Approximation Using a
// Simultaneous Perturbation Gradient Approximation", IEEE TAC 1992: along a direction z that all ranks draw alike from
// seed, step, rank and number,
//   rho = (loss(x + eps z) - loss(x - eps z)) / (2 eps)
// of which each rank sends one byte, a sign and round(8 ln |rho|) in 7 bits; all ranks step along the sum over all m
// directions of rho z / sqrt(m). The elements of z are signs, which have the same bits on every processor; the
// published program draws normal numbers, and its codes have 9 bits. Without a loss rho is the gradient along z, which
// that difference tends to.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <vector>

#include "base/split_mix.h"
#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {ParameterInfo{"samples", "1", "directions of a rank in a step"},
                                    ParameterInfo{"eps", "0.001", "how far the loss is looked at to both sides"},
                                    ParameterInfo{"seed", "1", "of the directions"}};

// A byte: the sign above a level of 1 ... 127, which stands for |rho| = exp((level - 64) / 8); 0: rho is 0.
constexpr unsigned kSign = 0x80;
constexpr int kMiddle = 64, kMaxLevel = 127;
constexpr double kLevelsPerE = 8;

std::byte encode(double rho) {
  if (rho == 0) {
    return std::byte{0};
  }
  const double level = kMiddle + std::rint(kLevelsPerE * std::log(std::abs(rho)));
  const auto code = static_cast<unsigned>(std::clamp(level, 1.0, static_cast<double>(kMaxLevel)));
  return static_cast<std::byte>(code | (rho < 0 ? kSign : 0u));
}

double decode(std::byte byte) {
  const auto code = static_cast<unsigned>(byte);
  if (code == 0) {
    return 0;
  }
  const double size = std::exp((static_cast<int>(code & ~kSign) - kMiddle) / kLevelsPerE);
  return (code & kSign) != 0 ? -size : size;
}

/// The signs of a direction, one after the other.
class Direction {
 public:
  explicit Direction(std::uint64_t seed) : random_(seed) {}
  float next() {
    if (left_ == 0) {
      word_ = random_.next();
      left_ = 64;
    }
    const float sign = (word_ & 1u) != 0 ? 1.0f : -1.0f;
    word_ >>= 1;
    --left_;
    return sign;
  }

 private:
  base::SplitMix64 random_;
  std::uint64_t word_ = 0;
  int left_ = 0;
};

class OneByte : public Rule {
 public:
  OneByte(std::uint64_t samples, double eps, std::uint64_t seed) : samples_(samples), eps_(eps), seed_(seed) {}

  [[nodiscard]] Needs needs() const override {
    Needs needs;
    needs.gradients = needs.descent = needs.equal = true;
    return needs;
  }
  [[nodiscard]] bool actsBefore(std::uint64_t) const override { return true; }

  Status beforeOptimizer(GossipPeers& peers, const Model& model) const override {
    std::vector<std::byte> mine(samples_), all(samples_ * static_cast<std::size_t>(peers.size()));
    for (std::size_t k = 0; k < mine.size(); ++k) {
      const Result<double> slope = slopeAlong(directionOf(peers.size(), model.step, ownFirst(peers) + k), model);
      if (!slope.isOk()) {
        return slope.status();
      }
      if (!std::isfinite(slope.value())) {
        return Status::error(GOSS_ERR_INVALID_ARGUMENT,
                             fmt::format("one-byte: rank {}'s loss is not finite near its parameters in step {}",
                                         peers.rank(), model.step));
      }
      mine[k] = encode(slope.value());
    }
    Status status = peers.gather(mine, all, model.x.size_bytes());
    std::fill(model.g.begin(), model.g.end(), 0.0f);
    const double part = 1 / std::sqrt(static_cast<double>(all.size()));
    for (std::size_t number = 0; status.isOk() && number < all.size(); ++number) {
      const auto slope = static_cast<float>(part * decode(all[number]));
      Direction direction = directionOf(peers.size(), model.step, number);
      for (float& element : model.g) {
        element += slope * direction.next();
      }
    }
    return status;
  }
  Status finish(GossipPeers&, const Model&) const override { return Status::ok(); } // the ranks are equal

 private:
  [[nodiscard]] std::size_t ownFirst(const GossipPeers& peers) const {
    return samples_ * static_cast<std::size_t>(peers.rank());
  }
  [[nodiscard]] Direction directionOf(int ranks, std::uint64_t step, std::size_t number) const {
    const std::uint64_t directions = samples_ * static_cast<std::uint64_t>(ranks);
    return Direction(seed_ * 0x94d049bb133111ebu + step * directions + number);
  }

  [[nodiscard]] Result<double> slopeAlong(Direction direction, const Model& model) const {
    if (model.loss == nullptr) {
      double sum = 0;
      for (const float element : model.g) {
        sum += static_cast<double>(element) * direction.next();
      }
      return sum;
    }
    const std::vector<float> x(model.x.begin(), model.x.end());
    double losses[2] = {0, 0};
    Status status;
    for (std::size_t side = 0; status.isOk() && side < 2; ++side) {
      Direction signs = direction;
      const auto eps = static_cast<float>(side == 0 ? eps_ : -eps_);
      for (std::size_t i = 0; i < x.size(); ++i) {
        model.x[i] = x[i] + eps * signs.next();
      }
      const Result<double> loss = (*model.loss)();
      status = loss.isOk() ? Status::ok() : loss.status();
      losses[side] = loss.isOk() ? loss.value() : 0;
    }
    std::copy(x.begin(), x.end(), model.x.begin());
    if (!status.isOk()) {
      return status;
    }
    return (losses[0] - losses[1]) / (2 * eps_);
  }

  std::uint64_t samples_;
  double eps_;
  std::uint64_t seed_;
};

Composition make(SpecReader& reader) {
  Composition made;
  const std::uint64_t samples = std::max<std::uint64_t>(1, reader.integer("samples", {1, 1e6}));
  const double eps = reader.number("eps", {1e-9, 1e3});
  made.rule = std::make_unique<OneByte>(samples, eps, reader.integer("seed", {0, 1e9}));
  made.layout.codec = "none"; // a byte is small already
  return made;
}

} // namespace

const Method& oneByteMethod() {
  static const Method kMethod = {"one-byte",
                                 "one byte a direction: how steep the loss is along it; the optimizer is plain descent",
                                 "Zelikman et al., 2023 (Just One Byte)", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
