#include "call/call.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "base/invalid.h"
#include "kernels/kernels.h"
#include "schedule/compress.h"
#include "schedule/contract.h"

namespace goss {

std::size_t dtypeBytes(DType dtype) {
  switch (dtype) {
    case GOSS_INT8:
    case GOSS_UINT8:
    case GOSS_BOOL:
    case GOSS_FLOAT8_E4M3:
    case GOSS_FLOAT8_E5M2:
      return 1;
    case GOSS_FLOAT16:
    case GOSS_BFLOAT16:
      return 2;
    case GOSS_INT32:
    case GOSS_UINT32:
    case GOSS_FLOAT32:
      return 4;
    case GOSS_INT64:
    case GOSS_UINT64:
    case GOSS_FLOAT64:
      return 8;
    case GOSS_DTYPE_COUNT:
      break;
  }
  return 0;
}

std::uint64_t Call::inputSpanElems(int rank) const {
  const bool whole = collective != Collective::allGather && collective != Collective::gather &&
                     collective != Collective::neighborAllGather;
  if (shape.input_blocks.empty()) return shape.count;
  if (!whole) return shape.input_blocks[static_cast<std::size_t>(rank)].count_elems;
  std::uint64_t end = 0;
  for (const auto& block : shape.input_blocks)
    end = std::max(end, block.offset_elems + block.count_elems);
  return end;
}

namespace {

/// Buffers that hold one block hold that block at their beginning.
void finishBlocks(Collective collective, schedule::Shape& shape) {
  shape.output_blocks = shape.input_blocks;
  const bool own_input = collective == Collective::allGather || collective == Collective::gather;
  const bool own_output = collective == Collective::reduceScatter || collective == Collective::scatter;
  if (own_input) {
    for (auto& block : shape.input_blocks)
      block.offset_elems = 0;
  }
  if (own_output) {
    for (auto& block : shape.output_blocks)
      block.offset_elems = 0;
  }
}

} // namespace

schedule::Shape blocksShape(Collective collective, int ranks, std::uint64_t count, std::uint64_t element_bytes) {
  schedule::Shape shape;
  shape.element_bytes = element_bytes;
  for (int rank = 0; rank < ranks; ++rank) {
    shape.input_blocks.push_back({static_cast<std::uint64_t>(rank) * count, count});
  }
  finishBlocks(collective, shape);
  return shape;
}

schedule::Shape blocksShape(Collective collective, std::span<const std::size_t> counts, const std::size_t* displs,
                            std::uint64_t element_bytes) {
  schedule::Shape shape;
  shape.element_bytes = element_bytes;
  std::uint64_t packed = 0;
  for (std::size_t rank = 0; rank < counts.size(); ++rank) {
    shape.input_blocks.push_back({displs != nullptr ? displs[rank] : packed, counts[rank]});
    packed += counts[rank];
  }
  finishBlocks(collective, shape);
  return shape;
}

std::vector<schedule::Extent> neighborBlocks(int ranks, const std::vector<Neighbor>& neighbors,
                                             std::span<const std::size_t> counts, const std::size_t* displs) {
  std::vector<schedule::Extent> blocks(static_cast<std::size_t>(ranks));
  std::uint64_t packed = 0;
  for (std::size_t i = 0; i < neighbors.size(); ++i) {
    const std::uint64_t count = counts[counts.size() == 1 ? 0 : i];
    blocks[static_cast<std::size_t>(neighbors[i].rank)] = {displs != nullptr ? displs[i] : packed, count};
    packed += count;
  }
  return blocks;
}

void setUniformShape(Call& call, int ranks) {
  const std::size_t element = dtypeBytes(call.dtype);
  if (schedule::movesBlocks(call.collective)) {
    call.shape = blocksShape(call.collective, ranks, call.count, element);
    return;
  }
  call.shape = {};
  call.shape.element_bytes = element;
  call.shape.count = call.count;
}

namespace {

using base::invalid;

/// The dtypes for which an op is defined, as text for errors.
const char* dtypesOf(ReduceOp op) {
  switch (op) {
    case GOSS_PREMUL_SUM:
      return "a floating dtype";
    case GOSS_BAND:
    case GOSS_BOR:
    case GOSS_BXOR:
      return "an integer dtype";
    case GOSS_LAND:
    case GOSS_LOR:
    case GOSS_LXOR:
      return "an integer dtype or bool";
    default:
      return "numbers (of bool there are land, lor, lxor, min and max)";
  }
}

Status validateReduction(const Call& call) {
  const std::string_view name = schedule::nameOf(call.collective);
  if (static_cast<unsigned>(call.op) >= GOSS_OP_COUNT) {
    return invalid(fmt::format("{}: unknown op {}; use GOSS_SUM .. GOSS_LXOR", name, static_cast<int>(call.op)));
  }
  if (!kernels::supported(call.dtype, call.op)) {
    return invalid(
        fmt::format("{}: {} needs {}, not {}", name, opName(call.op), dtypesOf(call.op), dtypeName(call.dtype)));
  }
  const bool prefix = call.collective == Collective::scan || call.collective == Collective::exscan;
  if (prefix && call.op == GOSS_AVG)
    return invalid(fmt::format("{}: GOSS_AVG has no meaning here; use GOSS_SUM", name));
  return Status::ok();
}

Status validateCodecs(const Call& call, int size) {
  const std::string_view name = schedule::nameOf(call.collective);
  if (!schedule::canCompress(call.collective)) {
    return Status::error(GOSS_ERR_UNSUPPORTED, fmt::format("{} takes no codec; options.codec must be NULL, not '{}'",
                                                           name, call.codecs->text));
  }
  if (call.codecs->gathers() && call.collective != Collective::allReduce) {
    return Status::error(
        GOSS_ERR_UNSUPPORTED,
        fmt::format("{}: codec '{}' has a momentum, which all_reduce alone keeps", name, call.codecs->text));
  }
  const bool encodes_sums = schedule::reduces(call.collective) && call.collective != Collective::reduceScatter;
  const ErrorFeedback& feedback = call.codecs->contribution.feedback;
  if (!encodes_sums && feedback.server && !feedback.worker) {
    return invalid(
        fmt::format("{}: codec '{}': nobody encodes a sum here, so at=server would keep nothing; use "
                    "at=worker or leave it out",
                    name, call.codecs->text));
  }
  if (call.codecs->multiPhase()) {
    if (call.collective != Collective::allReduce) {
      return Status::error(
          GOSS_ERR_UNSUPPORTED,
          fmt::format("{}: codec '{}' works in phases, which all_reduce alone runs", name, call.codecs->text));
    }
    RunJob trial; // A run of no elements, which refuses what the codec cannot do for so many ranks.
    trial.ranks = size;
    if (auto run = call.codecs->contribution.codec->start(trial); !run.isOk()) return run.status();
  }
  if (call.dtype != GOSS_FLOAT32 && call.dtype != GOSS_FLOAT16 && call.dtype != GOSS_BFLOAT16) {
    return invalid(fmt::format("{}: codec '{}' takes float32, float16 and bfloat16, not {}", name, call.codecs->text,
                               dtypeName(call.dtype)));
  }
  const bool sums = call.op == GOSS_SUM || call.op == GOSS_AVG || call.op == GOSS_PREMUL_SUM;
  if (schedule::reduces(call.collective) && !sums) {
    return invalid(fmt::format("{}: codec '{}' takes GOSS_SUM, GOSS_AVG and GOSS_PREMUL_SUM, not {}", name,
                               call.codecs->text, opName(call.op)));
  }
  if (call.tensor == 0 && call.codecs->feedback()) {
    return invalid(
        fmt::format("{}: codec '{}' keeps error feedback; name the vector in options.tensor", name, call.codecs->text));
  }
  return Status::ok();
}

/// Checks this rank's lists of neighbours. If they do not match those of other ranks, a rank waits until its timeout.
Status validateNeighbors(const Call& call, int size) {
  const std::string_view name = schedule::nameOf(call.collective);
  for (const bool is_source : {true, false}) {
    const std::string_view list = is_source ? "sources" : "destinations";
    std::vector<bool> seen(static_cast<std::size_t>(size));
    for (const auto& [rank, weight] : is_source ? call.neighborhood->sources : call.neighborhood->destinations) {
      if (rank < 0 || rank >= size)
        return invalid(
            fmt::format("{}: {} among the {} is no rank of this communicator (0..{})", name, rank, list, size - 1));
      if (seen[static_cast<std::size_t>(rank)])
        return invalid(fmt::format("{}: rank {} is twice among the {}", name, rank, list));
      if (!std::isfinite(weight)) return invalid(fmt::format("{}: rank {} has weight {}", name, rank, weight));
      seen[static_cast<std::size_t>(rank)] = true;
    }
  }
  if (!std::isfinite(call.neighborhood->self_weight))
    return invalid(fmt::format("{}: self_weight is {}", name, call.neighborhood->self_weight));
  if (call.collective != Collective::neighborAllReduce) return Status::ok();
  if (!kernels::supported(call.dtype, GOSS_PREMUL_SUM))
    return invalid(fmt::format("{}: weights need a floating dtype, not {}", name, dtypeName(call.dtype)));
  const std::vector<Neighbor>& to = call.neighborhood->destinations;
  const bool alike = std::ranges::all_of(to, [&](const Neighbor& d) { return d.weight == to.front().weight; });
  if (alike || call.codecs == nullptr || !call.codecs->feedback()) return Status::ok();
  return Status::error(GOSS_ERR_UNSUPPORTED,
                       fmt::format("{}: codec '{}' keeps the loss of one encoding, but the destinations have different "
                                   "weights; move them to the sources",
                                   name, call.codecs->text));
}

constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 62;

Status checkExtents(std::string_view name, std::string_view buffer, const std::vector<schedule::Extent>& blocks,
                    std::uint64_t element_bytes) {
  const std::uint64_t most = kMaxBytes / element_bytes;
  for (std::size_t rank = 0; rank < blocks.size(); ++rank) {
    const auto [offset, count] = blocks[rank];
    if (count <= most && offset <= most - count) continue;
    return invalid(fmt::format("{}: {} elements at displacement {} of {}, for rank {}, do not fit in memory", name,
                               count, offset, buffer, rank));
  }
  return Status::ok();
}

/// If blocks overlapped, the message that comes last would decide the contents.
Status checkDisjoint(std::string_view name, const std::vector<schedule::Extent>& blocks) {
  std::vector<std::size_t> order;
  for (std::size_t rank = 0; rank < blocks.size(); ++rank)
    if (blocks[rank].count_elems > 0) order.push_back(rank);
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return blocks[a].offset_elems < blocks[b].offset_elems; });
  const auto overlap = std::adjacent_find(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return blocks[b].offset_elems - blocks[a].offset_elems < blocks[a].count_elems;
  });
  if (overlap == order.end()) return Status::ok();
  return invalid(fmt::format("{}: the blocks of ranks {} and {} overlap in recv", name, overlap[0], overlap[1]));
}

