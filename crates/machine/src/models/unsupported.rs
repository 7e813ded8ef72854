//! Functions that are known and not supported, each with the reason. A function that is not listed at all is reported by
//! the machine as unknown.

use super::call::models;

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
