!> Each collective and message for buffers of any type; gossamer_calls.f90 says of which.
module gossamer_core
  use, intrinsic :: iso_c_binding
  use gossamer_abi, only: GOSS_SUCCESS, goss_message, c_goss_all_gather, c_goss_all_gatherv, c_goss_all_reduce, &
    c_goss_all_to_all, c_goss_all_to_allv, c_goss_broadcast, c_goss_exscan, c_goss_gather, c_goss_neighbor_all_gather, &
    c_goss_neighbor_all_gatherv, c_goss_neighbor_all_reduce, c_goss_neighbor_all_to_all, c_goss_neighbor_all_to_allv, &
    c_goss_recv, c_goss_reduce, c_goss_reduce_scatter, c_goss_reduce_scatterv, c_goss_scan, c_goss_scatter, c_goss_send, &
    c_goss_sendrecv
  use gossamer_types, only: goss_communicator, goss_operation, goss_received, goss_call_options, goss_neighbors, goss_reduction, &
    call_frame, raw_neighbors, begin_call, end_call, address, expect, expect_blocks, total, fill, received
  implicit none (type, external)
  private
  public :: core_all_reduce, core_all_reduce_in_place, core_reduce, core_broadcast, core_all_gather, core_all_gatherv, &
    core_reduce_scatter, core_reduce_scatterv, core_all_to_all, core_all_to_allv, core_gather, core_scatter, core_scan, &
    core_exscan, core_send, core_recv, core_neighbor_all_reduce, core_neighbor_all_gather, core_neighbor_all_gatherv, &
    core_neighbor_all_to_all, core_neighbor_all_to_allv, core_sendrecv

