// Ranks whose calls do not match: Gossamer's error reaches the communicator's error handler, with a text. For two
// ranks. usage: failures blocking|waiting|all|persistent|fatal|timeout|refusal
#include "tests/bindings/mpi/support.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <string>

namespace {

int handled = 0;
int handled_code = MPI_SUCCESS;
MPI_Comm handled_comm = MPI_COMM_NULL;

void handler(MPI_Comm* comm, int* code, ...) {
  ++handled;
  handled_code = *code;
  handled_comm = *comm;
}

bool isOurs(int code, const char* word, int wanted_class = MPI_ERR_OTHER) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  int error_class = MPI_SUCCESS;
  OK(MPI_Error_string(code, text, &length));
  OK(MPI_Error_class(code, &error_class));
  std::fprintf(stderr, "%s\n", text);
  return error_class == wanted_class && std::strstr(text, "Gossamer") != nullptr && std::strstr(text, word) != nullptr;
}

/// The ranks' counts differ.
int count() { return 1 + rankIn(MPI_COMM_WORLD); }

void blocking(MPI_Comm comm, const char* word) {
  std::array<int, 2> values{};
  const int code = MPI_Allreduce(MPI_IN_PLACE, values.data(), count(), MPI_INT, MPI_SUM, comm);
  CHECK(isOurs(code, word));
  CHECK(handled == 1 && handled_code == code && handled_comm == comm);
}

void waiting(MPI_Comm comm, bool is_persistent) {
  std::array<int, 2> values{};
  MPI_Request request = MPI_REQUEST_NULL;
  if (is_persistent) {
    OK(MPIX_Allreduce_init(MPI_IN_PLACE, values.data(), count(), MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &request));
    OK(MPI_Start(&request));
  } else {
    OK(MPI_Iallreduce(MPI_IN_PLACE, values.data(), count(), MPI_INT, MPI_SUM, comm, &request));
  }
  const int code = MPI_Wait(&request, MPI_STATUS_IGNORE);
  CHECK(isOurs(code, "does not match"));
  CHECK(handled == 1 && handled_code == code && handled_comm == comm);
  if (is_persistent) OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL);
}

void all(MPI_Comm comm) {
  std::array<int, 2> values{};
  int received = 0;
  const int sent = 3;
  const int other = 1 - rankIn(comm);
  std::array<MPI_Request, 3> requests{};
  std::array<MPI_Status, 3> statuses{};
  OK(MPI_Irecv(&received, 1, MPI_INT, other, 1, comm, requests.data()));
  OK(MPI_Iallreduce(MPI_IN_PLACE, values.data(), count(), MPI_INT, MPI_SUM, comm, &requests[1]));
  OK(MPI_Isend(&sent, 1, MPI_INT, other, 1, comm, &requests[2]));
  CHECK(MPI_Waitall(3, requests.data(), statuses.data()) == MPI_ERR_IN_STATUS);
  CHECK(statuses[0].MPI_ERROR == MPI_SUCCESS && statuses[2].MPI_ERROR == MPI_SUCCESS && received == 3);
  CHECK(isOurs(statuses[1].MPI_ERROR, "does not match"));
  CHECK(handled == 1 && handled_code == MPI_ERR_IN_STATUS && handled_comm == comm);
}

/// Rank 0 alone sees the type that is refused; its abort tells the other rank.
void refusal(MPI_Comm comm) {
  constexpr int kBytes = 1 << 30;
  constexpr std::size_t kRoom = std::size_t{kBytes} + 32;
  void* room = mmap(nullptr, kRoom, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(room != MAP_FAILED);
  const std::array<int, 2> lengths{kBytes, 1};
  const std::array<MPI_Aint, 2> displacements{0, kBytes + (rankIn(comm) == 0 ? 16 : 0)};
  const std::array<MPI_Datatype, 2> types{MPI_BYTE, MPI_BYTE};
  MPI_Datatype type = MPI_DATATYPE_NULL;
  OK(MPI_Type_create_struct(2, lengths.data(), displacements.data(), types.data(), &type));
  OK(MPI_Type_commit(&type));
  const int wanted = rankIn(comm) == 0 ? MPI_ERR_UNSUPPORTED_OPERATION : MPI_ERR_OTHER;
  CHECK(isOurs(MPI_Bcast(room, 1, type, 0, comm), "more than 1 GiB", wanted));
  CHECK(handled == 1 && handled_comm == comm);
  OK(MPI_Type_free(&type));
  munmap(room, kRoom);
}

} // namespace

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  CHECK(argc == 2);
  const std::string way = argv[1];
  MPI_Comm comm = MPI_COMM_NULL;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  MPI_Errhandler mine = MPI_ERRHANDLER_NULL;
  OK(MPI_Comm_create_errhandler(handler, &mine));
  if (way != "fatal") OK(MPI_Comm_set_errhandler(comm, mine));
  if (way == "timeout" && rankIn(comm) == 0) sleep(3);
  if (way == "blocking" || way == "fatal") blocking(comm, "does not match");
  if (way == "timeout") blocking(comm, "deadline");
  if (way == "waiting" || way == "persistent") waiting(comm, way == "persistent");
  if (way == "all") all(comm);
  if (way == "refusal") refusal(comm);
  OK(MPI_Errhandler_free(&mine));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Finalize());
  return 0;
}
