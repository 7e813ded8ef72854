//! Ctrl-C: the first asks the exploration to stop and to report what it has covered; the second ends the process.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The exit code of a process that was ended by an interrupt, as shells have it.
const KILLED: i32 = 130;

/// A flag that becomes true at the first Ctrl-C. Without a handler (if one cannot be installed) Ctrl-C ends the process
/// as usual.
pub fn flag() -> Arc<AtomicBool> {
    let flag = Arc::new(AtomicBool::new(false));
    let shared = Arc::clone(&flag);
    let installed = ctrlc::set_handler(move || {
        if shared.swap(true, Ordering::SeqCst) {
            std::process::exit(KILLED);
        }
    });
    if let Err(error) = installed {
        crate::output::warning(&format!("Ctrl-C will not show what was covered so far: {error}"));
    }
    flag
}
