//! Functions that are known and not supported, each with the reason. A function that is not listed at all is reported by
//! the machine as unknown.

use super::Model;
use super::call::{drive, models};

/// The model of a function that stands for a whole group of names: it says what the group is.
pub(super) fn by_prefix(name: &str) -> Option<Model> {
    const STRING: [&str; 4] = ["_ZNSt7__cxx1112basic_string", "_ZNKSt7__cxx1112basic_string", "_ZNSs", "_ZNKSs"];
    const STREAM: [&str; 9] = [
        "_ZNSo",
        "_ZNSi",
        "_ZNSt13basic_ostream",
        "_ZNSt13basic_istream",
        "_ZNSt9basic_ios",
        "_ZNKSt9basic_ios",
        "_ZNSt8ios_base",
        "_ZNSt7__cxx1118basic_stringstream",
        "_ZNSt7__cxx1119basic_",
    ];
    if STRING.iter().any(|prefix| name.starts_with(prefix)) {
        return Some(|host, state, input| {
            drive(host, state, input, 0, |c| {
                c.unsupported(
                    "`std::string` before C++20, whose code is in a library and not in the program (-std=c++20 helps)",
                )
            })
        });
    }
    if STREAM.iter().any(|prefix| name.starts_with(prefix)) {
        return Some(|host, state, input| drive(host, state, input, 0, |c| c.unsupported("this part of `<iostream>`")));
    }
    None
}

models! {
    "fopen" | "fopen64" | "freopen" | "fdopen" | "fclose" | "fread" | "fseek" | "ftell" | "rewind" | "feof" | "ferror"
        | "clearerr" | "tmpfile" | "remove" | "rename" | "open" | "open64" | "openat" | "close" | "lseek" | "stat"
        | "fstat" | "unlink" | "mkdir" | "opendir" | "readdir" | "closedir" | "pipe" | "dup" | "dup2" | "ioctl" | "fcntl"
        / 0 => |c| c.unsupported("files"),
    "getchar" | "getc" | "fgetc" | "_IO_getc" | "ungetc" | "gets" | "fgets" | "getline" | "getdelim" | "read" | "scanf"
        | "fscanf" | "vscanf" | "__isoc99_scanf" | "__isoc99_fscanf" | "__isoc23_scanf" | "__isoc23_fscanf"
        / 0 => |c| c.unsupported("reading input"),
    "sscanf" | "vsscanf" | "__isoc99_sscanf" | "__isoc99_vsscanf" | "__isoc23_sscanf" / 0 => |c| c.unsupported("`sscanf`"),
    "setjmp" | "_setjmp" | "sigsetjmp" | "__sigsetjmp" | "longjmp" | "_longjmp" | "siglongjmp" | "__longjmp_chk"
        / 0 => |c| c.unsupported("`setjmp` and `longjmp`"),
    "signal" | "sigaction" | "sigprocmask" | "pthread_sigmask" | "sigemptyset" | "sigfillset" | "sigaddset" | "sigdelset"
        | "sigwait" | "sigwaitinfo" | "kill" | "killpg" | "alarm" | "setitimer" | "pause" | "sigsuspend" | "timer_create"
        / 0 => |c| c.unsupported("signals"),
    "fork" | "vfork" | "wait" | "waitpid" | "execv" | "execve" | "execvp" | "execl" | "execlp" | "system" | "popen"
        | "pclose" | "posix_spawn" / 0 => |c| c.unsupported("other processes"),
    "mmap" | "mmap64" | "munmap" | "mprotect" | "sbrk" | "brk" | "shm_open" | "shmget" | "shmat"
        / 0 => |c| c.unsupported("mapping memory"),
    "socket" | "bind" | "listen" | "accept" | "connect" | "send" | "recv" | "poll" | "select" | "epoll_create"
        | "epoll_wait" | "eventfd" / 0 => |c| c.unsupported("input and output of the operating system"),
    "syscall" / 0 => |c| c.unsupported("system calls"),
    "dlopen" | "dlsym" | "dlclose" / 0 => |c| c.unsupported("loading libraries"),
    "localtime" | "localtime_r" | "gmtime" | "gmtime_r" | "mktime" | "strftime" | "ctime" | "asctime"
        / 0 => |c| c.unsupported("dates"),
}

#[cfg(test)]
mod tests {
    use crate::models::testing::Fake;
    use crate::models::{find, names};

    #[test]
    fn the_reason_is_said() {
        let mut host = Fake::new();
        let cases = [
            ("fopen", "files"),
            ("setjmp", "setjmp"),
            ("signal", "signals"),
            ("_ZNKSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEE4sizeEv", "C++20"),
            ("_ZNSo9_M_insertIbEERSoT_", "iostream"),
        ];
        for (name, word) in cases {
            assert!(host.unsupported(name, &[]).contains(word), "{name}");
        }
        assert!(find("frobnicate").is_none());
        assert!(names().is_sorted());
    }
}
