//! Operations that are planned once and started often.
use crate::comm::{Inner, Orphan};
use crate::error::{check, Result};
use crate::memory::{Read, Write};
use crate::request::Work;
use crate::sys;
use std::os::raw::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

/// A planned operation that is not under way: its memory is the caller's to read and write.
pub struct Persistent<S: Send + 'static, R: Send + 'static> {
    send: S,
    recv: R,
    handle: Handle,
}

/// A persistent request of the C ABI; NULL once it is retired.
struct Handle {
    comm: Arc<Inner>,
    raw: sys::goss_request_t,
}

// SAFETY: any thread may call anything with a request.
unsafe impl Send for Handle {}

impl Drop for Handle {
    fn drop(&mut self) {
        if !self.raw.is_null() {
            // SAFETY: an inactive persistent request; one that the library does not free leaks.
            unsafe { sys::goss_request_free(&mut self.raw) };
        }
    }
}

/// A planned operation under way.
#[must_use = "wait for it: its memory comes back then"]
pub struct Started<S: Send + 'static, R: Send + 'static> {
    parts: Option<Persistent<S, R>>,
    work: Work,
}

/// # Safety
/// The span is nobody else's.
unsafe fn slice<'a, T>((memory, count): (*mut c_void, usize)) -> &'a mut [T] {
    if count == 0 {
        return &mut [];
    }
    std::slice::from_raw_parts_mut(memory.cast(), count)
}

impl<S: Read + Send, R: Write + Send> Persistent<S, R> {
    /// What the next start reads.
    pub fn send(&mut self) -> &mut [S::Item] {
        // SAFETY: Owned memory, which the operation does not use now.
        unsafe { slice(self.send.span()) }
    }

    /// What the last start has written.
    pub fn recv(&mut self) -> &mut [R::Item] {
        // SAFETY: as above.
        unsafe { slice(self.recv.span_mut()) }
    }
}

impl<S: Send, R: Send> Persistent<S, R> {
    pub(crate) fn new(comm: Arc<Inner>, raw: sys::goss_request_t, send: S, recv: R) -> Persistent<S, R> {
        Persistent { send, recv, handle: Handle { comm, raw } }
    }

    pub fn start(self) -> Result<Started<S, R>> {
        // SAFETY: an inactive persistent request, whose memory goes with it.
        self.handle.comm.check(unsafe { sys::goss_start(self.handle.raw) })?;
        let work = Work { comm: self.handle.comm.clone(), raw: self.handle.raw, outcome: None };
        Ok(Started { parts: Some(self), work })
    }

    /// Frees the plan, and gives the memory back.
    pub fn into_memory(self) -> (S, R) {
        (self.send, self.recv)
    }
}

impl<S: Send, R: Send> Started<S, R> {
    /// Whether it has completed. Never blocks.
    pub fn is_done(&mut self) -> Result<bool> {
        self.work.is_done()
    }

    /// Waits; the operation may be started again then.
    pub fn wait(mut self) -> Result<Persistent<S, R>> {
        self.work.wait()?;
        Ok(self.parts.take().expect("memory leaves in wait or drop"))
    }
}

impl<S: Send + 'static, R: Send + 'static> Drop for Started<S, R> {
    fn drop(&mut self) {
        if self.work.outcome.is_some() {
            return;
        }
        if let Some(Persistent { send, recv, mut handle }) = self.parts.take() {
            handle.raw = null_mut();
            self.work.comm.retire(Orphan::new(self.work.raw, true, Box::new((send, recv))));
        }
    }
}
