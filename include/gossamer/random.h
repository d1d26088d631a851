/// Names of counter-based random streams. A stream is a pure function of what it belongs to and of an element's index,
/// so any rank can replay any other's, in any order and in parts. Two types keep the two uses apart: a SharedStream is
/// the same on all ranks (masks, starting matrices), a PrivateStream differs by rank (stochastic rounding). Nothing in
/// the library draws from a generator that has a state.
#ifndef GOSSAMER_RANDOM_H_
#define GOSSAMER_RANDOM_H_

#include <cstdint>

namespace goss {

/// What a stream belongs to. Equal on all ranks.
struct RandomContext {
  std::uint64_t seed = 0;
  std::uint32_t epoch = 0;  ///< Number of the membership view; each view numbers the ranks anew.
  std::uint32_t step = 0;   ///< Training step or operation number.
  std::uint32_t tensor = 0; ///< Id of the tensor or bucket.
};

/// Key and upper counter words of Philox 4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC
/// 2011); the lower counter words are the place in the stream. See lib/kernels/philox.h.
struct StreamKey {
  std::uint32_t key[2] = {0, 0};
  std::uint32_t step = 0;
  std::uint32_t tensor = 0;
  friend bool operator==(const StreamKey&, const StreamKey&) = default;
};

namespace detail {

/// Steele, Lea and Flood's 64-bit finaliser ("Fast splittable pseudorandom number generators", OOPSLA 2014): a
/// bijection.
constexpr std::uint64_t mix64(std::uint64_t value) {
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9u;
  value = (value ^ (value >> 27)) * 0x94d049bb133111ebu;
  return value ^ (value >> 31);
}

/// `owner` is 0 for shared streams and rank + 1 for private ones, so that the two never meet: for one seed, different
/// (epoch, owner) give different keys.
constexpr StreamKey streamKey(const RandomContext& context, std::uint32_t owner) {
  const std::uint64_t place = (static_cast<std::uint64_t>(context.epoch) << 32) | owner;
  const std::uint64_t key = mix64(mix64(context.seed + 0x9e3779b97f4a7c15u) ^ place);
  return {{static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32)}, context.step, context.tensor};
}

} // namespace detail

/// A stream that draws the same numbers on every rank.
class SharedStream {
 public:
  constexpr SharedStream() : SharedStream(RandomContext{}) {}
  constexpr explicit SharedStream(const RandomContext& context) : key_(detail::streamKey(context, 0)) {}
  [[nodiscard]] constexpr const StreamKey& key() const { return key_; }

 private:
  StreamKey key_;
};

/// A stream of one rank's own.
class PrivateStream {
 public:
  constexpr PrivateStream() : PrivateStream(RandomContext{}, 0) {}
  constexpr PrivateStream(const RandomContext& context, std::uint32_t rank)
      : key_(detail::streamKey(context, rank + 1)) {}
  [[nodiscard]] constexpr const StreamKey& key() const { return key_; }

 private:
  StreamKey key_;
};

} // namespace goss

#endif // GOSSAMER_RANDOM_H_
