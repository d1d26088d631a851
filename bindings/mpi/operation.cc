#include "bindings/mpi/operation.h"

#include <algorithm>
#include <climits>
#include <cstring>

#include "bindings/mpi/types.h"

namespace goss::interposer {

namespace {

/// MPI counts bytes of packed data in an int.
constexpr std::size_t kMaxPackedBytes = INT_MAX / 2;

/// Longer blocks are packed in parts of whole elements.
template <class Part>
void inParts(const Block& block, const Part& part) {
  const TypeFacts facts = factsOf(block.type);
  if (facts.bytes == 0) return;
  const std::size_t most = std::max<std::size_t>(1, kMaxPackedBytes / facts.bytes);
  for (std::size_t done = 0; done < block.count; done += most) {
    const std::size_t count = std::min(most, block.count - done);
    part(static_cast<std::byte*>(block.at) + static_cast<MPI_Aint>(done) * facts.extent, done * facts.bytes,
         static_cast<int>(count), static_cast<int>(count * facts.bytes));
  }
}

void pack(const Block& block, std::byte* to) {
  if (factsOf(block.type).is_contiguous) {
    if (bytesOf(block) > 0) std::memmove(to, block.at, bytesOf(block));
    return;
  }
  inParts(block, [&](void* at, std::size_t offset, int count, int bytes) {
    int position = 0;
    PMPI_Pack(at, count, block.type, to + offset, bytes, &position, MPI_COMM_SELF);
  });
}

void unpack(const std::byte* from, const Block& block) {
  if (factsOf(block.type).is_contiguous) {
    if (bytesOf(block) > 0) std::memmove(block.at, from, bytesOf(block));
    return;
  }
  inParts(block, [&](void* at, std::size_t offset, int count, int bytes) {
    int position = 0;
    PMPI_Unpack(from + offset, bytes, &position, at, count, block.type, MPI_COMM_SELF);
  });
}

std::uint64_t bytesOf(const std::vector<Block>& blocks) {
  std::uint64_t sum = 0;
  for (const Block& each : blocks)
    sum += bytesOf(each);
  return sum;
}

bool areContiguous(const std::vector<Block>& blocks) {
  return std::all_of(blocks.begin(), blocks.end(),
                     [](const Block& each) { return bytesOf(each) == 0 || factsOf(each.type).is_contiguous; });
}

/// From the lowest address of a block that has bytes.
Layout inPlace(const std::vector<Block>& blocks) {
  Layout layout;
  std::uintptr_t base = UINTPTR_MAX;
  for (const Block& each : blocks)
    if (bytesOf(each) > 0) base = std::min(base, reinterpret_cast<std::uintptr_t>(each.at));
  for (const Block& each : blocks) {
    const std::size_t bytes = bytesOf(each);
    layout.counts.push_back(bytes);
    layout.displs.push_back(bytes == 0 ? 0 : reinterpret_cast<std::uintptr_t>(each.at) - base);
  }
  if (base != UINTPTR_MAX) layout.base = reinterpret_cast<void*>(base);
  return layout;
}

bool overlap(const Layout& layout) {
  std::vector<std::pair<std::size_t, std::size_t>> ranges;
  for (std::size_t i = 0; i < layout.counts.size(); ++i)
    if (layout.counts[i] > 0) ranges.emplace_back(layout.displs[i], layout.displs[i] + layout.counts[i]);
  std::sort(ranges.begin(), ranges.end());
  for (std::size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first < ranges[i - 1].second) return true;
  return false;
}

bool isPacked(const Layout& layout) {
  std::size_t end = 0;
  for (std::size_t i = 0; i < layout.counts.size(); ++i) {
    if (layout.counts[i] > 0 && layout.displs[i] != end) return false;
    end += layout.counts[i];
  }
  return true;
}

} // namespace

bool isBlock(int count, MPI_Datatype type) { return count >= 0 && type != MPI_DATATYPE_NULL; }

Block block(const void* at, std::size_t count, MPI_Datatype type) { return block(at, 0, count, type); }

Block block(const void* at, MPI_Aint elements, std::size_t count, MPI_Datatype type) {
  // MPI_BOTTOM is a null pointer to which types add addresses.
  const auto first = reinterpret_cast<std::uintptr_t>(at) +
                     static_cast<std::uintptr_t>(elements == 0 ? 0 : elements * factsOf(type).extent);
  return {reinterpret_cast<void*>(first), count, type};
}

std::size_t bytesOf(const Block& block) { return block.count * factsOf(block.type).bytes; }

Operation::~Operation() {
  for (MPI_Datatype& each : types_)
    PMPI_Type_free(&each);
}

Block Operation::kept(const Block& block) {
  if (bytesOf(block) == 0 || factsOf(block.type).is_contiguous) return {block.at, bytesOf(block), MPI_BYTE};
  if (factsOf(block.type).bytes > kMaxPackedBytes)
    refusal_ =
        "one element of a derived type has more than 1 GiB with gaps in it; use a shorter type and a higher count";
  // Unlike a duplicate, it calls no attribute function of the program's.
  MPI_Datatype own = MPI_DATATYPE_NULL;
  PMPI_Type_contiguous(1, block.type, &own);
  PMPI_Type_commit(&own);
  types_.push_back(own);
  return {block.at, block.count, own};
}

std::byte* Operation::scratch(std::size_t bytes) {
  scratch_.push_back(std::make_unique_for_overwrite<std::byte[]>(bytes));
  return scratch_.back().get();
}

bool Operation::isDirect(const Block& block, std::size_t alignment) const {
  return bytesOf(block) == 0 ||
         (factsOf(block.type).is_contiguous && reinterpret_cast<std::uintptr_t>(block.at) % alignment == 0);
}

const void* Operation::input(const Block& block, std::size_t alignment) {
  if (!isDirect(block, alignment)) return copyOf(block);
  bytes_in_ += bytesOf(block);
  return block.at;
}

const void* Operation::copyOf(const Block& block) {
  bytes_in_ += bytesOf(block);
  std::byte* const packed = scratch(bytesOf(block));
  before_.push_back({kept(block), packed});
  return packed;
}

void* Operation::output(const Block& block, std::size_t alignment) {
  bytes_out_ += bytesOf(block);
  if (isDirect(block, alignment)) return block.at;
  std::byte* const packed = scratch(bytesOf(block));
  after_.push_back({kept(block), packed});
  return packed;
}

void* Operation::inOut(const Block& block, std::size_t alignment) {
  void* const at = output(block, alignment);
  preload(block, at);
  return at;
}

void Operation::preload(const Block& block, void* at) {
  if (at != block.at) before_.push_back({kept(block), static_cast<std::byte*>(at)});
}

void Operation::copyLocally(const Block& from, const Block& to) { local_.emplace_back(kept(from), kept(to)); }

Layout Operation::packed(const std::vector<Block>& blocks, std::vector<Copy>& copies) {
  Layout layout;
  std::byte* const base = scratch(bytesOf(blocks));
  std::size_t end = 0;
  for (const Block& each : blocks) {
    copies.push_back({kept(each), base + end});
    layout.displs.push_back(end);
    layout.counts.push_back(bytesOf(each));
    end += layout.counts.back();
  }
  layout.base = base;
  return layout;
}

Layout Operation::inputs(const std::vector<Block>& blocks) {
  if (!areContiguous(blocks)) return copiesOf(blocks);
  bytes_in_ += bytesOf(blocks);
  return inPlace(blocks);
}

Layout Operation::copiesOf(const std::vector<Block>& blocks) {
  bytes_in_ += bytesOf(blocks);
  return packed(blocks, before_);
}

Layout Operation::packedOutputs(const std::vector<Block>& blocks) {
  bytes_out_ += bytesOf(blocks);
  if (areContiguous(blocks)) {
    Layout layout = inPlace(blocks);
    if (isPacked(layout)) return layout;
  }
  return packed(blocks, after_);
}

Layout Operation::outputs(const std::vector<Block>& blocks) {
  bytes_out_ += bytesOf(blocks);
  if (areContiguous(blocks)) {
    Layout layout = inPlace(blocks);
    if (!overlap(layout)) return layout;
  }
  return packed(blocks, after_);
}

bool Operation::isCurrent() const {
  return std::all_of(lists_.begin(), lists_.end(),
                     [](const List& each) { return std::equal(each.held.begin(), each.held.end(), each.at); });
}

void Operation::prepare() {
  if (refusal_ != nullptr) return;
  for (const Copy& each : before_)
    pack(each.block, each.packed);
  for (const auto& [from, to] : local_) {
    if (from.type == MPI_BYTE) {
      unpack(static_cast<const std::byte*>(from.at), to);
      continue;
    }
    std::vector<std::byte> between(bytesOf(from));
    pack(from, between.data());
    unpack(between.data(), to);
  }
}

Outcome Operation::start(goss_comm_t comm, goss_request_t* request) {
  if (refusal_ != nullptr) {
    goss_comm_abort(comm, refusal_); // Other ranks may have other types, and would wait for this one.
    return {GOSS_ERR_UNSUPPORTED, refusal_};
  }
  return outcomeOf(post_(comm, request));
}

void Operation::finish() {
  for (const Copy& each : after_)
    unpack(each.packed, each.block);
}

Plan refused(const char* reason, std::uint64_t bytes) { return {nullptr, reason, bytes}; }

} // namespace goss::interposer
