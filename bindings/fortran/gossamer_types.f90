!> The types of the binding, texts, errors, and what every call does before and after the library's.
module gossamer_types
  use, intrinsic :: iso_c_binding
  use, intrinsic :: iso_fortran_env, only: int64, real64
  use gossamer_abi
  implicit none (type, external)
  private
  public :: goss_communicator, goss_operation, goss_received, goss_call_options, goss_neighbors, goss_reduction
  public :: goss_op_sum, goss_op_prod, goss_op_min, goss_op_max, goss_op_avg, goss_op_premul_sum, goss_op_band, &
    goss_op_bor, goss_op_bxor, goss_op_land, goss_op_lor, goss_op_lxor
  public :: call_frame, raw_neighbors, c_text, finish, begin_call, end_call, address, expect, expect_blocks, total, fill, &
    received

  !> A group of ranks. Made by goss_comm_create, goss_comm_split, goss_comm_dup and goss_comm_shrink, ended by goss_comm_destroy.
  type :: goss_communicator
    type(c_ptr) :: handle = c_null_ptr !< For calls of module gossamer_abi.
    integer :: rank = -1
    integer :: size = 0
  end type

  !> A started operation. Its buffers belong to the library until goss_wait or goss_test has completed it: they are declared
  !> asynchronous by the caller, are not touched until then, and outlive it.
  type :: goss_operation
    type(c_ptr) :: handle = c_null_ptr
  end type

  !> What a completed receive got.
  type :: goss_received
    integer :: source = -1
    integer :: tag = -1
    integer(int64) :: bytes = 0
  end type

  !> Options of a call; those that are left out have these defaults.
  type :: goss_call_options
    integer(int64) :: timeout_ms = 0              !< 0: the communicator's.
    real(real64) :: scale = 1                     !< Factor of goss_premul_sum.
    integer(int64) :: tensor = 0                  !< Names what is compressed.
    logical :: persistent = .false.               !< Plan only: goss_start starts the request, any number of times.
    character(:), allocatable :: algorithm        !< Left out: the planner's choice.
    character(:), allocatable :: codec            !< Compression of what travels, such as "int8".
    character(:), allocatable :: return_codec     !< Of the second half of an all_reduce; left out: the same.
  end type

  !> The neighbours of a rank in a round of gossip; ranks count from 0.
  type :: goss_neighbors
    real(real64) :: self_weight = 1
    integer, allocatable :: sources(:), destinations(:)
    real(real64), allocatable :: source_weights(:), destination_weights(:)
  end type

  !> A reduction. A type of its own, so that no number can be taken for one.
  type :: goss_reduction
    integer(c_int) :: value
  end type
  type(goss_reduction), parameter :: goss_op_sum = goss_reduction(GOSS_SUM), goss_op_prod = goss_reduction(GOSS_PROD), &
    goss_op_min = goss_reduction(GOSS_MIN), goss_op_max = goss_reduction(GOSS_MAX), goss_op_avg = goss_reduction(GOSS_AVG), &
    goss_op_premul_sum = goss_reduction(GOSS_PREMUL_SUM), goss_op_band = goss_reduction(GOSS_BAND), &
    goss_op_bor = goss_reduction(GOSS_BOR), goss_op_bxor = goss_reduction(GOSS_BXOR), goss_op_land = goss_reduction(GOSS_LAND), &
    goss_op_lor = goss_reduction(GOSS_LOR), goss_op_lxor = goss_reduction(GOSS_LXOR)

  !> One call while it is made: what the C ABI gets besides buffers and counts.
  type :: call_frame
    type(c_ptr) :: options = c_null_ptr, request = c_null_ptr
    integer(c_int) :: code = GOSS_SUCCESS
    type(goss_options) :: raw
    type(c_ptr) :: handle = c_null_ptr
    character(kind=c_char), allocatable :: algorithm(:), codec(:), return_codec(:)
  end type

  type :: raw_neighbors
    type(goss_neighborhood) :: hood
    type(goss_neighbor), allocatable :: sources(:), destinations(:)
  end type

  interface
    function strlen(text) bind(c)
      import :: c_ptr, c_size_t
      type(c_ptr), value :: text
      integer(c_size_t) :: strlen
    end function
  end interface

