/// The codec seam: how a vector of float32 becomes fewer bytes and comes back.
///
/// **Payload**: the bytes that one encode writes for one segment of a vector; it is decoded as a whole. Payloads carry
/// no name and no length: both ends know codec and element count, and the transport says how many bytes came.
/// **Segment**: the elements of one payload. Blocks (the elements that share a scale) are counted from a segment's
/// start, so that no padding ever takes part in a scale.
/// **Reference**: what the receiver knows already; the codec codes the difference to it. **Residual**: what earlier
/// encodes of this vector lost (error feedback); an encode adds it before and leaves the new loss in it.
///
/// Codecs compute in float32; narrower tensors are widened by their caller, which is exact. On every machine, with
/// every instruction set and on a GPU the same input gives the same bytes, and the same payloads decode to the same
/// bits. Codecs assume the default rounding mode.
///
/// Special values: each codec documents the values that magnitudes outside its range decode to. A NaN or an infinity
/// makes all elements that share its scale decode to NaN (sparsifiers pick NaNs first), so that a training loop detects
/// the overflow; residuals stay finite.
#ifndef GOSSAMER_CODEC_H_
#define GOSSAMER_CODEC_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "gossamer/decode_mode.h"
#include "gossamer/random.h"
#include "gossamer/status.h"

