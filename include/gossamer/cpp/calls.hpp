/// Collectives and messages, each written once for blocking, non-blocking and persistent calls.
#ifndef GOSSAMER_CPP_CALLS_HPP_
#define GOSSAMER_CPP_CALLS_HPP_

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

#include "gossamer/abi.h"
#include "gossamer/cpp/buffer.hpp"
#include "gossamer/cpp/error.hpp"
#include "gossamer/cpp/request.hpp"
#include "gossamer/cpp/topology.hpp"

namespace gossamer {

/// The modes of calls: a call returns nothing, a request, or a persistent request.
struct Blocking {
  template <class Errors>
  using Started = void;
  static constexpr std::uint32_t kFlags = 0;
};
struct Async {
  template <class Errors>
  using Started = BasicRequest<Errors>;
  static constexpr std::uint32_t kFlags = 0;
};
struct Persistent {
  template <class Errors>
  using Started = BasicPersistentRequest<Errors>;
  static constexpr std::uint32_t kFlags = GOSS_PERSISTENT;
};

namespace detail {

/// Makes a C call in a mode: `start(options, request)`.
template <class Mode, class Errors, class Start>
auto launch(const SharedComm& comm, const Options& options, Start&& start) {
  using Started = typename Mode::template Started<Errors>;
  const goss_options given = options.raw(Mode::kFlags);
  const goss_options* chosen = Mode::kFlags == 0 && options == Options{} ? nullptr : &given;
  if constexpr (std::is_void_v<Started>) {
    return Errors::finish(start(chosen, nullptr));
  } else {
    goss_request_t request = nullptr;
    const goss_status status = start(chosen, &request);
    return Errors::finish(status, [&] { return Started(comm, request); });
  }
}

} // namespace detail

/// The calls of a communicator in one mode. They are collective, but for send and recv. Where the C ABI ignores a
/// buffer (recv of reduce away from the root, say), an empty span may be given.
template <class Mode, class Errors>
class Calls {
 public:
  /// Nothing, a BasicRequest or a BasicPersistentRequest; or a Result of these.
  using Started = typename Mode::template Started<Errors>;
  using Outcome = typename Errors::template Return<Started>;

  explicit Calls(detail::SharedComm comm) : comm_(std::move(comm)) {}

