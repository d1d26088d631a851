//! Messages: in a ring, to oneself, by wildcards; lengths and types that do not match.
use gossamer::*;
use std::time::Duration;

pub fn all(comm: &Comm) {
    let (rank, size) = (comm.rank(), comm.size());
    let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
    let mut got = [0i32; 4];
    let message = comm.sendrecv(&[rank; 3], next, &mut got, previous, 5, &Options::default()).unwrap();
    assert_eq!((message, &got[..3]), (Message { source: previous, tag: 5, bytes: 12 }, &[previous; 3][..]));

    let sending = send(Buffer::from(&[f64::from(rank); 2][..]), next, 9).start(comm).unwrap();
    let seen = comm.probe(ANY_SOURCE, ANY_TAG, Some(Duration::from_secs(60))).unwrap();
    assert_eq!(seen, Message { source: previous, tag: 9, bytes: 16 });
    assert_eq!(comm.iprobe(previous, 9).unwrap(), Some(seen));
    assert_eq!(comm.iprobe(previous, 10).unwrap(), None);
    let (_, received, message) =
        recv(Buffer::<f64>::zeroed(5), ANY_SOURCE, 9).start(comm).unwrap().wait_message().unwrap();
    assert_eq!((message, received[1]), (seen, f64::from(previous)));
    sending.wait().unwrap();

    let (out, mut back) = ([rank as u8; 9], [0u8; 9]);
    let (mut there, mut here) = (send(&out, next, 1), recv(&mut back, previous, 1));
    comm.group(&mut [&mut there, &mut here]).unwrap();
    assert_eq!(back, [previous as u8; 9]);

    too_long(comm, next, previous);
    let error = recv(&mut [0u8; 1], size, 0).run(comm).unwrap_err();
    assert_eq!(error.status, Status::InvalidArgument);
    late(comm, previous);
}

/// A message that does not fit fails its receive alone.
fn too_long(comm: &Comm, next: i32, previous: i32) {
    let sending = send(Buffer::from(&[1i32; 8][..]), next, 2).start(comm).unwrap();
    let error = recv(&mut [0i32; 2], previous, 2).run_message(comm).unwrap_err();
    assert_eq!(error.status, Status::Truncated, "{}", error);
    sending.wait().unwrap();
    assert!(comm.error().is_none());
}

/// Nobody sends: the receive fails at its deadline, alone, and blames the rank that it waited for.
fn late(comm: &Comm, previous: i32) {
    let soon = Options { timeout: Some(Duration::from_millis(50)), ..Options::default() };
    let error = recv(&mut [0i32; 2], previous, 77).with(soon).run(comm).unwrap_err();
    assert_eq!((error.status, error.rank), (Status::Timeout, Some(previous)), "{}", error);
    assert!(comm.error().is_none());
    barrier().run(comm).unwrap();
}
