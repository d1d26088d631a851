// EF21: Richtarik, Sokolov and Fatkhullin, "EF21: A New, Simpler, Theoretically Better, and Practically Faster Error
// Feedback", NeurIPS 2021, algorithm 2. What a rank sends is the compressed difference of its gradient to what it has
// sent so far, c_i = C(grad_i - g_i); g_i moves by c_i, and the gradient that all use, g = mean of g_i, by the mean of
// the c_i. Here every rank keeps g, because all get the payloads of all; it begins with zeros.
#include <algorithm>
#include <array>

#include "sync/gossip/long_vector.h"
#include "sync/gossip/topology_parameters.h"

namespace goss::sync {

namespace {

constexpr std::array kParameters = {
    ParameterInfo{"codec", "topk:ratio=0.01", "compressor of differences, which must contract; comes last"}};

/// State: g_i and g, each as a LongVector, for what g loses against the mean of the g_i stays in every later gradient.
/// Scalar: the version, which grows with each difference that all have sent.
class Ef21 : public Rule {
 public:
  [[nodiscard]] Needs needs() const override {
    Needs needs;
    needs.vectors = 4;
    needs.scalars = 1;
    needs.gradients = needs.equal = needs.encodes = true;
    needs.same_elements = false; // feedback of its own
    return needs;
  }
  /// The g_i of every rank is now the mean of the old g_i, and g is the mean of the g_i.
  void rejoin(const Model& model) const override {
    model.state[2] = model.state[0];
    model.state[3] = model.state[1];
  }
  /// Where versions differ the ranks hold different g, which they would keep for ever: then g is taken anew as the mean
  /// of the g_i, and gets a version above all that there were.
  Status resume(GossipPeers& peers, const Model& model) const override {
    const Result<bool> is_equal = peers.allEqual(static_cast<std::uint64_t>(model.scalars[0]));
    if (!is_equal.isOk() || is_equal.value()) {
      return is_equal.status();
    }
    const Result<double> latest = peers.largest(model.scalars[0]);
    if (!latest.isOk()) {
      return latest.status();
    }
    model.scalars[0] = latest.value() + 1;
    std::fill(model.state[1].begin(), model.state[1].end(), 0.0f);
    std::fill(model.state[3].begin(), model.state[3].end(), 0.0f);
    model.state[2] = model.state[0];
    return peers.exactMean(model.state[2]);
  }
  [[nodiscard]] bool actsBefore(std::uint64_t) const override { return true; }

  Status beforeOptimizer(GossipPeers& peers, const Model& model) const override {
    const LongVector sent = {model.state[0], model.state[1]}, mean = {model.state[2], model.state[3]};
    std::vector<float> difference(model.g.size()), own(model.g.size());
    std::vector<double> change(model.g.size());
    for (std::size_t i = 0; i < difference.size(); ++i) {
      difference[i] = static_cast<float>(static_cast<double>(model.g[i]) - sent.at(i));
    }
    Status status = peers.meanEncoded({difference, own, change, true}, model.step);
    for (std::size_t i = 0; status.isOk() && i < difference.size(); ++i) {
      sent.set(i, sent.at(i) + static_cast<double>(own[i]));
      mean.set(i, mean.at(i) + change[i]);
      model.g[i] = mean.high[i];
    }
    model.scalars[0] += status.isOk() ? 1 : 0;
    return status;
  }
};

Composition make(SpecReader& reader) { return composeRule(reader, std::make_unique<Ef21>()); }

} // namespace

const Method& ef21Method() {
  static const Method kMethod = {"ef21",
                                 "the mean of what ranks have sent of their gradients, as compressed differences",
                                 "Richtarik et al., NeurIPS 2021", kParameters, make};
  return kMethod;
}

} // namespace goss::sync
