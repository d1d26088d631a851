#include "tests/random/work.h"

#include <algorithm>
#include <cstddef>

#include "tests/matrix/call.h"

namespace goss::test {

namespace {

int rankOf(goss_comm_t comm) {
  std::int32_t rank = 0;
  return goss_comm_rank(comm, &rank) == GOSS_SUCCESS ? rank : 0;
}

int sizeOf(goss_comm_t comm) {
  std::int32_t size = 1;
  return goss_comm_size(comm, &size) == GOSS_SUCCESS ? size : 1;
}

class CollectiveWork : public Work {
 public:
  CollectiveWork(const Step& step, goss_comm_t comm)
      : comm_(comm), call_(caseFor(step, sizeOf(comm))), buffers_(call_, rankOf(comm), sizeOf(comm)) {}

  goss_status start(std::uint32_t flags, std::vector<goss_request_t>* requests) override {
    if (requests == nullptr) return call(comm_, call_, buffers_, flags);
    requests->push_back(nullptr);
    return call(comm_, call_, buffers_, flags, &requests->back());
  }
  goss_status startRest(std::vector<goss_request_t>&) override { return GOSS_SUCCESS; }
  void reset() override { buffers_.reset(); }
  std::string checkMessage(std::size_t, const goss_message&) override { return ""; }
  [[nodiscard]] std::string difference() const override { return buffers_.difference(); }
  [[nodiscard]] std::string describe() const override {
    return call_.describe() + " on rank " + std::to_string(buffers_.rank()) + " of " + std::to_string(buffers_.ranks());
  }

 private:
  goss_comm_t comm_;
  Case call_;
  Buffers buffers_;
};

/// Some messages to one rank and as many from another.
class ExchangeWork : public Work {
 public:
  ExchangeWork(const Step& step, goss_comm_t comm, std::size_t place)
      : step_(step), comm_(comm), rank_(rankOf(comm)), ranks_(sizeOf(comm)), first_tag_(static_cast<int>(place) * 8) {
    const int shift = step.shift % ranks_;
    to_ = (rank_ + shift) % ranks_;
    from_ = (rank_ + ranks_ - shift) % ranks_;
    for (int message = 0; message < step.messages; ++message) {
      sent_.push_back(values(message, rank_));
      expected_.push_back(values(message, from_));
      expected_.back().resize(expected_.back().size() + kRoomElems * element(), kPoison);
    }
    reset();
  }

  goss_status start(std::uint32_t flags, std::vector<goss_request_t>* requests) override {
    if (requests == nullptr && step_.start == Start::blocking) return sendAndReceive();
    if (step_.start != Start::later || !step_.late_receive) {
      if (const goss_status status = receive(flags, requests); status != GOSS_SUCCESS) return status;
    }
    goss_options options = GOSS_OPTIONS_INIT;
    options.flags = flags;
    for (int message = 0; message < step_.messages; ++message) {
      const goss_status status = goss_send(comm_, sent_[at(message)].data(), step_.call.count, step_.call.dtype, to_,
                                           first_tag_ + message, &options, next(requests));
      if (status != GOSS_SUCCESS) return status;
    }
    return GOSS_SUCCESS;
  }

  goss_status startRest(std::vector<goss_request_t>& requests) override {
    return step_.start == Start::later && step_.late_receive ? receive(0, &requests) : GOSS_SUCCESS;
  }

  void reset() override {
    received_.assign(expected_.size(), {});
    for (std::size_t i = 0; i < expected_.size(); ++i)
      received_[i].assign(expected_[i].size(), kPoison);
  }

  std::string checkMessage(std::size_t index, const goss_message& message) override {
    const auto messages = static_cast<std::size_t>(step_.messages);
    const std::size_t first = step_.late_receive ? messages : 0;
    if (index < first || index >= first + messages) return ""; // A send.
    const int tag = first_tag_ + step_.messages - 1 - static_cast<int>(index - first);
    if (message.source == from_ && message.tag == tag && message.bytes == step_.call.count * element()) return "";
    return "the receive tells of " + std::to_string(message.bytes) + " bytes from rank " +
           std::to_string(message.source) + " with tag " + std::to_string(message.tag) + " instead of " +
           std::to_string(step_.call.count * element()) + ", " + std::to_string(from_) + ", " + std::to_string(tag);
  }

  [[nodiscard]] std::string difference() const override {
    for (std::size_t i = 0; i < expected_.size(); ++i) {
      const auto [is, wanted] = std::mismatch(received_[i].begin(), received_[i].end(), expected_[i].begin());
      if (is == received_[i].end()) continue;
      return "byte " + std::to_string(is - received_[i].begin()) + " of message " + std::to_string(i);
    }
    return "";
  }

  [[nodiscard]] std::string describe() const override {
    return step_.describe() + " on rank " + std::to_string(rank_) + " of " + std::to_string(ranks_);
  }

 private:
  static constexpr std::byte kPoison{0xA5};
  static constexpr std::size_t kRoomElems = 3; ///< Elements by which receives are longer than their messages.

  static std::size_t at(int message) { return static_cast<std::size_t>(message); }
  static goss_request_t* next(std::vector<goss_request_t>* requests) {
    return requests == nullptr ? nullptr : &requests->emplace_back(nullptr);
  }
  [[nodiscard]] std::size_t element() const { return goss_dtype_size(step_.call.dtype); }

  [[nodiscard]] std::vector<std::byte> values(int message, int sender) const {
    Case source = step_.call;
    source.salt += static_cast<std::uint64_t>(message) * 7919;
    std::vector<double> numbers;
    for (std::size_t i = 0; i < source.count; ++i)
      numbers.push_back(inputValue(source, sender, ranks_, i));
    return encode(source.dtype, numbers);
  }

  goss_status sendAndReceive() {
    for (int message = 0; message < step_.messages; ++message) {
      goss_message got{};
      const goss_status status =
          goss_sendrecv(comm_, sent_[at(message)].data(), step_.call.count, to_, received_[at(message)].data(),
                        step_.call.count + kRoomElems, from_, step_.call.dtype, first_tag_ + message, nullptr, &got);
      if (status != GOSS_SUCCESS) return status;
    }
    return GOSS_SUCCESS;
  }

  /// The last message first.
  goss_status receive(std::uint32_t flags, std::vector<goss_request_t>* requests) {
    goss_options options = GOSS_OPTIONS_INIT;
    options.flags = flags;
    for (int message = step_.messages - 1; message >= 0; --message) {
      const goss_status status = goss_recv(comm_, received_[at(message)].data(), step_.call.count + kRoomElems,
                                           step_.call.dtype, from_, first_tag_ + message, &options, next(requests));
      if (status != GOSS_SUCCESS) return status;
    }
    return GOSS_SUCCESS;
  }

  Step step_;
  goss_comm_t comm_;
  int rank_;
  int ranks_;
  int first_tag_;
  int to_ = 0;
  int from_ = 0;
  std::vector<std::vector<std::byte>> sent_; ///< By message, as the next two.
  std::vector<std::vector<std::byte>> expected_;
  std::vector<std::vector<std::byte>> received_;
};

} // namespace

std::unique_ptr<Work> makeWork(const Step& step, goss_comm_t comm, std::size_t place) {
  if (step.kind == Step::Kind::exchange) return std::make_unique<ExchangeWork>(step, comm, place);
  return std::make_unique<CollectiveWork>(step, comm);
}

} // namespace goss::test
