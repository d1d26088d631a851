/// One collective of the MPI program as a call of Gossamer, which uses the program's buffers directly if it can, and
/// packed copies of them otherwise.
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

/// `count` elements of `type` at `at` in the program's memory.
struct Block {
  void* at = nullptr;
  std::size_t count = 0;
  MPI_Datatype type = MPI_BYTE;
};

Block block(const void* at, std::size_t count, MPI_Datatype type);
/// The block of `count` elements that begins `elements` elements behind `at`.
Block block(const void* at, MPI_Aint elements, std::size_t count, MPI_Datatype type);

/// Whether MPI accepts these arguments. The function detects MPI_DATATYPE_NULL, but no other invalid type.
bool isBlock(int count, MPI_Datatype type);

/// Bytes of the block's data without gaps. Equal type signatures have equally many.
std::size_t bytesOf(const Block& block);

/// Blocks as Gossamer's calls take them: counts and displacements in bytes from one base.
struct Layout {
  void* base = nullptr;
  std::vector<std::size_t> counts;
  std::vector<std::size_t> displs;
};

/// An operation has its own handles of the types that packing needs, because a program may free its types as soon as a
/// non-blocking call has returned. Not thread-safe: one thread at a time builds, starts or finishes it.
class Operation {
 public:
  Operation() = default;
  ~Operation();
  Operation(const Operation&) = delete;
  Operation& operator=(const Operation&) = delete;

  /// The memory where Gossamer reads the block (input), writes it (output), or both: the program's buffer, or a packed
  /// copy if the block has gaps or is not aligned to `alignment` bytes.
  const void* input(const Block& block, std::size_t alignment = 1);
  void* output(const Block& block, std::size_t alignment = 1);
  void* inOut(const Block& block, std::size_t alignment = 1);
  /// Memory of the block's length for a result that Gossamer writes and nobody reads.
  void* discarded(const Block& block) { return scratch(bytesOf(block)); }
  /// As input(), but always a packed copy: for calls whose result overwrites what they read.
  const void* copyOf(const Block& block);

  Layout inputs(const std::vector<Block>& blocks);
  /// Blocks that overlap, which MPI does not allow, become packed copies, which finish() unpacks in order.
  Layout outputs(const std::vector<Block>& blocks);
  /// Always packed copies of all blocks.
  Layout copiesOf(const std::vector<Block>& blocks);
  /// As outputs(), but each block begins where the one before ends: in the program's memory, or in packed copies.
  Layout packedOutputs(const std::vector<Block>& blocks);

  /// Copies the block to `at` before the call, unless it lies there.
  void preload(const Block& block, void* at);
  /// Copies `from` to `to` within this rank before the call.
  void copyLocally(const Block& from, const Block& to);

  /// `post` is the call of Gossamer that start() makes. It may refer to buffers of the program, but to nothing else of
  /// it.
  void setPost(std::function<goss_status(goss_comm_t, goss_request_t*)> post) { post_ = std::move(post); }

  /// Whether the operation uses the program's buffers only directly, so that it can be started again with them.
  bool isRepeatable() const {
    return before_.empty() && after_.empty() && scratch_.empty() && types_.empty() && refusal_ == nullptr;
  }

  /// Keeps a copy of a list of the program, such as counts, on which this operation depends. For isCurrent().
  template <class T>
  void holdList(const T* list, std::size_t size) {
    const auto* const bytes = reinterpret_cast<const std::byte*>(list);
    lists_.push_back({bytes, {bytes, bytes + size * sizeof(T)}});
  }
  /// Whether the program's lists still equal the copies of holdList(). To be asked only for a call that passes the same
  /// lists: the program may have freed others.
  bool isCurrent() const;

  /// The text of the error why the operation cannot start; null: it can.
  const char* refusal() const { return refusal_; }

  /// Packs blocks, by MPI; called before each start().
  void prepare();
  /// Calls Gossamer, and waits for the end if `request` is null. A persistent operation may start again after finish().
  Outcome start(goss_comm_t comm, goss_request_t* request);
  /// Unpacks results into the program's buffers, once the request has succeeded.
  void finish();

  /// Bytes that this rank contributes or gets, whichever is more.
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
  /// The block as bytes, or with a type that this object owns.
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

/// How a call is served: by `operation`, or, where that is null, by MPI's own function for a `reason` that is the same
/// on all ranks.
struct Plan {
  std::unique_ptr<Operation> operation;
  std::string reason;
  std::uint64_t bytes = 0;
};

Plan refused(const char* reason, std::uint64_t bytes = 0);

/// The reason if isBlock() or isValid() returns false.
inline constexpr const char* kInvalid = "arguments that MPI refuses";

} // namespace goss::interposer

#endif // GOSS_BINDINGS_MPI_OPERATION_H_
