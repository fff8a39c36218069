// SPDX-License-Identifier: BSD-2-Clause
//! Links programs of the host with libringside, which pkg-config finds. RINGSIDE_LIB_DIR names its
//! directory instead. A guest's own link adds libringside-guest.a, with the flags of
//! `pkg-config --libs ringside-guest` or ringside-guest-kit.

use std::env;
use std::process::{exit, Command};

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=RINGSIDE_LIB_DIR");
    println!("cargo:rerun-if-env-changed=PKG_CONFIG_PATH");
    println!("cargo:rerun-if-env-changed=RINGSIDE_GUEST_THIS");
    if env::var_os("CARGO_FEATURE_HOST").is_none() {
        if env::var_os("RINGSIDE_GUEST_THIS").is_some() {
            println!("cargo:rustc-cfg=ringside_guest_this");
        }
        return;
    }
    if let Ok(directory) = env::var("RINGSIDE_LIB_DIR") {
        println!("cargo:rustc-link-search=native={}", directory);
        println!("cargo:rustc-link-lib=dylib=ringside");
        return;
    }
    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".to_string());
    let flags = match Command::new(&program).args(["--libs", "ringside"]).output() {
        Ok(done) if done.status.success() => String::from_utf8_lossy(&done.stdout).into_owned(),
        Ok(done) => {
            eprintln!(
                "ringside is not installed where {} looks: install it, or set PKG_CONFIG_PATH",
                program
            );
            eprint!("{}", String::from_utf8_lossy(&done.stderr));
            exit(1)
        }
        Err(error) => {
            eprintln!(
                "cannot run {}: {}; RINGSIDE_LIB_DIR may name libringside's directory",
                program, error
            );
            exit(1)
        }
    };
    for flag in flags.split_whitespace() {
        if let Some(directory) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={}", directory);
        } else if let Some(library) = flag.strip_prefix("-l") {
            println!("cargo:rustc-link-lib={}", library);
        }
    }
}
