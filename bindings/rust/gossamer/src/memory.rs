//! Elements, and the memory that operations read and write.
use crate::comm::LibraryBuffer;
use crate::sys;
use std::alloc::{alloc_zeroed, dealloc, handle_alloc_error, Layout};
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::os::raw::{c_int, c_void};
use std::ptr::NonNull;

/// Types that travel.
///
/// # Safety
/// Every pattern of bits is a value, and `DTYPE` has the type's size.
pub unsafe trait Element: Copy + Send + Sync + 'static {
    const DTYPE: c_int;
}

macro_rules! elements {
    ($($type:ty: $dtype:ident),* $(,)?) => { $(
        // SAFETY: a number of this size; all bits are values.
        unsafe impl Element for $type {
            const DTYPE: c_int = sys::$dtype;
        }
    )* };
}

macro_rules! bits {
    ($($name:ident($bits:ty), $text:literal;)*) => { $(
        #[doc = $text]
        #[repr(transparent)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name(pub $bits);
    )* };
}

bits! {
    F16(u16), "The bits of an IEEE 754 number of 16 bits.";
    Bf16(u16), "The bits of a bfloat16.";
    F8E4m3(u8), "The bits of an OCP e4m3.";
    F8E5m2(u8), "The bits of an OCP e5m2.";
    Bool(u8), "0 is false, anything else is true: a peer may send any byte, which Rust's bool may not hold.";
}

elements! {
    i8: GOSS_INT8, u8: GOSS_UINT8, i32: GOSS_INT32, u32: GOSS_UINT32, i64: GOSS_INT64, u64: GOSS_UINT64, f32: GOSS_FLOAT32,
    f64: GOSS_FLOAT64, F16: GOSS_FLOAT16, Bf16: GOSS_BFLOAT16, F8E4m3: GOSS_FLOAT8_E4M3, F8E5m2: GOSS_FLOAT8_E5M2,
    Bool: GOSS_BOOL,
}

/// Owned elements that keep their address when the value moves, and that nobody frees when it is forgotten.
pub struct Buffer<T: Element> {
    memory: NonNull<T>,
    count: usize,
}

// SAFETY: a Buffer owns its elements, which are Send and Sync.
unsafe impl<T: Element> Send for Buffer<T> {}
unsafe impl<T: Element> Sync for Buffer<T> {}

impl<T: Element> Buffer<T> {
    /// `count` elements of zero bits.
    pub fn zeroed(count: usize) -> Buffer<T> {
        let layout = Layout::array::<T>(count).expect("a Buffer larger than the address space");
        if layout.size() == 0 {
            return Buffer { memory: NonNull::dangling(), count };
        }
        // SAFETY: the layout has a size.
        let memory = unsafe { alloc_zeroed(layout) }.cast::<T>();
        Buffer { memory: NonNull::new(memory).unwrap_or_else(|| handle_alloc_error(layout)), count }
    }
}

impl<T: Element> From<&[T]> for Buffer<T> {
    fn from(elements: &[T]) -> Buffer<T> {
        let mut buffer = Buffer::zeroed(elements.len());
        buffer.copy_from_slice(elements);
        buffer
    }
}

impl<T: Element> Deref for Buffer<T> {
    type Target = [T];
    fn deref(&self) -> &[T] {
        // SAFETY: `count` elements, all of them written.
        unsafe { std::slice::from_raw_parts(self.memory.as_ptr(), self.count) }
    }
}

impl<T: Element> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above; &mut self is the only way to them.
        unsafe { std::slice::from_raw_parts_mut(self.memory.as_ptr(), self.count) }
    }
}

impl<T: Element> Drop for Buffer<T> {
    fn drop(&mut self) {
        let layout = Layout::array::<T>(self.count).expect("the layout of zeroed()");
        if layout.size() != 0 {
            // SAFETY: zeroed() allocated it with this layout.
            unsafe { dealloc(self.memory.as_ptr().cast(), layout) }
        }
    }
}

