//! Output: the `printf` family and the simple functions of `<stdio.h>`.
//!
//! What a program prints is shown only for the execution that is reported, so printing is no Op and has no order among
//! threads other than that of the execution. Standard output and standard error are one. Files cannot be opened, and
//! nothing can be read.
//!
//! Arguments are found in two ways: those of the call itself, with their types; or those of a `va_list`, which has the
//! layout that the x86-64 ABI gives it (offsets of the next integer and floating-point register within the save area, the
//! address of the next argument on the stack, the address of the save area).

use super::bytes::fits;
use super::call::{Answer, Call, int, models};
use super::errno::describe;
use super::externals::{STDERR, STDOUT};
use super::format::{self, Amount, Spec};
use super::{alloc, format::BadFormat};
use crate::{Addr, ViolationKind};

models! {
    "printf" / 1 => |c| print(c, c.ptr(0), &mut Arguments::From(1)),
    "vprintf" / 2 => |c| print(c, c.ptr(0), &mut Arguments::List(c.ptr(1))),
    "__printf_chk" / 2 => |c| print(c, c.ptr(1), &mut Arguments::From(2)),
    "__vprintf_chk" / 3 => |c| print(c, c.ptr(1), &mut Arguments::List(c.ptr(2))),
    "fprintf" / 2 => |c| { stream(c, c.ptr(0))?; print(c, c.ptr(1), &mut Arguments::From(2)) },
    "vfprintf" / 3 => |c| { stream(c, c.ptr(0))?; print(c, c.ptr(1), &mut Arguments::List(c.ptr(2))) },
    "__fprintf_chk" / 3 => |c| { stream(c, c.ptr(0))?; print(c, c.ptr(2), &mut Arguments::From(3)) },
    "__vfprintf_chk" / 4 => |c| { stream(c, c.ptr(0))?; print(c, c.ptr(2), &mut Arguments::List(c.ptr(3))) },
    "dprintf" / 2 => |c| { descriptor(c)?; print(c, c.ptr(1), &mut Arguments::From(2)) },
    "vdprintf" / 3 => |c| { descriptor(c)?; print(c, c.ptr(1), &mut Arguments::List(c.ptr(2))) },
    "sprintf" / 2 => |c| write(c, u64::MAX, u64::MAX, c.ptr(1), &mut Arguments::From(2)),
    "vsprintf" / 3 => |c| write(c, u64::MAX, u64::MAX, c.ptr(1), &mut Arguments::List(c.ptr(2))),
    "__sprintf_chk" / 4 => |c| write(c, u64::MAX, c.arg(2), c.ptr(3), &mut Arguments::From(4)),
    "__vsprintf_chk" / 5 => |c| write(c, u64::MAX, c.arg(2), c.ptr(3), &mut Arguments::List(c.ptr(4))),
    "snprintf" / 3 => |c| write(c, c.arg(1), u64::MAX, c.ptr(2), &mut Arguments::From(3)),
    "vsnprintf" / 4 => |c| write(c, c.arg(1), u64::MAX, c.ptr(2), &mut Arguments::List(c.ptr(3))),
    "__snprintf_chk" / 5 => |c| write(c, c.arg(1), c.arg(3), c.ptr(4), &mut Arguments::From(5)),
    "__vsnprintf_chk" / 6 => |c| write(c, c.arg(1), c.arg(3), c.ptr(4), &mut Arguments::List(c.ptr(5))),
    "asprintf" / 2 => |c| make(c, c.ptr(1), &mut Arguments::From(2)),
    "vasprintf" / 3 => |c| make(c, c.ptr(1), &mut Arguments::List(c.ptr(2))),
    "puts" / 1 => puts,
    "putchar" | "putchar_unlocked" / 1 => put_byte,
    "fputc" | "putc" | "_IO_putc" | "fputc_unlocked" | "putc_unlocked" / 2 => |c| { stream(c, c.ptr(1))?; put_byte(c) },
    "fputs" | "fputs_unlocked" / 2 => fputs,
    "fwrite" | "fwrite_unlocked" / 4 => fwrite,
    "write" / 3 => write_bytes,
    "fflush" | "fflush_unlocked" / 1 => |_| Ok(0),
    "setbuf" | "setvbuf" | "setlinebuf" / 1 => |_| Ok(0),
    "flockfile" | "funlockfile" / 1 => |c| stream(c, c.ptr(0)).map(|()| 0),
    "fileno" / 1 => |c| { stream(c, c.ptr(0))?; Ok(if c.ptr(0) == STDOUT { 1 } else { 2 }) },
    "isatty" / 1 => |_| Ok(0),
    "perror" / 1 => perror,
}

