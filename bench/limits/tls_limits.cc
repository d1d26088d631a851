/// goss-tls-limits: what TLS 1.3 over loopback reaches when processes do nothing but exchange bytes, the floor under
/// an all-reduce over secured connections. Prints the median time in which every rank has sent and received what a
/// bandwidth-optimal all-reduce moves, in microseconds by batch, and the rate of one direction.
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "bench/connected_pair.h"
#include "tools/commandline/command_line.h"

namespace {

using goss::bench::connectedPair;
using Clock = std::chrono::steady_clock;

struct Options {
  std::vector<std::size_t> sizes = {1u << 20, 4u << 20, 16u << 20, 64u << 20};
  std::vector<std::size_t> batches = {64u << 10, 128u << 10, 256u << 10, 1u << 20};
  std::string suite = "TLS_AES_128_GCM_SHA256";
  int ranks = 2;
  int repeats = 5;
};

void require(bool good, const char* what) {
  if (!good) throw std::runtime_error(fmt::format("{} failed", what));
}

/// Makes a certificate for this run; the callers do not verify it.
void useOwnCertificate(SSL_CTX* context) {
  EVP_PKEY* key = EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519");
  X509* certificate = X509_new();
  constexpr long kDay_s = 24 * 60 * 60;
  require(key != nullptr && certificate != nullptr && X509_gmtime_adj(X509_getm_notBefore(certificate), -kDay_s) &&
              X509_gmtime_adj(X509_getm_notAfter(certificate), kDay_s) && X509_set_pubkey(certificate, key) == 1 &&
              X509_sign(certificate, key, nullptr) > 0 && SSL_CTX_use_certificate(context, certificate) == 1 &&
              SSL_CTX_use_PrivateKey(context, key) == 1,
          "a certificate");
  X509_free(certificate);
  EVP_PKEY_free(key);
}

/// One end of a TLS session over memory buffers, and the socket through which its records go in batches.
class End {
 public:
  /// `oversubscribed`: another rank may need this processor while this one has nothing to do.
  End(int fd, SSL_CTX* context, bool calls, bool oversubscribed)
      : fd_(fd), oversubscribed_(oversubscribed), ssl_(SSL_new(context)) {
    incoming_ = BIO_new(BIO_s_mem());
    outgoing_ = BIO_new(BIO_s_mem());
    SSL_set_bio(ssl_, incoming_, outgoing_);
    calls ? SSL_set_connect_state(ssl_) : SSL_set_accept_state(ssl_);
    room_.resize(1u << 20);
  }
  ~End() {
    SSL_free(ssl_);
    ::close(fd_);
  }
  End(const End&) = delete;
  End& operator=(const End&) = delete;

  void greet() {
    while (SSL_do_handshake(ssl_) != 1) {
      flush();
      fetch(room_.size());
    }
    while (!flush()) {
    }
  }

  /// Sends and receives `bytes` at the same time; neither direction waits for the other.
  void exchange(const unsigned char* out, unsigned char* in, std::size_t bytes, std::size_t batch) {
    std::size_t sent = 0;
    std::size_t received = 0;
    bool flushed = flush();
    while (sent < bytes || received < bytes || !flushed) {
      bool moved = false;
      if (flushed && sent < bytes) {
        const std::size_t size = std::min(batch, bytes - sent);
        require(SSL_write(ssl_, out + sent, static_cast<int>(size)) == static_cast<int>(size), "SSL_write");
        sent += size;
        moved = true;
      }
      flushed = flush();
      moved = fetch(batch) || moved;
      while (received < bytes) {
        std::size_t got = 0;
        if (SSL_read_ex(ssl_, in + received, bytes - received, &got) != 1) break;
        received += got;
        moved = true;
      }
      if (!moved && oversubscribed_) ::sched_yield();
    }
  }

 private:
  /// Sends what is pending; returns whether nothing is left to be sent.
  bool flush() {
    char* data = nullptr;
    const auto size = static_cast<std::size_t>(BIO_get_mem_data(outgoing_, &data));
    if (size == 0) return true;
    const ssize_t moved = ::send(fd_, data + flushed_, size - flushed_, MSG_NOSIGNAL);
    if (moved > 0) flushed_ += static_cast<std::size_t>(moved);
    if (flushed_ < size) return false;
    flushed_ = 0;
    BIO_reset(outgoing_);
    return true;
  }

  bool fetch(std::size_t most) {
    const ssize_t got = ::recv(fd_, room_.data(), std::min(most, room_.size()), 0);
    require(got != 0, "recv");
    if (got > 0) BIO_write(incoming_, room_.data(), static_cast<int>(got));
    return got > 0;
  }

  int fd_;
  bool oversubscribed_;
  SSL* ssl_;
  BIO* incoming_ = nullptr; ///< Owned by ssl_, as is outgoing_.
  BIO* outgoing_ = nullptr;
  std::size_t flushed_ = 0; ///< Bytes of outgoing_ that are in the socket.
  std::vector<unsigned char> room_;
};

/// A barrier in memory that all ranks share.
struct Meeting {
  std::atomic<int> arrived;
  std::atomic<int> turn;

