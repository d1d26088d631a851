/// What the kernels of the sparsifiers are given.
#ifndef GOSS_COMPRESSORS_CUDA_KERNELS_SPARSE_JOBS_H_
#define GOSS_COMPRESSORS_CUDA_KERNELS_SPARSE_JOBS_H_

#include "compressors/cuda/device/jobs.h"

namespace goss::compressors::cuda {

inline constexpr std::size_t kPickElems = 4096; ///< Elements whose picked ones one warp counts and writes.
constexpr std::size_t pickChunks(std::size_t count) { return (count + kPickElems - 1) / kPickElems; }

/// State of the search for a threshold, the k-th largest magnitude: its upper bits that are known, and how many of the
/// magnitudes with the same upper bits are still to be taken. In the end the threshold, and how many magnitudes equal
/// to it are taken.
struct PickState {
  std::uint32_t threshold;
  std::uint32_t ties;
  std::uint32_t limit;  ///< No more than so many are picked; those with the lowest indices win.
  std::uint32_t wanted; ///< The rank of the magnitude searched for, among every stride-th element.
  std::uint32_t stride;
  std::uint32_t settled;      ///< A sampled search has ended.
  unsigned long long reached; ///< Magnitudes of at least the threshold, or candidates of a short list.
};

/// An element that may be picked.
struct IndexedValue {
  std::uint32_t index;
  float value;
};
/// Where the candidates of one chunk lie, ascending.
struct ChunkCandidates {
  std::uint32_t first, count;
};
/// The elements that reach a sample's threshold, found in one pass over the vector; later kernels read them instead of
/// the vector if they are enough and all fit, which only the device knows (PickState::reached).
struct Shortlist {
  IndexedValue* listed = nullptr;    ///< Null: there is no list. Chunks lie in any order.
  ChunkCandidates* chunks = nullptr; ///< pickChunks(count).
  std::uint32_t capacity = 0;
};

inline constexpr std::uint32_t kPickBuckets = 2048;
inline constexpr int kPickDigits = 3; ///< Digits of a magnitude, of 11, 11 and 9 bits.

/// Finds the wanted-th largest magnitude: by the same digits as on the CPU (sparse/selector.cc).
struct PickJob {
  const float* values = nullptr;
  std::size_t count = 0;
  int digit = 0;
  std::uint32_t* histogram = nullptr; ///< kPickBuckets, zero at first.
  PickState* state = nullptr;
  Shortlist list;
  std::uint32_t groups = 0; ///< 0, or a sample is counted: so many groups (SamplePlan), `apart` elements apart.
  std::size_t apart = 0;
  std::uint32_t wanted = 0; ///< Replaces the state's `wanted`; 0: does not.
  bool unless_settled = false;
};

/// Lists the elements whose magnitudes reach the state's threshold.
struct ListJob {
  const float* values = nullptr;
  std::size_t count = 0;
  PickState* state = nullptr;
  Shortlist list;
};

/// Begins a search: sets the state, and clears the histogram where there is one.
struct BeginJob {
  PickState begin = {};
  PickState* state = nullptr;
  std::uint32_t* histogram = nullptr; ///< May be null.
};

/// The steps of a sampled threshold (SampledTopK in sparse/selector.cc). The device decides which of them do anything.
enum class SampleStep {
  findOverflows, ///< Counts values that are not finite.
  choose,        ///< Chooses the sample, or a search among all where a value is not finite.
  count,         ///< Counts the magnitudes that reach the threshold.
  adapt,         ///< Changes the threshold, unless it is good enough.
  giveUp,        ///< Searches among all, unless the threshold is good enough.
};
struct SampleJob {
  SampleStep step = SampleStep::findOverflows;
  const float* values = nullptr;
  std::size_t count = 0;
  std::uint32_t wanted = 0;         ///< Rank of the threshold among all.
  std::uint32_t wanted_sampled = 0; ///< Rank of the threshold in the sample.
  std::uint32_t stride = 1;
  PickState* state = nullptr;
};

/// For one chunk of a vector: how many magnitudes are larger than the threshold and how many equal it; later, the same
/// counts of all chunks before.
struct PickCounts {
  std::uint32_t above, equal;
};

/// Writes indices and values of what is picked.
struct CollectJob {
  const float* values = nullptr;
  std::size_t count = 0;
  const PickState* state = nullptr;
  Shortlist list;
  PickCounts* counts = nullptr;     ///< pickChunks(count) + 1; the last holds the totals.
  unsigned char* head = nullptr;    ///< The payload: its number of elements, and its indices.
  std::uint32_t* indices = nullptr; ///< Null, or the indices are packed: room for `most` of them.
  std::uint32_t most = 0;           ///< No more than so many are picked.
  float* picked = nullptr;          ///< The picked values.
  InnerPayload* inner = nullptr;    ///< Receives their number, and where their payload begins.
};

/// Reads from a payload how many elements it holds, at most `most`.
struct HeldJob {
  const unsigned char* payload = nullptr;
  std::size_t count = 0; ///< Elements of the vector.
  std::uint32_t most = 0;
  InnerPayload* inner = nullptr;
  bool packs = false; ///< Indices are PackedIndices.
};

/// Reads the indices of a payload, in order.
struct IndexJob {
  const unsigned char* indices = nullptr;
  std::size_t count = 0;               ///< Elements of the vector.
  std::uint32_t held = 0;              ///< Elements that the payload holds, or an upper bound.
  const InnerPayload* inner = nullptr; ///< May be null; else it holds their number.
  std::uint32_t* counts = nullptr;     ///< pickChunks(count) + 1: held elements before each chunk.
  bool packs = false;                  ///< Indices are PackedIndices.
};

/// Delivers `values` to the elements that a payload holds.
struct ScatterJob {
  IndexJob index;
  const float* values = nullptr;
  float* out = nullptr;
  float weight = 1; ///< Factor of each value; 1: added as it is.
  bool weighted = false;
  bool finite = false;              ///< Sums that are not finite then become zero, as in residuals.
  std::uint32_t* senders = nullptr; ///< Incremented for each element; may be null.
  bool clears = false;              ///< Elements become zero instead.
};

/// Fills `out` with NaN if the payload says that it holds more than `most` elements.
struct RefuseJob {
  const unsigned char* payload = nullptr;
  std::uint32_t most = 0;
  float* out = nullptr;
  std::size_t count = 0;
};

/// Clears out, and senders.
struct ClearJob {
  float* out = nullptr;
  std::uint32_t* senders = nullptr;
  std::size_t count = 0;
};

/// out = out / senders, and 0 where no payload holds the element.
struct ShareJob {
  float* out = nullptr;
  const std::uint32_t* senders = nullptr;
  std::size_t count = 0;
};

/// The blocks that the shared stream chooses (sparse/random_k.cc).
struct BlocksJob {
  std::size_t count = 0;
  std::size_t block = 1, blocks = 0, chosen = 0;
  StreamKey key;
  std::uint64_t first_element = 0;
  const float* values = nullptr; ///< Gather: the vector. Deliver: chosen * block values.
  float* out = nullptr;          ///< Gather: chosen * block values, zeros behind a short block. Deliver: the vector.
  Delivery delivery;             ///< add or axpy.
  bool finite = false;           ///< As ScatterJob's, and so are the others.
  std::uint32_t* senders = nullptr;
  bool clears = false;
};

int launchBegin(const BeginJob& job, Stream stream);
int launchSample(const SampleJob& job, Stream stream);
int launchHeld(const HeldJob& job, Stream stream);
int launchPick(const PickJob& job, Stream stream);
int launchList(const ListJob& job, Stream stream);
int launchCollect(const CollectJob& job, Stream stream);
int launchIndex(const IndexJob& job, Stream stream);
int launchScatter(const ScatterJob& job, Stream stream);
int launchRefuse(const RefuseJob& job, Stream stream);
int launchClear(const ClearJob& job, Stream stream);
int launchShare(const ShareJob& job, Stream stream);
/// Sets elements that are not finite to zero.
int launchForget(float* values, std::size_t count, Stream stream);
/// Sets all elements to `value`.
int launchFill(float* to, float value, std::size_t count, Stream stream);
int launchGatherBlocks(const BlocksJob& job, Stream stream);
int launchDeliverBlocks(const BlocksJob& job, Stream stream);

} // namespace goss::compressors::cuda

#endif // GOSS_COMPRESSORS_CUDA_KERNELS_SPARSE_JOBS_H_
