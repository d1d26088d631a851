//! Synchronizers; sync.h says how a training loop uses one.
use crate::comm::{Comm, Inner};
use crate::error::{c_text, check, take_bytes, take_text, text_of, Error, Result};
use crate::memory::Buffer;
use crate::sys;
use std::os::raw::c_void;
use std::ptr::null_mut;
use std::sync::Arc;

/// Keeps the replicas of a model together. It owns parameters and gradients, which the library reads and writes inside calls, and
/// gradients between `gradient_ready` and `gradients`.
pub struct Synchronizer {
    raw: sys::goss_sync_t,
    tensors: Vec<Tensor>,
    comm: Arc<Inner>,
}

struct Tensor {
    parameter: Buffer<f32>,
    gradient: Buffer<f32>,
    is_lent: bool,
}

// SAFETY: one thread at a time uses it (sync.h), which &mut self sees to.
unsafe impl Send for Synchronizer {}

/// What a synchronizer does; goss_sync_info says what the fields mean.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Info {
    pub spec: String,
    pub gradients: i32,
    pub local_steps: bool,
    pub gradient_size: i32,
    pub dynamic_period: i64,
}

pub type SyncCounters = sys::goss_sync_counters;

/// All methods as JSON.
pub fn synchronizer_methods() -> Result<String> {
    let mut json = null_mut();
    check(unsafe { sys::goss_sync_methods(&mut json) })?;
    Ok(unsafe { take_text(json) })
}

impl Synchronizer {
    /// By a spec such as "diloco:h=50"; docs/synchronizers.md lists them. Collective.
    pub fn new(comm: &Comm, spec: &str) -> Result<Synchronizer> {
        let mut raw = null_mut();
        comm.inner
            .check(unsafe { sys::goss_sync_create(comm.inner.raw, c_text(spec)?.as_ptr() as *mut _, &mut raw) })?;
        Ok(Synchronizer { raw, tensors: Vec::new(), comm: comm.inner.clone() })
    }

    /// Takes a tensor of the model, before `start`, and returns its number. `layer` -1: a layer of its own.
    pub fn register(&mut self, name: &str, parameter: Buffer<f32>, layer: i32) -> Result<usize> {
        let name = c_text(name)?;
        let mut tensor = Tensor { gradient: Buffer::zeroed(parameter.len()), parameter, is_lent: false };
        // SAFETY: a struct of numbers and pointers, which goss_sync_tensor_init fills; buffers keep their addresses.
        unsafe {
            let mut raw: sys::goss_sync_tensor = std::mem::zeroed();
            check(sys::goss_sync_tensor_init(&mut raw, std::mem::size_of_val(&raw)))?;
            raw.name = name.as_ptr() as *mut _;
            raw.parameter = tensor.parameter.as_mut_ptr().cast();
            raw.gradient = tensor.gradient.as_mut_ptr().cast();
            raw.count = tensor.parameter.len();
            raw.layer = layer;
            self.comm.check(sys::goss_sync_register(self.raw, &mut raw, null_mut()))?;
        }
        self.tensors.push(tensor);
        Ok(self.tensors.len() - 1)
    }

    fn tensor(&mut self, index: usize) -> Result<&mut Tensor> {
        let registered = self.tensors.len();
        let tensor = self.tensors.get_mut(index);
        tensor.ok_or_else(|| {
            Error::invalid(format!("gossamer: there is no tensor {}; {} are registered", index, registered))
        })
    }

    pub fn parameter(&mut self, index: usize) -> Result<&mut [f32]> {
        Ok(&mut self.tensor(index)?.parameter)
    }

    /// Refused from `gradient_ready` until `gradients` has returned: the library uses it.
    pub fn gradient(&mut self, index: usize) -> Result<&mut [f32]> {
        let tensor = self.tensor(index)?;
        if tensor.is_lent {
            return Err(Error::invalid(format!(
                "gossamer: the gradient of tensor {} is being exchanged; call gradients() first",
                index
            )));
        }
        Ok(&mut tensor.gradient)
    }

    /// Collective, once: all ranks get rank 0's parameters.
    pub fn start(&mut self) -> Result<()> {
        self.comm.check(unsafe { sys::goss_sync_start(self.raw) })
    }

    pub fn set_lr(&mut self, lr: f64) -> Result<()> {
        self.comm.check(unsafe { sys::goss_sync_set_lr(self.raw, lr) })
    }

