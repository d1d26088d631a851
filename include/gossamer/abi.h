/// The C ABI of Gossamer (C99), all of it: the functions of libgossamer.so.0 are those that these headers declare, and
/// there are no others.
///
///   gossamer.h      communicators, collectives, messages, completion, memory, planning, and the conventions of all
///   compression.h   error feedback in checkpoints, codecs of one's own
///   gossip.h        topologies of gossip, and collectives among neighbours
///   links.h         measuring the network
///   pipeline.h      pipeline schedules
///   sync.h          synchronizers
///   window.h        one-sided access to other ranks' memory, averages of pairs
///
/// Two further headers are installed. gossamer_mpi.h includes mpi.h, and defines a function that makes a communicator
/// over the ranks of an MPI communicator. gossamer.hpp is the ABI for C++20. The library's own C++ headers are not
/// installed: a program can add codecs (compression.h), but no transports or algorithms.
///
/// A program that was compiled with an earlier version of these headers runs with every later libgossamer.so.0:
/// functions and values are added, never changed or renumbered, and structs that begin with `size` grow at their ends.
#ifndef GOSSAMER_ABI_H_
#define GOSSAMER_ABI_H_

#include "gossamer/compression.h"
#include "gossamer/gossamer.h"
#include "gossamer/gossip.h"
#include "gossamer/links.h"
#include "gossamer/pipeline.h"
#include "gossamer/sync.h"
#include "gossamer/window.h"

#endif // GOSSAMER_ABI_H_