/// Where the arguments of a format come from.
pub(super) enum Arguments {
    /// From the call, from this one on.
    From(usize),
    /// From the `va_list` at an address.
    List(Addr),
}

impl Arguments {
    fn next(&mut self, call: &mut Call<'_>, floating: bool) -> Answer {
        match self {
            Arguments::List(list) => next_of_list(call, *list, floating),
            Arguments::From(n) => {
                let at = *n;
                *n += 1;
                let Some(&value) = call.state.args.get(at) else {
                    let message = "a format asks for more arguments than are given";
                    return call.violation(ViolationKind::OutOfBounds, message);
                };
                match call.state.types.get(at) {
                    Some(ty) if ty.is_float() != floating => {
                        call.unsupported(format!("an argument of type {ty} for a conversion of another type"))
                    }
                    _ => Ok(value),
                }
            }
        }
    }
}

/// `va_arg` of the x86-64 ABI.
fn next_of_list(call: &mut Call<'_>, list: Addr, floating: bool) -> Answer {
    let (field, end, step) = if floating { (4, 176, 16) } else { (0, 48, 8) };
    let used = call.load(list.plus(field), 4)?;
    let place = if used < end {
        call.store(list.plus(field), 4, used + step)?;
        Addr(call.load(list.plus(16), 8)?).plus(used)
    } else {
        let place = call.load(list.plus(8), 8)?;
        call.store(list.plus(8), 8, place.wrapping_add(8))?;
        Addr(place)
    };
    call.load(place, 8)
}

/// Formats the arguments.
pub(super) fn formatted(call: &mut Call<'_>, format: Addr, arguments: &mut Arguments) -> Answer<Vec<u8>> {
    let format = call.read_string(format, u64::MAX)?;
    let mut out = Vec::new();
    let mut rest = format.as_slice();
    while let Some(at) = rest.iter().position(|&byte| byte == b'%') {
        out.extend_from_slice(&rest[..at]);
        match format::parse(&rest[at + 1..]) {
            Ok((spec, taken)) => {
                convert(call, spec, arguments, &mut out)?;
                rest = &rest[at + 1 + taken..];
            }
            Err(BadFormat(what)) => return call.unsupported(format!("{what} in a format")),
        }
    }
    out.extend_from_slice(rest);
    Ok(out)
}

fn convert(call: &mut Call<'_>, mut spec: Spec, arguments: &mut Arguments, out: &mut Vec<u8>) -> Answer<()> {
    if spec.width == Amount::Argument {
        spec.set_width(arguments.next(call, false)? as i32);
    }
    if spec.precision == Amount::Argument {
        spec.set_precision(arguments.next(call, false)? as i32);
    }
    let piece = match spec.letter {
        b'%' => vec![b'%'],
        b'd' | b'i' | b'u' | b'o' | b'x' | b'X' => format::integer(&spec, arguments.next(call, false)?),
        b'f' | b'F' | b'e' | b'E' | b'g' | b'G' | b'a' | b'A' => {
            format::float(&spec, f64::from_bits(arguments.next(call, true)?))
        }
        b'c' if spec.size == 4 => {
            let byte = arguments.next(call, false)? as u8;
            format::text(&Spec { precision: Amount::None, ..spec }, &[byte])
        }
        b's' if spec.size == 4 => {
            let addr = Addr(arguments.next(call, false)?);
            string(call, &spec, addr)?
        }
        b'p' => format::pointer(&spec, arguments.next(call, false)?),
        b'm' => {
            let errno = call.errno_address()?;
            let errno = call.load(errno, 4)? as i32;
            format::text(&spec, describe(errno).as_bytes())
        }
        letter => return call.unsupported(format!("conversion `%{}` in a format", letter as char)),
    };
    out.extend_from_slice(&piece);
    Ok(())
}

fn string(call: &mut Call<'_>, spec: &Spec, addr: Addr) -> Answer<Vec<u8>> {
    if addr.0 == 0 {
        // The GNU C library prints nothing if the precision has no room for the word.
        let word: &[u8] = if spec.precision().is_some_and(|room| room < 6) { b"" } else { b"(null)" };
        return Ok(format::text(spec, word));
    }
    let limit = spec.precision().map_or(u64::MAX, |precision| precision as u64);
    let bytes = call.read_string(addr, limit)?;
    Ok(format::text(spec, &bytes))
}

/// Shows bytes.
pub(super) fn show(call: &mut Call<'_>, bytes: &[u8]) -> Answer<()> {
    call.effect(|host| {
        host.print(&String::from_utf8_lossy(bytes));
        Ok(0)
    })
    .map(drop)
}

