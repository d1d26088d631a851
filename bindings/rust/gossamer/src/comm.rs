//! Communicators.
use crate::config::Config;
use crate::error::{c_text, check, check_on, take_bytes, take_text, text_of, Error, Result, Status};
use crate::launch::Options;
use crate::memory::Element;
use crate::sys;
use std::any::Any;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::os::raw::{c_int, c_void};
use std::ptr::{null_mut, NonNull};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A group of ranks. Requests and memory of the library hold it: it ends when all of them are dropped.
pub struct Comm {
    pub(crate) inner: Arc<Inner>,
}

pub struct Inner {
    pub raw: sys::goss_comm_t,
    pub rank: i32,
    pub size: i32,
    orphans: Mutex<Vec<Orphan>>,
    is_closed: AtomicBool,
}

// SAFETY: any thread may call anything at any time (gossamer.h).
unsafe impl Send for Inner {}
unsafe impl Sync for Inner {}

/// An operation under way whose request was dropped, and its memory.
pub struct Orphan {
    raw: sys::goss_request_t,
    is_persistent: bool,
    memory: Box<dyn Any>,
}

impl Orphan {
    pub fn new(raw: sys::goss_request_t, is_persistent: bool, memory: Box<dyn Any>) -> Orphan {
        Orphan { raw, is_persistent, memory }
    }

    /// Whether it has completed; its memory is free then.
    fn is_done(&mut self) -> bool {
        let mut done: c_int = 0;
        // SAFETY: a request of a communicator that lives.
        unsafe {
            sys::goss_test(&mut self.raw, &mut done, null_mut());
            if done != 0 && self.is_persistent {
                sys::goss_request_free(&mut self.raw);
            }
        }
        done != 0
    }
}

/// How long a communicator that is dropped waits for operations that it has aborted.
const SETTLES: Duration = Duration::from_secs(2);

impl Inner {
    fn new(raw: sys::goss_comm_t) -> Result<Arc<Inner>> {
        let (mut rank, mut size) = (0, 0);
        // SAFETY: a communicator that was just made.
        unsafe {
            check(sys::goss_comm_rank(raw, &mut rank))?;
            check(sys::goss_comm_size(raw, &mut size))?;
        }
        Ok(Arc::new(Inner { raw, rank, size, orphans: Mutex::default(), is_closed: AtomicBool::new(false) }))
    }

    /// The failure of a call on this communicator, whose numbers its rank has.
    pub fn check(&self, status: c_int) -> Result<()> {
        check_on(self.raw, status)
    }

