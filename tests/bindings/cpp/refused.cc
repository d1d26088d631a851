// What does not compile: mistake n under REFUSED == n.
#include <cstdint>
#include <gossamer/gossamer.hpp>
#include <utility>
#include <vector>

#ifndef REFUSED
#define REFUSED 0
#endif

#if REFUSED == 2
using Element = short; // no type that the library moves
#else
using Element = std::int32_t;
#endif

#if REFUSED == 3
using Output = double; // both buffers of a call have one element type
#else
using Output = float;
#endif

void reduce(gossamer::Comm& comm, const std::vector<float>& input, std::vector<Output>& output) {
#if REFUSED == 1
  comm.allReduce(input, input); // a result cannot be written into a const buffer
#else
  comm.allReduce(input, output);
#endif
}

void send(gossamer::Comm& comm, const std::vector<Element>& values) { comm.send(values, 0); }

gossamer::Request pass(gossamer::Request& request) {
#if REFUSED == 4
  return request; // a request is owned once
#else
  return std::move(request);
#endif
}

gossamer::Request sendLater(gossamer::Comm& comm, const std::vector<float>& values) {
#if REFUSED == 5
  return comm.async().send(std::vector<float>(values), 0); // its memory would be gone before the operation is complete
#else
  return comm.async().send(values, 0);
#endif
}