fn print(call: &mut Call<'_>, format: Addr, arguments: &mut Arguments) -> Answer {
    let text = formatted(call, format, arguments)?;
    show(call, &text)?;
    Ok(int(text.len() as i32))
}

/// Writes to the first argument, at most `limit` bytes with the end, into an object of `room` bytes.
fn write(call: &mut Call<'_>, limit: u64, room: u64, format: Addr, arguments: &mut Arguments) -> Answer {
    let text = formatted(call, format, arguments)?;
    if limit > 0 {
        let mut shown = text[..text.len().min(usize::try_from(limit - 1).unwrap_or(usize::MAX))].to_vec();
        shown.push(0);
        fits(call, shown.len() as u64, room)?;
        call.write_bytes(call.ptr(0), &shown)?;
    }
    Ok(int(text.len() as i32))
}

fn make(call: &mut Call<'_>, format: Addr, arguments: &mut Arguments) -> Answer {
    let mut text = formatted(call, format, arguments)?;
    let length = text.len();
    text.push(0);
    let copy = alloc::allocate(call, text.len() as u64, false)?;
    if copy == 0 {
        return Ok(int(-1));
    }
    call.write_bytes(Addr(copy), &text)?;
    call.store(call.ptr(0), 8, copy)?;
    Ok(int(length as i32))
}

/// Fails unless a stream is one that can be written.
fn stream(call: &Call<'_>, stream: Addr) -> Answer<()> {
    if stream == STDOUT || stream == STDERR {
        return Ok(());
    }
    call.violation(ViolationKind::InvalidPointer, format!("{stream} is not a stream that can be written"))
}

fn descriptor(call: &Call<'_>) -> Answer<()> {
    match call.int(0) {
        1 | 2 => Ok(()),
        other => call.unsupported(format!("writing to file descriptor {other}")),
    }
}

fn puts(call: &mut Call<'_>) -> Answer {
    let mut text = call.read_string(call.ptr(0), u64::MAX)?;
    text.push(b'\n');
    show(call, &text)?;
    Ok(int(text.len() as i32))
}

fn put_byte(call: &mut Call<'_>) -> Answer {
    let byte = call.arg(0) as u8;
    show(call, &[byte])?;
    Ok(u64::from(byte))
}

fn fputs(call: &mut Call<'_>) -> Answer {
    stream(call, call.ptr(1))?;
    let text = call.read_string(call.ptr(0), u64::MAX)?;
    show(call, &text)?;
    Ok(1)
}

/// Reads `length` bytes and shows them.
fn show_memory(call: &mut Call<'_>, start: Addr, length: u64) -> Answer<()> {
    if length > 0 {
        call.effect(|host| host.is_visible(start, length).map(u64::from))?;
    }
    let mut bytes = Vec::new();
    for at in 0..length {
        bytes.push(call.load(start.plus(at), 1)? as u8);
    }
    show(call, &bytes)
}

fn fwrite(call: &mut Call<'_>) -> Answer {
    stream(call, call.ptr(3))?;
    let (size, count) = (call.arg(1), call.arg(2));
    show_memory(call, call.ptr(0), size.saturating_mul(count))?;
    Ok(if size == 0 { 0 } else { count })
}

fn write_bytes(call: &mut Call<'_>) -> Answer {
    descriptor(call)?;
    show_memory(call, call.ptr(1), call.arg(2))?;
    Ok(call.arg(2))
}

fn perror(call: &mut Call<'_>) -> Answer {
    let mut text = match call.ptr(0) {
        Addr(0) => Vec::new(),
        prefix => call.read_string(prefix, u64::MAX)?,
    };
    if !text.is_empty() {
        text.extend_from_slice(b": ");
    }
    let errno = call.errno_address()?;
    let errno = call.load(errno, 4)? as i32;
    text.extend_from_slice(describe(errno).as_bytes());
    text.push(b'\n');
    show(call, &text)?;
    Ok(0)
}

#[cfg(test)]
mod tests {
    use crate::models::Step;
    use crate::models::externals::STDERR;
    use crate::models::testing::Fake;
    use crate::{Addr, ViolationKind};
    use selvedge_ir::Type;

    /// What `printf` shows; floating-point arguments are marked by their type.
    fn shown(format: &str, args: &[(u64, Type)]) -> String {
        let mut host = Fake::new();
        let mut values = vec![host.string(format)];
        values.extend(args.iter().map(|&(value, _)| value));
        let types = std::iter::once(Type::Ptr).chain(args.iter().map(|&(_, ty)| ty)).collect();
        let result = host.run_typed("printf", &values, types);
        assert!(matches!(result, Ok(Step::Return(n)) if n == host.output.len() as u64), "{result:?}");
        host.output
    }

