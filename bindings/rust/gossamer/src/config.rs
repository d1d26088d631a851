//! Settings of a new world of ranks.
use crate::error::{c_text, check, Result};
use crate::launch::milliseconds;
use crate::sys;
use std::ffi::CString;
use std::ptr::null_mut;
use std::time::Duration;

/// Lets ranks find each other; the application passes the bytes around.
#[derive(Clone)]
pub struct UniqueId(pub [u8; 128]);

impl UniqueId {
    /// Opens the socket that others will call: the caller becomes rank 0.
    pub fn create() -> Result<UniqueId> {
        let mut raw = sys::goss_unique_id { bytes: [0; 128] };
        check(unsafe { sys::goss_unique_id_create(&mut raw) })?;
        Ok(UniqueId(raw.bytes.map(|byte| byte as u8)))
    }

    fn raw(&self) -> sys::goss_unique_id {
        sys::goss_unique_id { bytes: self.0.map(|byte| byte as _) }
    }

    /// Closes the socket of an id that no communicator has taken.
    pub fn destroy(self) -> Result<()> {
        check(unsafe { sys::goss_unique_id_destroy(&mut self.raw()) })
    }
}

/// goss_config: what is not set is the environment's.
pub struct Config {
    raw: Box<sys::goss_config>,
    texts: Vec<CString>,
    id: Option<Box<sys::goss_unique_id>>,
}

macro_rules! texts {
    ($($name:ident),*) => { $(
        pub fn $name(mut self, text: &str) -> Result<Config> {
            self.texts.push(c_text(text)?);
            self.raw.$name = self.texts[self.texts.len() - 1].as_ptr() as *mut _;
            Ok(self)
        }
    )* };
}
macro_rules! numbers {
    ($($name:ident: $type:ty),*) => { $(
        pub fn $name(mut self, value: $type) -> Config {
            self.raw.$name = value;
            self
        }
    )* };
}
macro_rules! times {
    ($($name:ident = $field:ident >= $least:literal),*) => { $(
        pub fn $name(mut self, time: Duration) -> Config {
            self.raw.$field = milliseconds(time).max($least);
            self
        }
    )* };
}

impl Config {
    pub fn new() -> Result<Config> {
        // SAFETY: a struct of numbers and pointers, which goss_config_init_sized fills.
        let mut raw: Box<sys::goss_config> = Box::new(unsafe { std::mem::zeroed() });
        check(unsafe { sys::goss_config_init_sized(&mut *raw, std::mem::size_of::<sys::goss_config>()) })?;
        Ok(Config { raw, texts: Vec::new(), id: None })
    }

    texts!(
        transport,
        interface,
        algorithm,
        links_file,
        tls,
        tls_scope,
        advertise,
        relay,
        reconnect,
        tcp_congestion,
        codec
    );
    texts!(tuning_file, shm_path, log_level, job_id, tcp_checksum, device, measure);
    numbers!(rank: i32, ranks: i32, port_min: u16, port_max: u16, connections_per_peer: i32, tcp_pacing_bytes_per_s: u64);
    numbers!(fragment_bytes: u64, unexpected_bytes: u64, shm_ring_bytes: u64, shm_direct_bytes: u64, spin_us: i32);
    numbers!(bootstrap_port: i32, sim_seed: u64, sim_drop: f64);
    times!(
        timeout = timeout_ms >= 1,
        bootstrap_timeout = bootstrap_timeout_ms >= 1,
        silence = silence_ms >= 0,
        device_hold = device_hold_ms >= 0
    );

    pub fn unique_id(mut self, id: &UniqueId) -> Config {
        let id = self.id.insert(Box::new(id.raw()));
        self.raw.unique_id = &mut **id;
        self
    }

    /// Whether it is well-formed.
    pub fn check(&self) -> Result<()> {
        check(unsafe { sys::goss_config_check(self.raw()) })
    }

    pub(crate) fn raw(&self) -> *mut sys::goss_config {
        &*self.raw as *const _ as *mut _
    }
}

/// The default of `Config::check` without a config: whether the environment is well-formed.
pub fn check_environment() -> Result<()> {
    check(unsafe { sys::goss_config_check(null_mut()) })
}
