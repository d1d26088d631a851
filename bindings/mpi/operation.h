/// One collective of the program as a call of Gossamer: buffers as they are where Gossamer can use them, else packed.
#ifndef GOSS_BINDINGS_MPI_OPERATION_H_
#define GOSS_BINDINGS_MPI_OPERATION_H_

#include <mpi.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "bindings/mpi/progress.h"
#include "gossamer/gossamer.h"

namespace goss::interposer {

/// `count` elements of `type` in the program's memory.
struct Block {
  void* at = nullptr;
  std::size_t count = 0;
  MPI_Datatype type = MPI_BYTE;
};

Block block(const void* at, std::size_t count, MPI_Datatype type);
/// `count` elements that begin `elements` elements behind `at`.
Block block(const void* at, MPI_Aint elements, std::size_t count, MPI_Datatype type);

/// Whether MPI accepts the arguments; of a bad handle only that it is null is seen.
bool isBlock(int count, MPI_Datatype type);

/// Length of the block's data, which equal type signatures have in common.
std::size_t bytesOf(const Block& block);

/// Blocks as Gossamer takes them: bytes from one base.
struct Layout {
  void* base = nullptr;
  std::vector<std::size_t> counts;
  std::vector<std::size_t> displs;
};

/// Types that packing needs are kept: a program may free its own as soon as a non-blocking call has returned.
/// Not thread-safe: one thread at a time builds, starts or finishes it.
class Operation {
 public:
  Operation() = default;
  ~Operation();
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  /// Where Gossamer reads the block, writes it, or both. `alignment` in bytes.
  const void* input(const Block& block, std::size_t alignment = 1);
  void* output(const Block& block, std::size_t alignment = 1);
  void* inOut(const Block& block, std::size_t alignment = 1);
  /// Memory where Gossamer may write as many bytes as the block has; nobody reads them.
  void* dropped(const Block& block) { return scratch(bytesOf(block)); }
  /// As input, but never the program's own memory: for calls whose result overwrites what they read.
  const void* copyOf(const Block& block);

  Layout inputs(const std::vector<Block>& blocks);
  /// Blocks that overlap, which MPI does not allow, become a copy each, written in order.
  Layout outputs(const std::vector<Block>& blocks);
  /// As these two, but each block directly behind the one before it, if need be in a copy.
  Layout copiesOf(const std::vector<Block>& blocks);
  Layout packedOutputs(const std::vector<Block>& blocks);

  /// The block is put at `at` before the call, unless it lies there.
  void preload(const Block& block, void* at);
  /// `to` gets what `from` holds at the start, without Gossamer.
  void copyLocally(const Block& from, const Block& to);

  /// What start calls. It keeps nothing of the program's but buffers.
  void setPost(std::function<goss_status(goss_comm_t, goss_request_t*)> post) { post_ = std::move(post); }

  /// Whether it uses the program's buffers as they are, and can be started again with the same.
  bool isPlain() const {
    return before_.empty() && after_.empty() && scratch_.empty() && types_.empty() && refusal_ == nullptr;
  }

  /// The operation follows from what these `size` elements of the program's hold, such as counts.
  template <class T>
  void followsFrom(const T* list, std::size_t size) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(list);
    lists_.push_back({bytes, {bytes, bytes + size * sizeof(T)}});
  }
  /// Whether the lists still hold what they held when it was made. Only for a call with the same lists: others may be
  /// freed.
  bool isCurrent() const;

  /// Why it cannot be started, for people; null: it can.
  const char* refusal() const { return refusal_; }

  /// First packs, in MPI; then calls Gossamer, where `request` null means that it waits for the end. A persistent
  /// operation is started again after it was finished.
  void prepare();
  Outcome start(goss_comm_t comm, goss_request_t* request);
  /// Puts results where the program wants them, once the request has succeeded.
  void finish();

  /// Bytes that this rank sends or receives, whichever is more.
  std::uint64_t bytes() const { return bytes_in_ > bytes_out_ ? bytes_in_ : bytes_out_; }

 private:
  struct Copy {
    Block block;
    std::byte* packed;
  };

  struct List {
    const std::byte* at;
    std::vector<std::byte> held;
  };

  std::byte* scratch(std::size_t bytes);
  /// The same data, as bytes or with a type of this object's own.
  Block kept(const Block& block);
  bool isDirect(const Block& block, std::size_t alignment) const;
  Layout packed(const std::vector<Block>& blocks, std::vector<Copy>& copies);

  std::function<goss_status(goss_comm_t, goss_request_t*)> post_;
  std::vector<Copy> before_;
  std::vector<Copy> after_;
  std::vector<std::pair<Block, Block>> local_;
  std::vector<std::unique_ptr<std::byte[]>> scratch_;
  std::vector<MPI_Datatype> types_;
  std::vector<List> lists_;
  const char* refusal_ = nullptr;
  std::uint64_t bytes_in_ = 0;
  std::uint64_t bytes_out_ = 0;
};

/// What becomes of a call: an operation, or MPI's own function for a reason that is the same on all ranks.
struct Plan {
  std::unique_ptr<Operation> operation;
  std::string reason;
  std::uint64_t bytes = 0;
};

Plan refused(const char* reason, std::uint64_t bytes = 0);

/// The reason where isBlock and its like say no.
inline constexpr const char* kInvalid = "arguments that MPI refuses";

} // namespace goss::interposer

#endif // GOSS_BINDINGS_MPI_OPERATION_H_