    #[test]
    fn formats_take_their_arguments_in_order() {
        let int = |value: i64| (value as u64, Type::I32);
        let double = |value: f64| (value.to_bits(), Type::F64);
        assert_eq!(shown("%d%%, %5.2f|%-8x|", &[int(50), double(2.5), int(255)]), "50%,  2.50|ff      |");
        assert_eq!(
            shown("[%*d][%-*d][%.*f]", &[int(5), int(42), int(4), int(7), int(1), double(0.25)]),
            "[   42][7   ][0.2]"
        );
        assert_eq!(shown("%c%5c%s %p", &[int(65), int(66), (0, Type::Ptr), (0x10, Type::Ptr)]), "A    B(null) 0x10");
        assert_eq!(shown("[%*d]", &[int(-4), int(7)]), "[7   ]");
    }

    #[test]
    fn strings_are_read_up_to_the_precision() {
        let mut host = Fake::new();
        let format = host.string("%.3s|%.*s|%s");
        let buffer = host.heap(3);
        host.call("memset", &[buffer.0, u64::from(b'x'), 3]);
        let text = host.string("hello");
        assert_eq!(host.call("printf", &[format, buffer.0, 2, text, text]), 12);
        assert_eq!(host.output, "xxx|he|hello");
    }

    #[test]
    fn bounded_output_ends_with_a_null_byte_and_gives_the_whole_length() {
        let mut host = Fake::new();
        let (format, buffer) = (host.string("%d-%d"), host.heap(8));
        assert_eq!(host.call("snprintf", &[buffer.0, 4, format, 12, 34]), 5);
        assert_eq!(host.text_at(buffer.0), "12-");
        assert_eq!(host.call("snprintf", &[0, 0, format, 1, 2]), 3);
        assert_eq!(host.call("sprintf", &[buffer.0, format, 1, 2]), 3);
        assert_eq!(host.text_at(buffer.0), "1-2");
        let long = host.string("123456789");
        assert_eq!(host.violation("sprintf", &[buffer.0, long]).0, ViolationKind::OutOfBounds);
        assert_eq!(host.violation("__sprintf_chk", &[buffer.0, 0, 3, format, 1, 2]).0, ViolationKind::OutOfBounds);
    }

    #[test]
    fn variadic_lists_have_registers_and_a_stack() {
        let mut host = Fake::new();
        let (list, save, stack) = (host.heap(24), host.heap(176), host.heap(16));
        host.store(list, 4, 40);
        host.store(Addr(list.0 + 4), 4, 160);
        host.store(Addr(list.0 + 8), 8, stack.0);
        host.store(Addr(list.0 + 16), 8, save.0);
        host.store(Addr(save.0 + 40), 8, 1);
        host.store(Addr(save.0 + 160), 8, 0.5f64.to_bits());
        host.store(stack, 8, 2);
        host.store(Addr(stack.0 + 8), 8, 1.5f64.to_bits());
        let format = host.string("%d %.1f %d %.1f\n");
        host.call("vprintf", &[format, list.0]);
        assert_eq!(host.output, "1 0.5 2 1.5\n");
    }

    #[test]
    fn simple_output() {
        let mut host = Fake::new();
        let text = host.string("ab");
        host.call("puts", &[text]);
        host.call("putchar", &[u64::from(b'c')]);
        host.call("fputs", &[text, STDERR.0]);
        assert_eq!(host.call("fwrite", &[text, 1, 2, STDERR.0]), 2);
        assert_eq!(host.output, "ab\ncabab");
        assert_eq!(host.violation("fputs", &[text, 0]).0, ViolationKind::InvalidPointer);
        assert!(host.unsupported("fopen", &[text, text]).contains("files"));
    }

    #[test]
    fn wrong_formats_are_noticed() {
        let mut host = Fake::new();
        let [missing, count, float] = ["%d", "%n", "%f"].map(|text| host.string(text));
        assert_eq!(host.violation("printf", &[missing]).0, ViolationKind::OutOfBounds);
        assert!(host.unsupported("printf", &[count, 0]).contains("%n"));
        assert!(host.unsupported("printf", &[float, 0]).contains("type"));
    }

    #[test]
    fn a_visible_string_is_read_once() {
        let mut host = Fake::with_threads();
        let (format, text) = (host.string("%s"), host.global(4));
        host.store(text, 2, u64::from(b'x') | u64::from(b'y') << 8);
        host.call("printf", &[format, text.0]);
        assert_eq!((host.ops.len(), host.output.as_str()), (3, "xy"));
    }
}
