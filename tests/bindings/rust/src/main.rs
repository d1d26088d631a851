//! What the crate gossamer computes, on all ranks that mpirun starts; each rank exits non-zero where a value is wrong.
mod collectives;
mod gossip;
mod lifetimes;
mod messages;
mod others;

use gossamer::{barrier, Comm};

fn main() {
    // A panic of one rank must not leave the others waiting for it.
    std::panic::set_hook(Box::new(|panic| {
        eprintln!("{}", panic);
        std::process::exit(1);
    }));
    let comm = Comm::from_environment().expect("a communicator");
    others::everything_links();
    collectives::all(&comm);
    messages::all(&comm);
    gossip::all(&comm);
    lifetimes::all(&comm);
    others::all(&comm);
    barrier().run(&comm).expect("the last barrier");
    println!("rank {} of {}: passed", comm.rank(), comm.size());
}
