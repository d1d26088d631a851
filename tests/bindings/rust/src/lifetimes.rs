//! Requests and communicators that are dropped or forgotten while operations are under way.
use gossamer::*;
use std::time::{Duration, Instant};

pub fn all(comm: &Comm) {
    dropped_request(comm);
    forgotten_request();
    dropped_communicator(comm);
    aborted(comm);
    blamed(comm);
    shrunk(comm);
}

/// It goes on: the other ranks, which wait for it, get its result.
fn dropped_request(comm: &Comm) {
    let request = all_reduce(in_place(), Buffer::from(&[1i32; 5000][..]), Op::Sum).start(comm).unwrap();
    if comm.rank() == 0 {
        drop(request);
    } else {
        assert_eq!(request.wait().unwrap().1[4999], comm.size());
    }
    let planned = all_reduce(in_place(), Buffer::from(&[1i32; 50][..]), Op::Sum).persistent(comm).unwrap();
    drop(planned.start().unwrap());
    barrier().run(comm).unwrap();
}

/// Its memory leaks, and so does its communicator; nothing is freed under the library's hands. The communicator has a world of
/// its own: a rank that exits without destroying a communicator of the common world would look as if it had died.
fn forgotten_request() {
    let apart = Comm::from_environment().unwrap();
    let request = all_reduce(in_place(), Buffer::from(&[1i32; 5000][..]), Op::Sum).start(&apart).unwrap();
    let memory = apart.alloc::<i32>(100).unwrap();
    let other = recv(memory, 0, 3).start(&apart).unwrap();
    barrier().run(&apart).unwrap();
    std::mem::forget((request, other));
    drop(apart);
}

/// A receive that nobody answers ends with its communicator, soon.
fn dropped_communicator(comm: &Comm) {
    let apart = comm.dup().unwrap();
    drop(recv(Buffer::<i32>::zeroed(100), comm.rank(), 3).start(&apart).unwrap());
    drop(recv(apart.alloc::<i32>(100).unwrap(), comm.rank(), 4).start(&apart).unwrap());
    barrier().run(comm).unwrap();
    let began = Instant::now();
    drop(apart);
    assert!(began.elapsed() < Duration::from_secs(30), "dropping a communicator took {:?}", began.elapsed());
    barrier().run(comm).unwrap();
}

/// The rank of an error counts in the communicator of the call, where rank 0 of the world is the last one.
fn blamed(comm: &Comm) {
    let reversed = comm.split(0, -comm.rank()).unwrap().expect("a color");
    if comm.rank() == 0 {
        reversed.abort("for the test").unwrap();
    } else {
        let error = barrier().run(&reversed).unwrap_err();
        assert_eq!((error.status, error.rank), (Status::Aborted, Some(comm.size() - 1)), "{}", error);
        assert_eq!(reversed.error().unwrap().rank, Some(comm.size() - 1));
    }
    drop(reversed);
    barrier().run(comm).unwrap();
}

/// The reason reaches a request that waits, and the communicator keeps it.
fn aborted(comm: &Comm) {
    let apart = comm.dup().unwrap();
    let waiting = recv(Buffer::<i32>::zeroed(1), comm.rank(), 3).start(&apart).unwrap();
    barrier().run(comm).unwrap();
    apart.abort("for the test").unwrap();
    let error = waiting.wait().err().expect("an aborted receive");
    assert!(error.status == Status::Aborted && error.text.contains("for the test"), "{}", error);
    let kept = apart.error().expect("the communicator has failed");
    assert_eq!(kept.status, Status::Aborted);
    barrier().run(comm).unwrap();
}

fn shrunk(comm: &Comm) {
    let apart = comm.dup().unwrap();
    let again = apart.shrink(Some(Duration::from_secs(60))).unwrap();
    assert_eq!((again.rank(), again.size()), (comm.rank(), comm.size()));
    barrier().run(&again).unwrap();
}
