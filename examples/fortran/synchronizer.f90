! Ranks with different data train one model; the string alone chooses how they keep together (docs/synchronizers.md).
program synchronizer
  use, intrinsic :: iso_fortran_env, only: real32
  use gossamer
  implicit none (type, external)
  real(real32), parameter :: rate = 0.05
  real(real32), target, asynchronous :: weights(100), gradient(100) ! lent until goss_sync_destroy
  type(goss_communicator) :: comm
  type(goss_synchronizer) :: sync
  integer :: step, tensor
  real(real32) :: mean

  call goss_comm_create(comm)
  weights = 10
  call goss_sync_create(comm, "diloco:h=5", sync)
  call goss_sync_register(sync, "weights", weights, gradient, tensor)
  call goss_sync_start(sync)
  do step = 1, 300
    gradient = weights - comm%rank ! the loss of a rank is sum((weights - rank)**2) / 2
    call goss_sync_gradient_ready(sync, tensor)
    call goss_sync_gradients(sync)
    weights = weights - rate * gradient
    call goss_sync_step(sync)
  end do
  call goss_sync_finish(sync)
  mean = real(comm%size - 1, real32) / 2 ! where the loss of all ranks is least
  print "(a, i0, 2(a, f7.4))", "rank ", comm%rank, ": ", weights(1), ", the best is ", mean
  if (abs(weights(1) - mean) > 0.01) error stop "the ranks have not met at their mean"
  call goss_sync_destroy(sync)
  call goss_comm_destroy(comm)
end program
