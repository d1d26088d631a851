/// Gossamer in C++20: headers only, over the C ABI (abi.h) alone. gossamer.h and its kin say what every call does,
/// which ranks make it and how it fails; these headers say what C++ adds:
///
/// - **Handles are objects.** Comm, Request, Group, Memory, Window, Topology, Synchronizer and Pipeline are moved and
///   not copied, and release what they hold. A communicator is destroyed with the last object that was made of it, a
///   request included, so no order of destruction is wrong.
/// - **A pending request that is destroyed** waits for its operation, up to its deadline, because the program may free
///   the buffers right afterwards. The error of the operation is lost then: call wait().
/// - **Buffers** are ranges that std::span accepts: arrays, vectors, spans. The compiler checks element types, equal
///   types on both sides and constness; the call checks lengths. A temporary container does not compile: its memory
///   would be freed before a non-blocking call has used it. In place is the same buffer twice: `comm.allReduce(x, x)`.
/// - **Blocking, non-blocking, persistent** are three views of a communicator with the same functions. allReduce(...)
///   of `comm` returns nothing, of `comm.async()` a Request, and of `comm.persistent()` a PersistentRequest.
/// - **Errors** are exceptions (gossamer::Error) or results (gossamer::Result), as the type of the communicator says:
///   gossamer::Comm throws, gossamer::results::Comm returns `Result<T>`. Objects made of it do the same.
/// - **Options** are designated initialisers: `comm.allReduce(x, x, Op::avg, {.timeout_ms = 500, .codec = "int8"})`.
/// - **Coroutines**: `co_await request` in a gossamer::Task; the thread that calls EventLoop::run() resumes it.
///
/// gossamer::Comm and its objects are as thread-safe as the C calls, but an object is used by one thread at a time.
#ifndef GOSSAMER_GOSSAMER_HPP_
#define GOSSAMER_GOSSAMER_HPP_

#include "gossamer/cpp/buffer.hpp"
#include "gossamer/cpp/calls.hpp"
#include "gossamer/cpp/comm.hpp"
#include "gossamer/cpp/config.hpp"
#include "gossamer/cpp/coroutine.hpp"
#include "gossamer/cpp/error.hpp"
#include "gossamer/cpp/pipeline.hpp"
#include "gossamer/cpp/planning.hpp"
#include "gossamer/cpp/request.hpp"
#include "gossamer/cpp/synchronizer.hpp"
#include "gossamer/cpp/topology.hpp"
#include "gossamer/cpp/window.hpp"

namespace gossamer {

using Comm = BasicComm<Throwing>;
using Request = BasicRequest<Throwing>;
using PersistentRequest = BasicPersistentRequest<Throwing>;
using Group = BasicGroup<Throwing>;
using Topology = BasicTopology<Throwing>;
using Synchronizer = BasicSynchronizer<Throwing>;
using Pipeline = BasicPipeline<Throwing>;
using PipelineCodec = BasicPipelineCodec<Throwing>;
template <Element T>
using Window = BasicWindow<T, Throwing>;

/// The same, returning Result<T> in place of throwing.
namespace results {
using Comm = BasicComm<Returning>;
using Request = BasicRequest<Returning>;
using PersistentRequest = BasicPersistentRequest<Returning>;
using Group = BasicGroup<Returning>;
using Topology = BasicTopology<Returning>;
using Synchronizer = BasicSynchronizer<Returning>;
using Pipeline = BasicPipeline<Returning>;
using PipelineCodec = BasicPipelineCodec<Returning>;
template <Element T>
using Window = BasicWindow<T, Returning>;
} // namespace results

} // namespace gossamer

#endif // GOSSAMER_GOSSAMER_HPP_
