//! Error numbers, as Linux has them.

/// Operation not permitted.
pub(super) const EPERM: i32 = 1;
/// Try again.
pub(super) const EAGAIN: i32 = 11;
/// Out of memory.
pub(super) const ENOMEM: i32 = 12;
/// Device or resource busy.
pub(super) const EBUSY: i32 = 16;
/// Invalid argument.
pub(super) const EINVAL: i32 = 22;
/// Result out of range.
pub(super) const ERANGE: i32 = 34;
/// It would be a deadlock.
pub(super) const EDEADLK: i32 = 35;
/// Value too large.
pub(super) const EOVERFLOW: i32 = 75;
/// Timed out.
pub(super) const ETIMEDOUT: i32 = 110;

/// The status of C11 threads for an error number of pthread.
pub(super) fn thrd_status(errno: u64) -> u64 {
    match errno as i32 {
        0 => 0,
        EBUSY => 1,
        ENOMEM => 3,
        ETIMEDOUT => 4,
        _ => 2,
    }
}

/// What `strerror` and `perror` say.
pub(super) fn describe(errno: i32) -> String {
    let text = match errno {
        0 => "Success",
        EPERM => "Operation not permitted",
        2 => "No such file or directory",
        4 => "Interrupted system call",
        9 => "Bad file descriptor",
        EAGAIN => "Resource temporarily unavailable",
        ENOMEM => "Cannot allocate memory",
        EBUSY => "Device or resource busy",
        EINVAL => "Invalid argument",
        33 => "Numerical argument out of domain",
        ERANGE => "Numerical result out of range",
        EDEADLK => "Resource deadlock avoided",
        EOVERFLOW => "Value too large for defined data type",
        ETIMEDOUT => "Connection timed out",
        other => return format!("Unknown error {other}"),
    };
    text.to_owned()
}
