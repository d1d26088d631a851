// HeLoCo: Al Asif et al., "HeLoCo: Efficient asynchronous low-communication training under data and device
// heterogeneity", arXiv 2606.00271. Asynchronous DiLoCo: whenever a rank has made h steps, its pseudo-gradient D, which
// began at older parameters, is corrected in direction, tensor by tensor, and moves the model of all, which rank 0
// holds:
//   u = D / |D|, v = m / |m|, c = u v, conf = |D| / (|D| + kappa |m| + eps)
//   c >= keep:      D stays
//   c < 0:          D - b c |D| v,               b = min(shrink (-c) conf, most)
//   0 <= c < keep:  |D| w / max(|w|, eps),       w = (1 - l) u + l v, l = min(turn (1 - c) conf, 1)
//   m = momentum m + (1 - momentum) D;  theta = theta - lr (D + momentum m)
// A tensor without momentum yet stays as it is. No weights of workers or delays (rho = 1).
#include <algorithm>
#include <array>
#include <cmath>

#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {kPeriodParameter,
                                    ParameterInfo{"lr", "0.1", "of the outer optimizer, for each rank's difference"},
                                    ParameterInfo{"momentum", "0.9", "of the outer optimizer"},
                                    ParameterInfo{"keep", "0.5", "cosine from which on a difference stays as it is"},
                                    ParameterInfo{"shrink", "1", "of the part against the momentum"},
                                    ParameterInfo{"most", "1", "bound of that"},
                                    ParameterInfo{"turn", "0.5", "of what is nearly across the momentum, to it"},
                                    ParameterInfo{"kappa", "1", "weight of the momentum's length"}};

struct Correction {
  double keep, shrink, most, turn, kappa;

  /// How the corrected difference is made: of so much of the difference, and so much of the momentum.
  struct Parts {
    double difference = 1, momentum = 0;
  };

  [[nodiscard]] Parts partsOf(std::span<const float> difference, std::span<const float> momentum) const {
    constexpr double kEps = 1e-12;
    double product = 0, squares = 0, momentum_squares = 0;
    for (std::size_t i = 0; i < difference.size(); ++i) {
      const double d = difference[i], m = momentum[i];
      product += d * m;
      squares += d * d;
      momentum_squares += m * m;
    }
    const double length = std::sqrt(squares), momentum_length = std::sqrt(momentum_squares);
    if (!(length > 0) || !(momentum_length > 0)) {
      return {};
    }
    const double cosine = product / (length * momentum_length);
    const double confidence = length / (length + kappa * momentum_length + kEps);
    if (cosine >= keep) {
      return {};
    }
    if (cosine < 0) {
      const double shrunk = std::min(shrink * -cosine * confidence, most);
      return {1, -shrunk * cosine * length / momentum_length};
    }
    const double turned = std::min(turn * (1 - cosine) * confidence, 1.0);
    const double rest = 1 - turned;
    const double mixed = std::sqrt(rest * rest + turned * turned + 2 * rest * turned * cosine);
    const double scale = 1 / std::max(mixed, kEps);
    return {rest * scale, turned * scale * length / momentum_length};
  }
};

/// state[0] is theta and state[1] is m; only rank 0's are used. state[2]: the theta from which this rank started.
class HeLoCo : public Rule {
 public:
  HeLoCo(std::uint64_t period, double lr, double momentum, Correction correction)
      : period_(period),
        lr_(static_cast<float>(lr)),
        momentum_(static_cast<float>(momentum)),
        correction_(correction) {}

  [[nodiscard]] Needs needs() const override {
    Needs needs;
    needs.vectors = 3;
    needs.shared = 2;
    needs.centre = true;
    return needs;
  }
  void begin(const Model& model) const override {
    std::copy(model.x.begin(), model.x.end(), model.state[0].begin());
    rejoin(model);
  }
  void rejoin(const Model& model) const override { std::copy(model.x.begin(), model.x.end(), model.state[2].begin()); }
  [[nodiscard]] bool actsAfter(std::uint64_t step) const override { return step % period_ == 0; }

  Status afterOptimizer(GossipPeers& peers, const Model& model) const override {
    std::vector<float>& start = model.state[2];
    const std::size_t count = start.size();
    Status status = peers.pairs().change(0, [&](std::span<float> centre) {
      for (std::size_t i = 0; i < count; ++i) {
        start[i] -= model.x[i];
      }
      outerStep(model.sizes, start, centre);
      std::copy_n(centre.begin(), count, model.x.begin());
    });
    std::copy(model.x.begin(), model.x.end(), start.begin());
    return status;
  }

  /// The model is rank 0's; steps since a rank's last difference are dropped.
  Status finish(GossipPeers& peers, const Model& model) const override {
    std::vector<float> centre(2 * model.x.size());
    Status status = peers.barrier();
    if (status.isOk()) {
      status = peers.pairs().readAt(0, centre);
    }
    if (!status.isOk()) {
      return status;
    }
    std::copy_n(centre.begin(), model.x.size(), model.x.begin());
    rejoin(model);
    return peers.barrier(); // a rank that goes on changes it
  }

 private:
  /// `centre`: theta, and behind it m.
  void outerStep(std::span<const std::size_t> sizes, std::span<const float> difference, std::span<float> centre) const {
    const std::size_t count = difference.size();
    std::size_t first = 0;
    for (const std::size_t size : sizes) {
      const Correction::Parts parts =
          correction_.partsOf(difference.subspan(first, size), centre.subspan(count + first, size));
      for (std::size_t i = first; i < first + size; ++i) {
        float& momentum = centre[count + i];
        const auto step = static_cast<float>(parts.difference * difference[i] + parts.momentum * momentum);
        momentum = momentum_ * momentum + (1 - momentum_) * step;
        centre[i] -= lr_ * (step + momentum_ * momentum);
      }
      first += size;
    }
  }

  std::uint64_t period_;
  float lr_, momentum_;
  Correction correction_;
};

Composition make(SpecReader& reader) {
  Composition made;
  const std::uint64_t period = reader.integer("h", kPeriodRange);
  const double lr = reader.number("lr", kRateRange);
  const double momentum = reader.number("momentum", kUnitRange);
  Correction correction{};
  correction.keep = reader.number("keep", kUnitRange);
  correction.shrink = reader.number("shrink", kRateRange);
  correction.most = reader.number("most", kRateRange);
  correction.turn = reader.number("turn", kRateRange);
  correction.kappa = reader.number("kappa", kRateRange);
  made.rule = std::make_unique<HeLoCo>(period, lr, momentum, correction);
  made.layout.codec = "none";
  return made;
}

} // namespace

const Method& helocoMethod() {
  static const Method kMethod = {
      "heloco",
      "asynchronous DiLoCo: each rank's difference, corrected in direction, moves the model that rank 0 holds",
      "Al Asif et al., arXiv 2606.00271",
      kParameters,
      make,
      true};
  return kMethod;
}

} // namespace goss::sync
