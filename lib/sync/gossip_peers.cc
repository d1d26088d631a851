#include "sync/gossip_peers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/wire.h"
#include "gossamer/random.h"

namespace goss::sync {

namespace {

constexpr std::size_t kLengthBytes = sizeof(std::uint64_t);
constexpr std::size_t kScratchAlignment = 64;
/// Names the whole model for codecs that keep state. A rule that exchanges other vectors with its codec has none that
/// keep error feedback (Rule::Needs::same_elements), or names them apart.
constexpr std::uint64_t kTensor = 1;
constexpr std::uint64_t kOtherTensor = 2; ///< A vector that such a rule exchanges after it has stopped the first.

Randomness randomnessOf(std::uint64_t draw, int rank) {
  RandomContext context;
  context.step = static_cast<std::uint32_t>(draw);
  context.tensor = static_cast<std::uint32_t>(kTensor);
  return {PrivateStream(context, static_cast<std::uint32_t>(rank)), SharedStream(context)};
}

/// change += weight (theirs - own).
void addDifference(double weight, std::span<const float> theirs, std::span<const float> own, std::span<double> change) {
  for (std::size_t i = 0; i < change.size(); ++i) {
    change[i] += weight * (static_cast<double>(theirs[i]) - static_cast<double>(own[i]));
  }
}

} // namespace

Result<std::unique_ptr<GossipPeers>> GossipPeers::make(Channel& channel, const std::string& topology,
                                                       std::span<const std::int32_t> properties,
                                                       std::shared_ptr<const Codec> codec) {
  std::unique_ptr<GossipPeers> made(new GossipPeers(channel, std::move(codec)));
  if (topology.empty()) {
    return made;
  }
  Status status = called(goss_topology_create(topology.c_str(), channel.size(), &made->topology_));
  for (const std::int32_t property : properties) {
    status = status.isOk() ? called(goss_topology_require(made->topology_, property)) : status;
  }
  if (status.isOk()) {
    status = called(goss_topology_period(made->topology_, &made->period_));
  }
  if (!status.isOk()) {
    return status;
  }
  return made;
}

GossipPeers::~GossipPeers() { goss_topology_destroy(topology_); }

Result<goss_neighborhood> GossipPeers::neighbors(std::uint64_t round, int place) const {
  goss_neighborhood neighborhood = GOSS_NEIGHBORHOOD_INIT;
  Status status = called(goss_topology_neighbors(topology_, round, place, &neighborhood));
  if (!status.isOk()) {
    return status;
  }
  return neighborhood;
}

Result<std::vector<int>> GossipPeers::partners(std::uint64_t round, int rank) const {
  const Result<goss_neighborhood> found = neighbors(round, rank);
  if (!found.isOk()) {
    return found.status();
  }
  std::set<int> ranks;
  for (std::size_t k = 0; k < found.value().source_count; ++k) {
    ranks.insert(found.value().sources[k].rank);
  }
  for (std::size_t k = 0; k < found.value().destination_count; ++k) {
    ranks.insert(found.value().destinations[k].rank);
  }
  return std::vector<int>(ranks.begin(), ranks.end());
}

Status GossipPeers::mix(std::span<float> values, std::uint64_t round, std::span<const int> order) {
  const auto place =
      order.empty() ? rank() : static_cast<int>(std::find(order.begin(), order.end(), rank()) - order.begin());
  Result<goss_neighborhood> found = neighbors(round, place);
  if (!found.isOk()) {
    return found.status();
  }
  goss_neighborhood neighborhood = found.value();
  std::vector<goss_neighbor> sources(neighborhood.sources, neighborhood.sources + neighborhood.source_count);
  std::vector<goss_neighbor> destinations(neighborhood.destinations,
                                          neighborhood.destinations + neighborhood.destination_count);
  for (std::vector<goss_neighbor>* list : {&sources, &destinations}) {
    for (goss_neighbor& neighbor : *list) {
      neighbor.rank = order.empty() ? neighbor.rank : order[static_cast<std::size_t>(neighbor.rank)];
    }
  }
  neighborhood.sources = sources.data();
  neighborhood.destinations = destinations.data();
  return channel_.neighborSum({values, kTensor}, neighborhood);
}

Status GossipPeers::mixNumber(double& value, std::uint64_t round) {
  const Result<goss_neighborhood> neighborhood = neighbors(round, rank());
  return neighborhood.isOk() ? channel_.neighborSum(value, neighborhood.value()) : neighborhood.status();
}

Result<double> GossipPeers::startPush(std::span<float> values, double& number, std::uint64_t round) {
  Result<goss_neighborhood> found = neighbors(round, rank());
  if (!found.isOk()) {
    return found.status();
  }
  goss_neighborhood others = found.value();
  others.self_weight = 0;
  Status status = channel_.startNeighborSum(values, others, &flying_);
  if (status.isOk()) {
    status = channel_.startNeighborSum(number, others, &flying_number_);
  }
  if (!status.isOk()) {
    return status;
  }
  return found.value().self_weight;
}

Status GossipPeers::arrive() {
  Status status = flying_ != nullptr ? channel_.wait(&flying_) : Status::ok();
  if (status.isOk() && flying_number_ != nullptr) {
    status = channel_.wait(&flying_number_, false);
  }
  return status;
}

Status GossipPeers::meet(int partner, std::span<float> values) {
  const goss_neighbor other = {partner, 0, 0.5};
  const goss_neighbor same = {partner, 0, 1.0};
  goss_neighborhood neighborhood = GOSS_NEIGHBORHOOD_INIT;
  if (partner != rank()) {
    neighborhood.self_weight = 0.5;
    neighborhood.sources = &other;
    neighborhood.destinations = &same;
    neighborhood.source_count = neighborhood.destination_count = 1;
  }
  return channel_.neighborSum({values, kTensor}, neighborhood);
}

std::span<std::byte> GossipPeers::scratchFor(std::size_t count) {
  scratch_.resize(codec_->scratchBytes(count) + kScratchAlignment);
  const auto address = reinterpret_cast<std::uintptr_t>(scratch_.data());
  const std::size_t skip = (kScratchAlignment - address % kScratchAlignment) % kScratchAlignment;
  return std::span(scratch_).subspan(skip, scratch_.size() - kScratchAlignment);
}

Status GossipPeers::encode(std::span<const float> values, std::uint64_t draw, bool contracts) {
  framed_.assign(kLengthBytes + codec_->maxBytes(values.size()), std::byte{0});
  EncodeSegment segment{0, values.size(), std::span(framed_).subspan(kLengthBytes)};
  EncodeJob job;
  job.values = values;
  job.feedback = contracts;
  job.random = randomnessOf(draw, rank());
  job.scratch = scratchFor(values.size());
  job.segments = {&segment, 1};
  Status status = codec_->encode(job);
  base::storeLittleEndian(framed_.data(), static_cast<std::uint64_t>(segment.bytes));
  return status;
}

Status GossipPeers::decode(std::span<const std::byte> framed, std::uint64_t draw, std::span<float> values) {
  const auto bytes = base::loadLittleEndian<std::uint64_t>(framed.data());
  if (bytes > framed.size() - kLengthBytes) {
    return Status::error(GOSS_ERR_PROTOCOL, "a neighbour's payload says that it is longer than its message");
  }
  const PayloadView payload = framed.subspan(kLengthBytes, bytes);
  DecodeJob job;
  job.payloads = {&payload, 1};
  job.out = values;
  job.shared = randomnessOf(draw, rank()).shared;
  job.scratch = scratchFor(values.size());
  return codec_->decode(job);
}

Status GossipPeers::mixEncoded(const Encoded& encoded, std::uint64_t round, std::uint64_t draw) {
  if (codec_ == nullptr) {
    std::copy(encoded.values.begin(), encoded.values.end(), encoded.own.begin());
    return differences(encoded.values, encoded.change, round);
  }
  const Result<goss_neighborhood> found = neighbors(round, rank());
  if (!found.isOk()) {
    return found.status();
  }
  const goss_neighborhood& neighborhood = found.value();
  if (Status status = encode(encoded.values, draw, encoded.contracts); !status.isOk()) {
    return status;
  }
  received_.resize(framed_.size() * neighborhood.source_count);
  Status status = channel_.neighborGather({framed_, received_, encoded.values.size_bytes()}, neighborhood);
  if (status.isOk()) {
    status = decode(framed_, draw, encoded.own);
  }
  std::fill(encoded.change.begin(), encoded.change.end(), 0.0);
  std::vector<float> theirs(encoded.values.size());
  for (std::size_t k = 0; status.isOk() && k < neighborhood.source_count; ++k) {
    status = decode(std::span<const std::byte>(received_).subspan(k * framed_.size(), framed_.size()), draw, theirs);
    addDifference(neighborhood.sources[k].weight, theirs, encoded.own, encoded.change);
  }
  return status;
}

Status GossipPeers::meanEncoded(const Encoded& encoded, std::uint64_t draw) {
  if (codec_ == nullptr) {
    std::copy(encoded.values.begin(), encoded.values.end(), encoded.own.begin());
    std::vector<float> values(encoded.values.begin(), encoded.values.end());
    Status status = exactMean(values);
    std::copy(values.begin(), values.end(), encoded.change.begin());
    return status;
  }
  if (Status status = encode(encoded.values, draw, encoded.contracts); !status.isOk()) {
    return status;
  }
  received_.resize(framed_.size() * static_cast<std::size_t>(size()));
  Status status = gather(framed_, received_, encoded.values.size_bytes());
  if (status.isOk()) {
    status = decode(framed_, draw, encoded.own);
  }
  std::fill(encoded.change.begin(), encoded.change.end(), 0.0);
  std::vector<float> theirs(encoded.values.size());
  for (std::size_t from = 0; status.isOk() && from < received_.size(); from += framed_.size()) {
    status = decode(std::span<const std::byte>(received_).subspan(from, framed_.size()), draw, theirs);
    for (std::size_t i = 0; i < theirs.size(); ++i) {
      encoded.change[i] += static_cast<double>(theirs[i]) / size();
    }
  }
  return status;
}

Status GossipPeers::differences(std::span<const float> values, std::span<double> change, std::uint64_t round) {
  const Result<goss_neighborhood> found = neighbors(round, rank());
  if (!found.isOk()) {
    return found.status();
  }
  const goss_neighborhood& neighborhood = found.value();
  std::vector<float> theirs(values.size() * neighborhood.source_count);
  Status status = channel_.neighborGather(
      {std::as_bytes(values), std::as_writable_bytes(std::span(theirs)), values.size_bytes()}, neighborhood);
  std::fill(change.begin(), change.end(), 0.0);
  for (std::size_t k = 0; status.isOk() && k < neighborhood.source_count; ++k) {
    addDifference(neighborhood.sources[k].weight,
                  std::span<const float>(theirs).subspan(k * values.size(), values.size()), values, change);
  }
  return status;
}

Status GossipPeers::mean(std::span<float> values, bool other) {
  goss_request_t request = nullptr;
  const Status started = channel_.startMean({values, other ? kOtherTensor : kTensor}, &request);
  return started.isOk() ? channel_.wait(&request) : started;
}

Result<double> GossipPeers::weight(std::uint64_t round, int to, int from) const {
  double weight = 0;
  const Status status = called(goss_topology_weight(topology_, round, to, from, &weight));
  return status.isOk() ? Result<double>(weight) : Result<double>(status);
}

Result<double> GossipPeers::largest(double value) {
  std::vector<double> of_ranks(static_cast<std::size_t>(size()));
  const Status status = channel_.gather(value, of_ranks);
  return status.isOk() ? Result<double>(*std::max_element(of_ranks.begin(), of_ranks.end())) : Result<double>(status);
}

Status GossipPeers::exactMean(std::span<float> values) { return channel_.mean(values); }

Status GossipPeers::gather(std::span<const std::byte> mine, std::span<std::byte> all, std::size_t meaning_bytes) {
  goss_request_t request = nullptr;
  const Status started = channel_.startGather({mine, all, meaning_bytes}, &request);
  return started.isOk() ? channel_.wait(&request) : started;
}

Status GossipPeers::gatherBits(std::span<const float> values, bool (*is_set)(float), std::size_t meaning_bytes,
                               goss_request_t* request) {
  framed_.assign((values.size() + 7) / 8, std::byte{0});
  for (std::size_t i = 0; i < values.size(); ++i) {
    framed_[i / 8] |= static_cast<std::byte>((is_set(values[i]) ? 1u : 0u) << (i % 8));
  }
  received_.resize(framed_.size() * static_cast<std::size_t>(size()));
  return channel_.startGather({framed_, received_, meaning_bytes}, request);
}

void GossipPeers::addBits(std::span<float> sum, float set, float clear) const {
  for (std::size_t from = 0; from < received_.size(); from += framed_.size()) {
    for (std::size_t i = 0; i < sum.size(); ++i) {
      const auto bit = static_cast<unsigned>(received_[from + i / 8]) >> (i % 8) & 1u;
      sum[i] += bit == 1 ? set : clear;
    }
  }
}

Status GossipPeers::votes(std::span<const float> values, std::span<float> sum, std::uint64_t step) {
  constexpr double kHasZeros = 1, kNotFinite = 2;
  double mine = 0;
  for (const float value : values) {
    mine = std::max(mine, !std::isfinite(value) ? kNotFinite : value == 0 ? kHasZeros : 0);
  }
  goss_request_t request = nullptr;
  Status status = gatherBits(
      values, [](float value) { return value >= 0; }, values.size_bytes(), &request);
  if (!status.isOk()) {
    return status;
  }
  std::vector<double> of_ranks(static_cast<std::size_t>(size()));
  status = channel_.gather(mine, of_ranks); // while the bits travel
  const Status arrived = channel_.wait(&request);
  if (!status.isOk() || !arrived.isOk()) {
    return status.isOk() ? arrived : status;
  }
  const auto bad = std::ranges::find(of_ranks, kNotFinite);
  if (bad != of_ranks.end()) {
    return Status::error(
        GOSS_ERR_INVALID_ARGUMENT,
        fmt::format("rank {}'s gradients or momenta are not finite in step {}", bad - of_ranks.begin(), step));
  }
  std::fill(sum.begin(), sum.end(), 0.0f);
  addBits(sum, 1, -1);
  if (std::ranges::find(of_ranks, kHasZeros) == of_ranks.end()) {
    return status;
  }
  status = gatherBits(
      values, [](float value) { return value == 0; }, 0, &request);
  if (status.isOk()) {
    status = channel_.wait(&request, false);
  }
  if (status.isOk()) {
    addBits(sum, -1, 0); // takes back what their first bit has added
  }
  return status;
}

} // namespace goss::sync
