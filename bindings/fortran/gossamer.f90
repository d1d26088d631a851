!> Gossamer for Fortran 2018; README.md shows it. The C headers say what each call does; this says what Fortran adds:
!>
!> - Every procedure ends with optional `status` and `errmsg`. Without `status` a failure is an error stop with the library's text.
!> - Buffers are contiguous arrays of any rank, or scalars, of integer(int8, int32, int64), real(real32, real64) or logical(c_bool);
!>   their sizes are checked. Other kinds, and two buffers of unlike kinds, do not compile.
!> - With `request`, and between goss_group_begin and goss_group_end, a call returns at once. Its buffers are declared `asynchronous`
!>   and left alone until goss_wait or goss_group_end. They are variables or sections with subscript ranges: an expression, or a
!>   section with a vector subscript, is a copy that is gone when the call returns.
!> - Ranks, roots and tensors count from 0 as in C; goss_wait_any counts requests from 1.
!> - What is not here (pipelines, checkpoints, codecs of one's own, ...) is in module gossamer_abi, which declares the whole C ABI.
module gossamer
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real32, real64
  use gossamer_abi, only: goss_config, goss_message, goss_sync_tensor, goss_neighbor, goss_neighborhood, GOSS_SUCCESS, &
    GOSS_ERR_INVALID_ARGUMENT, GOSS_ERR_UNSUPPORTED, GOSS_ERR_MISMATCH, GOSS_ERR_TIMEOUT, GOSS_ERR_PEER_LOST, &
    GOSS_ERR_ABORTED, GOSS_ERR_PROTOCOL, GOSS_ERR_RESOURCE, GOSS_ERR_BOOTSTRAP, GOSS_ERR_TRUNCATED, GOSS_ERR_INTERNAL, &
    GOSS_ERR_DEVICE, GOSS_ANY_SOURCE, GOSS_ANY_TAG, c_goss_barrier, c_goss_comm_abort, c_goss_comm_create, &
    c_goss_comm_destroy, c_goss_comm_dup, c_goss_comm_rank, c_goss_comm_shrink, c_goss_comm_size, c_goss_comm_split, &
    c_goss_config_init_sized, c_goss_group_begin, c_goss_group_end, c_goss_iprobe, c_goss_probe, c_goss_request_free, &
    c_goss_start, c_goss_sync_create, c_goss_sync_destroy, c_goss_sync_finish, c_goss_sync_gradient_ready, &
    c_goss_sync_gradients, c_goss_sync_register, c_goss_sync_set_lr, c_goss_sync_start, c_goss_sync_step, &
    c_goss_sync_tensor_init, c_goss_test, c_goss_topology_create, c_goss_topology_destroy, c_goss_topology_neighbors, &
    c_goss_wait, c_goss_wait_all, c_goss_wait_any
  use gossamer_types
  use gossamer_calls
  implicit none (type, external)
  private
  public :: goss_communicator, goss_operation, goss_received, goss_call_options, goss_neighbors, goss_reduction, &
    goss_synchronizer, goss_graph, goss_op_sum, goss_op_prod, goss_op_min, goss_op_max, goss_op_avg, goss_op_premul_sum, &
    goss_op_band, goss_op_bor, goss_op_bxor, goss_op_land, goss_op_lor, goss_op_lxor
  public :: GOSS_SUCCESS, GOSS_ERR_INVALID_ARGUMENT, GOSS_ERR_UNSUPPORTED, GOSS_ERR_MISMATCH, GOSS_ERR_TIMEOUT, &
    GOSS_ERR_PEER_LOST, GOSS_ERR_ABORTED, GOSS_ERR_PROTOCOL, GOSS_ERR_RESOURCE, GOSS_ERR_BOOTSTRAP, GOSS_ERR_TRUNCATED, &
    GOSS_ERR_INTERNAL, GOSS_ERR_DEVICE, GOSS_ANY_SOURCE, GOSS_ANY_TAG
  public :: goss_all_reduce, goss_reduce, goss_broadcast, goss_all_gather, goss_all_gatherv, goss_reduce_scatter, &
    goss_reduce_scatterv, goss_all_to_all, goss_all_to_allv, goss_gather, goss_scatter, goss_scan, goss_exscan, goss_send, &
    goss_recv, goss_sendrecv, goss_neighbor_all_reduce, goss_neighbor_all_gather, goss_neighbor_all_gatherv, &
    goss_neighbor_all_to_all, goss_neighbor_all_to_allv
  public :: goss_comm_create, goss_comm_split, goss_comm_dup, goss_comm_shrink, goss_comm_destroy, goss_comm_abort, &
    goss_barrier, goss_wait, goss_test, goss_wait_all, goss_wait_any, goss_start, goss_request_free, goss_group_begin, &
    goss_group_end, goss_probe, goss_iprobe, goss_sync_create, goss_sync_register, goss_sync_start, goss_sync_set_lr, &
    goss_sync_gradient_ready, goss_sync_gradients, goss_sync_step, goss_sync_finish, goss_sync_destroy, &
    goss_topology_create, goss_topology_neighbors, goss_topology_destroy

  !> Keeps the replicas of a model together. Made by goss_sync_create, ended by goss_sync_destroy.
  type :: goss_synchronizer
    type(c_ptr) :: handle = c_null_ptr !< For calls of module gossamer_abi.
  end type

  !> Who averages with whom, in every round. Made by goss_topology_create, ended by goss_topology_destroy.
  type :: goss_graph
    type(c_ptr) :: handle = c_null_ptr
  end type

contains

  !> Takes a communicator that the library has made; one that it has not made has the rank -1.
  subroutine adopt(code, handle, made, status, errmsg)
    integer(c_int), intent(in) :: code
    type(c_ptr), intent(in) :: handle
    type(goss_communicator), intent(inout) :: made
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    integer(c_int32_t), target :: number
    if (code == GOSS_SUCCESS .and. c_associated(handle)) then
      made%handle = handle
      if (c_goss_comm_rank(handle, c_loc(number)) == GOSS_SUCCESS) made%rank = int(number)
      if (c_goss_comm_size(handle, c_loc(number)) == GOSS_SUCCESS) made%size = int(number)
    end if
    call finish(code, status, errmsg)
  end subroutine

  !> Collective: meets the other ranks. What is left out, and other settings, come from the environment and the launcher.
  subroutine goss_comm_create(made, rank, ranks, transport, timeout_ms, status, errmsg)
    type(goss_communicator), intent(out) :: made
    integer, intent(in), optional :: rank, ranks
    character(*), intent(in), optional :: transport
    integer(int64), intent(in), optional :: timeout_ms
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(goss_config), target :: config
    type(c_ptr), target :: handle
    character(kind=c_char), allocatable, target :: name(:)
    integer(c_int) :: code
    handle = c_null_ptr
    code = c_goss_config_init_sized(c_loc(config), c_sizeof(config))
    if (present(rank)) config%rank = int(rank, c_int32_t)
    if (present(ranks)) config%ranks = int(ranks, c_int32_t)
    if (present(timeout_ms)) config%timeout_ms = timeout_ms
    if (present(transport)) then
      allocate (name, source=c_text(transport))
      config%transport = c_loc(name)
    end if
    if (code == GOSS_SUCCESS) code = c_goss_comm_create(c_loc(config), c_loc(handle))
    call adopt(code, handle, made, status, errmsg)
  end subroutine

  !> Collective: ranks of one color form a communicator, in the order of (key, old rank). color < 0: none.
  subroutine goss_comm_split(comm, color, key, made, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer, intent(in) :: color, key
    type(goss_communicator), intent(out) :: made
    type(c_ptr), target :: handle
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    integer(c_int) :: code
    handle = c_null_ptr
    code = c_goss_comm_split(comm%handle, int(color, c_int32_t), int(key, c_int32_t), c_loc(handle))
    call adopt(code, handle, made, status, errmsg)
  end subroutine

  !> Collective: the same ranks with an order of operations of its own.
  subroutine goss_comm_dup(comm, made, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(goss_communicator), intent(out) :: made
    type(c_ptr), target :: handle
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    integer(c_int) :: code
    handle = c_null_ptr
    code = c_goss_comm_dup(comm%handle, c_loc(handle))
    call adopt(code, handle, made, status, errmsg)
  end subroutine

  !> Collective over the ranks that are left; `comm` has failed then.
  subroutine goss_comm_shrink(comm, made, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(goss_communicator), intent(out) :: made
    type(c_ptr), target :: handle
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    integer(c_int) :: code
    handle = c_null_ptr
    code = c_goss_comm_shrink(comm%handle, c_null_ptr, c_loc(handle))
    call adopt(code, handle, made, status, errmsg)
  end subroutine

  !> Local: pending operations fail. All requests are invalid afterwards.
  subroutine goss_comm_destroy(comm, status, errmsg)
    type(goss_communicator), intent(inout) :: comm
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call finish(c_goss_comm_destroy(comm%handle), status, errmsg)
    comm = goss_communicator()
  end subroutine

  !> Local: pending operations of all ranks fail.
  subroutine goss_comm_abort(comm, reason, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    character(*), intent(in) :: reason
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: letters(:)
    allocate (letters, source=c_text(reason))
    call finish(c_goss_comm_abort(comm%handle, c_loc(letters)), status, errmsg)
  end subroutine

  !> Completes when all ranks have called it.
  subroutine goss_barrier(comm, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    call begin_call(frame, comm, options, request)
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_barrier(comm%handle, frame%options, frame%request)
    call end_call(frame, request, status, errmsg)
  end subroutine

  !> Blocks until the operation is complete. Call it in the scope in which its buffers are asynchronous.
  subroutine goss_wait(request, message, status, errmsg)
    type(goss_operation), intent(inout), target :: request
    type(goss_received), intent(out), optional :: message
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(goss_message), target :: got
    integer(c_int) :: code
    got = goss_message(-1, -1, 0)
    code = c_goss_wait(c_loc(request%handle), c_loc(got))
    if (present(message)) message = received(got)
    call finish(code, status, errmsg)
  end subroutine

  !> Whether the operation is complete. Never blocks.
  subroutine goss_test(request, done, message, status, errmsg)
    type(goss_operation), intent(inout), target :: request
    logical, intent(out) :: done
    type(goss_received), intent(out), optional :: message
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(goss_message), target :: got
    integer(c_int), target :: flag
    integer(c_int) :: code
    got = goss_message(-1, -1, 0)
    flag = 0
    code = c_goss_test(c_loc(request%handle), c_loc(flag), c_loc(got))
    done = flag /= 0
    if (present(message)) message = received(got)
    call finish(code, status, errmsg)
  end subroutine

  !> Waits for all; reports the first failure in their order.
  subroutine goss_wait_all(requests, status, errmsg)
    type(goss_operation), intent(inout) :: requests(:)
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(c_ptr), target :: handles(size(requests))
    integer(c_int) :: code
    handles = requests%handle
    code = c_goss_wait_all(c_loc(handles), size(handles, kind=c_size_t))
    requests%handle = handles
    call finish(code, status, errmsg)
  end subroutine

  !> Waits for any; index is its place from 1, and 0 when none is pending.
  subroutine goss_wait_any(requests, index, message, status, errmsg)
    type(goss_operation), intent(inout) :: requests(:)
    integer, intent(out) :: index
    type(goss_received), intent(out), optional :: message
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(goss_message), target :: got
    integer(c_size_t), target :: place
    type(c_ptr), target :: handles(size(requests))
    integer(c_int) :: code
    handles = requests%handle
    got = goss_message(-1, -1, 0)
    place = size(requests)
    code = c_goss_wait_any(c_loc(handles), size(handles, kind=c_size_t), c_loc(place), c_loc(got))
    requests%handle = handles
    index = int(place) + 1
    if (place >= size(requests)) index = 0
    if (present(message)) message = received(got)
    call finish(code, status, errmsg)
  end subroutine

  !> Starts a persistent request (options%persistent) that is inactive.
  subroutine goss_start(request, status, errmsg)
    type(goss_operation), intent(in) :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call finish(c_goss_start(request%handle), status, errmsg)
  end subroutine

  !> Frees a persistent request that is inactive.
  subroutine goss_request_free(request, status, errmsg)
    type(goss_operation), intent(inout), target :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call finish(c_goss_request_free(c_loc(request%handle)), status, errmsg)
  end subroutine

  !> Until goss_group_end this thread's calls without request are only started, so that they cannot deadlock. Groups nest. Buffers
  !> are those of calls with `request`: no expressions, no vector subscripts.
  subroutine goss_group_begin(status, errmsg)
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call finish(c_goss_group_begin(), status, errmsg)
  end subroutine

  !> Waits for the group's calls; reports the first failure.
  subroutine goss_group_end(status, errmsg)
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call finish(c_goss_group_end(), status, errmsg)
  end subroutine

  !> Waits until a message is there that a goss_recv with these arguments would receive, and leaves it there.
  subroutine goss_probe(comm, source, tag, message, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer, intent(in) :: source, tag
    type(goss_received), intent(out), optional :: message
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(goss_message), target :: got
    integer(c_int) :: code
    got = goss_message(-1, -1, 0)
    code = c_goss_probe(comm%handle, int(source, c_int32_t), int(tag, c_int32_t), c_null_ptr, c_loc(got))
    if (present(message)) message = received(got)
    call finish(code, status, errmsg)
  end subroutine

  !> goss_probe without waiting.
  subroutine goss_iprobe(comm, source, tag, found, message, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer, intent(in) :: source, tag
    logical, intent(out) :: found
    type(goss_received), intent(out), optional :: message
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(goss_message), target :: got
    integer(c_int), target :: flag
    integer(c_int) :: code
    got = goss_message(-1, -1, 0)
    flag = 0
    code = c_goss_iprobe(comm%handle, int(source, c_int32_t), int(tag, c_int32_t), c_loc(flag), c_loc(got))
    found = flag /= 0
    if (present(message)) message = received(got)
    call finish(code, status, errmsg)
  end subroutine

  !> Collective: a synchronizer such as "ddp" or "diloco:h=50". `comm` outlives it.
  subroutine goss_sync_create(comm, spec, sync, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    character(*), intent(in) :: spec
    type(goss_synchronizer), intent(out), target :: sync
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: letters(:)
    allocate (letters, source=c_text(spec))
    call finish(c_goss_sync_create(comm%handle, c_loc(letters), c_loc(sync%handle)), status, errmsg)
  end subroutine

  !> Adds a tensor before goss_sync_start. Parameter and gradient are targets of the caller, lent until goss_sync_destroy.
  subroutine goss_sync_register(sync, name, parameter, gradient, index, layer, status, errmsg)
    type(goss_synchronizer), intent(in) :: sync
    character(*), intent(in) :: name
    real(real32), intent(inout), target, asynchronous, dimension(..) :: parameter
    real(real32), intent(inout), target, asynchronous, dimension(..), optional :: gradient
    integer, intent(out), optional :: index
    integer, intent(in), optional :: layer
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame) :: frame
    type(goss_sync_tensor), target :: tensor
    integer(c_int32_t), target :: place
    character(kind=c_char), allocatable, target :: letters(:)
    allocate (letters, source=c_text(name))
    place = -1
    frame%code = c_goss_sync_tensor_init(c_loc(tensor), c_sizeof(tensor))
    tensor%name = c_loc(letters)
    tensor%parameter = address(frame, parameter)
    tensor%count = size(parameter, kind=c_size_t)
    if (present(gradient)) then
      call expect(frame, size(gradient, kind=c_size_t), size(parameter, kind=c_size_t), "goss_sync_register: gradient")
      tensor%gradient = address(frame, gradient)
    end if
    if (present(layer)) tensor%layer = int(layer, c_int32_t)
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_sync_register(sync%handle, c_loc(tensor), c_loc(place))
    if (present(index)) index = int(place)
    call finish(frame%code, status, errmsg)
  end subroutine

  !> Collective, once: everybody gets rank 0's parameters.
  subroutine goss_sync_start(sync, status, errmsg)
    type(goss_synchronizer), intent(in) :: sync
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call finish(c_goss_sync_start(sync%handle), status, errmsg)
  end subroutine

  !> The learning rate of the steps to come.
  subroutine goss_sync_set_lr(sync, rate, status, errmsg)
    type(goss_synchronizer), intent(in) :: sync
    real(real64), intent(in) :: rate
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call finish(c_goss_sync_set_lr(sync%handle, rate), status, errmsg)
  end subroutine

  !> The gradient of a tensor is final; its exchange may start.
  subroutine goss_sync_gradient_ready(sync, index, status, errmsg)
    type(goss_synchronizer), intent(in) :: sync
    integer, intent(in) :: index
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call finish(c_goss_sync_gradient_ready(sync%handle, int(index, c_int32_t)), status, errmsg)
  end subroutine

  !> Collective: afterwards gradients are what the optimizer shall see.
  subroutine goss_sync_gradients(sync, status, errmsg)
    type(goss_synchronizer), intent(in) :: sync
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call finish(c_goss_sync_gradients(sync%handle), status, errmsg)
  end subroutine

  !> Collective: the optimizer has changed the parameters.
  subroutine goss_sync_step(sync, status, errmsg)
    type(goss_synchronizer), intent(in) :: sync
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call finish(c_goss_sync_step(sync%handle), status, errmsg)
  end subroutine

  !> Collective: afterwards all ranks hold the same parameters.
  subroutine goss_sync_finish(sync, status, errmsg)
    type(goss_synchronizer), intent(in) :: sync
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call finish(c_goss_sync_finish(sync%handle), status, errmsg)
  end subroutine

  !> Local: nothing is lent any more.
  subroutine goss_sync_destroy(sync, status, errmsg)
    type(goss_synchronizer), intent(inout) :: sync
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call finish(c_goss_sync_destroy(sync%handle), status, errmsg)
    sync%handle = c_null_ptr
  end subroutine

  !> Local: a topology of gossip, such as "ring"; gossip.h lists them.
  subroutine goss_topology_create(spec, ranks, topology, status, errmsg)
    character(*), intent(in) :: spec
    integer, intent(in) :: ranks
    type(goss_graph), intent(out), target :: topology
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    character(kind=c_char), allocatable, target :: letters(:)
    allocate (letters, source=c_text(spec))
    call finish(c_goss_topology_create(c_loc(letters), int(ranks, c_int32_t), c_loc(topology%handle)), status, errmsg)
  end subroutine

  !> The neighbours of `rank` in `round`.
  subroutine goss_topology_neighbors(topology, round, rank, neighbors, status, errmsg)
    type(goss_graph), intent(in) :: topology
    integer(int64), intent(in) :: round
    integer, intent(in) :: rank
    type(goss_neighbors), intent(out) :: neighbors
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(goss_neighborhood), target :: hood
    type(goss_neighbor), pointer :: list(:)
    integer(c_int) :: code
    hood%size = c_sizeof(hood)
    code = c_goss_topology_neighbors(topology%handle, round, int(rank, c_int32_t), c_loc(hood))
    if (code == GOSS_SUCCESS) then
      neighbors%self_weight = hood%self_weight
      call c_f_pointer(hood%sources, list, [hood%source_count])
      allocate (neighbors%sources(size(list)), neighbors%source_weights(size(list)))
      neighbors%sources(:) = int(list%rank)
      neighbors%source_weights(:) = list%weight
      call c_f_pointer(hood%destinations, list, [hood%destination_count])
      allocate (neighbors%destinations(size(list)), neighbors%destination_weights(size(list)))
      neighbors%destinations(:) = int(list%rank)
      neighbors%destination_weights(:) = list%weight
    end if
    call finish(code, status, errmsg)
  end subroutine

  !> Local.
  subroutine goss_topology_destroy(topology, status, errmsg)
    type(goss_graph), intent(inout) :: topology
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call finish(c_goss_topology_destroy(topology%handle), status, errmsg)
    topology%handle = c_null_ptr
  end subroutine

end module
