/// Communicators, and memory that ranks of a host map.
#ifndef GOSSAMER_CPP_COMM_HPP_
#define GOSSAMER_CPP_COMM_HPP_

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "gossamer/abi.h"
#include "gossamer/cpp/buffer.hpp"
#include "gossamer/cpp/calls.hpp"
#include "gossamer/cpp/config.hpp"
#include "gossamer/cpp/error.hpp"
#include "gossamer/cpp/request.hpp"

namespace gossamer {

/// `count` elements of goss_mem_alloc or goss_mem_alloc_device; the host must not touch those of a device. Free it
/// after the operations that use it are complete.
template <Element T>
class Memory {
 public:
  Memory(detail::SharedComm comm, void* memory, std::size_t count)
      : comm_(std::move(comm)), memory_(static_cast<T*>(memory)), count_(count) {}
  Memory(Memory&& other) noexcept
      : comm_(std::move(other.comm_)),
        memory_(std::exchange(other.memory_, nullptr)),
        count_(std::exchange(other.count_, 0)) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(comm_, other.comm_);
    std::swap(memory_, other.memory_);
    std::swap(count_, other.count_);
    return *this;
  }
  ~Memory() {
    if (memory_ != nullptr) goss_mem_free(comm_->handle, memory_);
  }
  std::span<T> span() const { return {memory_, count_}; }

 private:
  detail::SharedComm comm_;
  T* memory_;
  std::size_t count_;
};

/// A group of ranks with its own operation order. Its collectives and messages, blocking, are those of Calls.
template <class Errors = Throwing>
class BasicComm : public Calls<Blocking, Errors> {
 public:
  template <class T>
  using Return = typename Errors::template Return<T>;

  /// Collective over all ranks of the new world: connects them. `config`: by default, the launcher's environment.
  static Return<BasicComm> create(const Config& config = {}) {
    goss_config made;
    goss_comm_t handle = nullptr;
    goss_status status = config.raw(made);
    if (status == GOSS_SUCCESS) status = goss_comm_create(&made, &handle);
    return Errors::finish(status, [&] { return BasicComm(handle); });
  }

  /// Owns a communicator that the C ABI or gossamer_mpi.h has made.
  explicit BasicComm(goss_comm_t handle) : Calls<Blocking, Errors>(std::make_shared<const detail::CommState>(handle)) {}
  BasicComm(BasicComm&&) noexcept = default;
  BasicComm& operator=(BasicComm&&) noexcept = default;
  BasicComm(const BasicComm&) = delete;
  BasicComm& operator=(const BasicComm&) = delete;
  ~BasicComm() = default;

  std::int32_t rank() const { return this->shared()->rank; }
  std::int32_t size() const { return this->shared()->size; }
  /// For C calls; owned by this object.
  goss_comm_t handle() const { return this->comm(); }

  /// The same calls, which hand out a request and return at once.
  Calls<Async, Errors> async() const { return Calls<Async, Errors>(this->shared()); }
  /// The same calls, planned and not started.
  Calls<Persistent, Errors> persistent() const { return Calls<Persistent, Errors>(this->shared()); }

  /// Collective. Ranks of one color form a communicator, in the order of (key, old rank); none for a color below 0.
  Return<std::optional<BasicComm>> split(std::int32_t color, std::int32_t key = 0) {
    goss_comm_t made = nullptr;
    const goss_status status = goss_comm_split(handle(), color, key, &made);
    return Errors::finish(status, [&] { return made == nullptr ? std::optional<BasicComm>() : BasicComm(made); });
  }
  /// Collective. The same ranks with an order of operations of its own.
  Return<BasicComm> dup() {
    goss_comm_t made = nullptr;
    const goss_status status = goss_comm_dup(handle(), &made);
    return Errors::finish(status, [&] { return BasicComm(made); });
  }
  /// Collective over the surviving ranks, which agree on who they are. Afterwards this communicator has failed.
  Return<BasicComm> shrink(const Options& options = {}) {
    goss_comm_t made = nullptr;
    const goss_options given = options.raw(0);
    const goss_status status = goss_comm_shrink(handle(), &given, &made);
    return Errors::finish(status, [&] { return BasicComm(made); });
  }

  /// Name of the transport that reaches `peer`.
  Return<std::string> transport(std::int32_t peer) const {
    const char* name = "";
    const goss_status status = goss_comm_transport(handle(), peer, &name);
    return Errors::finish(status, [&] { return std::string(name); });
  }
  /// Why the communicator refuses operations; nothing while it has not failed.
  std::optional<Error> error() const {
    goss_status status = GOSS_SUCCESS;
    const char* text = "";
    if (goss_comm_error(handle(), &status, &text) != GOSS_SUCCESS || status == GOSS_SUCCESS) return std::nullopt;
    return Error(status, text);
  }
  /// The rank that error() blames; -1: none.
  std::int32_t blamedRank() const {
    std::int32_t rank = -1;
    goss_comm_error_rank(handle(), &rank);
    return rank;
  }
  /// A descriptor that polls readable while a request is complete and not collected.
  Return<int> eventFd() const {
    int fd = -1;
    const goss_status status = goss_comm_event_fd(handle(), &fd);
    return Errors::finish(status, [&] { return fd; });
  }
  /// Local, from any thread: pending operations of all ranks fail.
  Return<void> abort(const std::string& reason) { return Errors::finish(goss_comm_abort(handle(), reason.c_str())); }
  /// Running totals of this rank.
  Return<goss_counters> counters() const {
    goss_counters counters;
    goss_counters_init(&counters, sizeof(counters));
    const goss_status status = goss_comm_counters(handle(), &counters);
    return Errors::finish(status, [&] { return counters; });
  }
  /// Which plans were compared, as JSON text; goss_comm_trials says what it holds.
  Return<std::string> trials() {
    char* json = nullptr;
    const goss_status status = goss_comm_trials(handle(), &json);
    return Errors::finish(status, [&] { return detail::takeText(json); });
  }