namespace goss {

using PayloadView = std::span<const std::byte>;

/// The properties of a codec that decide which algorithms may use it; constant for one codec. The planner reads them,
/// and the conformance suite tests every one.
struct CodecTraits {
  /// addPayload() sums payloads without decoding them: any algorithm may be used. Needs the same SharedStream on all
  /// ranks where shared_random is set.
  bool additive = false;
  bool fixed_size = false; ///< A payload has exactly maxBytes(count) bytes.
  /// Encoding what a payload decodes to, with the same streams, decodes to the same bits again.
  bool idempotent = false;
  bool lossless = false;
  bool unbiased = false;      ///< The mean over private streams of what is decoded is the input.
  bool stochastic = false;    ///< Uses the private stream.
  bool shared_random = false; ///< Uses the shared stream: it must be the same where the payload is decoded.
  bool sparse = false;        ///< selected() says which elements a payload holds.
  bool needs_shape = false;   ///< Wants EncodeJob::columns.
  bool multi_phase = false;   ///< Works through start(); encode() and decode() are refused.
  /// needs_shape: columns of the matrix, if the codec's spec says how many; 0: the caller decides.
  std::uint32_t columns = 0;
  std::uint32_t block = 1;        ///< Elements that share a scale; 0: the whole segment.
  std::uint32_t wire_version = 1; ///< Version of the payload format in docs/formats.md.
};

/// The most that one encode may lose of x, for every vector x of finite values in the codec's range. C(x) stands for
/// the decoded payload, |x| for the Euclidean norm and max|x| for the largest magnitude. Error feedback cannot diverge
/// if one of the two factors is below 1; with factors of 1, a residual grows at most as fast as the sum of the inputs.
struct LossBound {
  static constexpr double kNone = std::numeric_limits<double>::infinity(); ///< The codec promises nothing.
  /// Mean over the random streams of |x - C(x)|^2 <= euclidean |x|^2 + count floor^2. An unbiased codec's is its omega,
  /// a biased one's 1 - delta.
  double euclidean = kNone;
  double maximum = kNone; ///< Always: max|x - C(x)| <= maximum max|x| + floor.
  double floor = 0;       ///< An element may lose so much however small the vector is.
};

/// Random streams of one operation.
struct Randomness {
  PrivateStream own;
  SharedStream shared;
};

/// One place of the destination map: where the payload of one segment goes.
struct EncodeSegment {
  std::size_t first = 0; ///< Element of the vector.
  std::size_t count = 0;
  std::span<std::byte> out; ///< At least maxBytes(count); any alignment, multiples of 16 are fastest.
  std::size_t bytes = 0;    ///< Set by encode(): actual length.
};

struct EncodeJob {
  std::span<const float> values;
  const float* reference = nullptr;  ///< values.size() elements, or null: zero.
  float* residual = nullptr;         ///< values.size() elements, or null: losses are forgotten.
  float decay = 1;                   ///< The residual is multiplied by it before it is added.
  bool feedback = false;             ///< Encodes as with a residual: the caller itself keeps what is lost.
  Randomness random;                 ///< Element i uses numbers first_element + i.
  std::uint64_t first_element = 0;   ///< Where `values` begin within the tensor that the random streams belong to.
  std::size_t columns = 0;           ///< Row-major matrix view for codecs that need a shape; 0: none.
  std::span<std::byte> scratch;      ///< At least scratchBytes(largest segment), aligned to 64.
  std::span<EncodeSegment> segments; ///< In any order; they do not overlap.
};

struct DecodeJob {
  std::span<const PayloadView> payloads; ///< Payloads of the same segment, from different senders.
  std::span<float> out;
  DecodeMode mode = DecodeMode::set;
  float weight = 1;                ///< axpy only.
  SharedStream shared;             ///< As at the encoder, where traits().shared_random is set.
  std::uint64_t first_element = 0; ///< Where the segment begins within the tensor, as at the encoder.
  std::span<std::byte> scratch;    ///< At least scratchBytes(out.size()), aligned to 64.
};

/// decode + add + encode in one pass over memory: a hop of a ring, or the owner's part of a two-shot reduction.
struct MergeJob {
  std::span<const PayloadView> payloads;
  std::span<float> values;         ///< In: this rank's own contribution. Out: what `out` decodes to.
  float factor = 1;                ///< The sum is multiplied by it before it is encoded (1 / ranks for a mean).
  float* residual = nullptr;       ///< The owner's error feedback, after `factor`; or null.
  float decay = 1;                 ///< As in EncodeJob.
  Randomness random;               ///< For the encode; `shared` also for the decode.
  std::uint64_t first_element = 0; ///< As at the encoder.
  std::span<std::byte> scratch;    ///< At least scratchBytes(values.size()), aligned to 64.
  std::span<std::byte> out;        ///< At least maxBytes(values.size()); no overlap with payloads.
  std::size_t bytes = 0;           ///< Set by merge(): actual length of the payload in `out`.
};

/// What a multi-phase codec wants from the collective layer next.
enum class PhaseWant : std::uint8_t {
  done, ///< The result is in place; `values` and `codec` mean nothing.
  sum,  ///< `values` is to be replaced by its sum over all ranks, bit-identical everywhere.
  max,  ///< `values` is to be replaced by its maximum over all ranks; a NaN of any rank is the result.
  add,  ///< `payload` is to be replaced by the sum of all ranks' payloads, as `codec` adds them (addPayload()).
};

class Codec;

struct CodecPhase {
  PhaseWant want = PhaseWant::done;
  std::span<float> values = {};      ///< sum, max. The run owns it until the next call, as it owns the other members.
  std::span<std::byte> payload = {}; ///< add.
  const Codec* codec = nullptr;      ///< add: additive, and the same on all ranks.
  std::size_t count = 0;             ///< add: elements of the payload.
  /// add: a payload that is cut at multiples of this many elements is the concatenation of the payloads of its parts.
  std::size_t cut_elems = 0;
};

/// The most collectives that one run may ask for.
inline constexpr int kMaxPhases = 4;

/// One operation of a multi-phase codec on one rank. Local; the caller runs the collectives that it asks for, in the
/// same order on all ranks. One thread at a time.
class CodecRun {
 public:
  virtual ~CodecRun() = default;
  /// Computes until the run needs a collective, and returns it; or returns an empty phase after some milliseconds, so
  /// that other operations get their turn. Not called after `done`.
  virtual Result<CodecPhase> next() = 0;
};

/// What a multi-phase codec works on.
struct RunJob {
  std::span<float> values;   ///< In: this rank's contribution. Out: the approximate mean over all ranks.
  std::size_t columns = 0;   ///< values is a row-major matrix with so many columns; must divide values.size().
  float* residual = nullptr; ///< As in EncodeJob.
  float decay = 1;           ///< The residual is multiplied by it before it is added.
  /// What the codec keeps from one operation to the next: stateFloats(values.size(), columns) elements, zero at first.
  /// Equal on all ranks where the codec says so.
  std::span<float> state;
  int ranks = 1;
  Randomness random;
};

/// Stateless, immutable and safe for concurrent use; everything that lasts is the caller's
/// (lib/state/reference_store.h). Calls never block, allocate only on failure (start() excepted), and leave outputs
/// undefined when they fail. Errors: GOSS_ERR_PROTOCOL for a malformed payload, GOSS_ERR_INVALID_ARGUMENT for a job
/// that breaks a rule above, GOSS_ERR_UNSUPPORTED for a call that the traits exclude.
class Codec {
 public:
  virtual ~Codec() = default;

  /// The canonical spec string, parameters included: equal strings mean equal bytes. Part of what ranks compare.
  [[nodiscard]] virtual std::string spec() const = 0;
  [[nodiscard]] virtual CodecTraits traits() const = 0;
  /// What an encode of `count` elements may lose. `feedback`: the encode has a residual. Then a codec whose loss would
  /// grow from one encode to the next scales its payload down: an unbiased one by 1 / (1 + omega), so that it loses
  /// omega / (1 + omega). Codecs that a user registers promise nothing.
  [[nodiscard]] virtual LossBound lossBound(std::size_t count, bool feedback) const;

