//! Memory that was freed is given back to the system, so that a limit means what it says.
//!
//! glibc's allocator learns from every large block that is freed to keep as much, for each thread,
//! and a process that works on one partition after the other then holds twice of what it uses.
//! Fixed thresholds end that. They can be set by a call that Rust cannot check, or by the
//! environment before a process begins: so the command starts itself anew, where a limit was given.
//! Elsewhere it would cost a small table more than it could give back.

/// What glibc looks at, and blocks from this many bytes on go to the system at once.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
const SETTINGS: [(&str, &str); 2] =
    [("MALLOC_MMAP_THRESHOLD_", "1048576"), ("MALLOC_TRIM_THRESHOLD_", "2097152")];

/// Starts the command anew, as the same process, unless that was done or the user has settings of
/// their own. Where it fails the command goes on as it is.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
pub fn give_back() {
    use std::os::unix::process::CommandExt;
    if SETTINGS.iter().any(|(name, _)| std::env::var_os(name).is_some()) {
        return;
    }
    if let Ok(program) = std::env::current_exe() {
        let mut arguments = std::env::args_os();
        let name = arguments.next().unwrap_or_else(|| program.clone().into());
        let _ =
            std::process::Command::new(program).arg0(name).args(arguments).envs(SETTINGS).exec();
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
pub fn give_back() {}
