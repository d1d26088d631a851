//! Operations under way.
use crate::comm::{Inner, Orphan};
use crate::error::{check, text_of, Error, Result, Status};
use crate::messages::Message;
use crate::sys;
use std::os::raw::c_int;
use std::ptr::null_mut;
use std::sync::Arc;

/// A started operation and its memory. Dropping it leaves the operation under way; the communicator frees the memory when that has
/// completed. Forgetting it leaks both.
#[must_use = "wait for a request: its memory comes back then"]
pub struct Request<S: Send + 'static, R: Send + 'static> {
    pub(crate) work: Work,
    memory: Option<(S, R)>,
}

/// A request of the C ABI, and how it ended.
pub struct Work {
    pub comm: Arc<Inner>,
    pub raw: sys::goss_request_t,
    pub outcome: Option<Result<Message>>,
}

// SAFETY: any thread may call anything with a request.
unsafe impl Send for Work {}

impl Work {
    fn finish(&mut self, status: c_int, message: &sys::goss_message) {
        self.outcome = Some(self.comm.check(status).map(|()| Message::of(message)));
    }

    /// Whether it has completed. Never blocks.
    pub fn is_done(&mut self) -> Result<bool> {
        if self.outcome.is_none() {
            let (mut done, mut message) = (0, Message::default().raw());
            // SAFETY: `raw` is a request of the communicator, which lives.
            let status = unsafe { sys::goss_test(&mut self.raw, &mut done, &mut message) };
            if done != 0 {
                self.finish(status, &message);
            } else {
                self.comm.check(status)?;
            }
        }
        Ok(self.outcome.is_some())
    }

    pub fn wait(&mut self) -> Result<Message> {
        if self.outcome.is_none() {
            let mut message = Message::default().raw();
            // SAFETY: as above.
            let status = unsafe { sys::goss_wait(&mut self.raw, &mut message) };
            // After fork() the library refuses the call, and the request stays as it was.
            let mut done = 0;
            if status == sys::GOSS_ERR_INVALID_ARGUMENT && !self.raw.is_null() {
                unsafe { sys::goss_test(&mut self.raw, &mut done, null_mut()) };
                if done == 0 {
                    return Err(Error::last(self.comm.raw, status));
                }
            }
            self.finish(status, &message);
        }
        self.outcome.clone().expect("finish() has set it")
    }

    /// How it has failed, while it is not waited for. It blames no rank by number, as `wait`'s does.
    pub fn error(&self) -> Option<Error> {
        if let Some(outcome) = &self.outcome {
            return outcome.as_ref().err().cloned();
        }
        let (mut status, mut text) = (sys::GOSS_SUCCESS, null_mut());
        // SAFETY: as above; the text is copied before anything else is called.
        unsafe {
            self.comm
                .check(sys::goss_request_error(self.raw, &mut status, &mut text))
                .err()
                .or_else(|| (status != sys::GOSS_SUCCESS).then(|| Error::new(Status::of(status), -1, text_of(text))))
        }
    }
}

impl<S: Send, R: Send> Request<S, R> {
    pub(crate) fn new(comm: Arc<Inner>, raw: sys::goss_request_t, send: S, recv: R) -> Request<S, R> {
        Request { work: Work { comm, raw, outcome: None }, memory: Some((send, recv)) }
    }

    /// Whether it has completed. Never blocks.
    pub fn is_done(&mut self) -> Result<bool> {
        self.work.is_done()
    }

    /// How it has failed, while it is not waited for. It blames no rank by number, as `wait`'s does.
    pub fn error(&self) -> Option<Error> {
        self.work.error()
    }

    /// Waits, and gives the memory back.
    pub fn wait(self) -> Result<(S, R)> {
        self.wait_message().map(|(send, recv, _)| (send, recv))
    }

    /// As `wait`, with what a receive got.
    pub fn wait_message(mut self) -> Result<(S, R, Message)> {
        let message = self.work.wait()?;
        let (send, recv) = self.memory.take().expect("memory leaves in wait or drop");
        Ok((send, recv, message))
    }
}

impl<S: Send + 'static, R: Send + 'static> Drop for Request<S, R> {
    fn drop(&mut self) {
        if self.work.outcome.is_none() {
            let memory = Box::new(self.memory.take());
            self.work.comm.retire(Orphan::new(self.work.raw, false, memory));
        }
    }
}

/// Requests of any memory, to wait for together.
pub trait Pending: sealed::Work {}

mod sealed {
    pub trait Work {
        fn work(&mut self) -> &mut super::Work;
    }
}

impl<S: Send, R: Send> sealed::Work for Request<S, R> {
    fn work(&mut self) -> &mut Work {
        &mut self.work
    }
}
impl<S: Send, R: Send> Pending for Request<S, R> {}

/// Waits until one is complete, and tells which; none if all were complete before.
pub fn wait_any(requests: &mut [&mut dyn Pending]) -> Result<Option<usize>> {
    let collected = |work: &mut Work| if work.outcome.is_some() { null_mut() } else { work.raw };
    let mut raw: Vec<_> = requests.iter_mut().map(|one| collected(one.work())).collect();
    if raw.iter().all(|one| one.is_null()) {
        return Ok(None);
    }
    let (mut index, mut message) = (raw.len(), Message::default().raw());
    // SAFETY: requests of communicators that live; the library sets to NULL the one that it frees.
    let status = unsafe { sys::goss_wait_any(raw.as_mut_ptr(), raw.len(), &mut index, &mut message) };
    if index >= raw.len() || !raw[index].is_null() {
        return check(status).map(|()| None);
    }
    let work = requests[index].work();
    work.raw = null_mut();
    work.finish(status, &message);
    Ok(Some(index))
}

/// Waits for all, and returns the first failure in the order of the slice.
pub fn wait_all(requests: &mut [&mut dyn Pending]) -> Result<()> {
    let mut first = Ok(());
    for one in requests {
        let ended = one.work().wait().map(|_| ());
        first = first.and(ended);
    }
    first
}
