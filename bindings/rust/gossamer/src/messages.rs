//! Messages from rank to rank.
use crate::comm::Comm;
use crate::error::Result;
use crate::launch::{Kind, Options};
use crate::memory::{Element, Nothing, Read, Write};
use crate::operation::Operation;
use crate::sys;
use std::time::Duration;

pub const ANY_SOURCE: i32 = sys::GOSS_ANY_SOURCE;
pub const ANY_TAG: i32 = sys::GOSS_ANY_TAG;

/// What a completed receive got.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Message {
    pub source: i32,
    pub tag: i32,
    pub bytes: usize,
}

impl Message {
    pub(crate) fn of(raw: &sys::goss_message) -> Message {
        Message { source: raw.source, tag: raw.tag, bytes: raw.bytes }
    }

    pub(crate) fn raw(self) -> sys::goss_message {
        sys::goss_message { source: self.source, tag: self.tag, bytes: self.bytes }
    }
}

/// Sends to `peer`.
pub fn send<S: Read>(data: S, peer: i32, tag: i32) -> Operation<S, Nothing<S::Item>> {
    Operation::new(Kind::Send(peer, tag), data, Nothing::default())
}

/// Receives up to the memory's length from `peer` or [`ANY_SOURCE`], with `tag` or [`ANY_TAG`].
pub fn recv<R: Write>(data: R, peer: i32, tag: i32) -> Operation<Nothing<R::Item>, R> {
    Operation::new(Kind::Recv(peer, tag), Nothing::default(), data)
}

impl Comm {
    /// Sends to `dest` and receives from `source` at the same time.
    pub fn sendrecv<T: Element>(
        &self,
        send: &[T],
        dest: i32,
        recv: &mut [T],
        source: i32,
        tag: i32,
        options: &Options,
    ) -> Result<Message> {
        let mut options = options.raw()?;
        let mut message = Message::default().raw();
        // SAFETY: blocking, so that the slices live long enough.
        self.inner.check(unsafe {
            let (from, to) = (send.as_ptr() as *mut _, recv.as_mut_ptr().cast());
            let (c, o) = (self.inner.raw, &mut options.raw);
            sys::goss_sendrecv(c, from, send.len(), dest, to, recv.len(), source, T::DTYPE, tag, o, &mut message)
        })?;
        Ok(Message::of(&message))
    }

    /// Waits for a message that `recv` would receive, and leaves it there.
    pub fn probe(&self, source: i32, tag: i32, timeout: Option<Duration>) -> Result<Message> {
        let mut options = Options { timeout, ..Options::default() }.raw()?;
        let mut message = Message::default().raw();
        self.inner.check(unsafe { sys::goss_probe(self.inner.raw, source, tag, &mut options.raw, &mut message) })?;
        Ok(Message::of(&message))
    }

    /// `probe` without waiting.
    pub fn iprobe(&self, source: i32, tag: i32) -> Result<Option<Message>> {
        let (mut found, mut message) = (0, Message::default().raw());
        self.inner.check(unsafe { sys::goss_iprobe(self.inner.raw, source, tag, &mut found, &mut message) })?;
        Ok((found != 0).then(|| Message::of(&message)))
    }
}