/// Validates the blocks of a v-variant.
Status validateBlocks(const Call& call) {
  const std::string_view name = schedule::nameOf(call.collective);
  const std::uint64_t element = call.shape.element_bytes;
  if (Status status = checkExtents(name, "send", call.shape.input_blocks, element); !status.isOk()) return status;
  if (Status status = checkExtents(name, "recv", call.shape.output_blocks, element); !status.isOk()) return status;
  const bool receives_all = call.collective == Collective::allGather || call.collective == Collective::allToAll ||
                            isAmongNeighbors(call.collective);
  return receives_all ? checkDisjoint(name, call.shape.output_blocks) : Status::ok();
}

} // namespace

Status validate(const Call& call, int size) {
  const std::string_view name = schedule::nameOf(call.collective);
  if (dtypeBytes(call.dtype) == 0) {
    return invalid(fmt::format("{}: unknown dtype {}", name, static_cast<int>(call.dtype)));
  }
  if (schedule::hasRoot(call.collective) && (call.root < 0 || call.root >= size)) {
    return invalid(fmt::format("{}: root {} is not a rank of this communicator (0..{})", name, call.root, size - 1));
  }
  if (call.timeout_ms < 0)
    return invalid(fmt::format("{}: timeout_ms is {}; use 0 for the default", name, call.timeout_ms));
  const bool per_rank = !call.uneven && !call.shape.input_blocks.empty();
  if (call.count > kMaxBytes / call.shape.element_bytes / (per_rank ? static_cast<std::uint64_t>(size) : 1)) {
    return invalid(fmt::format("{}: {} elements do not fit in memory", name, call.count));
  }
  if (isAmongNeighbors(call.collective)) {
    if (Status status = validateNeighbors(call, size); !status.isOk()) return status;
  }
  if (call.uneven) {
    if (Status status = validateBlocks(call); !status.isOk()) return status;
  }
  if (schedule::reduces(call.collective)) {
    if (Status status = validateReduction(call); !status.isOk()) return status;
  }
  return call.codecs != nullptr ? validateCodecs(call, size) : Status::ok();
}

} // namespace goss
