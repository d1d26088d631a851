! Non-blocking: buckets are reduced while the next ones are still being computed, as in a backward pass.
program overlap
  use, intrinsic :: iso_fortran_env, only: real32
  use gossamer
  implicit none (type, external)
  integer, parameter :: elems = 100000, layers = 4
  type(goss_communicator) :: comm
  type(goss_operation) :: requests(layers)
  real(real32), asynchronous :: buckets(elems, layers) ! lent to the library until goss_wait_all
  integer :: layer, i, ones

  call goss_comm_create(comm)
  do layer = 1, layers
    buckets(:, layer) = [(real((mod(i, 64) + layer) * (comm%rank + 1), real32), i=1, elems)] ! earlier buckets travel meanwhile
    call goss_all_reduce(comm, buckets(:, layer), goss_op_sum, request=requests(layer))
  end do
  call goss_wait_all(requests)

  ones = comm%size * (comm%size + 1) / 2 ! 1 + 2 + ... + ranks
  do layer = 1, layers
    if (any(nint(buckets(:, layer)) /= [((mod(i, 64) + layer) * ones, i=1, elems)])) error stop "a bucket is wrong"
  end do
  print "(a, i0, a, i0, a)", "rank ", comm%rank, " of ", comm%size, ": all buckets are right"
  call goss_comm_destroy(comm)
end program
