//! Operations as values, and the ways to run one.
use crate::comm::{Comm, Inner};
use crate::error::Result;
use crate::launch::{sealed::Sealed, Kind, Launch, Member, Options};
use crate::memory::{Element, Owned, Read, Write};
use crate::messages::Message;
use crate::persistent::Persistent;
use crate::request::Request;
use crate::sys;
use std::ptr::null_mut;

/// A collective or message that has not started: what it reads, what it writes, and how.
#[must_use = "an operation does nothing until it is run or started"]
pub struct Operation<S, R> {
    pub(crate) send: S,
    pub(crate) recv: R,
    kind: Kind,
    options: Options,
}

impl<S: Read, R: Write<Item = S::Item>> Operation<S, R> {
    pub(crate) fn new(kind: Kind, send: S, recv: R) -> Operation<S, R> {
        Operation { send, recv, kind, options: Options::default() }
    }

    pub fn with(mut self, options: Options) -> Operation<S, R> {
        self.options = options;
        self
    }

    /// Runs it and waits. A panic or an early return cannot happen in between, so memory may be borrowed.
    pub fn run(mut self, comm: &Comm) -> Result<()> {
        // SAFETY: without a request the call returns when the memory is no longer used.
        unsafe { self.launch(&comm.inner, 0, null_mut()) }
    }

    /// As `run`, of one receive or any other operation whose message the caller wants.
    pub fn run_message(mut self, comm: &Comm) -> Result<Message> {
        let mut request = null_mut();
        let mut message = Message::default().raw();
        // SAFETY: goss_wait returns when the memory is no longer used.
        unsafe {
            self.launch(&comm.inner, 0, &mut request)?;
            comm.inner.check(sys::goss_wait(&mut request, &mut message))?;
        }
        Ok(Message::of(&message))
    }
}

impl<S: Read + Owned, R: Write<Item = S::Item> + Owned> Operation<S, R> {
    /// Starts it. The request owns the memory until it has completed.
    pub fn start(mut self, comm: &Comm) -> Result<Request<S, R>> {
        comm.inner.reap();
        let mut request = null_mut();
        // SAFETY: the memory is Owned, and the request keeps it.
        unsafe { self.launch(&comm.inner, 0, &mut request)? };
        Ok(Request::new(comm.inner.clone(), request, self.send, self.recv))
    }

    /// Plans it, to be started any number of times.
    pub fn persistent(mut self, comm: &Comm) -> Result<Persistent<S, R>> {
        let mut request = null_mut();
        // SAFETY: as above.
        unsafe { self.launch(&comm.inner, sys::GOSS_PERSISTENT as u32, &mut request)? };
        Ok(Persistent::new(comm.inner.clone(), request, self.send, self.recv))
    }
}

impl<S: Read, R: Write<Item = S::Item>> Sealed for Operation<S, R> {
    unsafe fn launch(&mut self, comm: &Inner, flags: u32, request: *mut sys::goss_request_t) -> Result<()> {
        let mut options = self.options.raw()?;
        options.raw.flags = flags;
        let launch = Launch {
            kind: &self.kind,
            send: self.send.span(),
            recv: self.recv.span_mut(),
            is_in_place: self.send.is_in_place(),
            dtype: S::Item::DTYPE,
            element_bytes: std::mem::size_of::<S::Item>(),
        };
        launch.call(comm, &mut options.raw, request)
    }
}

impl<S: Read, R: Write<Item = S::Item>> Member for Operation<S, R> {}

impl Comm {
    /// Starts all, then waits for all, and returns the first failure. A group of sends and receives cannot deadlock.
    pub fn group(&self, operations: &mut [&mut dyn Member]) -> Result<()> {
        self.inner.check(unsafe { sys::goss_group_begin() })?;
        // SAFETY: goss_group_end waits for all that were started, and is called whatever happens.
        let started = operations.iter_mut().try_for_each(|one| unsafe { one.launch(&self.inner, 0, null_mut()) });
        let ended = self.inner.check(unsafe { sys::goss_group_end() });
        started.and(ended)
    }
}