  /// recv = op over all ranks' send. In place: the same buffer twice.
  template <SendBuffer Send, ReceiveBuffer Recv>
  requires SameElement<Send, Recv> Outcome allReduce(Send&& send, Recv&& recv, Op op = Op::sum,
                                                     const Options& options = {}) {
    const std::span in(send);
    const std::span out(recv);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      const goss_status status = detail::expectCount("goss_all_reduce", "recv", out.size(), in.size());
      if (status != GOSS_SUCCESS) return status;
      return goss_all_reduce(comm(), in.data(), out.data(), in.size(), kDtypeOf<Send>, raw(op), chosen, request);
    });
  }

  /// As allReduce; only `root` receives.
  template <SendBuffer Send, ReceiveBuffer Recv>
  requires SameElement<Send, Recv> Outcome reduce(Send&& send, Recv&& recv, Op op, std::int32_t root,
                                                  const Options& options = {}) {
    const std::span in(send);
    const std::span out(recv);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      const goss_status status = atRoot(root, "goss_reduce", "recv", out.size(), in.size());
      if (status != GOSS_SUCCESS) return status;
      return goss_reduce(comm(), in.data(), out.data(), in.size(), kDtypeOf<Send>, raw(op), root, chosen, request);
    });
  }

  /// Everybody's recv = the root's send.
  template <SendBuffer Send, ReceiveBuffer Recv>
  requires SameElement<Send, Recv> Outcome broadcast(Send&& send, Recv&& recv, std::int32_t root,
                                                     const Options& options = {}) {
    const std::span in(send);
    const std::span out(recv);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      const goss_status status = atRoot(root, "goss_broadcast", "send", in.size(), out.size());
      if (status != GOSS_SUCCESS) return status;
      return goss_broadcast(comm(), in.data(), out.data(), out.size(), kDtypeOf<Recv>, root, chosen, request);
    });
  }

  /// In place: the root's buffer goes to everybody's.
  template <ReceiveBuffer Buffer>
  Outcome broadcast(Buffer&& buffer, std::int32_t root, const Options& options = {}) {
    const std::span both(buffer);
    return broadcast(both, both, root, options);
  }

  /// recv = all ranks' send, in rank order. In place: send is recv's block of this rank.
  template <SendBuffer Send, ReceiveBuffer Recv>
  requires SameElement<Send, Recv> Outcome allGather(Send&& send, Recv&& recv, const Options& options = {}) {
    const std::span in(send);
    const std::span out(recv);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      const goss_status status = detail::expectCount("goss_all_gather", "recv", out.size(), in.size() * ranks());
      if (status != GOSS_SUCCESS) return status;
      return goss_all_gather(comm(), in.data(), out.data(), in.size(), kDtypeOf<Send>, chosen, request);
    });
  }

  /// As allGather, with a block of its own length for each rank.
  template <SendBuffer Send, ReceiveBuffer Recv>
  requires SameElement<Send, Recv> Outcome allGatherV(Send&& send, Recv&& recv, const Blocks& blocks,
                                                      const Options& options = {}) {
    const std::span in(send);
    const std::span out(recv);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      goss_status status = detail::expectBlocks("goss_all_gatherv", "recv", blocks, ranks(), out.size());
      if (status == GOSS_SUCCESS) {
        status = detail::expectCount("goss_all_gatherv", "send", in.size(), blocks.counts[self()]);
      }
      if (status != GOSS_SUCCESS) return status;
      return goss_all_gatherv(comm(), in.data(), out.data(), blocks.counts.data(), detail::displsOf(blocks),
                              kDtypeOf<Send>, chosen, request);
    });
  }

  /// recv = this rank's block of the reduction of send. In place: recv is send's block of this rank.
  template <SendBuffer Send, ReceiveBuffer Recv>
  requires SameElement<Send, Recv> Outcome reduceScatter(Send&& send, Recv&& recv, Op op = Op::sum,
                                                         const Options& options = {}) {
    const std::span in(send);
    const std::span out(recv);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      const goss_status status = detail::expectCount("goss_reduce_scatter", "send", in.size(), out.size() * ranks());
      if (status != GOSS_SUCCESS) return status;
      return goss_reduce_scatter(comm(), in.data(), out.data(), out.size(), kDtypeOf<Send>, raw(op), chosen, request);
    });
  }

  /// As reduceScatter, with counts[r] elements for rank r.
  template <SendBuffer Send, ReceiveBuffer Recv>
  requires SameElement<Send, Recv> Outcome reduceScatterV(Send&& send, Recv&& recv, std::span<const std::size_t> counts,
                                                          Op op = Op::sum, const Options& options = {}) {
    const std::span in(send);
    const std::span out(recv);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      goss_status status = detail::expectBlocks("goss_reduce_scatterv", "send", {counts}, ranks(), in.size());
      if (status == GOSS_SUCCESS) {
        status = detail::expectCount("goss_reduce_scatterv", "recv", out.size(), counts[self()]);
      }
      if (status != GOSS_SUCCESS) return status;
      return goss_reduce_scatterv(comm(), in.data(), out.data(), counts.data(), kDtypeOf<Send>, raw(op), chosen,
                                  request);
    });
  }

  /// Block j of send goes to rank j. In place: the same buffer twice.
  template <SendBuffer Send, ReceiveBuffer Recv>
  requires SameElement<Send, Recv> Outcome allToAll(Send&& send, Recv&& recv, const Options& options = {}) {
    const std::span in(send);
    const std::span out(recv);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      const std::size_t count = out.size() / ranks();
      goss_status status = detail::expectCount("goss_all_to_all", "send", in.size(), count * ranks());
      if (status == GOSS_SUCCESS) status = detail::expectCount("goss_all_to_all", "recv", out.size(), in.size());
      if (status != GOSS_SUCCESS) return status;
      return goss_all_to_all(comm(), in.data(), out.data(), count, kDtypeOf<Send>, chosen, request);
    });
  }

  /// As allToAll with blocks of any length and place.
  template <SendBuffer Send, ReceiveBuffer Recv>
  requires SameElement<Send, Recv> Outcome allToAllV(Send&& send, Recv&& recv, const Exchange& blocks,
                                                     const Options& options = {}) {
    const std::span in(send);
    const std::span out(recv);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      goss_status status = detail::expectBlocks("goss_all_to_allv", "send", blocks.send, ranks(), in.size());
      if (status == GOSS_SUCCESS) {
        status = detail::expectBlocks("goss_all_to_allv", "recv", blocks.recv, ranks(), out.size());
      }
      if (status != GOSS_SUCCESS) return status;
      return goss_all_to_allv(comm(), in.data(), blocks.send.counts.data(), detail::displsOf(blocks.send), out.data(),
                              blocks.recv.counts.data(), detail::displsOf(blocks.recv), kDtypeOf<Send>, chosen,
                              request);
    });
  }

  /// The root's recv = all ranks' send.
  template <SendBuffer Send, ReceiveBuffer Recv>
  requires SameElement<Send, Recv> Outcome gather(Send&& send, Recv&& recv, std::int32_t root,
                                                  const Options& options = {}) {
    const std::span in(send);
    const std::span out(recv);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      const goss_status status = atRoot(root, "goss_gather", "recv", out.size(), in.size() * ranks());
      if (status != GOSS_SUCCESS) return status;
      return goss_gather(comm(), in.data(), out.data(), in.size(), kDtypeOf<Send>, root, chosen, request);
    });
  }

  /// recv = this rank's block of the root's send.
  template <SendBuffer Send, ReceiveBuffer Recv>
  requires SameElement<Send, Recv> Outcome scatter(Send&& send, Recv&& recv, std::int32_t root,
                                                   const Options& options = {}) {
    const std::span in(send);
    const std::span out(recv);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      const goss_status status = atRoot(root, "goss_scatter", "send", in.size(), out.size() * ranks());
      if (status != GOSS_SUCCESS) return status;
      return goss_scatter(comm(), in.data(), out.data(), out.size(), kDtypeOf<Recv>, root, chosen, request);
    });
  }

  /// recv = op over send of ranks 0 to this one.
  template <SendBuffer Send, ReceiveBuffer Recv>
  requires SameElement<Send, Recv> Outcome scan(Send&& send, Recv&& recv, Op op = Op::sum,
                                                const Options& options = {}) {
    const std::span in(send);
    const std::span out(recv);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      const goss_status status = detail::expectCount("goss_scan", "recv", out.size(), in.size());
      if (status != GOSS_SUCCESS) return status;
      return goss_scan(comm(), in.data(), out.data(), in.size(), kDtypeOf<Send>, raw(op), chosen, request);
    });
  }

  /// As scan without this rank; rank 0's recv stays as it is.
  template <SendBuffer Send, ReceiveBuffer Recv>
  requires SameElement<Send, Recv> Outcome exscan(Send&& send, Recv&& recv, Op op = Op::sum,
                                                  const Options& options = {}) {
    const std::span in(send);
    const std::span out(recv);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      const goss_status status = detail::expectCount("goss_exscan", "recv", out.size(), in.size());
      if (status != GOSS_SUCCESS) return status;
      return goss_exscan(comm(), in.data(), out.data(), in.size(), kDtypeOf<Send>, raw(op), chosen, request);
    });
  }

  /// Completes when all ranks have called it.
  Outcome barrier(const Options& options = {}) {
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      return goss_barrier(comm(), chosen, request);
    });
  }

  /// Sends to `peer`, whose receive must be of the same type.
  template <SendBuffer Buffer>
  Outcome send(Buffer&& buffer, std::int32_t peer, std::int32_t tag = 0, const Options& options = {}) {
    const std::span in(buffer);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      return goss_send(comm(), in.data(), in.size(), kDtypeOf<Buffer>, peer, tag, chosen, request);
    });
  }

  /// Receives up to the buffer's length from `peer` (or kAnySource) with `tag` (or kAnyTag). A request's message() has
  /// the source, tag and length; a blocking call does not return them.
  template <ReceiveBuffer Buffer>
  Outcome recv(Buffer&& buffer, std::int32_t peer, std::int32_t tag = 0, const Options& options = {}) {
    const std::span out(buffer);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      return goss_recv(comm(), out.data(), out.size(), kDtypeOf<Buffer>, peer, tag, chosen, request);
    });
  }

  /// recv = self_weight * send + the weighted sum of what the sources send.
  template <SendBuffer Send, ReceiveBuffer Recv>
  requires SameElement<Send, Recv> Outcome neighborAllReduce(Send&& send, Recv&& recv, const Neighborhood& neighbors,
                                                             const Options& options = {}) {
    const std::span in(send);
    const std::span out(recv);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      const goss_status status = detail::expectCount("goss_neighbor_all_reduce", "recv", out.size(), in.size());
      if (status != GOSS_SUCCESS) return status;
      const detail::RawNeighborhood given(neighbors);
      return goss_neighbor_all_reduce(comm(), in.data(), out.data(), in.size(), kDtypeOf<Send>, given.get(), chosen,
                                      request);
    });
  }

  /// Block k of recv = what source k sends.
  template <SendBuffer Send, ReceiveBuffer Recv>
  requires SameElement<Send, Recv> Outcome neighborAllGather(Send&& send, Recv&& recv, const Neighborhood& neighbors,
                                                             const Options& options = {}) {
    const std::span in(send);
    const std::span out(recv);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      const goss_status status =
          detail::expectCount("goss_neighbor_all_gather", "recv", out.size(), in.size() * neighbors.sources.size());
      if (status != GOSS_SUCCESS) return status;
      const detail::RawNeighborhood given(neighbors);
      return goss_neighbor_all_gather(comm(), in.data(), out.data(), in.size(), kDtypeOf<Send>, given.get(), chosen,
                                      request);
    });
  }

  /// As neighborAllGather, with a block of its own length for each source.
  template <SendBuffer Send, ReceiveBuffer Recv>
  requires SameElement<Send, Recv> Outcome neighborAllGatherV(Send&& send, Recv&& recv, const Blocks& blocks,
                                                              const Neighborhood& neighbors,
                                                              const Options& options = {}) {
    const std::span in(send);
    const std::span out(recv);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      const goss_status status =
          detail::expectBlocks("goss_neighbor_all_gatherv", "recv", blocks, neighbors.sources.size(), out.size());
      if (status != GOSS_SUCCESS) return status;
      const detail::RawNeighborhood given(neighbors);
      return goss_neighbor_all_gatherv(comm(), in.data(), in.size(), out.data(), blocks.counts.data(),
                                       detail::displsOf(blocks), kDtypeOf<Send>, given.get(), chosen, request);
    });
  }

  /// Block k of send goes to destination k, block k of recv comes from source k; all blocks have `count` elements.
  template <SendBuffer Send, ReceiveBuffer Recv>
  requires SameElement<Send, Recv> Outcome neighborAllToAll(Send&& send, Recv&& recv, std::size_t count,
                                                            const Neighborhood& neighbors,
                                                            const Options& options = {}) {
    const std::span in(send);
    const std::span out(recv);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      const char* function = "goss_neighbor_all_to_all";
      goss_status status = detail::expectCount(function, "send", in.size(), count * neighbors.destinations.size());
      if (status == GOSS_SUCCESS) {
        status = detail::expectCount(function, "recv", out.size(), count * neighbors.sources.size());
      }
      if (status != GOSS_SUCCESS) return status;
      const detail::RawNeighborhood given(neighbors);
      return goss_neighbor_all_to_all(comm(), in.data(), out.data(), count, kDtypeOf<Send>, given.get(), chosen,
                                      request);
    });
  }

  /// As neighborAllToAll with blocks of any length and place.
  template <SendBuffer Send, ReceiveBuffer Recv>
  requires SameElement<Send, Recv> Outcome neighborAllToAllV(Send&& send, Recv&& recv, const Exchange& blocks,
                                                             const Neighborhood& neighbors,
                                                             const Options& options = {}) {
    const std::span in(send);
    const std::span out(recv);
    return launch(options, [&](const goss_options* chosen, goss_request_t* request) {
      const char* function = "goss_neighbor_all_to_allv";
      goss_status status =
          detail::expectBlocks(function, "send", blocks.send, neighbors.destinations.size(), in.size());
      if (status == GOSS_SUCCESS) {
        status = detail::expectBlocks(function, "recv", blocks.recv, neighbors.sources.size(), out.size());
      }
      if (status != GOSS_SUCCESS) return status;
      const detail::RawNeighborhood given(neighbors);
      return goss_neighbor_all_to_allv(comm(), in.data(), blocks.send.counts.data(), detail::displsOf(blocks.send),
                                       out.data(), blocks.recv.counts.data(), detail::displsOf(blocks.recv),
                                       kDtypeOf<Send>, given.get(), chosen, request);
    });
  }

 protected:
  goss_comm_t comm() const { return comm_->handle; }
  std::size_t ranks() const { return static_cast<std::size_t>(comm_->size); }
  std::size_t self() const { return static_cast<std::size_t>(comm_->rank); }
  const detail::SharedComm& shared() const { return comm_; }

 private:
  /// expectCount, on the root alone.
  goss_status atRoot(std::int32_t root, const char* function, const char* what, std::size_t has, std::size_t needs) {
    return comm_->rank == root ? detail::expectCount(function, what, has, needs) : GOSS_SUCCESS;
  }

  template <class Start>
  Outcome launch(const Options& options, Start&& start) {
    return detail::launch<Mode, Errors>(comm_, options, std::forward<Start>(start));
  }

  detail::SharedComm comm_;
};

} // namespace gossamer

#endif // GOSSAMER_CPP_CALLS_HPP_
