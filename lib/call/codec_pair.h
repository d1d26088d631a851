/// The codecs of a world, found by their spec strings, and their properties that matter for a compressed call.
#ifndef GOSS_LIB_CALL_CODEC_PAIR_H_
#define GOSS_LIB_CALL_CODEC_PAIR_H_

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>

#include "gossamer/codec.h"
#include "gossamer/types.h"
#include "schedule/simulator.h"

namespace goss {

/// The codecs of the two halves of a collective. Immutable and shared by all calls that name them.
struct CodecPair {
  Compression contribution; ///< Codec of contributions to sums, and of everything in collectives without sums.
  Compression result;       ///< Codec of results.
  std::string text;         ///< Both specs in canonical form.
  std::uint64_t hash = 0;

  /// One codec both ways, without feedback, under its own spec.
  static std::shared_ptr<const CodecPair> of(const std::shared_ptr<const Codec>& codec);

  /// A number in 1..255, for signatures.
  [[nodiscard]] std::uint8_t tag() const { return static_cast<std::uint8_t>(1 + hash % 255); }
  [[nodiscard]] bool feedback() const;
  /// Whether each rank encodes its contribution, including that to its own shard, and no rank encodes sums: true for
  /// codecs with a momentum, which is part of the encoded vector. Then payloads are gathered.
  [[nodiscard]] bool gathers() const { return contribution.feedback.momentum != 0; }
  /// Whether the codec works in phases of its own (runner/multi_phase_operation.h).
  [[nodiscard]] bool multiPhase() const { return contribution.codec->traits().multi_phase; }
  /// Whether sums may be encoded again at every hop without a loss that grows: then any algorithm is legal.
  [[nodiscard]] bool mayRequantize() const;
  /// Whether the codec adds payloads of so many ranks without loss, so that sums need no decoding.
  [[nodiscard]] bool addsPayloads(int ranks) const;
  /// Chunks begin at multiples of so many elements; 0: anywhere.
  [[nodiscard]] std::uint64_t alignElems() const;
  [[nodiscard]] std::size_t maxBytes(std::size_t elems) const;
  [[nodiscard]] std::size_t scratchBytes(std::size_t elems) const;
  /// The codec's price for elements of so many bytes. The same on all ranks, so the speeds are not this machine's.
  [[nodiscard]] schedule::CodecPrice price(std::uint64_t element_bytes) const;
};

/// Finds codecs by name. Thread-safe.
class CodecRegistry {
 public:
  /// The pair of codecs. `result` empty: the same as `contribution`. Errors: invalidArgument naming what is wrong with
  /// a spec, or with the combination.
  Result<std::shared_ptr<const CodecPair>> find(std::string_view contribution, std::string_view result);
  /// Adds a codec of the program's own, which find() then accepts as `name`, alone or with "+ef". Errors:
  /// invalidArgument for a name that is taken or malformed.
  Status add(const std::string& name, std::shared_ptr<const Codec> codec);

 private:
  Result<Compression> make(std::string_view spec) const;

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Codec>, std::less<>> own_; ///< By name.
  std::map<std::string, std::shared_ptr<const CodecPair>> known_;        ///< By the arguments of find().
};

} // namespace goss

#endif // GOSS_LIB_CALL_CODEC_PAIR_H_
