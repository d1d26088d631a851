! The Fortran binding on any number of ranks: every call against values worked out by hand. Ends with an error stop when one is wrong.
program fortran_binding
  use, intrinsic :: iso_c_binding, only: c_bool
  use, intrinsic :: iso_fortran_env, only: error_unit, int8, int32, int64, real32, real64
  use gossamer
  implicit none (type, external)
  type(goss_communicator) :: comm
  integer :: failures = 0, ranks, rank

  call goss_comm_create(comm, timeout_ms=60000_int64)
  ranks = comm%size
  rank = comm%rank
  call kinds()
  call collectives()
  call unequal_blocks()
  call messages()
  call requests()
  call refusals()
  call gossip()
  call synchronizer()
  call communicators()
  call goss_barrier(comm)
  print "(a,i0,a,i0,a,i0,a)", "rank ", rank, " of ", ranks, ": ", failures, " wrong"
  call goss_comm_destroy(comm)
  if (failures /= 0) error stop 1

contains

  subroutine check(ok, what)
    logical, intent(in) :: ok
    character(*), intent(in) :: what
    if (ok) return
    write (error_unit, "(2a)") "wrong: ", what
    failures = failures + 1
  end subroutine

  !> Rank r brings r + i at place i, in arrays of several ranks.
  subroutine kinds()
    integer(int8) :: a(5), a_sum(5)
    integer(int32) :: b(2, 2), b_sum(2, 2)
    integer(int64) :: c, c_sum
    real(real32) :: d(2, 2, 2), d_sum(2, 2, 2)
    real(real64) :: e(3)
    logical(c_bool) :: f(2)
    integer :: i, sum
    sum = ranks * (ranks - 1) / 2
    a = [(int(rank + i, int8), i=1, 5)]
    call goss_all_reduce(comm, a, a_sum, goss_op_sum)
    call check(all(a_sum == [(int(sum + ranks * i, int8), i=1, 5)]), "int8")
    b = reshape([(rank + i, i=1, 4)], [2, 2])
    call goss_all_reduce(comm, b, b_sum, goss_op_sum)
    call check(all(b_sum == reshape([(sum + ranks * i, i=1, 4)], [2, 2])), "int32 of rank 2")
    c = rank
    call goss_all_reduce(comm, c, c_sum, goss_op_max)
    call check(c_sum == ranks - 1, "an int64 scalar")
    d = real(rank, real32)
    call goss_all_reduce(comm, d, d_sum, goss_op_avg)
    call check(all(d_sum == real(ranks - 1, real32) / 2), "real32 of rank 3")
    e = real(rank, real64)
    call goss_all_reduce(comm, e, goss_op_sum)
    call check(all(e == real(sum, real64)), "real64, in place")
    f(1) = logical(rank == 0, c_bool)
    f(2) = .true.
    call goss_all_reduce(comm, f, goss_op_land)
    call check((f(1) .eqv. ranks == 1) .and. f(2), "logical")
    call goss_all_reduce(comm, d, d_sum, goss_op_avg, goss_call_options(codec="int8"))
    call check(maxval(abs(d_sum - real(ranks - 1, real32) / 2)) < 0.1, "a codec")
  end subroutine

  !> Blocks of two elements: rank r's element i of block b is 100 r + 2 b + i.
  subroutine collectives()
    integer :: wide(2 * ranks), mine(2), all_of(2 * ranks), expected(2 * ranks), got(2), sum, r
    real(real64) :: one(1), before(1)
    wide = [(100 * rank + r, r=0, 2 * ranks - 1)]
    mine = [10 * rank, 10 * rank + 1]
    expected = [(10 * (r / 2) + mod(r, 2), r=0, 2 * ranks - 1)]
    call goss_all_gather(comm, mine, all_of)
    call check(all(all_of == expected), "all_gather")
    all_of = -1
    call goss_gather(comm, mine, all_of, 0)
    call check(rank /= 0 .or. all(all_of == expected), "gather")
    call goss_scatter(comm, expected, got, ranks - 1)
    call check(all(got == mine), "scatter")
    sum = 100 * ranks * (ranks - 1) / 2
    call goss_reduce_scatter(comm, wide, got, goss_op_sum)
    call check(all(got == [sum + ranks * 2 * rank, sum + ranks * (2 * rank + 1)]), "reduce_scatter")
    call goss_reduce(comm, wide, all_of, goss_op_max, 0)
    call check(rank /= 0 .or. all(all_of == [(100 * (ranks - 1) + r, r=0, 2 * ranks - 1)]), "reduce")
    call goss_all_to_all(comm, wide, all_of)
    call check(all(all_of == [(100 * (r / 2) + 2 * rank + mod(r, 2), r=0, 2 * ranks - 1)]), "all_to_all")
    got = mine
    call goss_broadcast(comm, got, ranks - 1)
    call check(all(got == [10 * (ranks - 1), 10 * (ranks - 1) + 1]), "broadcast")
    one = 1
    before = -5
    call goss_scan(comm, one, before, goss_op_sum)
    call check(before(1) == rank + 1, "scan")
    before = -5
    call goss_exscan(comm, one, before, goss_op_sum)
    call check(before(1) == merge(-5, rank, rank == 0), "exscan")
  end subroutine

  !> Rank r has r + 1 elements for everybody.
  subroutine unequal_blocks()
    integer :: counts(ranks), displs(ranks), equal(ranks), r
    real(real32) :: mine(rank + 1), got(rank + 1), out(ranks * (rank + 1))
    real(real32) :: all_of(ranks * (ranks + 1) / 2), ones(ranks * (ranks + 1) / 2)
    counts = [(r, r=1, ranks)]
    displs = [(sum(counts) - r * (r + 1) / 2, r=1, ranks)] ! the last rank's block is first
    equal = rank + 1
    mine = real(rank, real32)
    call goss_all_gatherv(comm, mine, all_of, counts, displs)
    call check(all(nint(all_of(displs + 1)) == [(r, r=0, ranks - 1)]), "all_gatherv with displs")
    call goss_all_gatherv(comm, mine, all_of, counts)
    call check(all_of(1) == 0 .and. all_of(size(all_of)) == real(ranks - 1, real32), "all_gatherv")
    ones = 1
    call goss_reduce_scatterv(comm, ones, got, counts, goss_op_sum)
    call check(all(got == real(ranks, real32)), "reduce_scatterv")
    out = real(rank, real32)
    call goss_all_to_allv(comm, out, all_of, equal, counts)
    call check(all_of(1) == 0 .and. all_of(size(all_of)) == real(ranks - 1, real32), "all_to_allv")
  end subroutine

  subroutine messages()
    integer, asynchronous :: mine(3), got(8)
    integer :: right, left
    type(goss_operation) :: request
    type(goss_received) :: message
    logical :: found
    right = mod(rank + 1, ranks)
    left = mod(rank + ranks - 1, ranks)
    mine = [rank, rank + 1, rank + 2]
    call goss_recv(comm, got, int(GOSS_ANY_SOURCE), int(GOSS_ANY_TAG), request=request)
    call goss_send(comm, mine, right, 7)
    call goss_wait(request, message)
    call check(message%source == left .and. message%tag == 7 .and. message%bytes == 12 .and. got(3) == left + 2, "send, recv")
    call goss_sendrecv(comm, mine, got, right, left, 8, message)
    call check(message%source == left .and. got(1) == left, "sendrecv")
    call goss_send(comm, mine, right, 9, request=request)
    call goss_probe(comm, left, 9, message)
    call goss_iprobe(comm, left, 10, found)
    call check(message%bytes == 12 .and. .not. found, "probe")
    call goss_recv(comm, got, left, 9)
    call goss_wait(request)
    got = -1
    call goss_group_begin() ! every rank receives before it sends: alone, this would wait for ever
    call goss_recv(comm, got, left, 11)
    call goss_send(comm, mine, right, 11)
    call goss_group_end()
    call check(got(2) == left + 1, "a group of messages")
  end subroutine

  subroutine requests()
    real(real32), asynchronous :: buckets(1000, 4), mean(100)
    type(goss_operation) :: started(4), persistent
    logical :: done
    integer :: i
    buckets = 1
    do i = 1, 4
      call goss_all_reduce(comm, buckets(:, i), goss_op_sum, request=started(i))
    end do
    call goss_wait_any(started, i)
    call check(i >= 1 .and. i <= 4, "wait_any")
    call goss_wait_all(started)
    call check(all(buckets == real(ranks, real32)), "wait_all")
    call goss_wait_any(started, i)
    call check(i == 0, "wait_any of nothing")
    call goss_all_reduce(comm, buckets, goss_op_max, request=started(1))
    done = .false.
    do while (.not. done)
      call goss_test(started(1), done)
    end do
    call check(buckets(1000, 4) == real(ranks, real32), "test")
    call goss_all_reduce(comm, mean, goss_op_avg, goss_call_options(persistent=.true.), persistent)
    do i = 1, 3
      mean = real(rank + i, real32)
      call goss_start(persistent)
      call goss_wait(persistent)
      call check(all(mean == real(ranks - 1, real32) / 2 + real(i, real32)), "a persistent request")
    end do
    call goss_request_free(persistent)
  end subroutine

  subroutine refusals()
    real(real32), asynchronous :: two(2), three(3), wide(2, 4)
    type(goss_communicator) :: none
    type(goss_operation) :: request
    character(300) :: text
    integer :: status
    wide = 0
    three = 0
    text = ""
    call goss_all_reduce(comm, two, three, goss_op_sum, status=status, errmsg=text)
    call check(status == GOSS_ERR_INVALID_ARGUMENT .and. index(text, "3 elements") > 0, "sizes that do not match")
    call goss_all_reduce(comm, wide(1, :), goss_op_sum, status=status, errmsg=text)
    call check(status == GOSS_ERR_INVALID_ARGUMENT .and. index(text, "contiguous") > 0, "a buffer with gaps")
    call goss_send(comm, two, ranks, 0, status=status)
    call check(status == GOSS_ERR_INVALID_ARGUMENT, "an unknown rank")
    call goss_comm_create(none, transport="pigeon", status=status)
    call check(status == GOSS_ERR_INVALID_ARGUMENT, "an unknown transport")
    call no_ranks(none)
    call goss_recv(comm, two, rank, 5, request=request)
    call goss_send(comm, three, rank, 5)
    call goss_wait(request, status=status, errmsg=text)
    call check(status == GOSS_ERR_TRUNCATED .and. len_trim(text) > 20, "a message that is too long")
  end subroutine

  !> A communicator that was never made, and neighbours without lists or with too few weights.
  subroutine no_ranks(none)
    type(goss_communicator), intent(in) :: none
    type(goss_neighbors) :: near
    real(real32) :: mine(2), got(2)
    character(300) :: text
    integer :: status, nobody(0)
    mine = 0
    text = ""
    call goss_all_to_all(none, mine, got, status=status, errmsg=text)
    call check(status == GOSS_ERR_INVALID_ARGUMENT .and. index(text, "not created") > 0, "all_to_all without ranks")
    call goss_all_gatherv(none, mine, got, nobody, status=status, errmsg=text)
    call check(status == GOSS_ERR_INVALID_ARGUMENT .and. index(text, "not created") > 0, "all_gatherv without ranks")
    call goss_reduce_scatterv(none, mine, got, nobody, goss_op_sum, status=status)
    call check(status == GOSS_ERR_INVALID_ARGUMENT, "reduce_scatterv without ranks")
    call goss_barrier(none, status=status)
    call check(status == GOSS_ERR_INVALID_ARGUMENT, "barrier without ranks")
    call goss_neighbor_all_gather(comm, mine, got, near, status=status, errmsg=text)
    call check(status == GOSS_ERR_INVALID_ARGUMENT .and. index(text, "allocated") > 0, "neighbours without lists")
    allocate (near%sources(1), near%destinations(0), source=0)
    allocate (near%source_weights(0), near%destination_weights(0))
    call goss_neighbor_all_reduce(comm, mine, got, near, status=status, errmsg=text)
    call check(status == GOSS_ERR_INVALID_ARGUMENT .and. index(text, "source_weights") > 0, "neighbours without weights")
  end subroutine

  subroutine gossip()
    type(goss_graph) :: ring
    type(goss_neighbors) :: near
    real(real64) :: mine(3), mixed(3), expected
    real(real64), allocatable :: gathered(:), blocks(:)
    integer, allocatable :: counts(:), sent(:)
    integer :: k, status
    if (ranks < 2) return
    call goss_topology_create("ring", ranks, ring)
    call goss_topology_neighbors(ring, 0_int64, rank, near)
    mine = real(rank, real64)
    expected = near%self_weight * rank + sum(near%source_weights * near%sources)
    call goss_neighbor_all_reduce(comm, mine, mixed, near)
    call check(all(abs(mixed - expected) < 1e-12_real64), "neighbor_all_reduce")
    allocate (gathered(3 * size(near%sources)), blocks(3 * size(near%destinations)), source=real(rank, real64))
    allocate (counts(size(near%sources)), sent(size(near%destinations)), source=3)
    call goss_neighbor_all_gather(comm, mine, gathered, near)
    call check(all([(nint(gathered(3 * k)) == near%sources(k), k=1, size(near%sources))]), "neighbor_all_gather")
    gathered = -1
    call goss_neighbor_all_gatherv(comm, mine, gathered, counts, near)
    call check(all([(nint(gathered(3 * k)) == near%sources(k), k=1, size(near%sources))]), "neighbor_all_gatherv")
    gathered = -1
    call goss_neighbor_all_to_all(comm, blocks, gathered, near)
    call check(all([(nint(gathered(3 * k)) == near%sources(k), k=1, size(near%sources))]), "neighbor_all_to_all")
    gathered = -1
    call goss_neighbor_all_to_allv(comm, blocks, gathered, sent, counts, near)
    call check(all([(nint(gathered(3 * k)) == near%sources(k), k=1, size(near%sources))]), "neighbor_all_to_allv")
    call goss_topology_destroy(ring)
    call goss_topology_create("nonsense", ranks, ring, status=status)
    call check(status == GOSS_ERR_INVALID_ARGUMENT, "an unknown topology")
  end subroutine

  !> Gradients r + 1 are averaged; after plain descent by 1 every rank holds -mean.
  subroutine synchronizer()
    real(real32), target, asynchronous :: weights(10), gradient(10)
    type(goss_synchronizer) :: sync
    integer :: tensor
    weights = merge(0.0, 9.0, rank == 0)
    gradient = real(rank + 1, real32)
    call goss_sync_create(comm, "ddp", sync)
    call goss_sync_register(sync, "weights", weights, gradient, tensor)
    call goss_sync_start(sync)
    call goss_sync_set_lr(sync, 1.0_real64)
    call check(tensor == 0 .and. all(weights == 0), "everybody has rank 0's parameters")
    call goss_sync_gradient_ready(sync, tensor)
    call goss_sync_gradients(sync)
    weights = weights - gradient
    call goss_sync_step(sync)
    call goss_sync_finish(sync)
    call goss_sync_destroy(sync)
    call check(all(weights == -real(ranks + 1, real32) / 2), "averaged gradients")
  end subroutine

  subroutine communicators()
    type(goss_communicator) :: half, none, copy
    integer :: status
    call goss_comm_split(comm, mod(rank, 2), -rank, half)
    call check(half%size == (ranks + 1 - mod(rank, 2)) / 2, "split")
    call goss_comm_split(comm, -1, 0, none)
    call check(none%rank == -1, "split into none")
    call goss_comm_dup(comm, copy)
    call check(copy%rank == rank .and. copy%size == ranks, "dup")
    call goss_barrier(comm)
    if (rank == 0) call goss_comm_abort(copy, "the test ends it")
    call goss_barrier(copy, goss_call_options(timeout_ms=5000), status=status)
    call check(status == GOSS_ERR_ABORTED, "abort")
    call goss_comm_destroy(copy)
    call goss_comm_destroy(half)
  end subroutine
end program
