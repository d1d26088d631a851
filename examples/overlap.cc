// Non-blocking: buckets are reduced while the next ones are still being computed, as in a backward pass.
// Start with: mpirun -np 4 build/dev/bin/example_overlap
#include <array>
#include <cstddef>
#include <cstdio>
#include <gossamer/gossamer.hpp>
#include <vector>

namespace {

constexpr std::size_t kBucketElems = 100'000;

// Stands for the backward pass of one layer.
void computeGradients(std::vector<float>& bucket, int rank, std::size_t layer) {
  const auto factor = static_cast<float>(rank + 1);
  for (std::size_t i = 0; i < bucket.size(); ++i)
    bucket[i] = static_cast<float>(i % 64 + layer) * factor;
}

bool run() {
  gossamer::Comm comm = gossamer::Comm::create();
  std::array<std::vector<float>, 4> buckets; // lent to the library until the requests complete, so it outlives them
  std::vector<gossamer::Request> requests;
  for (std::size_t layer = 0; layer < buckets.size(); ++layer) {
    auto& bucket = buckets[layer];
    bucket.resize(kBucketElems);
    computeGradients(bucket, comm.rank(), layer); // earlier buckets travel meanwhile
    requests.push_back(comm.async().allReduce(bucket, bucket));
  }
  gossamer::Request::waitAll(requests);

  const int ones = comm.size() * (comm.size() + 1) / 2; // 1 + 2 + ... + ranks
  const auto factor = static_cast<float>(ones);
  for (std::size_t layer = 0; layer < buckets.size(); ++layer) {
    for (std::size_t i = 0; i < kBucketElems; ++i) {
      if (buckets[layer][i] != static_cast<float>(i % 64 + layer) * factor) return false;
    }
  }
  std::printf("rank %d of %d: %zu buckets are right\n", comm.rank(), comm.size(), buckets.size());
  return true;
}

} // namespace

int main() {
  try {
    return run() ? 0 : 1;
  } catch (const gossamer::Error& error) {
    std::fprintf(stderr, "%s: %s\n", goss_status_string(error.status()), error.what());
    return 1;
  }
}
