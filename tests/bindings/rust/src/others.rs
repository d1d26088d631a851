//! Communicators, codecs, checkpoints, links, synchronizers, and the functions of the C ABI.
use gossamer::*;
use std::time::Duration;

/// This program did not link if the library lacked one, and all have addresses of their own.
pub fn everything_links() {
    let mut addresses: Vec<_> = sys::functions().iter().map(|function| function.1).collect();
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), sys::functions().len());
    assert!(addresses.iter().all(|address| !address.is_null()));
    let version: Vec<i32> = sys::VERSION.split('.').map(|part| part.parse().unwrap()).collect();
    assert_eq!(unsafe { sys::goss_version() }, version[0] * 10000 + version[1] * 100 + version[2]);
}

pub fn all(comm: &Comm) {
    communicators(comm);
    configs();
    compressed(comm);
    planning();
    synchronizers(comm);
    if comm.size() > 1 {
        assert!(comm.trials().unwrap().contains("plans_tried"));
        assert!(comm.measure_links(Some(Duration::from_secs(60))).unwrap().contains("link"));
    }
}

fn communicators(comm: &Comm) {
    let parity = comm.rank() % 2;
    let half = comm.split(parity, -comm.rank()).unwrap().expect("a color");
    assert_eq!(half.size(), (comm.size() + 1 - parity) / 2);
    let mut ranks = vec![0; half.size() as usize];
    all_gather(&[comm.rank()], &mut ranks).run(&half).unwrap();
    assert!(ranks.windows(2).all(|pair| pair[0] > pair[1]), "{:?}", ranks);
    let first = comm.split(if comm.rank() == 0 { 0 } else { -1 }, 0).unwrap();
    assert_eq!(first.map(|one| one.size()), (comm.rank() == 0).then(|| 1));
    assert_eq!(comm.transport(comm.rank()).unwrap(), "self");
    if let (Ok(wanted), true) = (std::env::var("GOSS_TRANSPORT"), comm.size() > 1) {
        assert_eq!(comm.transport((comm.rank() + 1) % comm.size()).unwrap(), wanted);
    }
    assert!(comm.event_fd().unwrap() >= 0 && comm.counters().unwrap().operations > 0);
}

fn configs() {
    check_environment().unwrap();
    let lone = || Config::new().unwrap().rank(0).ranks(1).timeout(Duration::from_secs(5));
    let id = UniqueId::create().unwrap();
    let alone = Comm::create(&lone().unique_id(&id).log_level("error").unwrap()).unwrap();
    assert_eq!((alone.rank(), alone.size()), (0, 1));
    UniqueId::create().unwrap().destroy().unwrap();
    let error = lone().transport("pigeon").unwrap().check().unwrap_err();
    assert!(error.status == Status::InvalidArgument && error.text.contains("pigeon"), "{}", error);
}

/// Bytes in place of floats.
struct Bytes;

// SAFETY: pure functions, none of which calls Gossamer; a byte for each element.
unsafe impl Codec for Bytes {
    fn max_bytes(&self, count: usize) -> usize {
        count
    }
    fn encode(&self, values: &[f32], payload: &mut [u8]) -> usize {
        values.iter().zip(payload).for_each(|(value, byte)| *byte = *value as u8);
        values.len()
    }
    fn decode(&self, payload: &[u8], values: &mut [f32]) -> bool {
        values.iter_mut().zip(payload).for_each(|(value, byte)| *value = f32::from(*byte));
        payload.len() == values.len()
    }
}

fn compressed(comm: &Comm) {
    comm.register_codec("rustbytes", Bytes).unwrap();
    assert_eq!(comm.register_codec("rustbytes", Bytes).unwrap_err().status, Status::InvalidArgument);
    let with = |codec: &str, tensor| Options { codec: Some(codec.into()), tensor, ..Options::default() };
    let mut whole = [3.0f32; 4096];
    all_reduce(in_place(), &mut whole, Op::Sum).with(with("rustbytes", 0)).run(comm).unwrap();
    assert!(whole.iter().all(|value| *value == 3.0 * comm.size() as f32));
    let mut lossy: Vec<f32> = (0..4096).map(|i| i as f32).collect();
    all_reduce(in_place(), &mut lossy, Op::Avg).with(with("int8:block=256+ef", 7)).run(comm).unwrap();
    assert!(lossy.iter().enumerate().all(|(i, value)| (value - i as f32).abs() < 40.0));
    let state = comm.export_codec_state().unwrap();
    comm.import_codec_state(&state).unwrap();
    let mut lost = [1.0f32; 4];
    comm.read_codec_state(7, &mut lost).unwrap();
    comm.reset_codec_state(0).unwrap();
    comm.read_codec_state(7, &mut lost).unwrap();
    assert_eq!(lost, [0.0; 4]);
    assert_eq!(comm.import_codec_state(b"nonsense").unwrap_err().status, Status::Protocol);
}

fn planning() {
    assert!(codecs().unwrap().contains("int8") && synchronizer_methods().unwrap().contains("diloco"));
    assert!(explain("allreduce", 8, 1 << 20, None).unwrap().contains("ring"));
    assert!(explain_codec("allreduce", 8, 1 << 20, "int8", None).unwrap().starts_with('{'));
    assert_eq!(explain("nonsense", 8, 1, None).unwrap_err().status, Status::InvalidArgument);
}

fn synchronizers(comm: &Comm) {
    let ranks = comm.size() as f32;
    let new = |spec| {
        let mut sync = Synchronizer::new(comm, spec)?;
        sync.register("weights", Buffer::from(&[1.0f32; 9][..]), -1)?;
        Ok::<_, Error>(sync)
    };
    let mut sync = new("ddp").unwrap();
    sync.start().unwrap();
    sync.set_lr(0.5).unwrap();
    assert!(sync.computes().unwrap());
    sync.gradient(0).unwrap().fill(comm.rank() as f32);
    sync.gradient_ready(0).unwrap();
    assert!(sync.gradient(0).unwrap_err().text.contains("being exchanged"));
    sync.gradients().unwrap();
    assert_eq!(sync.gradient(0).unwrap(), &[(ranks - 1.0) / 2.0; 9][..]);
    sync.step().unwrap();
    let saved = sync.export().unwrap();
    sync.finish().unwrap();
    assert!(sync.info().unwrap().gradients == 1 && sync.counters().unwrap().steps == 1);
    assert!(sync.parameter(1).unwrap_err().text.contains("no tensor 1"));
    drop(sync);
    let mut resumed = new("ddp").unwrap();
    resumed.import(&saved).unwrap();
    resumed.start().unwrap();
    let mut others = new("ddp").unwrap();
    others.import_all(&[&saved]).unwrap();
    barrier().run(comm).unwrap();
    others.abort("enough").unwrap();
    assert_eq!(new("nonsense").err().unwrap().status, Status::InvalidArgument);
}
