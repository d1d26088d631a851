// Non-blocking: buckets are reduced while the next ones are still being computed, as in a backward pass.
// Start with: mpirun -np 4 build/dev/bin/example_overlap
#include <gossamer/gossamer.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <vector>

namespace {

constexpr std::size_t kBucketElems = 100'000;

void check(goss_status status, const char* what) {
  if (status == GOSS_SUCCESS) return;
  std::fprintf(stderr, "%s: %s: %s\n", what, goss_status_string(status), goss_last_error());
  std::exit(1);
}

// Stands for the backward pass of one layer.
void computeGradients(std::vector<float>& bucket, int rank, std::size_t layer) {
  const auto factor = static_cast<float>(rank + 1);
  for (std::size_t i = 0; i < bucket.size(); ++i)
    bucket[i] = static_cast<float>(i % 64 + layer) * factor;
}

} // namespace

int main() {
  goss_comm_t comm = nullptr;
  std::int32_t rank = 0, ranks = 0;
  check(goss_comm_create(nullptr, &comm), "create");
  check(goss_comm_rank(comm, &rank), "rank");
  check(goss_comm_size(comm, &ranks), "size");

  std::array<std::vector<float>, 4> buckets;
  std::array<goss_request_t, 4> requests{};
  for (std::size_t layer = 0; layer < buckets.size(); ++layer) {
    auto& bucket = buckets[layer];
    bucket.resize(kBucketElems);
    computeGradients(bucket, rank, layer); // earlier buckets travel meanwhile
    // The bucket is lent to the library until its request completes.
    check(goss_all_reduce(comm, bucket.data(), bucket.data(), bucket.size(), GOSS_FLOAT32, GOSS_SUM, nullptr,
                          &requests[layer]),
          "all_reduce");
  }
  check(goss_wait_all(requests.data(), requests.size()), "wait_all");

  const int ones = ranks * (ranks + 1) / 2; // 1 + 2 + ... + ranks
  const auto factor = static_cast<float>(ones);
  for (std::size_t layer = 0; layer < buckets.size(); ++layer) {
    for (std::size_t i = 0; i < kBucketElems; ++i) {
      if (buckets[layer][i] != static_cast<float>(i % 64 + layer) * factor) return 1;
    }
  }
  std::printf("rank %d of %d: %zu buckets are right\n", rank, ranks, buckets.size());
  check(goss_comm_destroy(comm), "destroy");
  return 0;
}
