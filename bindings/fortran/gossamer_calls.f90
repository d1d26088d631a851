! bindings/fortran/generate wrote this file; do not edit it.
!> Collectives and messages for every kind and rank of buffers.
module gossamer_calls
  use, intrinsic :: iso_fortran_env, only: int8, int32, int64, real32, real64
  use, intrinsic :: iso_c_binding, only: c_bool
  use gossamer_abi, only: GOSS_INT8, GOSS_INT32, GOSS_INT64, GOSS_FLOAT32, GOSS_FLOAT64, GOSS_BOOL
  use gossamer_types
  use gossamer_types
  use gossamer_core
  implicit none (type, external)
  private

  public :: goss_all_reduce
  interface goss_all_reduce
    module procedure all_reduce_int8, all_reduce_int32, all_reduce_int64, all_reduce_real32, all_reduce_real64, &
        all_reduce_bool
    module procedure all_reduce_in_place_int8, all_reduce_in_place_int32, all_reduce_in_place_int64, &
        all_reduce_in_place_real32, all_reduce_in_place_real64, all_reduce_in_place_bool
  end interface
  public :: goss_reduce
  interface goss_reduce
    module procedure reduce_int8, reduce_int32, reduce_int64, reduce_real32, reduce_real64, reduce_bool
  end interface
  public :: goss_broadcast
  interface goss_broadcast
    module procedure broadcast_int8, broadcast_int32, broadcast_int64, broadcast_real32, broadcast_real64, broadcast_bool
  end interface
  public :: goss_all_gather
  interface goss_all_gather
    module procedure all_gather_int8, all_gather_int32, all_gather_int64, all_gather_real32, all_gather_real64, &
        all_gather_bool
  end interface
  public :: goss_all_gatherv
  interface goss_all_gatherv
    module procedure all_gatherv_int8, all_gatherv_int32, all_gatherv_int64, all_gatherv_real32, all_gatherv_real64, &
        all_gatherv_bool
  end interface
  public :: goss_reduce_scatter
  interface goss_reduce_scatter
    module procedure reduce_scatter_int8, reduce_scatter_int32, reduce_scatter_int64, reduce_scatter_real32, &
        reduce_scatter_real64, reduce_scatter_bool
  end interface
  public :: goss_reduce_scatterv
  interface goss_reduce_scatterv
    module procedure reduce_scatterv_int8, reduce_scatterv_int32, reduce_scatterv_int64, reduce_scatterv_real32, &
        reduce_scatterv_real64, reduce_scatterv_bool
  end interface
  public :: goss_all_to_all
  interface goss_all_to_all
    module procedure all_to_all_int8, all_to_all_int32, all_to_all_int64, all_to_all_real32, all_to_all_real64, &
        all_to_all_bool
  end interface
  public :: goss_all_to_allv
  interface goss_all_to_allv
    module procedure all_to_allv_int8, all_to_allv_int32, all_to_allv_int64, all_to_allv_real32, all_to_allv_real64, &
        all_to_allv_bool
  end interface
  public :: goss_gather
  interface goss_gather
    module procedure gather_int8, gather_int32, gather_int64, gather_real32, gather_real64, gather_bool
  end interface
  public :: goss_scatter
  interface goss_scatter
    module procedure scatter_int8, scatter_int32, scatter_int64, scatter_real32, scatter_real64, scatter_bool
  end interface
  public :: goss_scan
  interface goss_scan
    module procedure scan_int8, scan_int32, scan_int64, scan_real32, scan_real64, scan_bool
  end interface
  public :: goss_exscan
  interface goss_exscan
    module procedure exscan_int8, exscan_int32, exscan_int64, exscan_real32, exscan_real64, exscan_bool
  end interface
  public :: goss_send
  interface goss_send
    module procedure send_int8, send_int32, send_int64, send_real32, send_real64, send_bool
  end interface
  public :: goss_recv
  interface goss_recv
    module procedure recv_int8, recv_int32, recv_int64, recv_real32, recv_real64, recv_bool
  end interface
  public :: goss_sendrecv
  interface goss_sendrecv
    module procedure sendrecv_int8, sendrecv_int32, sendrecv_int64, sendrecv_real32, sendrecv_real64, sendrecv_bool
  end interface
  public :: goss_neighbor_all_reduce
  interface goss_neighbor_all_reduce
    module procedure neighbor_all_reduce_int8, neighbor_all_reduce_int32, neighbor_all_reduce_int64, &
        neighbor_all_reduce_real32, neighbor_all_reduce_real64, neighbor_all_reduce_bool
  end interface
  public :: goss_neighbor_all_gather
  interface goss_neighbor_all_gather
    module procedure neighbor_all_gather_int8, neighbor_all_gather_int32, neighbor_all_gather_int64, &
        neighbor_all_gather_real32, neighbor_all_gather_real64, neighbor_all_gather_bool
  end interface
  public :: goss_neighbor_all_gatherv
  interface goss_neighbor_all_gatherv
    module procedure neighbor_all_gatherv_int8, neighbor_all_gatherv_int32, neighbor_all_gatherv_int64, &
        neighbor_all_gatherv_real32, neighbor_all_gatherv_real64, neighbor_all_gatherv_bool
  end interface
  public :: goss_neighbor_all_to_all
  interface goss_neighbor_all_to_all
    module procedure neighbor_all_to_all_int8, neighbor_all_to_all_int32, neighbor_all_to_all_int64, &
        neighbor_all_to_all_real32, neighbor_all_to_all_real64, neighbor_all_to_all_bool
  end interface
  public :: goss_neighbor_all_to_allv
  interface goss_neighbor_all_to_allv
    module procedure neighbor_all_to_allv_int8, neighbor_all_to_allv_int32, neighbor_all_to_allv_int64, &
        neighbor_all_to_allv_real32, neighbor_all_to_allv_real64, neighbor_all_to_allv_bool
  end interface

