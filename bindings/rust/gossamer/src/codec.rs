//! Codecs of one's own, and what the library says of plans and codecs.
use crate::comm::Comm;
use crate::error::{c_text, check, take_text, Result};
use crate::sys;
use std::os::raw::{c_char, c_int, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::ptr::null_mut;

/// A codec as functions, which are called on any thread. One that panics fails the operation.
///
/// # Safety
/// The library reserves memory by `max_bytes` and asks for it again when it encodes. So all functions are pure: the same input gives the
/// same output in every call, and the same bytes on all ranks; `max_bytes` does not shrink when `count` grows. None of them calls
/// Gossamer, whose locks its caller may hold.
pub unsafe trait Codec: Send + Sync + 'static {
    /// Chunks of a vector begin at multiples of so many elements.
    fn block(&self) -> usize {
        1
    }
    /// Upper bound of a payload of `count` elements.
    fn max_bytes(&self, count: usize) -> usize;
    /// Writes the payload into its first bytes, and returns how many.
    fn encode(&self, values: &[f32], payload: &mut [u8]) -> usize;
    /// Writes all values; false for bytes that are no payload of so many.
    fn decode(&self, payload: &[u8], values: &mut [f32]) -> bool;
}

unsafe extern "C" fn max_bytes<C: Codec>(context: *mut c_void, count: usize) -> usize {
    let codec = &*context.cast::<C>();
    catch_unwind(AssertUnwindSafe(|| codec.max_bytes(count))).unwrap_or(0)
}

/// A length that max_bytes() forbids tells the library of a panic.
unsafe extern "C" fn encode<C: Codec>(
    context: *mut c_void,
    values: *mut f32,
    count: usize,
    payload: *mut c_void,
) -> usize {
    let codec = &*context.cast::<C>();
    // SAFETY: the library has reserved max_bytes(count), which is the same in every call by the trait's contract.
    let work = || {
        let room = codec.max_bytes(count);
        payload.cast::<u8>().write_bytes(0, room);
        codec.encode(slice(values, count), std::slice::from_raw_parts_mut(payload.cast(), room))
    };
    catch_unwind(AssertUnwindSafe(work)).unwrap_or(usize::MAX)
}

unsafe extern "C" fn decode<C: Codec>(
    context: *mut c_void,
    payload: *mut c_void,
    bytes: usize,
    count: usize,
    values: *mut f32,
) -> c_int {
    let codec = &*context.cast::<C>();
    let work = || {
        values.write_bytes(0, count);
        codec.decode(slice(payload.cast(), bytes), std::slice::from_raw_parts_mut(values, count))
    };
    c_int::from(!catch_unwind(AssertUnwindSafe(work)).unwrap_or(false))
}

unsafe fn slice<'a, T>(from: *mut T, count: usize) -> &'a [T] {
    if count == 0 {
        return &[];
    }
    std::slice::from_raw_parts(from, count)
}

impl Comm {
    /// All ranks register the same codec, which `Options::codec` then may name. It lives as long as the program.
    pub fn register_codec<C: Codec>(&self, name: &str, codec: C) -> Result<()> {
        let name = c_text(name)?;
        let mut functions = sys::goss_codec_functions {
            size: std::mem::size_of::<sys::goss_codec_functions>(),
            block: codec.block(),
            context: Box::into_raw(Box::new(codec)).cast(),
            max_bytes: Some(max_bytes::<C>),
            encode: Some(encode::<C>),
            decode: Some(decode::<C>),
        };
        self.inner
            .check(unsafe { sys::goss_codec_register(self.inner.raw, name.as_ptr() as *mut _, &mut functions) })
            .map_err(|error| {
                // SAFETY: the library has refused it.
                drop(unsafe { Box::from_raw(functions.context.cast::<C>()) });
                error
            })
    }
}

fn json(call: impl FnOnce(*mut *mut c_char) -> c_int) -> Result<String> {
    let mut text = null_mut();
    check(call(&mut text))?;
    Ok(unsafe { take_text(text) })
}

/// What built-in codec specs are made of, as JSON.
pub fn codecs() -> Result<String> {
    json(|text| unsafe { sys::goss_codecs(text) })
}

/// Prices of every algorithm for a collective, as JSON; `links` is the text of a link file.
pub fn explain(collective: &str, ranks: i32, bytes: usize, links: Option<&str>) -> Result<String> {
    let collective = c_text(collective)?;
    let links = links.map(c_text).transpose()?;
    let links = links.as_ref().map_or(null_mut(), |text| text.as_ptr() as *mut _);
    json(|text| unsafe { sys::goss_explain(collective.as_ptr() as *mut _, ranks, bytes, links, text) })
}

/// As `explain`, compressed by a built-in codec.
pub fn explain_codec(collective: &str, ranks: i32, bytes: usize, codec: &str, links: Option<&str>) -> Result<String> {
    let (collective, codec) = (c_text(collective)?, c_text(codec)?);
    let links = links.map(c_text).transpose()?;
    let links = links.as_ref().map_or(null_mut(), |text| text.as_ptr() as *mut _);
    let (collective, codec) = (collective.as_ptr() as *mut _, codec.as_ptr() as *mut _);
    json(|text| unsafe { sys::goss_explain_codec(collective, ranks, bytes, codec, links, text) })
}
