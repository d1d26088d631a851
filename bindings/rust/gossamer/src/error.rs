//! Errors of the library as values.
use crate::sys;
use std::ffi::{CStr, CString};
use std::fmt;
use std::os::raw::{c_char, c_int};
use std::ptr::null_mut;

pub type Result<T> = std::result::Result<T, Error>;

/// What the caller can do about a failure, as gossamer.h says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    InvalidArgument,
    Unsupported,
    Mismatch,
    Timeout,
    PeerLost,
    Aborted,
    Protocol,
    Resource,
    Bootstrap,
    Truncated,
    Internal,
    Device,
}

impl Status {
    pub(crate) fn of(status: c_int) -> Status {
        match status {
            sys::GOSS_ERR_INVALID_ARGUMENT => Status::InvalidArgument,
            sys::GOSS_ERR_UNSUPPORTED => Status::Unsupported,
            sys::GOSS_ERR_MISMATCH => Status::Mismatch,
            sys::GOSS_ERR_TIMEOUT => Status::Timeout,
            sys::GOSS_ERR_PEER_LOST => Status::PeerLost,
            sys::GOSS_ERR_ABORTED => Status::Aborted,
            sys::GOSS_ERR_PROTOCOL => Status::Protocol,
            sys::GOSS_ERR_RESOURCE => Status::Resource,
            sys::GOSS_ERR_BOOTSTRAP => Status::Bootstrap,
            sys::GOSS_ERR_TRUNCATED => Status::Truncated,
            sys::GOSS_ERR_DEVICE => Status::Device,
            _ => Status::Internal,
        }
    }
}

/// A call failed. The text says who, what, and what to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    pub status: Status,
    /// The rank that is to blame, counted in the communicator of the call; where it had none, in the one that the environment or a
    /// config made.
    pub rank: Option<i32>,
    pub text: String,
}

impl Error {
    /// `rank` is what the library gives: -1 for none.
    pub(crate) fn new(status: Status, rank: i32, text: String) -> Error {
        Error { status, rank: Some(rank).filter(|rank| *rank >= 0), text }
    }

    pub(crate) fn invalid(text: String) -> Error {
        Error::new(Status::InvalidArgument, -1, text)
    }

    /// This thread's last failed call. `comm`, whose number the rank gets, may be NULL, and lives otherwise.
    pub(crate) fn last(comm: sys::goss_comm_t, status: c_int) -> Error {
        let mut rank = -1;
        // SAFETY: goss_last_error never returns NULL, and nothing is called before its text is copied.
        let text = unsafe { text_of(sys::goss_last_error()) };
        // SAFETY: the communicator lives.
        unsafe { sys::goss_last_error_rank(comm, &mut rank) };
        Error::new(Status::of(status), rank, text)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.text)
    }
}

impl std::error::Error for Error {}

/// For calls that have no communicator, or end it; the others have `Inner::check`.
pub(crate) fn check(status: c_int) -> Result<()> {
    check_on(null_mut(), status)
}

/// `comm` may be NULL, and lives otherwise.
pub(crate) fn check_on(comm: sys::goss_comm_t, status: c_int) -> Result<()> {
    if status == sys::GOSS_SUCCESS {
        Ok(())
    } else {
        Err(Error::last(comm, status))
    }
}

/// A copy of a C string; NULL is "".
///
/// # Safety
/// `text` must be NULL or end with a zero byte.
pub(crate) unsafe fn text_of(text: *const c_char) -> String {
    if text.is_null() {
        return String::new();
    }
    CStr::from_ptr(text).to_string_lossy().into_owned()
}

/// A copy of what the library has allocated, which is freed.
///
/// # Safety
/// `text` must be what the library handed out for goss_free.
pub(crate) unsafe fn take_text(text: *mut c_char) -> String {
    let copy = text_of(text);
    sys::goss_free(text.cast());
    copy
}

/// # Safety
/// `bytes` must be `size` bytes that the library handed out for goss_free.
pub(crate) unsafe fn take_bytes(bytes: *mut std::os::raw::c_void, size: usize) -> Vec<u8> {
    let copy = if size == 0 { Vec::new() } else { std::slice::from_raw_parts(bytes.cast::<u8>(), size).to_vec() };
    sys::goss_free(bytes);
    copy
}

pub(crate) fn c_text(text: &str) -> Result<CString> {
    CString::new(text).map_err(|_| Error::invalid(format!("gossamer: {:?} has a zero byte; leave it out", text)))
}