  /// Collective: measures the links between all ranks, and gives them as the text of a link file.
  Return<std::string> measureLinks(const Options& options = {}) {
    const goss_options given = options.raw(0);
    char* links = nullptr;
    const goss_status status = goss_comm_measure_links(handle(), &given, &links);
    return Errors::finish(status, [&] { return detail::takeText(links); });
  }

  /// Sends to `dest` and receives from `source` at the same time.
  template <SendBuffer Send,
            ReceiveBuffer Recv> // NOLINTNEXTLINE(readability-function-size): two ends, a tag and options
  requires SameElement<Send, Recv> Return<Message> sendrecv(Send&& send, std::int32_t dest, Recv&& recv,
                                                            std::int32_t source, std::int32_t tag = 0,
                                                            const Options& options = {}) {
    const std::span in(send);
    const std::span out(recv);
    const goss_options given = options.raw(0);
    goss_message got{kAnySource, kAnyTag, 0};
    const goss_status status = goss_sendrecv(handle(), in.data(), in.size(), dest, out.data(), out.size(), source,
                                             kDtypeOf<Send>, tag, &given, &got);
    return Errors::finish(status, [&] { return Message{got.source, got.tag, got.bytes}; });
  }
  /// Waits until a message is there that a recv with these arguments would receive, and leaves it there.
  Return<Message> probe(std::int32_t source, std::int32_t tag, const Options& options = {}) {
    const goss_options given = options.raw(0);
    goss_message got{kAnySource, kAnyTag, 0};
    const goss_status status = goss_probe(handle(), source, tag, &given, &got);
    return Errors::finish(status, [&] { return Message{got.source, got.tag, got.bytes}; });
  }
  /// As probe without waiting; nothing where there is no such message.
  Return<std::optional<Message>> iprobe(std::int32_t source, std::int32_t tag) {
    int found = 0;
    goss_message got{kAnySource, kAnyTag, 0};
    const goss_status status = goss_iprobe(handle(), source, tag, &found, &got);
    return Errors::finish(status, [&] {
      return found == 0 ? std::optional<Message>() : Message{got.source, got.tag, got.bytes};
    });
  }

  /// Memory that ranks of this host read and write in place.
  template <Element T>
  Return<Memory<T>> allocate(std::size_t count) {
    void* memory = nullptr;
    goss_status status = detail::expectFits<T>("goss_mem_alloc", count);
    if (status == GOSS_SUCCESS) status = goss_mem_alloc(handle(), count * sizeof(T), &memory);
    return Errors::finish(status, [&] { return Memory<T>(this->shared(), memory, count); });
  }
  /// Memory of the calling thread's current device.
  template <Element T>
  Return<Memory<T>> allocateOnDevice(std::size_t count) {
    void* memory = nullptr;
    goss_status status = detail::expectFits<T>("goss_mem_alloc_device", count);
    if (status == GOSS_SUCCESS) status = goss_mem_alloc_device(handle(), count * sizeof(T), &memory);
    return Errors::finish(status, [&] { return Memory<T>(this->shared(), memory, count); });
  }

  /// What codecs with feedback keep, for a checkpoint.
  Return<std::vector<std::byte>> exportCodecState() const {
    void* bytes = nullptr;
    std::size_t size = 0;
    const goss_status status = goss_codec_state_export(handle(), &bytes, &size);
    return Errors::finish(status, [&] { return detail::takeBytes(bytes, size); });
  }
  Return<void> importCodecState(std::span<const std::byte> bytes) {
    return Errors::finish(goss_codec_state_import(handle(), bytes.data(), bytes.size()));
  }
  /// What error feedback keeps of a tensor.
  Return<void> readCodecState(std::uint64_t tensor, std::span<float> values) const {
    return Errors::finish(goss_codec_state_read(handle(), tensor, values.data(), values.size()));
  }
  /// Forgets it; 0: of all tensors.
  Return<void> resetCodecState(std::uint64_t tensor = 0) {
    return Errors::finish(goss_codec_state_reset(handle(), tensor));
  }
  /// All ranks register the same. What `functions.context` points to lives as long as the last communicator.
  Return<void> registerCodec(const std::string& name, goss_codec_functions functions) {
    functions.size = sizeof(functions);
    return Errors::finish(goss_codec_register(handle(), name.c_str(), &functions));
  }

  /// For classes of this binding that are created from a communicator, such as windows.
  const detail::SharedComm& state() const { return this->shared(); }
};

} // namespace gossamer

#endif // GOSSAMER_CPP_COMM_HPP_