/// Memory that an operation reads.
///
/// # Safety
/// The span stays readable, and unchanged by safe code, as long as the value is borrowed; for [`Owned`] ones, exists.
pub unsafe trait Read {
    type Item: Element;
    fn span(&self) -> (*mut c_void, usize);
    /// Whether the operation reads its receive memory instead.
    fn is_in_place(&self) -> bool {
        false
    }
}

/// Memory that an operation writes.
///
/// # Safety
/// As for [`Read`], and nobody else reads it.
pub unsafe trait Write {
    type Item: Element;
    fn span_mut(&mut self) -> (*mut c_void, usize);
}

/// Memory that an operation may keep: its address is that of no borrow.
///
/// # Safety
/// The span keeps its address when the value moves, and lives on when the value is forgotten.
pub unsafe trait Owned: Send + 'static {}

/// In place of the memory to be read: the operation reads what it will overwrite. See [`in_place`].
pub struct InPlace<T>(PhantomData<fn() -> T>);

/// In place of memory to be read or written, for operations that read or write none.
pub struct Nothing<T>(PhantomData<fn() -> T>);

pub fn in_place<T: Element>() -> InPlace<T> {
    InPlace(PhantomData)
}

impl<T> Default for Nothing<T> {
    fn default() -> Self {
        Nothing(PhantomData)
    }
}

const NO_SPAN: (*mut c_void, usize) = (std::ptr::null_mut(), 0);

// SAFETY, for all below: the span is that of the slice; an empty one is never touched.
unsafe impl<T: Element> Read for InPlace<T> {
    type Item = T;
    fn span(&self) -> (*mut c_void, usize) {
        NO_SPAN
    }
    fn is_in_place(&self) -> bool {
        true
    }
}
unsafe impl<T: Element> Owned for InPlace<T> {}
unsafe impl<T: Element> Owned for Nothing<T> {}
unsafe impl<T: Element> Read for Nothing<T> {
    type Item = T;
    fn span(&self) -> (*mut c_void, usize) {
        NO_SPAN
    }
}
unsafe impl<T: Element> Write for Nothing<T> {
    type Item = T;
    fn span_mut(&mut self) -> (*mut c_void, usize) {
        NO_SPAN
    }
}

macro_rules! readable {
    ($([$($generics:tt)*] $type:ty),* $(,)?) => { $(
        unsafe impl<$($generics)*> Read for $type {
            type Item = T;
            fn span(&self) -> (*mut c_void, usize) {
                (self.as_ptr() as *mut c_void, self.len())
            }
        }
    )* };
}
macro_rules! writable {
    ($([$($generics:tt)*] $type:ty),* $(,)?) => { $(
        unsafe impl<$($generics)*> Write for $type {
            type Item = T;
            fn span_mut(&mut self) -> (*mut c_void, usize) {
                (self.as_mut_ptr().cast(), self.len())
            }
        }
    )* };
}
/// Their address is the allocation's own, not that of a borrow: who owns the memory may write what an operation reads.
macro_rules! owned {
    ($($type:ty),* $(,)?) => { $(
        unsafe impl<T: Element> Read for $type {
            type Item = T;
            fn span(&self) -> (*mut c_void, usize) {
                (self.memory.as_ptr().cast(), self.count)
            }
        }
        unsafe impl<T: Element> Write for $type {
            type Item = T;
            fn span_mut(&mut self) -> (*mut c_void, usize) {
                (self.memory.as_ptr().cast(), self.count)
            }
        }
        unsafe impl<T: Element> Owned for $type {}
    )* };
}
readable!([T: Element] &[T], [T: Element] &Vec<T>, [T: Element, const N: usize] &[T; N], [T: Element] &Buffer<T>,
          [T: Element] &LibraryBuffer<T>);
writable!([T: Element] &mut [T], [T: Element] &mut Vec<T>, [T: Element, const N: usize] &mut [T; N],
          [T: Element] &mut Buffer<T>, [T: Element] &mut LibraryBuffer<T>);
owned!(Buffer<T>, LibraryBuffer<T>);