  void arrive(int ranks) {
    const int now = turn.load(std::memory_order_acquire);
    if (arrived.fetch_add(1) == ranks - 1) {
      arrived.store(0);
      turn.store(now + 1, std::memory_order_release);
    }
    while (turn.load(std::memory_order_acquire) == now)
      ::sched_yield();
  }
};

/// Bytes that each rank sends, and receives, when p ranks reduce a vector of `bytes`.
std::size_t bytesMoved(std::size_t bytes, int ranks) {
  const auto p = static_cast<std::size_t>(ranks);
  return 2 * (p - 1) * bytes / p;
}

void runRank(const Options& options, End& end, int rank, Meeting& meeting) {
  std::vector<unsigned char> out(bytesMoved(options.sizes.back(), options.ranks), 1);
  std::vector<unsigned char> in(out.size(), 2);
  end.greet();
  if (rank == 0) fmt::print("{:>12}{:>10}{:>12}{:>8}\n", "bytes", "batch", "us", "GB/s");
  for (const std::size_t bytes : options.sizes) {
    const std::size_t moved = bytesMoved(bytes, options.ranks);
    const int rounds = static_cast<int>(std::clamp<std::size_t>((16u << 20) / bytes, 1, 32));
    for (const std::size_t batch : options.batches) {
      std::vector<double> times_us;
      for (int repeat = 0; repeat <= options.repeats; ++repeat) {
        meeting.arrive(options.ranks);
        const auto start = Clock::now();
        for (int round = 0; round < rounds; ++round)
          end.exchange(out.data(), in.data(), moved, batch);
        meeting.arrive(options.ranks);
        const std::chrono::duration<double, std::micro> took = Clock::now() - start;
        if (repeat > 0) times_us.push_back(took.count() / rounds); // The first run is the warm-up.
      }
      std::sort(times_us.begin(), times_us.end());
      const double us = times_us[times_us.size() / 2];
      if (rank == 0)
        fmt::print("{:>12}{:>10}{:>12.1f}{:>8.2f}\n", bytes, batch, us, 1e-3 * static_cast<double>(moved) / us);
    }
  }
}

void runAll(const Options& options) {
  SSL_CTX* context = SSL_CTX_new(TLS_method());
  require(SSL_CTX_set_min_proto_version(context, TLS1_3_VERSION) == 1 &&
              SSL_CTX_set_ciphersuites(context, options.suite.c_str()) == 1,
          "TLS 1.3 with that suite");
  SSL_CTX_set_num_tickets(context, 0);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
  useOwnCertificate(context);
  void* shared = ::mmap(nullptr, sizeof(Meeting), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  require(shared != MAP_FAILED, "mmap");
  auto* meeting = new (shared) Meeting{};

  // Ranks 2 k and 2 k + 1 are partners: on one host the distribution of bytes over links does not matter.
  std::vector<std::pair<int, int>> pairs;
  for (int i = 0; i < options.ranks / 2; ++i)
    pairs.push_back(connectedPair());
  std::vector<pid_t> children;
  int rank = 0;
  for (int other = 1; other < options.ranks && rank == 0; ++other) {
    const pid_t child = ::fork();
    require(child >= 0, "fork");
    if (child == 0) rank = other;
    children.push_back(child);
  }
  // Each rank keeps only its own end open, so that its partner sees an end of file when it dies.
  int own = -1;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    for (const int end : {0, 1}) {
      const int fd = end == 0 ? pairs[i].first : pairs[i].second;
      if (static_cast<int>(2 * i) + end == rank)
        own = fd;
      else
        ::close(fd);
    }
  }
  {
    End end(own, context, rank % 2 == 0, options.ranks > ::sysconf(_SC_NPROCESSORS_ONLN));
    runRank(options, end, rank, *meeting);
    meeting->arrive(options.ranks); // No rank closes while others still exchange.
  }
  if (rank != 0) ::_exit(0);
  for (const pid_t child : children)
    ::waitpid(child, nullptr, 0);
}

} // namespace

int main(int argc, char** argv) {
  Options options;
  goss::CommandLine line(
      "What TLS 1.3 over loopback reaches with records in memory, sent in batches: the median time in which each rank "
      "sends and receives, at once and to one partner, what an all-reduce of so many bytes moves.");
  line.option("--ranks", options.ranks, "processes, an even number").oneOf({2, 4, 6, 8});
  line.option("--bytes", options.sizes, "sizes of the vector, ascending").delimiter(',');
  line.option("--batch", options.batches, "bytes encrypted before each send").delimiter(',');
  line.option("--suite", options.suite, "OpenSSL's name of the TLS 1.3 suite").showDefault();
  line.option("--repeats", options.repeats, "timed runs of each").range(1, 1000);
  if (const auto status = line.parseOrPrint(argc, argv)) return *status;
  try {
    runAll(options);
  } catch (const std::exception& error) {
    fmt::print(stderr, "goss-tls-limits: {}\n", error.what());
    return 1;
  }
  return 0;
}
