//! What every target has: rules about panics and memory.

use std::alloc::{GlobalAlloc, Layout, System};
use std::panic::PanicHookInfo;

/// The maximum length of one allocation. Sanitizers have an option for this; a build without one
/// needs an allocator.
const LARGEST: usize = 512 << 20;

struct Limited;

#[global_allocator]
static ALLOCATOR: Limited = Limited;

/// Refuses allocations that are too large: `try_reserve` fails, everything else aborts, which is a
/// finding.
// SAFETY: every call is passed on to the allocator of the system or answered with null.
unsafe impl GlobalAlloc for Limited {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if layout.size() > LARGEST {
            return std::ptr::null_mut();
        }
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if layout.size() > LARGEST {
            return std::ptr::null_mut();
        }
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, start: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        if size > LARGEST {
            return std::ptr::null_mut();
        }
        unsafe { System.realloc(start, layout, size) }
    }

    unsafe fn dealloc(&self, start: *mut u8, layout: Layout) {
        unsafe { System.dealloc(start, layout) }
    }
}

/// Replaces the hook of libFuzzer, which ends the target at the first panic. Arrow's readers panic
/// if a file is damaged, and the library catches that. A panic in the library's own code is a
/// finding even if it is caught; a panic that nobody catches ends the target in any case.
pub fn begin() {
    let show = std::panic::take_hook();
    let all = std::env::var_os("SCUMBLE_FUZZ_PANICS").is_some();
    std::panic::set_hook(Box::new(move |info| {
        // The hook that was there before shows the panic and aborts.
        if all || is_ours(info) {
            show(info);
        }
    }));
}

fn is_ours(info: &PanicHookInfo<'_>) -> bool {
    info.location().is_none_or(|place| {
        let file = place.file();
        file.contains("scumble/src") || file.ends_with("entries.rs")
    })
}