contains

  subroutine all_reduce_int8(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int8), intent(in), target, asynchronous, dimension(..) :: send
    integer(int8), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_reduce(comm, send, recv, GOSS_INT8, op, options, request, status, errmsg)
  end subroutine

  subroutine all_reduce_int32(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int32), intent(in), target, asynchronous, dimension(..) :: send
    integer(int32), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_reduce(comm, send, recv, GOSS_INT32, op, options, request, status, errmsg)
  end subroutine

  subroutine all_reduce_int64(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int64), intent(in), target, asynchronous, dimension(..) :: send
    integer(int64), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_reduce(comm, send, recv, GOSS_INT64, op, options, request, status, errmsg)
  end subroutine

  subroutine all_reduce_real32(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real32), intent(in), target, asynchronous, dimension(..) :: send
    real(real32), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_reduce(comm, send, recv, GOSS_FLOAT32, op, options, request, status, errmsg)
  end subroutine

  subroutine all_reduce_real64(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real64), intent(in), target, asynchronous, dimension(..) :: send
    real(real64), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_reduce(comm, send, recv, GOSS_FLOAT64, op, options, request, status, errmsg)
  end subroutine

  subroutine all_reduce_bool(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    logical(c_bool), intent(in), target, asynchronous, dimension(..) :: send
    logical(c_bool), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_reduce(comm, send, recv, GOSS_BOOL, op, options, request, status, errmsg)
  end subroutine

  subroutine all_reduce_in_place_int8(comm, buffer, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int8), intent(inout), target, asynchronous, dimension(..) :: buffer
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_reduce_in_place(comm, buffer, GOSS_INT8, op, options, request, status, errmsg)
  end subroutine

  subroutine all_reduce_in_place_int32(comm, buffer, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int32), intent(inout), target, asynchronous, dimension(..) :: buffer
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_reduce_in_place(comm, buffer, GOSS_INT32, op, options, request, status, errmsg)
  end subroutine

  subroutine all_reduce_in_place_int64(comm, buffer, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int64), intent(inout), target, asynchronous, dimension(..) :: buffer
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_reduce_in_place(comm, buffer, GOSS_INT64, op, options, request, status, errmsg)
  end subroutine

  subroutine all_reduce_in_place_real32(comm, buffer, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real32), intent(inout), target, asynchronous, dimension(..) :: buffer
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_reduce_in_place(comm, buffer, GOSS_FLOAT32, op, options, request, status, errmsg)
  end subroutine

  subroutine all_reduce_in_place_real64(comm, buffer, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real64), intent(inout), target, asynchronous, dimension(..) :: buffer
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_reduce_in_place(comm, buffer, GOSS_FLOAT64, op, options, request, status, errmsg)
  end subroutine

  subroutine all_reduce_in_place_bool(comm, buffer, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    logical(c_bool), intent(inout), target, asynchronous, dimension(..) :: buffer
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_reduce_in_place(comm, buffer, GOSS_BOOL, op, options, request, status, errmsg)
  end subroutine

  subroutine reduce_int8(comm, send, recv, op, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int8), intent(in), target, asynchronous, dimension(..) :: send
    integer(int8), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_reduce(comm, send, recv, GOSS_INT8, op, root, options, request, status, errmsg)
  end subroutine

  subroutine reduce_int32(comm, send, recv, op, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int32), intent(in), target, asynchronous, dimension(..) :: send
    integer(int32), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_reduce(comm, send, recv, GOSS_INT32, op, root, options, request, status, errmsg)
  end subroutine

  subroutine reduce_int64(comm, send, recv, op, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int64), intent(in), target, asynchronous, dimension(..) :: send
    integer(int64), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_reduce(comm, send, recv, GOSS_INT64, op, root, options, request, status, errmsg)
  end subroutine

  subroutine reduce_real32(comm, send, recv, op, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real32), intent(in), target, asynchronous, dimension(..) :: send
    real(real32), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_reduce(comm, send, recv, GOSS_FLOAT32, op, root, options, request, status, errmsg)
  end subroutine

  subroutine reduce_real64(comm, send, recv, op, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real64), intent(in), target, asynchronous, dimension(..) :: send
    real(real64), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_reduce(comm, send, recv, GOSS_FLOAT64, op, root, options, request, status, errmsg)
  end subroutine

  subroutine reduce_bool(comm, send, recv, op, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    logical(c_bool), intent(in), target, asynchronous, dimension(..) :: send
    logical(c_bool), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_reduce(comm, send, recv, GOSS_BOOL, op, root, options, request, status, errmsg)
  end subroutine

  subroutine broadcast_int8(comm, buffer, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int8), intent(inout), target, asynchronous, dimension(..) :: buffer
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_broadcast(comm, buffer, GOSS_INT8, root, options, request, status, errmsg)
  end subroutine

  subroutine broadcast_int32(comm, buffer, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int32), intent(inout), target, asynchronous, dimension(..) :: buffer
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_broadcast(comm, buffer, GOSS_INT32, root, options, request, status, errmsg)
  end subroutine

  subroutine broadcast_int64(comm, buffer, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int64), intent(inout), target, asynchronous, dimension(..) :: buffer
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_broadcast(comm, buffer, GOSS_INT64, root, options, request, status, errmsg)
  end subroutine

  subroutine broadcast_real32(comm, buffer, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real32), intent(inout), target, asynchronous, dimension(..) :: buffer
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_broadcast(comm, buffer, GOSS_FLOAT32, root, options, request, status, errmsg)
  end subroutine

  subroutine broadcast_real64(comm, buffer, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real64), intent(inout), target, asynchronous, dimension(..) :: buffer
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_broadcast(comm, buffer, GOSS_FLOAT64, root, options, request, status, errmsg)
  end subroutine

  subroutine broadcast_bool(comm, buffer, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    logical(c_bool), intent(inout), target, asynchronous, dimension(..) :: buffer
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_broadcast(comm, buffer, GOSS_BOOL, root, options, request, status, errmsg)
  end subroutine

  subroutine all_gather_int8(comm, send, recv, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int8), intent(in), target, asynchronous, dimension(..) :: send
    integer(int8), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_gather(comm, send, recv, GOSS_INT8, options, request, status, errmsg)
  end subroutine

  subroutine all_gather_int32(comm, send, recv, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int32), intent(in), target, asynchronous, dimension(..) :: send
    integer(int32), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_gather(comm, send, recv, GOSS_INT32, options, request, status, errmsg)
  end subroutine

  subroutine all_gather_int64(comm, send, recv, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int64), intent(in), target, asynchronous, dimension(..) :: send
    integer(int64), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_gather(comm, send, recv, GOSS_INT64, options, request, status, errmsg)
  end subroutine

  subroutine all_gather_real32(comm, send, recv, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real32), intent(in), target, asynchronous, dimension(..) :: send
    real(real32), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_gather(comm, send, recv, GOSS_FLOAT32, options, request, status, errmsg)
  end subroutine

  subroutine all_gather_real64(comm, send, recv, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real64), intent(in), target, asynchronous, dimension(..) :: send
    real(real64), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_gather(comm, send, recv, GOSS_FLOAT64, options, request, status, errmsg)
  end subroutine

  subroutine all_gather_bool(comm, send, recv, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    logical(c_bool), intent(in), target, asynchronous, dimension(..) :: send
    logical(c_bool), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_gather(comm, send, recv, GOSS_BOOL, options, request, status, errmsg)
  end subroutine

  subroutine all_gatherv_int8(comm, send, recv, counts, displs, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int8), intent(in), target, asynchronous, dimension(..) :: send
    integer(int8), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: counts(:)
    integer, intent(in), optional :: displs(:)
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_gatherv(comm, send, recv, GOSS_INT8, counts, displs, options, request, status, errmsg)
  end subroutine

  subroutine all_gatherv_int32(comm, send, recv, counts, displs, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int32), intent(in), target, asynchronous, dimension(..) :: send
    integer(int32), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: counts(:)
    integer, intent(in), optional :: displs(:)
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_gatherv(comm, send, recv, GOSS_INT32, counts, displs, options, request, status, errmsg)
  end subroutine

  subroutine all_gatherv_int64(comm, send, recv, counts, displs, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int64), intent(in), target, asynchronous, dimension(..) :: send
    integer(int64), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: counts(:)
    integer, intent(in), optional :: displs(:)
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_gatherv(comm, send, recv, GOSS_INT64, counts, displs, options, request, status, errmsg)
  end subroutine

  subroutine all_gatherv_real32(comm, send, recv, counts, displs, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real32), intent(in), target, asynchronous, dimension(..) :: send
    real(real32), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: counts(:)
    integer, intent(in), optional :: displs(:)
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_gatherv(comm, send, recv, GOSS_FLOAT32, counts, displs, options, request, status, errmsg)
  end subroutine

  subroutine all_gatherv_real64(comm, send, recv, counts, displs, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real64), intent(in), target, asynchronous, dimension(..) :: send
    real(real64), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: counts(:)
    integer, intent(in), optional :: displs(:)
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_gatherv(comm, send, recv, GOSS_FLOAT64, counts, displs, options, request, status, errmsg)
  end subroutine

  subroutine all_gatherv_bool(comm, send, recv, counts, displs, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    logical(c_bool), intent(in), target, asynchronous, dimension(..) :: send
    logical(c_bool), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: counts(:)
    integer, intent(in), optional :: displs(:)
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_gatherv(comm, send, recv, GOSS_BOOL, counts, displs, options, request, status, errmsg)
  end subroutine

  subroutine reduce_scatter_int8(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int8), intent(in), target, asynchronous, dimension(..) :: send
    integer(int8), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_reduce_scatter(comm, send, recv, GOSS_INT8, op, options, request, status, errmsg)
  end subroutine

  subroutine reduce_scatter_int32(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int32), intent(in), target, asynchronous, dimension(..) :: send
    integer(int32), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_reduce_scatter(comm, send, recv, GOSS_INT32, op, options, request, status, errmsg)
  end subroutine

  subroutine reduce_scatter_int64(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int64), intent(in), target, asynchronous, dimension(..) :: send
    integer(int64), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_reduce_scatter(comm, send, recv, GOSS_INT64, op, options, request, status, errmsg)
  end subroutine

  subroutine reduce_scatter_real32(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real32), intent(in), target, asynchronous, dimension(..) :: send
    real(real32), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_reduce_scatter(comm, send, recv, GOSS_FLOAT32, op, options, request, status, errmsg)
  end subroutine

  subroutine reduce_scatter_real64(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real64), intent(in), target, asynchronous, dimension(..) :: send
    real(real64), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_reduce_scatter(comm, send, recv, GOSS_FLOAT64, op, options, request, status, errmsg)
  end subroutine

  subroutine reduce_scatter_bool(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    logical(c_bool), intent(in), target, asynchronous, dimension(..) :: send
    logical(c_bool), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_reduce_scatter(comm, send, recv, GOSS_BOOL, op, options, request, status, errmsg)
  end subroutine

  subroutine reduce_scatterv_int8(comm, send, recv, counts, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int8), intent(in), target, asynchronous, dimension(..) :: send
    integer(int8), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: counts(:)
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_reduce_scatterv(comm, send, recv, GOSS_INT8, counts, op, options, request, status, errmsg)
  end subroutine

  subroutine reduce_scatterv_int32(comm, send, recv, counts, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int32), intent(in), target, asynchronous, dimension(..) :: send
    integer(int32), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: counts(:)
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_reduce_scatterv(comm, send, recv, GOSS_INT32, counts, op, options, request, status, errmsg)
  end subroutine

  subroutine reduce_scatterv_int64(comm, send, recv, counts, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int64), intent(in), target, asynchronous, dimension(..) :: send
    integer(int64), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: counts(:)
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_reduce_scatterv(comm, send, recv, GOSS_INT64, counts, op, options, request, status, errmsg)
  end subroutine

  subroutine reduce_scatterv_real32(comm, send, recv, counts, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real32), intent(in), target, asynchronous, dimension(..) :: send
    real(real32), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: counts(:)
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_reduce_scatterv(comm, send, recv, GOSS_FLOAT32, counts, op, options, request, status, errmsg)
  end subroutine

  subroutine reduce_scatterv_real64(comm, send, recv, counts, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real64), intent(in), target, asynchronous, dimension(..) :: send
    real(real64), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: counts(:)
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_reduce_scatterv(comm, send, recv, GOSS_FLOAT64, counts, op, options, request, status, errmsg)
  end subroutine

  subroutine reduce_scatterv_bool(comm, send, recv, counts, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    logical(c_bool), intent(in), target, asynchronous, dimension(..) :: send
    logical(c_bool), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: counts(:)
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_reduce_scatterv(comm, send, recv, GOSS_BOOL, counts, op, options, request, status, errmsg)
  end subroutine

  subroutine all_to_all_int8(comm, send, recv, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int8), intent(in), target, asynchronous, dimension(..) :: send
    integer(int8), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_to_all(comm, send, recv, GOSS_INT8, options, request, status, errmsg)
  end subroutine

  subroutine all_to_all_int32(comm, send, recv, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int32), intent(in), target, asynchronous, dimension(..) :: send
    integer(int32), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_to_all(comm, send, recv, GOSS_INT32, options, request, status, errmsg)
  end subroutine

  subroutine all_to_all_int64(comm, send, recv, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int64), intent(in), target, asynchronous, dimension(..) :: send
    integer(int64), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_to_all(comm, send, recv, GOSS_INT64, options, request, status, errmsg)
  end subroutine

  subroutine all_to_all_real32(comm, send, recv, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real32), intent(in), target, asynchronous, dimension(..) :: send
    real(real32), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_to_all(comm, send, recv, GOSS_FLOAT32, options, request, status, errmsg)
  end subroutine

  subroutine all_to_all_real64(comm, send, recv, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real64), intent(in), target, asynchronous, dimension(..) :: send
    real(real64), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_to_all(comm, send, recv, GOSS_FLOAT64, options, request, status, errmsg)
  end subroutine

  subroutine all_to_all_bool(comm, send, recv, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    logical(c_bool), intent(in), target, asynchronous, dimension(..) :: send
    logical(c_bool), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_to_all(comm, send, recv, GOSS_BOOL, options, request, status, errmsg)
  end subroutine

  subroutine all_to_allv_int8(comm, send, recv, send_counts, recv_counts, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int8), intent(in), target, asynchronous, dimension(..) :: send
    integer(int8), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: send_counts(:)
    integer, intent(in) :: recv_counts(:)
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_to_allv(comm, send, recv, GOSS_INT8, send_counts, recv_counts, options, request, status, errmsg)
  end subroutine

  subroutine all_to_allv_int32(comm, send, recv, send_counts, recv_counts, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int32), intent(in), target, asynchronous, dimension(..) :: send
    integer(int32), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: send_counts(:)
    integer, intent(in) :: recv_counts(:)
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_to_allv(comm, send, recv, GOSS_INT32, send_counts, recv_counts, options, request, status, errmsg)
  end subroutine

  subroutine all_to_allv_int64(comm, send, recv, send_counts, recv_counts, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int64), intent(in), target, asynchronous, dimension(..) :: send
    integer(int64), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: send_counts(:)
    integer, intent(in) :: recv_counts(:)
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_to_allv(comm, send, recv, GOSS_INT64, send_counts, recv_counts, options, request, status, errmsg)
  end subroutine

  subroutine all_to_allv_real32(comm, send, recv, send_counts, recv_counts, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real32), intent(in), target, asynchronous, dimension(..) :: send
    real(real32), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: send_counts(:)
    integer, intent(in) :: recv_counts(:)
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_to_allv(comm, send, recv, GOSS_FLOAT32, send_counts, recv_counts, options, request, status, errmsg)
  end subroutine

  subroutine all_to_allv_real64(comm, send, recv, send_counts, recv_counts, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real64), intent(in), target, asynchronous, dimension(..) :: send
    real(real64), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: send_counts(:)
    integer, intent(in) :: recv_counts(:)
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_to_allv(comm, send, recv, GOSS_FLOAT64, send_counts, recv_counts, options, request, status, errmsg)
  end subroutine

  subroutine all_to_allv_bool(comm, send, recv, send_counts, recv_counts, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    logical(c_bool), intent(in), target, asynchronous, dimension(..) :: send
    logical(c_bool), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: send_counts(:)
    integer, intent(in) :: recv_counts(:)
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_all_to_allv(comm, send, recv, GOSS_BOOL, send_counts, recv_counts, options, request, status, errmsg)
  end subroutine

  subroutine gather_int8(comm, send, recv, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int8), intent(in), target, asynchronous, dimension(..) :: send
    integer(int8), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_gather(comm, send, recv, GOSS_INT8, root, options, request, status, errmsg)
  end subroutine

  subroutine gather_int32(comm, send, recv, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int32), intent(in), target, asynchronous, dimension(..) :: send
    integer(int32), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_gather(comm, send, recv, GOSS_INT32, root, options, request, status, errmsg)
  end subroutine

  subroutine gather_int64(comm, send, recv, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int64), intent(in), target, asynchronous, dimension(..) :: send
    integer(int64), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_gather(comm, send, recv, GOSS_INT64, root, options, request, status, errmsg)
  end subroutine

  subroutine gather_real32(comm, send, recv, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real32), intent(in), target, asynchronous, dimension(..) :: send
    real(real32), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_gather(comm, send, recv, GOSS_FLOAT32, root, options, request, status, errmsg)
  end subroutine

  subroutine gather_real64(comm, send, recv, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real64), intent(in), target, asynchronous, dimension(..) :: send
    real(real64), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_gather(comm, send, recv, GOSS_FLOAT64, root, options, request, status, errmsg)
  end subroutine

  subroutine gather_bool(comm, send, recv, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    logical(c_bool), intent(in), target, asynchronous, dimension(..) :: send
    logical(c_bool), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_gather(comm, send, recv, GOSS_BOOL, root, options, request, status, errmsg)
  end subroutine

  subroutine scatter_int8(comm, send, recv, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int8), intent(in), target, asynchronous, dimension(..) :: send
    integer(int8), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_scatter(comm, send, recv, GOSS_INT8, root, options, request, status, errmsg)
  end subroutine

  subroutine scatter_int32(comm, send, recv, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int32), intent(in), target, asynchronous, dimension(..) :: send
    integer(int32), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_scatter(comm, send, recv, GOSS_INT32, root, options, request, status, errmsg)
  end subroutine

  subroutine scatter_int64(comm, send, recv, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int64), intent(in), target, asynchronous, dimension(..) :: send
    integer(int64), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_scatter(comm, send, recv, GOSS_INT64, root, options, request, status, errmsg)
  end subroutine

  subroutine scatter_real32(comm, send, recv, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real32), intent(in), target, asynchronous, dimension(..) :: send
    real(real32), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_scatter(comm, send, recv, GOSS_FLOAT32, root, options, request, status, errmsg)
  end subroutine

  subroutine scatter_real64(comm, send, recv, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real64), intent(in), target, asynchronous, dimension(..) :: send
    real(real64), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_scatter(comm, send, recv, GOSS_FLOAT64, root, options, request, status, errmsg)
  end subroutine

  subroutine scatter_bool(comm, send, recv, root, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    logical(c_bool), intent(in), target, asynchronous, dimension(..) :: send
    logical(c_bool), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: root
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_scatter(comm, send, recv, GOSS_BOOL, root, options, request, status, errmsg)
  end subroutine

  subroutine scan_int8(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int8), intent(in), target, asynchronous, dimension(..) :: send
    integer(int8), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_scan(comm, send, recv, GOSS_INT8, op, options, request, status, errmsg)
  end subroutine

  subroutine scan_int32(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int32), intent(in), target, asynchronous, dimension(..) :: send
    integer(int32), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_scan(comm, send, recv, GOSS_INT32, op, options, request, status, errmsg)
  end subroutine

  subroutine scan_int64(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int64), intent(in), target, asynchronous, dimension(..) :: send
    integer(int64), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_scan(comm, send, recv, GOSS_INT64, op, options, request, status, errmsg)
  end subroutine

  subroutine scan_real32(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real32), intent(in), target, asynchronous, dimension(..) :: send
    real(real32), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_scan(comm, send, recv, GOSS_FLOAT32, op, options, request, status, errmsg)
  end subroutine

  subroutine scan_real64(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real64), intent(in), target, asynchronous, dimension(..) :: send
    real(real64), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_scan(comm, send, recv, GOSS_FLOAT64, op, options, request, status, errmsg)
  end subroutine

  subroutine scan_bool(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    logical(c_bool), intent(in), target, asynchronous, dimension(..) :: send
    logical(c_bool), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_scan(comm, send, recv, GOSS_BOOL, op, options, request, status, errmsg)
  end subroutine

  subroutine exscan_int8(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int8), intent(in), target, asynchronous, dimension(..) :: send
    integer(int8), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_exscan(comm, send, recv, GOSS_INT8, op, options, request, status, errmsg)
  end subroutine

  subroutine exscan_int32(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int32), intent(in), target, asynchronous, dimension(..) :: send
    integer(int32), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_exscan(comm, send, recv, GOSS_INT32, op, options, request, status, errmsg)
  end subroutine

  subroutine exscan_int64(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int64), intent(in), target, asynchronous, dimension(..) :: send
    integer(int64), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_exscan(comm, send, recv, GOSS_INT64, op, options, request, status, errmsg)
  end subroutine

  subroutine exscan_real32(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real32), intent(in), target, asynchronous, dimension(..) :: send
    real(real32), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_exscan(comm, send, recv, GOSS_FLOAT32, op, options, request, status, errmsg)
  end subroutine

  subroutine exscan_real64(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real64), intent(in), target, asynchronous, dimension(..) :: send
    real(real64), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_exscan(comm, send, recv, GOSS_FLOAT64, op, options, request, status, errmsg)
  end subroutine

  subroutine exscan_bool(comm, send, recv, op, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    logical(c_bool), intent(in), target, asynchronous, dimension(..) :: send
    logical(c_bool), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_reduction), intent(in) :: op
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_exscan(comm, send, recv, GOSS_BOOL, op, options, request, status, errmsg)
  end subroutine

  subroutine send_int8(comm, buffer, peer, tag, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int8), intent(in), target, asynchronous, dimension(..) :: buffer
    integer, intent(in) :: peer
    integer, intent(in) :: tag
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_send(comm, buffer, GOSS_INT8, peer, tag, options, request, status, errmsg)
  end subroutine

  subroutine send_int32(comm, buffer, peer, tag, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int32), intent(in), target, asynchronous, dimension(..) :: buffer
    integer, intent(in) :: peer
    integer, intent(in) :: tag
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_send(comm, buffer, GOSS_INT32, peer, tag, options, request, status, errmsg)
  end subroutine

  subroutine send_int64(comm, buffer, peer, tag, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int64), intent(in), target, asynchronous, dimension(..) :: buffer
    integer, intent(in) :: peer
    integer, intent(in) :: tag
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_send(comm, buffer, GOSS_INT64, peer, tag, options, request, status, errmsg)
  end subroutine

  subroutine send_real32(comm, buffer, peer, tag, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real32), intent(in), target, asynchronous, dimension(..) :: buffer
    integer, intent(in) :: peer
    integer, intent(in) :: tag
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_send(comm, buffer, GOSS_FLOAT32, peer, tag, options, request, status, errmsg)
  end subroutine

  subroutine send_real64(comm, buffer, peer, tag, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real64), intent(in), target, asynchronous, dimension(..) :: buffer
    integer, intent(in) :: peer
    integer, intent(in) :: tag
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_send(comm, buffer, GOSS_FLOAT64, peer, tag, options, request, status, errmsg)
  end subroutine

  subroutine send_bool(comm, buffer, peer, tag, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    logical(c_bool), intent(in), target, asynchronous, dimension(..) :: buffer
    integer, intent(in) :: peer
    integer, intent(in) :: tag
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_send(comm, buffer, GOSS_BOOL, peer, tag, options, request, status, errmsg)
  end subroutine

  subroutine recv_int8(comm, buffer, peer, tag, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int8), intent(inout), target, asynchronous, dimension(..) :: buffer
    integer, intent(in) :: peer
    integer, intent(in) :: tag
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_recv(comm, buffer, GOSS_INT8, peer, tag, options, request, status, errmsg)
  end subroutine

  subroutine recv_int32(comm, buffer, peer, tag, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int32), intent(inout), target, asynchronous, dimension(..) :: buffer
    integer, intent(in) :: peer
    integer, intent(in) :: tag
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_recv(comm, buffer, GOSS_INT32, peer, tag, options, request, status, errmsg)
  end subroutine

  subroutine recv_int64(comm, buffer, peer, tag, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int64), intent(inout), target, asynchronous, dimension(..) :: buffer
    integer, intent(in) :: peer
    integer, intent(in) :: tag
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_recv(comm, buffer, GOSS_INT64, peer, tag, options, request, status, errmsg)
  end subroutine

  subroutine recv_real32(comm, buffer, peer, tag, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real32), intent(inout), target, asynchronous, dimension(..) :: buffer
    integer, intent(in) :: peer
    integer, intent(in) :: tag
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_recv(comm, buffer, GOSS_FLOAT32, peer, tag, options, request, status, errmsg)
  end subroutine

  subroutine recv_real64(comm, buffer, peer, tag, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real64), intent(inout), target, asynchronous, dimension(..) :: buffer
    integer, intent(in) :: peer
    integer, intent(in) :: tag
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_recv(comm, buffer, GOSS_FLOAT64, peer, tag, options, request, status, errmsg)
  end subroutine

  subroutine recv_bool(comm, buffer, peer, tag, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    logical(c_bool), intent(inout), target, asynchronous, dimension(..) :: buffer
    integer, intent(in) :: peer
    integer, intent(in) :: tag
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_recv(comm, buffer, GOSS_BOOL, peer, tag, options, request, status, errmsg)
  end subroutine

  subroutine sendrecv_int8(comm, send, recv, dest, source, tag, message, options, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int8), intent(in), target, asynchronous, dimension(..) :: send
    integer(int8), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: dest
    integer, intent(in) :: source
    integer, intent(in) :: tag
    type(goss_received), intent(out), optional :: message
    type(goss_call_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_sendrecv(comm, send, recv, GOSS_INT8, dest, source, tag, message, options, status, errmsg)
  end subroutine

  subroutine sendrecv_int32(comm, send, recv, dest, source, tag, message, options, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int32), intent(in), target, asynchronous, dimension(..) :: send
    integer(int32), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: dest
    integer, intent(in) :: source
    integer, intent(in) :: tag
    type(goss_received), intent(out), optional :: message
    type(goss_call_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_sendrecv(comm, send, recv, GOSS_INT32, dest, source, tag, message, options, status, errmsg)
  end subroutine

  subroutine sendrecv_int64(comm, send, recv, dest, source, tag, message, options, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int64), intent(in), target, asynchronous, dimension(..) :: send
    integer(int64), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: dest
    integer, intent(in) :: source
    integer, intent(in) :: tag
    type(goss_received), intent(out), optional :: message
    type(goss_call_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_sendrecv(comm, send, recv, GOSS_INT64, dest, source, tag, message, options, status, errmsg)
  end subroutine

  subroutine sendrecv_real32(comm, send, recv, dest, source, tag, message, options, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real32), intent(in), target, asynchronous, dimension(..) :: send
    real(real32), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: dest
    integer, intent(in) :: source
    integer, intent(in) :: tag
    type(goss_received), intent(out), optional :: message
    type(goss_call_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_sendrecv(comm, send, recv, GOSS_FLOAT32, dest, source, tag, message, options, status, errmsg)
  end subroutine

  subroutine sendrecv_real64(comm, send, recv, dest, source, tag, message, options, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real64), intent(in), target, asynchronous, dimension(..) :: send
    real(real64), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: dest
    integer, intent(in) :: source
    integer, intent(in) :: tag
    type(goss_received), intent(out), optional :: message
    type(goss_call_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_sendrecv(comm, send, recv, GOSS_FLOAT64, dest, source, tag, message, options, status, errmsg)
  end subroutine

  subroutine sendrecv_bool(comm, send, recv, dest, source, tag, message, options, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    logical(c_bool), intent(in), target, asynchronous, dimension(..) :: send
    logical(c_bool), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: dest
    integer, intent(in) :: source
    integer, intent(in) :: tag
    type(goss_received), intent(out), optional :: message
    type(goss_call_options), intent(in), optional :: options
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_sendrecv(comm, send, recv, GOSS_BOOL, dest, source, tag, message, options, status, errmsg)
  end subroutine

  subroutine neighbor_all_reduce_int8(comm, send, recv, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int8), intent(in), target, asynchronous, dimension(..) :: send
    integer(int8), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_reduce(comm, send, recv, GOSS_INT8, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_reduce_int32(comm, send, recv, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int32), intent(in), target, asynchronous, dimension(..) :: send
    integer(int32), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_reduce(comm, send, recv, GOSS_INT32, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_reduce_int64(comm, send, recv, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int64), intent(in), target, asynchronous, dimension(..) :: send
    integer(int64), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_reduce(comm, send, recv, GOSS_INT64, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_reduce_real32(comm, send, recv, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real32), intent(in), target, asynchronous, dimension(..) :: send
    real(real32), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_reduce(comm, send, recv, GOSS_FLOAT32, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_reduce_real64(comm, send, recv, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real64), intent(in), target, asynchronous, dimension(..) :: send
    real(real64), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_reduce(comm, send, recv, GOSS_FLOAT64, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_reduce_bool(comm, send, recv, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    logical(c_bool), intent(in), target, asynchronous, dimension(..) :: send
    logical(c_bool), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_reduce(comm, send, recv, GOSS_BOOL, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_gather_int8(comm, send, recv, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int8), intent(in), target, asynchronous, dimension(..) :: send
    integer(int8), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_gather(comm, send, recv, GOSS_INT8, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_gather_int32(comm, send, recv, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int32), intent(in), target, asynchronous, dimension(..) :: send
    integer(int32), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_gather(comm, send, recv, GOSS_INT32, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_gather_int64(comm, send, recv, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int64), intent(in), target, asynchronous, dimension(..) :: send
    integer(int64), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_gather(comm, send, recv, GOSS_INT64, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_gather_real32(comm, send, recv, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real32), intent(in), target, asynchronous, dimension(..) :: send
    real(real32), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_gather(comm, send, recv, GOSS_FLOAT32, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_gather_real64(comm, send, recv, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real64), intent(in), target, asynchronous, dimension(..) :: send
    real(real64), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_gather(comm, send, recv, GOSS_FLOAT64, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_gather_bool(comm, send, recv, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    logical(c_bool), intent(in), target, asynchronous, dimension(..) :: send
    logical(c_bool), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_gather(comm, send, recv, GOSS_BOOL, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_gatherv_int8(comm, send, recv, recv_counts, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int8), intent(in), target, asynchronous, dimension(..) :: send
    integer(int8), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: recv_counts(:)
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_gatherv(comm, send, recv, GOSS_INT8, recv_counts, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_gatherv_int32(comm, send, recv, recv_counts, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int32), intent(in), target, asynchronous, dimension(..) :: send
    integer(int32), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: recv_counts(:)
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_gatherv(comm, send, recv, GOSS_INT32, recv_counts, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_gatherv_int64(comm, send, recv, recv_counts, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int64), intent(in), target, asynchronous, dimension(..) :: send
    integer(int64), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: recv_counts(:)
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_gatherv(comm, send, recv, GOSS_INT64, recv_counts, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_gatherv_real32(comm, send, recv, recv_counts, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real32), intent(in), target, asynchronous, dimension(..) :: send
    real(real32), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: recv_counts(:)
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_gatherv(comm, send, recv, GOSS_FLOAT32, recv_counts, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_gatherv_real64(comm, send, recv, recv_counts, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real64), intent(in), target, asynchronous, dimension(..) :: send
    real(real64), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: recv_counts(:)
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_gatherv(comm, send, recv, GOSS_FLOAT64, recv_counts, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_gatherv_bool(comm, send, recv, recv_counts, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    logical(c_bool), intent(in), target, asynchronous, dimension(..) :: send
    logical(c_bool), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: recv_counts(:)
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_gatherv(comm, send, recv, GOSS_BOOL, recv_counts, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_to_all_int8(comm, send, recv, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int8), intent(in), target, asynchronous, dimension(..) :: send
    integer(int8), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_to_all(comm, send, recv, GOSS_INT8, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_to_all_int32(comm, send, recv, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int32), intent(in), target, asynchronous, dimension(..) :: send
    integer(int32), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_to_all(comm, send, recv, GOSS_INT32, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_to_all_int64(comm, send, recv, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int64), intent(in), target, asynchronous, dimension(..) :: send
    integer(int64), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_to_all(comm, send, recv, GOSS_INT64, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_to_all_real32(comm, send, recv, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real32), intent(in), target, asynchronous, dimension(..) :: send
    real(real32), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_to_all(comm, send, recv, GOSS_FLOAT32, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_to_all_real64(comm, send, recv, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real64), intent(in), target, asynchronous, dimension(..) :: send
    real(real64), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_to_all(comm, send, recv, GOSS_FLOAT64, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_to_all_bool(comm, send, recv, neighbors, options, request, status, errmsg)
    type(goss_communicator), intent(in) :: comm
    logical(c_bool), intent(in), target, asynchronous, dimension(..) :: send
    logical(c_bool), intent(inout), target, asynchronous, dimension(..) :: recv
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_to_all(comm, send, recv, GOSS_BOOL, neighbors, options, request, status, errmsg)
  end subroutine

  subroutine neighbor_all_to_allv_int8(comm, send, recv, send_counts, recv_counts, neighbors, options, request, status, &
      errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int8), intent(in), target, asynchronous, dimension(..) :: send
    integer(int8), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: send_counts(:)
    integer, intent(in) :: recv_counts(:)
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_to_allv(comm, send, recv, GOSS_INT8, send_counts, recv_counts, neighbors, options, request, &
        status, errmsg)
  end subroutine

  subroutine neighbor_all_to_allv_int32(comm, send, recv, send_counts, recv_counts, neighbors, options, request, status, &
      errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int32), intent(in), target, asynchronous, dimension(..) :: send
    integer(int32), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: send_counts(:)
    integer, intent(in) :: recv_counts(:)
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_to_allv(comm, send, recv, GOSS_INT32, send_counts, recv_counts, neighbors, options, request, &
        status, errmsg)
  end subroutine

  subroutine neighbor_all_to_allv_int64(comm, send, recv, send_counts, recv_counts, neighbors, options, request, status, &
      errmsg)
    type(goss_communicator), intent(in) :: comm
    integer(int64), intent(in), target, asynchronous, dimension(..) :: send
    integer(int64), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: send_counts(:)
    integer, intent(in) :: recv_counts(:)
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_to_allv(comm, send, recv, GOSS_INT64, send_counts, recv_counts, neighbors, options, request, &
        status, errmsg)
  end subroutine

  subroutine neighbor_all_to_allv_real32(comm, send, recv, send_counts, recv_counts, neighbors, options, request, status, &
      errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real32), intent(in), target, asynchronous, dimension(..) :: send
    real(real32), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: send_counts(:)
    integer, intent(in) :: recv_counts(:)
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_to_allv(comm, send, recv, GOSS_FLOAT32, send_counts, recv_counts, neighbors, options, request, &
        status, errmsg)
  end subroutine

  subroutine neighbor_all_to_allv_real64(comm, send, recv, send_counts, recv_counts, neighbors, options, request, status, &
      errmsg)
    type(goss_communicator), intent(in) :: comm
    real(real64), intent(in), target, asynchronous, dimension(..) :: send
    real(real64), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: send_counts(:)
    integer, intent(in) :: recv_counts(:)
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_to_allv(comm, send, recv, GOSS_FLOAT64, send_counts, recv_counts, neighbors, options, request, &
        status, errmsg)
  end subroutine

  subroutine neighbor_all_to_allv_bool(comm, send, recv, send_counts, recv_counts, neighbors, options, request, status, &
      errmsg)
    type(goss_communicator), intent(in) :: comm
    logical(c_bool), intent(in), target, asynchronous, dimension(..) :: send
    logical(c_bool), intent(inout), target, asynchronous, dimension(..) :: recv
    integer, intent(in) :: send_counts(:)
    integer, intent(in) :: recv_counts(:)
    type(goss_neighbors), intent(in) :: neighbors
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    call core_neighbor_all_to_allv(comm, send, recv, GOSS_BOOL, send_counts, recv_counts, neighbors, options, request, &
        status, errmsg)
  end subroutine

end module