contains

  !> A text of C as one of Fortran; "" for a null pointer.
  function f_text(text) result(copy)
    type(c_ptr), intent(in) :: text
    character(:), allocatable :: copy
    character(kind=c_char), pointer :: letters(:)
    integer :: i
    copy = ""
    if (.not. c_associated(text)) return
    call c_f_pointer(text, letters, [strlen(text)])
    copy = repeat(" ", size(letters))
    do i = 1, size(letters)
      copy(i:i) = letters(i)
    end do
  end function

  !> A text of Fortran, without the blanks at its end, as one of C.
  pure function c_text(text) result(copy)
    character(*), intent(in) :: text
    character(kind=c_char), allocatable :: copy(:)
    integer :: i
    allocate (copy(len_trim(text) + 1))
    do i = 1, size(copy) - 1
      copy(i) = text(i:i)
    end do
    copy(size(copy)) = c_null_char
  end function

  !> How a call ends: status and errmsg where the caller wants to know, else error stop with the library's text.
  subroutine finish(code, status, errmsg)
    integer(c_int), intent(in) :: code
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    if (present(status)) status = int(code)
    if (code == GOSS_SUCCESS) return
    if (present(errmsg)) errmsg = f_text(c_goss_last_error())
    if (.not. present(status)) error stop "gossamer: " // f_text(c_goss_last_error())
  end subroutine

  !> Refuses a call before the library sees it.
  function refuse(text) result(code)
    character(*), intent(in) :: text
    integer(c_int) :: code
    character(kind=c_char), allocatable, target :: letters(:)
    allocate (letters, source=c_text(text))
    code = c_goss_set_last_error(GOSS_ERR_INVALID_ARGUMENT, c_loc(letters))
  end function

  subroutine set_text(given, kept, field)
    character(:), allocatable, intent(in) :: given
    character(kind=c_char), allocatable, target, intent(inout) :: kept(:)
    type(c_ptr), intent(inout) :: field
    if (.not. allocated(given)) return
    kept = c_text(given)
    field = c_loc(kept)
  end subroutine

  !> Fills the frame; it stays where it is until end_call(). Refuses a communicator that has no ranks.
  subroutine begin_call(frame, comm, options, request)
    type(call_frame), intent(inout), target :: frame
    type(goss_communicator), intent(in) :: comm
    type(goss_call_options), intent(in), optional :: options
    type(goss_operation), intent(in), optional :: request
    if (present(request)) frame%request = c_loc(frame%handle)
    if (comm%size == 0) frame%code = refuse("gossamer: the communicator was not created, was destroyed, or is that of " // &
      "a goss_comm_split which this rank had no part in; give another")
    if (.not. present(options) .or. frame%code /= GOSS_SUCCESS) return
    frame%code = c_goss_options_init(c_loc(frame%raw), c_sizeof(frame%raw))
    frame%raw%timeout_ms = options%timeout_ms
    frame%raw%scale = options%scale
    frame%raw%tensor = options%tensor
    if (options%persistent) frame%raw%flags = GOSS_PERSISTENT
    call set_text(options%algorithm, frame%algorithm, frame%raw%algorithm)
    call set_text(options%codec, frame%codec, frame%raw%codec)
    call set_text(options%return_codec, frame%return_codec, frame%raw%return_codec)
    frame%options = c_loc(frame%raw)
  end subroutine

  subroutine end_call(frame, request, status, errmsg)
    type(call_frame), intent(in) :: frame
    type(goss_operation), intent(inout), optional :: request
    integer, intent(out), optional :: status
    character(*), intent(inout), optional :: errmsg
    if (present(request) .and. frame%code == GOSS_SUCCESS) request%handle = frame%handle
    call finish(frame%code, status, errmsg)
  end subroutine

  !> The address of a buffer, which must be contiguous: the library uses it after a copy would be gone.
  function address(frame, buffer) result(place)
    type(call_frame), intent(inout) :: frame
    type(*), intent(in), target, asynchronous, dimension(..) :: buffer
    type(c_ptr) :: place
    place = c_null_ptr
    if (size(buffer) == 0) return
    if (is_contiguous(buffer)) then
      place = c_loc(buffer)
    else if (frame%code == GOSS_SUCCESS) then
      frame%code = refuse("gossamer: a buffer is not contiguous; copy it, or give a section without a stride")
    end if
  end function

  !> Says whether a buffer has as many elements as it must have.
  subroutine expect(frame, has, needs, what)
    type(call_frame), intent(inout) :: frame
    integer(c_size_t), intent(in) :: has, needs
    character(*), intent(in) :: what
    character(20) :: numbers(2)
    if (has == needs .or. frame%code /= GOSS_SUCCESS) return
    write (numbers, "(i0)") has, needs
    frame%code = refuse(what // " has " // trim(numbers(1)) // " elements; give it " // trim(numbers(2)))
  end subroutine

  pure function total(counts) result(elements)
    integer, intent(in) :: counts(:)
    integer(c_size_t) :: elements
    elements = sum(int(counts, c_size_t))
  end function

  pure function received(got) result(message)
    type(goss_message), intent(in) :: got
    type(goss_received) :: message
    message = goss_received(int(got%source), int(got%tag), int(got%bytes, int64))
  end function

  !> Says whether blocks of a buffer of `elements` elements end inside of it.
  subroutine expect_blocks(frame, counts, displs, elements, what)
    type(call_frame), intent(inout) :: frame
    integer, intent(in) :: counts(:)
    integer, intent(in), optional :: displs(:)
    integer(c_size_t), intent(in) :: elements
    character(*), intent(in) :: what
    if (frame%code /= GOSS_SUCCESS) return
    if (.not. present(displs)) then
      call expect(frame, elements, total(counts), what // ": recv")
    else if (size(displs) /= size(counts)) then
      frame%code = refuse(what // ": displs has not as many elements as counts")
    else if (any(counts < 0) .or. any(displs < 0) .or. any(int(counts, c_size_t) + displs > elements)) then
      frame%code = refuse(what // ": a block of recv lies outside of it")
    end if
  end subroutine

  !> Says whether a list of neighbours has a weight for each.
  subroutine expect_weights(frame, ranks, weights, what)
    type(call_frame), intent(inout) :: frame
    integer, allocatable, intent(in) :: ranks(:)
    real(real64), allocatable, intent(in) :: weights(:)
    character(*), intent(in) :: what
    if (frame%code /= GOSS_SUCCESS) return
    if (allocated(ranks) .and. allocated(weights)) then
      call expect(frame, size(weights, kind=c_size_t), size(ranks, kind=c_size_t), "goss_neighbors: " // what // "_weights")
    else
      frame%code = refuse("goss_neighbors: " // what // "s and " // what // "_weights must be allocated, if only to length 0")
    end if
  end subroutine

  !> Where it refuses the neighbours, the lists in `raw` are empty.
  subroutine fill(frame, raw, neighbors)
    type(call_frame), intent(inout) :: frame
    type(raw_neighbors), intent(inout), target :: raw
    type(goss_neighbors), intent(in) :: neighbors
    integer :: i
    call expect_weights(frame, neighbors%sources, neighbors%source_weights, "source")
    call expect_weights(frame, neighbors%destinations, neighbors%destination_weights, "destination")
    if (frame%code /= GOSS_SUCCESS) then
      allocate (raw%sources(0), raw%destinations(0))
      return
    end if
    raw%sources = [(goss_neighbor(int(neighbors%sources(i), c_int32_t), 0, neighbors%source_weights(i)), &
      i=1, size(neighbors%sources))]
    raw%destinations = [(goss_neighbor(int(neighbors%destinations(i), c_int32_t), 0, neighbors%destination_weights(i)), &
      i=1, size(neighbors%destinations))]
    raw%hood = goss_neighborhood(c_sizeof(raw%hood), neighbors%self_weight, c_loc(raw%sources), &
      size(raw%sources, kind=c_size_t), c_loc(raw%destinations), size(raw%destinations, kind=c_size_t))
  end subroutine

end module
