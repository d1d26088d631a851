! What does not compile: mistake n under REFUSED == n.
subroutine refused(comm, input)
  use, intrinsic :: iso_fortran_env, only: int16, int32, real32, real64
  use gossamer
  implicit none (type, external)
  type(goss_communicator), intent(in) :: comm
  real(real32), intent(in) :: input(4)
#if REFUSED == 1
  integer(int16) :: values(4) ! no kind that the library moves
#else
  integer(int32) :: values(4)
#endif
#if REFUSED == 2
  real(real64) :: output(4) ! both buffers of a call have one kind
#else
  real(real32) :: output(4)
#endif
  values = 1
  call goss_all_reduce(comm, input, output, goss_op_sum)
#if REFUSED == 3
  call goss_all_reduce(comm, values, 0) ! a reduction is a type of its own
#else
  call goss_all_reduce(comm, values, goss_op_sum)
#endif
end subroutine
