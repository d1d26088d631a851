//! wrong: E0277
//! Strings are no elements.
use gossamer::*;

fn main() -> Result<()> {
    let comm = Comm::from_environment()?;
    #[cfg(wrong)]
    send(&["text".to_string()], 0, 0).run(&comm)?;
    #[cfg(not(wrong))]
    send(&[1u8], 0, 0).run(&comm)?;
    Ok(())
}