    /// Whether this rank computes the coming step.
    pub fn computes(&mut self) -> Result<bool> {
        let mut computes = 0;
        self.comm.check(unsafe { sys::goss_sync_computes(self.raw, &mut computes) })?;
        Ok(computes != 0)
    }

    pub fn step_time(&mut self, seconds: f64) -> Result<()> {
        self.comm.check(unsafe { sys::goss_sync_step_time(self.raw, seconds) })
    }

    /// The gradient is final for this step: its exchange may start.
    pub fn gradient_ready(&mut self, index: usize) -> Result<()> {
        self.tensor(index)?.is_lent = true;
        self.comm.check(unsafe { sys::goss_sync_gradient_ready(self.raw, index as i32) })
    }

    /// Collective: all gradients are exchanged when it returns.
    pub fn gradients(&mut self) -> Result<()> {
        self.tensors.iter_mut().for_each(|tensor| tensor.is_lent = true);
        self.comm.check(unsafe { sys::goss_sync_gradients(self.raw) })?;
        self.tensors.iter_mut().for_each(|tensor| tensor.is_lent = false);
        Ok(())
    }

    /// Collective: the optimizer has changed the parameters.
    pub fn step(&mut self) -> Result<()> {
        self.comm.check(unsafe { sys::goss_sync_step(self.raw) })
    }

    /// Collective: applies what is in flight; all ranks hold the same parameters then.
    pub fn finish(&mut self) -> Result<()> {
        self.comm.check(unsafe { sys::goss_sync_finish(self.raw) })
    }

    /// What is needed beside the parameters to go on with the same bits.
    pub fn export(&mut self) -> Result<Vec<u8>> {
        let (mut bytes, mut count) = (null_mut(), 0);
        self.comm.check(unsafe { sys::goss_sync_export(self.raw, &mut bytes, &mut count) })?;
        Ok(unsafe { take_bytes(bytes, count) })
    }

    /// Before `start`.
    pub fn import(&mut self, bytes: &[u8]) -> Result<()> {
        self.comm.check(unsafe { sys::goss_sync_import(self.raw, bytes.as_ptr() as *mut c_void, bytes.len()) })
    }

    /// Takes the states of all ranks of a run on another number of ranks; true when something is left behind.
    pub fn import_all(&mut self, states: &[&[u8]]) -> Result<bool> {
        let mut bytes: Vec<_> = states.iter().map(|state| state.as_ptr() as *mut c_void).collect();
        let mut counts: Vec<_> = states.iter().map(|state| state.len()).collect();
        let mut dropped = 0;
        let (listed, lengths) = (bytes.as_mut_ptr(), counts.as_mut_ptr());
        self.comm.check(unsafe { sys::goss_sync_import_all(self.raw, listed, lengths, states.len(), &mut dropped) })?;
        Ok(dropped != 0)
    }

    pub fn info(&self) -> Result<Info> {
        // SAFETY: a struct of numbers and pointers, which goss_sync_info_init fills.
        unsafe {
            let mut raw: sys::goss_sync_info = std::mem::zeroed();
            check(sys::goss_sync_info_init(&mut raw, std::mem::size_of_val(&raw)))?;
            self.comm.check(sys::goss_sync_get_info(self.raw, &mut raw))?;
            Ok(Info {
                spec: text_of(raw.spec),
                gradients: raw.gradients,
                local_steps: raw.local_steps != 0,
                gradient_size: raw.gradient_size,
                dynamic_period: raw.dynamic_period,
            })
        }
    }

    pub fn counters(&self) -> Result<SyncCounters> {
        // SAFETY: a struct of numbers, which goss_sync_counters_init fills.
        let mut counters: SyncCounters = unsafe { std::mem::zeroed() };
        check(unsafe { sys::goss_sync_counters_init(&mut counters, std::mem::size_of::<SyncCounters>()) })?;
        self.comm.check(unsafe { sys::goss_sync_get_counters(self.raw, &mut counters) })?;
        Ok(counters)
    }

    /// Pending and later calls of all ranks fail with `reason`.
    pub fn abort(&self, reason: &str) -> Result<()> {
        let reason = c_text(reason)?;
        self.comm.check(unsafe { sys::goss_sync_abort(self.raw, reason.as_ptr() as *mut _) })
    }
}

impl Drop for Synchronizer {
    fn drop(&mut self) {
        // SAFETY: when it succeeds no buffer is lent any more; else they leak.
        if unsafe { sys::goss_sync_destroy(self.raw) } != sys::GOSS_SUCCESS {
            std::mem::forget(std::mem::take(&mut self.tensors));
        }
    }
}
