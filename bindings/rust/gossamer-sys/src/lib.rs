//! The C ABI of Gossamer, function by function; include/gossamer/ documents it. The crate `gossamer` is the safe one.
#![allow(non_camel_case_types, clippy::too_many_arguments)]

#[rustfmt::skip]
mod abi;
pub use abi::*;