    /// Takes an operation whose request was dropped.
    pub fn retire(self: &Arc<Inner>, orphan: Orphan) {
        self.lock().push(orphan);
        if self.is_closed.load(Ordering::SeqCst) {
            self.settle();
        }
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Vec<Orphan>> {
        self.orphans.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }

    /// Frees the memory of dropped operations that have completed; it is dropped outside of the lock.
    pub fn reap(&self) -> bool {
        let mut done = Vec::new();
        let mut orphans = self.lock();
        let mut at = 0;
        while at < orphans.len() {
            if orphans[at].is_done() {
                done.push(orphans.swap_remove(at).memory);
            } else {
                at += 1;
            }
        }
        let is_empty = orphans.is_empty();
        drop(orphans);
        is_empty
    }

    /// Ends dropped operations that are under way. Memory that the library does not give back in time leaks.
    fn settle(&self) {
        if self.reap() {
            return;
        }
        // SAFETY: the communicator lives.
        unsafe { sys::goss_comm_abort(self.raw, b"dropped with operations under way\0".as_ptr() as *mut _) };
        let end = Instant::now() + SETTLES;
        while !self.reap() {
            if Instant::now() > end {
                return std::mem::forget(std::mem::take(&mut *self.lock()));
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        // SAFETY: nobody has requests or memory of it any more.
        unsafe { sys::goss_comm_destroy(self.raw) };
    }
}

impl Drop for Comm {
    fn drop(&mut self) {
        self.inner.is_closed.store(true, Ordering::SeqCst);
        self.inner.settle();
    }
}

/// Running totals of one communicator on this rank; goss_counters says what they count.
pub type Counters = sys::goss_counters;

impl Comm {
    /// Meets the ranks that the environment names (mpirun, torchrun's variables); alone it is 1 rank of 1.
    pub fn from_environment() -> Result<Comm> {
        // SAFETY: NULL is the environment.
        Comm::made(null_mut(), |comm| unsafe { sys::goss_comm_create(null_mut(), comm) })
    }

    pub fn create(config: &Config) -> Result<Comm> {
        // SAFETY: the config's strings live as long as it.
        Comm::made(null_mut(), |comm| unsafe { sys::goss_comm_create(config.raw(), comm) })
    }

    /// Wraps the communicator that `make` creates. `parent`: the communicator from which it is made; NULL: none.
    fn made(parent: sys::goss_comm_t, make: impl FnOnce(*mut sys::goss_comm_t) -> c_int) -> Result<Comm> {
        let mut raw = null_mut();
        check_on(parent, make(&mut raw))?;
        Ok(Comm { inner: Inner::new(raw)? })
    }

    pub fn rank(&self) -> i32 {
        self.inner.rank
    }

    pub fn size(&self) -> i32 {
        self.inner.size
    }

    /// Ranks of one `color` form a communicator, ordered by `key`; none for a negative color. Collective.
    pub fn split(&self, color: i32, key: i32) -> Result<Option<Comm>> {
        let mut raw = null_mut();
        self.inner.check(unsafe { sys::goss_comm_split(self.inner.raw, color, key, &mut raw) })?;
        Ok(if raw.is_null() { None } else { Some(Comm { inner: Inner::new(raw)? }) })
    }

    /// Collective.
    pub fn dup(&self) -> Result<Comm> {
        Comm::made(self.inner.raw, |comm| unsafe { sys::goss_comm_dup(self.inner.raw, comm) })
    }

    /// A communicator of the ranks that are left. Collective over these; `self` fails.
    pub fn shrink(&self, timeout: Option<Duration>) -> Result<Comm> {
        let mut options = Options { timeout, ..Options::default() }.raw()?;
        Comm::made(self.inner.raw, |comm| unsafe { sys::goss_comm_shrink(self.inner.raw, &mut options.raw, comm) })
    }

    /// The transport that reaches a rank.
    pub fn transport(&self, peer: i32) -> Result<String> {
        let mut name = null_mut();
        self.inner.check(unsafe { sys::goss_comm_transport(self.inner.raw, peer, &mut name) })?;
        Ok(unsafe { text_of(name) })
    }

    /// The first failure, after which the communicator refuses operations.
    pub fn error(&self) -> Option<Error> {
        let (mut status, mut text) = (sys::GOSS_SUCCESS, null_mut());
        let asked = self.inner.check(unsafe { sys::goss_comm_error(self.inner.raw, &mut status, &mut text) });
        let failure = || {
            let mut rank = -1;
            unsafe { sys::goss_comm_error_rank(self.inner.raw, &mut rank) };
            Error::new(Status::of(status), rank, unsafe { text_of(text) })
        };
        asked.err().or_else(|| (status != sys::GOSS_SUCCESS).then(failure))
    }

    /// Polls readable while a request is complete and not collected. The communicator closes it.
    pub fn event_fd(&self) -> Result<c_int> {
        let mut fd = -1;
        self.inner.check(unsafe { sys::goss_comm_event_fd(self.inner.raw, &mut fd) })?;
        Ok(fd)
    }

    /// Every pending operation of all ranks fails with `reason`. From any thread.
    pub fn abort(&self, reason: &str) -> Result<()> {
        let reason = c_text(reason)?;
        self.inner.check(unsafe { sys::goss_comm_abort(self.inner.raw, reason.as_ptr() as *mut _) })
    }

    pub fn counters(&self) -> Result<Counters> {
        // SAFETY: a struct of numbers, which goss_counters_init fills.
        let mut counters: Counters = unsafe { std::mem::zeroed() };
        check(unsafe { sys::goss_counters_init(&mut counters, std::mem::size_of::<Counters>()) })?;
        self.inner.check(unsafe { sys::goss_comm_counters(self.inner.raw, &mut counters) })?;
        Ok(counters)
    }

    /// Measures all links, and returns the text of a link file, equal on all ranks. Collective.
    pub fn measure_links(&self, timeout: Option<Duration>) -> Result<String> {
        let mut options = Options { timeout, ..Options::default() }.raw()?;
        let mut text = null_mut();
        self.inner.check(unsafe { sys::goss_comm_measure_links(self.inner.raw, &mut options.raw, &mut text) })?;
        Ok(unsafe { take_text(text) })
    }

    /// Which plans were compared, as JSON text; goss_comm_trials says what it holds.
    pub fn trials(&self) -> Result<String> {
        let mut text = null_mut();
        self.inner.check(unsafe { sys::goss_comm_trials(self.inner.raw, &mut text) })?;
        Ok(unsafe { take_text(text) })
    }

    /// What codecs keep between operations, for checkpoints.
    pub fn export_codec_state(&self) -> Result<Vec<u8>> {
        let (mut bytes, mut size) = (null_mut(), 0);
        self.inner.check(unsafe { sys::goss_codec_state_export(self.inner.raw, &mut bytes, &mut size) })?;
        Ok(unsafe { take_bytes(bytes, size) })
    }

    pub fn import_codec_state(&self, bytes: &[u8]) -> Result<()> {
        self.inner
            .check(unsafe { sys::goss_codec_state_import(self.inner.raw, bytes.as_ptr() as *mut c_void, bytes.len()) })
    }

    /// What error feedback keeps of the first elements of a tensor.
    pub fn read_codec_state(&self, tensor: u64, values: &mut [f32]) -> Result<()> {
        self.inner
            .check(unsafe { sys::goss_codec_state_read(self.inner.raw, tensor, values.as_mut_ptr(), values.len()) })
    }

    /// Forgets what is kept of a tensor; 0: of all.
    pub fn reset_codec_state(&self, tensor: u64) -> Result<()> {
        self.inner.check(unsafe { sys::goss_codec_state_reset(self.inner.raw, tensor) })
    }

    /// Memory that the ranks of this host map, of zero bits.
    pub fn alloc<T: Element>(&self, count: usize) -> Result<LibraryBuffer<T>> {
        let bytes = count.checked_mul(std::mem::size_of::<T>());
        let bytes = bytes
            .ok_or_else(|| Error::invalid(format!("gossamer: {} elements are more than an address counts", count)))?;
        let mut memory = null_mut();
        self.inner.check(unsafe { sys::goss_mem_alloc(self.inner.raw, bytes.max(1), &mut memory) })?;
        // SAFETY: so many bytes were just allocated.
        unsafe { std::ptr::write_bytes(memory.cast::<u8>(), 0, bytes) };
        let memory = NonNull::new(memory.cast::<T>()).expect("goss_mem_alloc succeeded");
        Ok(LibraryBuffer { memory, count, comm: self.inner.clone(), elements: PhantomData })
    }
}

/// Memory of goss_mem_alloc: messages of a host are read and written in it, without a copy.
pub struct LibraryBuffer<T: Element> {
    pub(crate) memory: NonNull<T>,
    pub(crate) count: usize,
    comm: Arc<Inner>,
    elements: PhantomData<T>,
}

// SAFETY: it owns its elements, which are Send and Sync.
unsafe impl<T: Element> Send for LibraryBuffer<T> {}
unsafe impl<T: Element> Sync for LibraryBuffer<T> {}

impl<T: Element> Deref for LibraryBuffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: alloc() made so many elements.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), self.count) }
    }
}

impl<T: Element> DerefMut for LibraryBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above; &mut self is the only way to them.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr(), self.count) }
    }
}

impl<T: Element> Drop for LibraryBuffer<T> {
    fn drop(&mut self) {
        // SAFETY: memory of this communicator; what a message still uses is refused, and leaks.
        unsafe { sys::goss_mem_free(self.comm.raw, self.memory.as_ptr().cast()) };
    }
}
