/// A part of the model's parameters that is exchanged as one vector.
#ifndef GOSS_LIB_SYNC_FRAGMENT_H_
#define GOSS_LIB_SYNC_FRAGMENT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/wire.h"
#include "sync/channel.h"
#include "sync/composition.h"
#include "sync/outer_state.h"

namespace goss::sync {

/// Holds the reference (the parameters on which the ranks last agreed), the outer optimizer's state, and at most one
/// exchange in flight. One thread.
class Fragment {
 public:
  /// `method` exchanges parameters and must outlive the fragment; `id` names it for codecs and is never 0.
  Fragment(const Composition& method, std::uint64_t id) : method_(method), applier_(*method.applier), id_(id) {}
  Fragment(const Fragment&) = delete;
  Fragment& operator=(const Fragment&) = delete;
  Fragment(Fragment&&) = default;

  /// Adds a tensor; `tensor` is its number among those registered.
  void add(std::span<float> parameter, std::uint64_t tensor);
  /// Takes the parameters as the reference.
  void takeReference();
  /// A step has changed the parameters.
  void noteStep() { has_drifted_ = true; }

  /// Collective: starts the exchange of (reference - parameters) * weight.
  Status start(Channel& channel, float weight);
  /// Collective: waits for the exchange and applies it; does nothing when none was started. `lr` is the inner
  /// optimizer's.
  Status apply(Channel& channel, double lr);
  /// Collective: applies the exchange of the round before with this rank's new difference, then starts the exchange of
  /// that difference.
  Status applyLate(Channel& channel, double lr);
  /// Collective: applies the exchange in flight, then makes the parameters the mean over the ranks where they may
  /// differ.
  Status settle(Channel& channel, double lr);
  /// Waits for the exchange in flight without applying it.
  Status arrive(Channel& channel);

  [[nodiscard]] std::size_t count() const { return count_; }
  /// The numbers of the fragment's tensors, in the order of its vectors.
  [[nodiscard]] const std::vector<std::uint64_t>& tensors() const { return tensors_; }
  [[nodiscard]] std::span<const std::span<float>> parameters() const { return parameters_; }
  [[nodiscard]] std::span<const float> reference() const { return reference_; }
  /// Writes where in the rounds the fragment is, which ranks that go on together have in common.
  void savePosition(base::WireWriter& writer) const;
  /// A hash of the vectors that have the same bits on all ranks of the channel when their positions are the same.
  [[nodiscard]] std::uint64_t commonHash() const;
  /// Writes the state; call it after arrive().
  void save(base::WireWriter& writer) const;
  /// False when the bytes do not belong to this fragment, which must then be discarded.
  bool load(base::WireReader& reader);
  /// Restores what ranks of another grid have saved of these tensors; names[i] names tensor i. False when they lack
  /// one, or belong to another method: then the fragment must be discarded.
  bool adopt(const OuterState& saved, std::span<const std::string> names);

 private:
  enum class Flight : std::uint8_t { none = 0, started = 1, arrived = 2 };

  void difference(std::vector<float>& out) const;
  Status readLost(const Channel& channel);
  /// This rank's contribution to the newest exchange, minus what encoding lost of it once that has arrived.
  [[nodiscard]] std::vector<float>& given() { return state_.back(); }
  /// Computes the part that has not reached the other ranks into own_.
  Status findRest(const Channel& channel);
  /// Parameters -= own_: they keep what has not reached the other ranks.
  void subtractOwn();
  /// settle() of a late method. The steps since the last round belong to no exchange: they stay in the parameters.
  Status settleLate(Channel& channel, double lr);
  void applyRound(std::span<const float> mean, std::span<const float> own, const Channel& channel, double lr);

  const Composition& method_;
  const Applier& applier_;
  std::uint64_t id_;
  std::vector<std::span<float>> parameters_;
  std::vector<std::uint64_t> tensors_; // one number for each of the tensors
  std::size_t count_ = 0;
  std::vector<float> reference_;
  std::vector<std::vector<float>> state_; // the applier's vectors; with keeps_newer also given()
  std::vector<float> flying_;             // lent while `flight_` is started; the mean once the exchange has arrived
  std::vector<float> own_;                // late methods: the newest difference; else temporary within a call
  Flight flight_ = Flight::none;
  goss_request_t request_ = nullptr;
  std::uint64_t rounds_ = 0;
  bool has_drifted_ = false; // the parameters may differ from the reference, or between ranks
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_FRAGMENT_H_
