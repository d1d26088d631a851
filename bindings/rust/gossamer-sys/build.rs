//! Finds libgossamer.so: in GOSSAMER_LIB_DIR, else where pkg-config says, else where the linker looks.
use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=GOSSAMER_LIB_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    println!("cargo:rustc-link-lib=dylib=gossamer");
    if let Ok(folder) = env::var("GOSSAMER_LIB_DIR") {
        println!("cargo:rustc-link-search=native={}", folder);
        return;
    }
    let found = Command::new("pkg-config").args(["--libs-only-L", "gossamer"]).output();
    if let Ok(output) = found {
        for flag in String::from_utf8_lossy(&output.stdout).split_whitespace() {
            println!("cargo:rustc-link-search=native={}", flag.trim_start_matches("-L"));
        }
    }
}
