//! Global variables that libraries define.
//!
//! A stream is a number that no object has as its address, so that using it as anything but a handle is noticed. The
//! tables behind C++ type information are never looked at (there is no model of `dynamic_cast`): they only need an
//! address.

use crate::Addr;

/// `stdin`.
pub(super) const STDIN: Addr = Addr(0x10_0000);
/// `stdout`.
pub(super) const STDOUT: Addr = Addr(0x11_0000);
/// `stderr`.
pub(super) const STDERR: Addr = Addr(0x12_0000);

/// The first bytes of a library's global variable.
pub(super) fn find(name: &str) -> Option<&'static [u8]> {
    const fn handle(addr: Addr) -> [u8; 8] {
        addr.0.to_le_bytes()
    }
    static HANDLES: [[u8; 8]; 3] = [handle(STDIN), handle(STDOUT), handle(STDERR)];
    match name {
        "stdin" => Some(&HANDLES[0]),
        "stdout" => Some(&HANDLES[1]),
        "stderr" => Some(&HANDLES[2]),
        // Says that other threads exist, always: reference counts are then atomic.
        "__libc_single_threaded" => Some(&[0]),
        "environ" | "__environ" | "__dso_handle" => Some(&[]),
        "_ZSt4cout" | "_ZSt4cerr" | "_ZSt4clog" | "_ZSt3cin" => Some(&[]),
        "_ZSt7nothrow" | "_ZSt15__once_callable" | "_ZSt11__once_call" => Some(&[]),
        // Type information and virtual tables of the run-time library.
        _ if ["_ZTVN10__cxxabiv1", "_ZTIN10__cxxabiv1", "_ZTISt", "_ZTINSt", "_ZTVSt", "_ZTVNSt"]
            .iter()
            .any(|prefix| name.starts_with(prefix)) =>
        {
            Some(&[])
        }
        // Type information of built-in types: `_ZTI` and one letter, or a pointer to such a type.
        _ if name.strip_prefix("_ZTI").is_some_and(is_builtin_type) => Some(&[]),
        _ => None,
    }
}

fn is_builtin_type(mangled: &str) -> bool {
    let letters = mangled.trim_start_matches(['P', 'K']);
    letters.len() == 1 && letters.bytes().all(|byte| byte.is_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_handles_and_type_information_has_an_address() {
        assert_eq!(find("stdout"), Some(&STDOUT.0.to_le_bytes()[..]));
        assert_eq!(find("_ZTIPKc"), Some(&[][..]));
        assert_eq!(find("_ZTI3Foo"), None);
        assert_eq!(find("counter"), None);
    }
}
