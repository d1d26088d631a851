//! Gossamer's collectives, messages, synchronizers and gossip for safe Rust. README.md beside this crate begins with a program.
//!
//! A collective or message is a value: [`Operation`]. `run` waits for it and takes borrowed or owned memory. `start` and
//! `persistent` take memory that the operation owns ([`Buffer`]), so that no safe code, `mem::forget` included, can touch, drop or
//! forget what the library still reads or writes.
pub use gossamer_sys as sys;

mod codec;
mod collectives;
mod comm;
mod config;
mod error;
mod gossip;
mod launch;
mod memory;
mod messages;
mod operation;
mod persistent;
mod request;
mod sync;

pub use codec::{codecs, explain, explain_codec, Codec};
pub use collectives::*;
pub use comm::{Comm, Counters, LibraryBuffer};
pub use config::{check_environment, Config, UniqueId};
pub use error::{Error, Result, Status};
pub use gossip::*;
pub use launch::{Member, Op, Options};
pub use memory::{in_place, Bf16, Bool, Buffer, Element, F8E4m3, F8E5m2, InPlace, Nothing, Owned, Read, Write, F16};
pub use messages::{recv, send, Message, ANY_SOURCE, ANY_TAG};
pub use operation::Operation;
pub use persistent::{Persistent, Started};
pub use request::{wait_all, wait_any, Pending, Request};
pub use sync::{synchronizer_methods, Info, SyncCounters, Synchronizer};
