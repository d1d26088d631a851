/// A part of the model's parameters that is exchanged as one vector.
#ifndef GOSS_LIB_SYNC_FRAGMENT_H_
#define GOSS_LIB_SYNC_FRAGMENT_H_

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/wire.h"
#include "sync/applier.h"
#include "sync/channel.h"
#include "sync/outer_state.h"

namespace goss::sync {

/// Holds the reference (the parameters that the ranks last agreed on), the outer optimizer's state, and at most one
/// exchange in flight. One thread.
class Fragment {
 public:
  /// `applier` must outlive the fragment; `id` names it for codecs and is never 0.
  Fragment(const Applier& applier, std::uint64_t id) : applier_(applier), id_(id) {}
  Fragment(const Fragment&) = delete;
  Fragment& operator=(const Fragment&) = delete;
  Fragment(Fragment&&) = default;

  /// `tensor` is its number among those registered.
  void add(std::span<float> parameter, std::uint64_t tensor);
  /// Takes the parameters as the reference.
  void takeReference();
  /// A step has changed the parameters.
  void noteStep() { has_drifted_ = true; }

  /// What an application has to know from outside.
  struct Terms {
    double lr = 1;
    double mixing = 0;
    bool keeps_lost = false; ///< As in Composition.
  };
  /// Collective: starts the exchange of (reference - parameters) * weight.
  Status start(Channel& channel, const Terms& terms, float weight);
  /// Collective: waits for it and applies it; nothing when none was started.
  Status apply(Channel& channel, const Terms& terms);
  /// Collective: applies the exchange of the round before with this rank's new difference, then starts that one's.
  Status applyLate(Channel& channel, const Terms& terms);
  /// Collective: applies what is in flight, then makes the parameters the mean over the ranks where they may differ.
  Status settle(Channel& channel, const Terms& terms);
  /// Waits for what is in flight without applying it.
  Status arrive(Channel& channel);

  [[nodiscard]] std::size_t count() const { return count_; }
  /// The numbers of its tensors, one behind the other in its vectors.
  [[nodiscard]] const std::vector<std::uint64_t>& tensors() const { return tensors_; }
  [[nodiscard]] std::span<const float> reference() const { return reference_; }
  /// After arrive().
  void save(base::WireWriter& writer) const;
  /// False when the bytes are not of this fragment: then it is to be thrown away.
  bool load(base::WireReader& reader);
  /// What ranks of another grid have saved of these tensors; names[i] is that of tensor i. False when they lack one, or
  /// are of another method: then the fragment is to be thrown away.
  bool adopt(const OuterState& saved, std::span<const std::string> names);

 private:
  enum class Flight : std::uint8_t { none = 0, started = 1, arrived = 2 };

  void difference(std::vector<float>& out) const;
  /// Parameters -= what the codec has lost.
  Status keepLost(const Channel& channel);
  void applyRound(std::span<const float> mean, std::span<const float> own, const Channel& channel, const Terms& terms);

  const Applier& applier_;
  std::uint64_t id_;
  std::vector<std::span<float>> parameters_;
  std::vector<std::uint64_t> tensors_; // as many
  std::size_t count_ = 0;
  std::vector<float> reference_;
  std::vector<std::vector<float>> state_; // the applier's
  std::vector<float> flying_;             // lent while `flight_` is started; the mean once it has arrived
  std::vector<float> own_;                // late methods: the newest difference
  Flight flight_ = Flight::none;
  goss_request_t request_ = nullptr;
  std::uint64_t rounds_ = 0;
  bool has_drifted_ = false; // the parameters may differ from the reference, or between ranks
};

} // namespace goss::sync

#endif // GOSS_LIB_SYNC_FRAGMENT_H_