contains

  subroutine core_all_reduce(comm, send, recv, dtype, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(*), intent(in), target, asynchronous, dimension(..) :: send
    type(*), intent(inout), target, asynchronous, dimension(..) :: recv
    integer(c_int), intent(in) :: dtype
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    type(c_ptr) :: source, target
    call begin_call(frame, comm, options, request)
    source = address(frame, send)
    target = address(frame, recv)
    call expect(frame, size(recv, kind=c_size_t), size(send, kind=c_size_t), "goss_all_reduce: recv")
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_all_reduce(comm%handle, source, target, size(send,  &
      kind=c_size_t), dtype, op%value, frame%options, frame%request)
    call end_call(frame, request, status, errmsg)
  end subroutine

  subroutine core_all_reduce_in_place(comm, buffer, dtype, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(*), intent(inout), target, asynchronous, dimension(..) :: buffer
    integer(c_int), intent(in) :: dtype
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    type(c_ptr) :: target
    call begin_call(frame, comm, options, request)
    target = address(frame, buffer)
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_all_reduce(comm%handle, target, target, size(buffer,  &
      kind=c_size_t), dtype, op%value, frame%options, frame%request)
    call end_call(frame, request, status, errmsg)
  end subroutine

  subroutine core_reduce(comm, send, recv, dtype, op, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(*), intent(in), target, asynchronous, dimension(..) :: send
    type(*), intent(inout), target, asynchronous, dimension(..) :: recv
    integer(c_int), intent(in) :: dtype
    type(goss_reduction), intent(in) :: op
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    type(c_ptr) :: source, target
    call begin_call(frame, comm, options, request)
    source = address(frame, send)
    target = address(frame, recv)
    if (comm%rank == root) call expect(frame, size(recv, kind=c_size_t), size(send, kind=c_size_t), &
      "goss_reduce: recv of the root")
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_reduce(comm%handle, source, target, size(send, kind=c_size_t),  &
      dtype, op%value, int(root, c_int32_t), frame%options, frame%request)
    call end_call(frame, request, status, errmsg)
  end subroutine

  subroutine core_broadcast(comm, buffer, dtype, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(*), intent(inout), target, asynchronous, dimension(..) :: buffer
    integer(c_int), intent(in) :: dtype
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    type(c_ptr) :: target
    call begin_call(frame, comm, options, request)
    target = address(frame, buffer)
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_broadcast(comm%handle, target, target, size(buffer,  &
      kind=c_size_t), dtype, int(root, c_int32_t), frame%options, frame%request)
    call end_call(frame, request, status, errmsg)
  end subroutine

  subroutine core_all_gather(comm, send, recv, dtype, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(*), intent(in), target, asynchronous, dimension(..) :: send
    type(*), intent(inout), target, asynchronous, dimension(..) :: recv
    integer(c_int), intent(in) :: dtype
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    type(c_ptr) :: source, target
    call begin_call(frame, comm, options, request)
    source = address(frame, send)
    target = address(frame, recv)
    call expect(frame, size(recv, kind=c_size_t), size(send, kind=c_size_t) * comm%size, "goss_all_gather: recv")
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_all_gather(comm%handle, source, target, size(send,  &
      kind=c_size_t), dtype, frame%options, frame%request)
    call end_call(frame, request, status, errmsg)
  end subroutine

  subroutine core_all_gatherv(comm, send, recv, dtype, counts, displs, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(*), intent(in), target, asynchronous, dimension(..) :: send
    type(*), intent(inout), target, asynchronous, dimension(..) :: recv
    integer(c_int), intent(in) :: dtype
    integer, intent(in) :: counts(:)
    integer, intent(in), optional :: displs(:)
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    integer(c_size_t), allocatable, target :: lists(:), offsets(:)
    type(c_ptr) :: places
    type(c_ptr) :: source, target
    call begin_call(frame, comm, options, request)
    source = address(frame, send)
    target = address(frame, recv)
    call expect(frame, size(counts, kind=c_size_t), int(comm%size, c_size_t), "goss_all_gatherv: counts")
    if (frame%code == GOSS_SUCCESS) call expect(frame, size(send, kind=c_size_t), int(counts(comm%rank + 1), c_size_t), &
      "goss_all_gatherv: send")
    call expect_blocks(frame, counts, displs, size(recv, kind=c_size_t), "goss_all_gatherv")
    lists = counts
    places = c_null_ptr
    if (present(displs)) then
      offsets = displs
      places = c_loc(offsets)
    end if
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_all_gatherv(comm%handle, source, target, c_loc(lists), places,  &
      dtype, frame%options, frame%request)
    call end_call(frame, request, status, errmsg)
  end subroutine

  subroutine core_reduce_scatter(comm, send, recv, dtype, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(*), intent(in), target, asynchronous, dimension(..) :: send
    type(*), intent(inout), target, asynchronous, dimension(..) :: recv
    integer(c_int), intent(in) :: dtype
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    type(c_ptr) :: source, target
    call begin_call(frame, comm, options, request)
    source = address(frame, send)
    target = address(frame, recv)
    call expect(frame, size(send, kind=c_size_t), size(recv, kind=c_size_t) * comm%size, "goss_reduce_scatter: send")
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_reduce_scatter(comm%handle, source, target, size(recv,  &
      kind=c_size_t), dtype, op%value, frame%options, frame%request)
    call end_call(frame, request, status, errmsg)
  end subroutine

  subroutine core_reduce_scatterv(comm, send, recv, dtype, counts, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(*), intent(in), target, asynchronous, dimension(..) :: send
    type(*), intent(inout), target, asynchronous, dimension(..) :: recv
    integer(c_int), intent(in) :: dtype
    integer, intent(in) :: counts(:)
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    integer(c_size_t), allocatable, target :: lists(:)
    type(c_ptr) :: source, target
    call begin_call(frame, comm, options, request)
    source = address(frame, send)
    target = address(frame, recv)
    call expect(frame, size(counts, kind=c_size_t), int(comm%size, c_size_t), "goss_reduce_scatterv: counts")
    call expect(frame, size(send, kind=c_size_t), total(counts), "goss_reduce_scatterv: send")
    if (frame%code == GOSS_SUCCESS) call expect(frame, size(recv, kind=c_size_t), int(counts(comm%rank + 1), c_size_t), &
      "goss_reduce_scatterv: recv")
    lists = counts
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_reduce_scatterv(comm%handle, source, target, c_loc(lists),  &
      dtype, op%value, frame%options, frame%request)
    call end_call(frame, request, status, errmsg)
  end subroutine

  subroutine core_all_to_all(comm, send, recv, dtype, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(*), intent(in), target, asynchronous, dimension(..) :: send
    type(*), intent(inout), target, asynchronous, dimension(..) :: recv
    integer(c_int), intent(in) :: dtype
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    integer(c_size_t) :: count
    type(c_ptr) :: source, target
    call begin_call(frame, comm, options, request)
    source = address(frame, send)
    target = address(frame, recv)
    call expect(frame, size(recv, kind=c_size_t), size(send, kind=c_size_t), "goss_all_to_all: recv")
    count = size(send, kind=c_size_t) / max(comm%size, 1)
    call expect(frame, size(send, kind=c_size_t), count * comm%size, "goss_all_to_all: send")
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_all_to_all(comm%handle, source, target, count, dtype, &
      frame%options, frame%request)
    call end_call(frame, request, status, errmsg)
  end subroutine

  subroutine core_all_to_allv(comm, send, recv, dtype, send_counts, recv_counts, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(*), intent(in), target, asynchronous, dimension(..) :: send
    type(*), intent(inout), target, asynchronous, dimension(..) :: recv
    integer(c_int), intent(in) :: dtype
    integer, intent(in) :: send_counts(:), recv_counts(:)
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    integer(c_size_t), allocatable, target :: sends(:), recvs(:)
    type(c_ptr) :: source, target
    call begin_call(frame, comm, options, request)
    source = address(frame, send)
    target = address(frame, recv)
    call expect(frame, size(send_counts, kind=c_size_t), int(comm%size, c_size_t), "goss_all_to_allv: send_counts")
    call expect(frame, size(recv_counts, kind=c_size_t), int(comm%size, c_size_t), "goss_all_to_allv: recv_counts")
    call expect(frame, size(send, kind=c_size_t), total(send_counts), "goss_all_to_allv: send")
    call expect(frame, size(recv, kind=c_size_t), total(recv_counts), "goss_all_to_allv: recv")
    sends = send_counts
    recvs = recv_counts
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_all_to_allv(comm%handle, source, c_loc(sends), c_null_ptr,  &
      target, c_loc(recvs), c_null_ptr, dtype, frame%options, frame%request)
    call end_call(frame, request, status, errmsg)
  end subroutine

  subroutine core_gather(comm, send, recv, dtype, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(*), intent(in), target, asynchronous, dimension(..) :: send
    type(*), intent(inout), target, asynchronous, dimension(..) :: recv
    integer(c_int), intent(in) :: dtype
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    type(c_ptr) :: source, target
    call begin_call(frame, comm, options, request)
    source = address(frame, send)
    target = address(frame, recv)
    if (comm%rank == root) call expect(frame, size(recv, kind=c_size_t), size(send, kind=c_size_t) * comm%size, &
      "goss_gather: recv of the root")
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_gather(comm%handle, source, target, size(send, kind=c_size_t),  &
      dtype, int(root, c_int32_t), frame%options, frame%request)
    call end_call(frame, request, status, errmsg)
  end subroutine

  subroutine core_scatter(comm, send, recv, dtype, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(*), intent(in), target, asynchronous, dimension(..) :: send
    type(*), intent(inout), target, asynchronous, dimension(..) :: recv
    integer(c_int), intent(in) :: dtype
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    type(c_ptr) :: source, target
    call begin_call(frame, comm, options, request)
    source = address(frame, send)
    target = address(frame, recv)
    if (comm%rank == root) call expect(frame, size(send, kind=c_size_t), size(recv, kind=c_size_t) * comm%size, &
      "goss_scatter: send of the root")
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_scatter(comm%handle, source, target, size(recv, kind=c_size_t),  &
      dtype, int(root, c_int32_t), frame%options, frame%request)
    call end_call(frame, request, status, errmsg)
  end subroutine

  subroutine core_scan(comm, send, recv, dtype, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(*), intent(in), target, asynchronous, dimension(..) :: send
    type(*), intent(inout), target, asynchronous, dimension(..) :: recv
    integer(c_int), intent(in) :: dtype
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    type(c_ptr) :: source, target
    call begin_call(frame, comm, options, request)
    source = address(frame, send)
    target = address(frame, recv)
    call expect(frame, size(recv, kind=c_size_t), size(send, kind=c_size_t), "goss_scan: recv")
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_scan(comm%handle, source, target, size(send, kind=c_size_t),  &
      dtype, op%value, frame%options, frame%request)
    call end_call(frame, request, status, errmsg)
  end subroutine

  subroutine core_exscan(comm, send, recv, dtype, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(*), intent(in), target, asynchronous, dimension(..) :: send
    type(*), intent(inout), target, asynchronous, dimension(..) :: recv
    integer(c_int), intent(in) :: dtype
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    type(c_ptr) :: source, target
    call begin_call(frame, comm, options, request)
    source = address(frame, send)
    target = address(frame, recv)
    call expect(frame, size(recv, kind=c_size_t), size(send, kind=c_size_t), "goss_exscan: recv")
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_exscan(comm%handle, source, target, size(send, kind=c_size_t),  &
      dtype, op%value, frame%options, frame%request)
    call end_call(frame, request, status, errmsg)
  end subroutine

  subroutine core_send(comm, buffer, dtype, peer, tag, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(*), intent(in), target, asynchronous, dimension(..) :: buffer
    integer(c_int), intent(in) :: dtype
    integer, intent(in) :: peer, tag
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    type(c_ptr) :: source
    call begin_call(frame, comm, options, request)
    source = address(frame, buffer)
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_send(comm%handle, source, size(buffer, kind=c_size_t), dtype,  &
      int(peer, c_int32_t), int(tag, c_int32_t), frame%options, frame%request)
    call end_call(frame, request, status, errmsg)
  end subroutine

  subroutine core_recv(comm, buffer, dtype, peer, tag, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(*), intent(inout), target, asynchronous, dimension(..) :: buffer
    integer(c_int), intent(in) :: dtype
    integer, intent(in) :: peer, tag
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    type(c_ptr) :: target
    call begin_call(frame, comm, options, request)
    target = address(frame, buffer)
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_recv(comm%handle, target, size(buffer, kind=c_size_t), dtype,  &
      int(peer, c_int32_t), int(tag, c_int32_t), frame%options, frame%request)
    call end_call(frame, request, status, errmsg)
  end subroutine

  subroutine core_neighbor_all_reduce(comm, send, recv, dtype, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(*), intent(in), target, asynchronous, dimension(..) :: send
    type(*), intent(inout), target, asynchronous, dimension(..) :: recv
    integer(c_int), intent(in) :: dtype
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    type(raw_neighbors), target :: raw
    type(c_ptr) :: source, target
    call begin_call(frame, comm, options, request)
    call fill(frame, raw, neighbors)
    source = address(frame, send)
    target = address(frame, recv)
    call expect(frame, size(recv, kind=c_size_t), size(send, kind=c_size_t), "goss_neighbor_all_reduce: recv")
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_neighbor_all_reduce(comm%handle, source, target, size(send,  &
      kind=c_size_t), dtype, c_loc(raw%hood), frame%options, frame%request)
    call end_call(frame, request, status, errmsg)
  end subroutine

  subroutine core_neighbor_all_gather(comm, send, recv, dtype, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(*), intent(in), target, asynchronous, dimension(..) :: send
    type(*), intent(inout), target, asynchronous, dimension(..) :: recv
    integer(c_int), intent(in) :: dtype
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    type(raw_neighbors), target :: raw
    type(c_ptr) :: source, target
    call begin_call(frame, comm, options, request)
    call fill(frame, raw, neighbors)
    source = address(frame, send)
    target = address(frame, recv)
    call expect(frame, size(recv, kind=c_size_t), size(send, kind=c_size_t) * size(raw%sources), &
      "goss_neighbor_all_gather: recv")
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_neighbor_all_gather(comm%handle, source, target, size(send,  &
      kind=c_size_t), dtype, c_loc(raw%hood), frame%options, frame%request)
    call end_call(frame, request, status, errmsg)
  end subroutine

  subroutine core_neighbor_all_gatherv(comm, send, recv, dtype, recv_counts, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(*), intent(in), target, asynchronous, dimension(..) :: send
    type(*), intent(inout), target, asynchronous, dimension(..) :: recv
    integer(c_int), intent(in) :: dtype
    integer, intent(in) :: recv_counts(:)
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    type(raw_neighbors), target :: raw
    integer(c_size_t), allocatable, target :: recvs(:)
    type(c_ptr) :: source, target
    call begin_call(frame, comm, options, request)
    call fill(frame, raw, neighbors)
    source = address(frame, send)
    target = address(frame, recv)
    call expect(frame, size(recv_counts, kind=c_size_t), size(raw%sources, kind=c_size_t), &
      "goss_neighbor_all_gatherv: recv_counts")
    call expect(frame, size(recv, kind=c_size_t), total(recv_counts), "goss_neighbor_all_gatherv: recv")
    recvs = recv_counts
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_neighbor_all_gatherv(comm%handle, source, size(send,  &
      kind=c_size_t), target, c_loc(recvs), c_null_ptr, dtype, c_loc(raw%hood), frame%options, frame%request)
    call end_call(frame, request, status, errmsg)
  end subroutine

  subroutine core_neighbor_all_to_all(comm, send, recv, dtype, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(*), intent(in), target, asynchronous, dimension(..) :: send
    type(*), intent(inout), target, asynchronous, dimension(..) :: recv
    integer(c_int), intent(in) :: dtype
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    type(raw_neighbors), target :: raw
    integer(c_size_t) :: count
    type(c_ptr) :: source, target
    call begin_call(frame, comm, options, request)
    call fill(frame, raw, neighbors)
    source = address(frame, send)
    target = address(frame, recv)
    count = 0
    if (size(raw%destinations) > 0) count = size(send, kind=c_size_t) / size(raw%destinations)
    if (size(raw%destinations) == 0 .and. size(raw%sources) > 0) &
      count = size(recv, kind=c_size_t) / size(raw%sources)
    call expect(frame, size(send, kind=c_size_t), count * size(raw%destinations), "goss_neighbor_all_to_all: send")
    call expect(frame, size(recv, kind=c_size_t), count * size(raw%sources), "goss_neighbor_all_to_all: recv")
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_neighbor_all_to_all(comm%handle, source, target, count, dtype,  &
      c_loc(raw%hood), frame%options, frame%request)
    call end_call(frame, request, status, errmsg)
  end subroutine

  subroutine core_neighbor_all_to_allv(comm, send, recv, dtype, send_counts, recv_counts, neighbors, options, request, &
    status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(*), intent(in), target, asynchronous, dimension(..) :: send
    type(*), intent(inout), target, asynchronous, dimension(..) :: recv
    integer(c_int), intent(in) :: dtype
    integer, intent(in) :: send_counts(:), recv_counts(:)
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    type(raw_neighbors), target :: raw
    integer(c_size_t), allocatable, target :: sends(:), recvs(:)
    type(c_ptr) :: source, target
    call begin_call(frame, comm, options, request)
    call fill(frame, raw, neighbors)
    source = address(frame, send)
    target = address(frame, recv)
    call expect(frame, size(send_counts, kind=c_size_t), size(raw%destinations, kind=c_size_t), &
      "goss_neighbor_all_to_allv: send_counts")
    call expect(frame, size(recv_counts, kind=c_size_t), size(raw%sources, kind=c_size_t), &
      "goss_neighbor_all_to_allv: recv_counts")
    call expect(frame, size(send, kind=c_size_t), total(send_counts), "goss_neighbor_all_to_allv: send")
    call expect(frame, size(recv, kind=c_size_t), total(recv_counts), "goss_neighbor_all_to_allv: recv")
    sends = send_counts
    recvs = recv_counts
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_neighbor_all_to_allv(comm%handle, source, c_loc(sends),  &
      c_null_ptr, target, c_loc(recvs), c_null_ptr, dtype, c_loc(raw%hood), frame%options, frame%request)
    call end_call(frame, request, status, errmsg)
  end subroutine

  subroutine core_sendrecv(comm, send, recv, dtype, dest, source, tag, message, options, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    type(*), intent(in), target, asynchronous, dimension(..) :: send
    type(*), intent(inout), target, asynchronous, dimension(..) :: recv
    integer(c_int), intent(in) :: dtype
    integer, intent(in) :: dest, source, tag
    type(goss_received), intent(out), optional :: message
    type(goss_call_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    type(call_frame), target :: frame
    type(goss_message), target :: got
    type(c_ptr) :: from, to
    call begin_call(frame, comm, options)
    from = address(frame, send)
    to = address(frame, recv)
    if (frame%code == GOSS_SUCCESS) frame%code = c_goss_sendrecv(comm%handle, from, size(send, kind=c_size_t), &
      int(dest, c_int32_t), to, size(recv, kind=c_size_t), int(source, c_int32_t), dtype, int(tag, c_int32_t), &
      frame%options, c_loc(got))
    if (present(message) .and. frame%code == GOSS_SUCCESS) message = received(got)
    call end_call(frame, status=status, errmsg=errmsg)
  end subroutine

end module