  /// Upper bound of a payload of `count` elements; exact for fixed-size codecs.
  [[nodiscard]] virtual std::size_t maxBytes(std::size_t count) const = 0;
  /// Scratch bytes that any call on `count` elements needs.
  [[nodiscard]] virtual std::size_t scratchBytes(std::size_t count) const = 0;

  /// Encodes values - reference + residual, each segment into its own payload.
  virtual Status encode(const EncodeJob& job) const = 0;
  /// Validates every payload, then decodes.
  virtual Status decode(const DecodeJob& job) const = 0;
  virtual Status merge(MergeJob& job) const = 0;
  /// Whether the bytes are a payload of `count` elements that decode() accepts.
  [[nodiscard]] virtual Status check(PayloadView payload, std::size_t count) const = 0;
  /// The length of the payload of `count` elements that these bytes begin with, at most bytes.size(); check() tells
  /// whether it is one. What follows the payload is not read. Codecs that a user registers do not know it.
  [[nodiscard]] virtual std::size_t lengthOf(PayloadView bytes, std::size_t count) const;

  /// Additive codecs: into = into + payload, both of `count` elements.
  virtual Status addPayload(PayloadView payload, std::size_t count, std::span<std::byte> into) const;
  /// Additive codecs: bits of one code word when `ranks` payloads have been added (32 for float32 words); 0 if the sum
  /// of that many payloads does not fit its words.
  [[nodiscard]] virtual std::uint32_t sumBits(std::uint32_t ranks) const;

  /// Sparse codecs: writes the held elements' indices, ascending, and returns how many. `out` has room for `count`.
  virtual Result<std::size_t> selected(PayloadView payload, std::size_t count, const SharedStream& shared,
                                       std::uint64_t first_element, std::span<std::uint32_t> out) const;

  /// Multi-phase codecs: begins an operation. The job's buffers are lent until the run is destroyed.
  virtual Result<std::unique_ptr<CodecRun>> start(const RunJob& job) const;
  [[nodiscard]] virtual std::size_t stateFloats(std::size_t count, std::size_t columns) const;

 protected:
  [[nodiscard]] Status unsupported(std::string_view call) const {
    return Status::error(GOSS_ERR_UNSUPPORTED,
                         "codec '" + spec() + "' does not offer " + std::string(call) + "; look at its traits first");
  }
};

inline LossBound Codec::lossBound(std::size_t, bool) const { return {}; }
inline std::size_t Codec::lengthOf(PayloadView bytes, std::size_t count) const {
  return std::min(bytes.size(), maxBytes(count));
}
inline Status Codec::addPayload(PayloadView, std::size_t, std::span<std::byte>) const {
  return unsupported("addPayload");
}
inline std::uint32_t Codec::sumBits(std::uint32_t) const { return 0; }
inline Result<std::size_t> Codec::selected(PayloadView, std::size_t, const SharedStream&, std::uint64_t,
                                           std::span<std::uint32_t>) const {
  return unsupported("selected");
}
inline Result<std::unique_ptr<CodecRun>> Codec::start(const RunJob&) const { return unsupported("start"); }
inline std::size_t Codec::stateFloats(std::size_t, std::size_t) const { return 0; }

/// The feedback stage of a spec, such as "+ef": the collective keeps residuals in the reference store, one for the
/// rank's own contribution (role worker) and one for the shard that the rank owns (role server).
struct ErrorFeedback {
  bool worker = false;
  bool server = false;
  float decay = 1; ///< The residual is multiplied by it before it is added.
  /// LoCo (Xie et al. 2024, arXiv 2407.04480): the residual is a moving average, keep * residual + (1 - keep) * (loss
  /// of this encode), stored in blocks of 8 bits, and set to zero every reset_steps encodes (0: never).
  float keep = 0;
  bool eight_bit = false;
  std::uint32_t reset_steps = 0;
  /// DGC (Lin et al. 2018, arXiv 1712.01887, section 3): the codec encodes a momentum of this rank's values, and
  /// `masked` sets the momentum of elements that were sent to zero. Worker only.
  float momentum = 0;
  bool masked = false;
};

/// A compressor as a user names it, such as "int8:block=256+ef".
struct Compression {
  std::string spec; ///< Canonical.
  std::shared_ptr<const Codec> codec;
  ErrorFeedback feedback;
};

} // namespace goss

#endif // GOSSAMER_CODEC_H_
