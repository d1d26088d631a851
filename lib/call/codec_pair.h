/// The codecs of a world, found by their spec strings, and what a compressed call needs to know of them.
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
  Compression there; ///< Codec of contributions to sums, and of everything in collectives without sums.
  Compression back;  ///< Codec of results.
  std::string text;  ///< Both specs in canonical form.
  std::uint64_t hash = 0;

  /// One codec both ways, without feedback, under its own spec.
  static std::shared_ptr<const CodecPair> of(std::shared_ptr<const Codec> codec);

  /// 1..255, for signatures.
  [[nodiscard]] std::uint8_t tag() const { return static_cast<std::uint8_t>(1 + hash % 255); }
  [[nodiscard]] bool feedback() const;
  /// Whether each rank's contribution must be encoded, its own shard's too, and sums must not: so it is with a
  /// momentum, which is part of what is sent. Then payloads are gathered.
  [[nodiscard]] bool gathers() const { return there.feedback.momentum != 0; }
  /// Whether it works in phases of its own (execution/multi_phase_operation.h).
  [[nodiscard]] bool multiPhase() const { return there.codec->traits().multi_phase; }
  /// Whether sums may be encoded again on their way without a loss that grows: any algorithm is legal.
  [[nodiscard]] bool mayRequantize() const;
  /// Whether the codec adds payloads of so many ranks without losing anything: sums need no decoding.
  [[nodiscard]] bool addsPayloads(int ranks) const;
  /// What chunks begin at multiples of; 0: anywhere.
  [[nodiscard]] std::uint64_t alignElems() const;
  [[nodiscard]] std::size_t maxBytes(std::size_t elems) const;
  [[nodiscard]] std::size_t scratchBytes(std::size_t elems) const;
  /// For elements of so many bytes. The same on all ranks, so the speeds are not this machine's.
  [[nodiscard]] schedule::CodecPrice price(std::uint64_t element_bytes) const;
};

/// Thread-safe.
class CodecRegistry {
 public:
  /// `back` empty: as `there`. Errors: invalidArgument naming what is wrong with a spec, or with the two together.
  Result<std::shared_ptr<const CodecPair>> find(std::string_view there, std::string_view back);
  /// A codec of the program's own, from now on found by `name`, alone or with "+ef". Errors: invalidArgument for a name
  /// that is taken or is none.
  Status add(const std::string& name, std::shared_ptr<const Codec> codec);

 private:
  Result<Compression> make(std::string_view spec) const;

  std::mutex mutex_;
  std::map<std::string, std::shared_ptr<const Codec>, std::less<>> own_; ///< By name.
  std::map<std::string, std::shared_ptr<const CodecPair>> known_;        ///< By what find() was given.
};

} // namespace goss

#endif // GOSS_LIB_CALL_CODEC_PAIR_H_
