//! Strings.
//!
//! Strings are read byte by byte: whatever lies behind the end of a string, or behind the place where two strings
//! differ, is none of the function's business, and another thread may write it.
//!
//! Results of comparisons are differences of bytes, as the GNU C library gives them. `strtok` keeps its place per
//! thread; that it is not meant for more than one thread is not noticed.

use super::alloc;
use super::bytes::fits;
use super::call::{Answer, Call, int, models};
use super::facts::STRTOK;
use crate::Addr;

models! {
    "strlen" / 1 => |c| length(c, u64::MAX),
    "strnlen" / 2 => |c| length(c, c.arg(1)),
    "strcpy" / 2 => |c| copy(c).map(|_| c.arg(0)),
    "stpcpy" | "__stpcpy" / 2 => |c| copy(c).map(|end| end.0),
    "__strcpy_chk" / 3 => |c| checked_copy(c).map(|_| c.arg(0)),
    "__stpcpy_chk" / 3 => |c| checked_copy(c).map(|end| end.0),
    "strncpy" / 3 => copy_at_most,
    "__strncpy_chk" / 4 => |c| {
        fits(c, c.arg(2), c.arg(3))?;
        copy_at_most(c)
    },
    "strcat" / 2 => |c| append(c, u64::MAX, u64::MAX),
    "strncat" / 3 => |c| append(c, c.arg(2), u64::MAX),
    "__strcat_chk" / 3 => |c| append(c, u64::MAX, c.arg(2)),
    "__strncat_chk" / 4 => |c| append(c, c.arg(2), c.arg(3)),
    "strcmp" | "strcoll" / 2 => |c| compare(c, u64::MAX, |byte| byte),
    "strncmp" / 3 => |c| compare(c, c.arg(2), |byte| byte),
    "strcasecmp" / 2 => |c| compare(c, u64::MAX, |byte| byte.to_ascii_lowercase()),
    "strncasecmp" / 3 => |c| compare(c, c.arg(2), |byte| byte.to_ascii_lowercase()),
    "strchr" | "index" / 2 => |c| find(c, Missing::Null),
    "strchrnul" / 2 => |c| find(c, Missing::End),
    "strrchr" | "rindex" / 2 => find_last,
    "memchr" | "rawmemchr" / 2 => find_byte,
    "strstr" / 2 => find_string,
    "strspn" / 2 => |c| span(c, true),
    "strcspn" / 2 => |c| span(c, false),
    "strpbrk" / 2 => find_any,
    "strtok_r" | "__strtok_r" / 3 => strtok_r,
    "strtok" / 2 => strtok,
    "strsep" / 2 => strsep,
    "strdup" | "__strdup" / 1 => |c| duplicate(c, u64::MAX),
    "strndup" | "__strndup" / 2 => |c| duplicate(c, c.arg(1)),
}

/// Slot 0 is the number of bytes that are not the end.
fn length(call: &mut Call<'_>, limit: u64) -> Answer {
    let string = call.ptr(0);
    while call.state.slots[0] < limit && call.load(string.plus(call.state.slots[0]), 1)? != 0 {
        call.state.slots[0] += 1;
        call.commit();
    }
    Ok(call.state.slots[0])
}

/// Copies a string and gives the address of its end. Slot 0 is the number of bytes copied.
fn copy(call: &mut Call<'_>) -> Answer<Addr> {
    let (dst, src) = (call.ptr(0), call.ptr(1));
    loop {
        let at = call.state.slots[0];
        let byte = call.load(src.plus(at), 1)?;
        call.store(dst.plus(at), 1, byte)?;
        if byte == 0 {
            return Ok(dst.plus(at));
        }
        call.state.slots[0] += 1;
        call.commit();
    }
}

fn checked_copy(call: &mut Call<'_>) -> Answer<Addr> {
    let length = call.read_string(call.ptr(1), u64::MAX)?.len() as u64;
    fits(call, length + 1, call.arg(2))?;
    // The length is known; from here on it is the same work again, without a log of its own.
    let (dst, src) = (call.ptr(0), call.ptr(1));
    for at in 0..=length {
        let byte = call.load(src.plus(at), 1)?;
        call.store(dst.plus(at), 1, byte)?;
    }
    Ok(dst.plus(length))
}

/// `strncpy`. Slot 0 is the number of bytes written, slot 1 whether the end was met.
fn copy_at_most(call: &mut Call<'_>) -> Answer {
    let (dst, src, limit) = (call.ptr(0), call.ptr(1), call.arg(2));
    while call.state.slots[0] < limit {
        let at = call.state.slots[0];
        let byte = if call.state.slots[1] == 0 { call.load(src.plus(at), 1)? } else { 0 };
        call.store(dst.plus(at), 1, byte)?;
        if byte == 0 {
            call.state.slots[1] = 1;
        }
        call.state.slots[0] += 1;
        call.commit();
    }
    Ok(dst.0)
}

/// `strcat` and `strncat`, with a destination of at most `room` bytes.
fn append(call: &mut Call<'_>, limit: u64, room: u64) -> Answer {
    let (dst, src) = (call.ptr(0), call.ptr(1));
    let start = call.read_string(dst, u64::MAX)?.len() as u64;
    let mut text = call.read_string(src, limit)?;
    text.push(0);
    fits(call, start + text.len() as u64, room)?;
    for (at, &byte) in text.iter().enumerate() {
        call.store(dst.plus(start + at as u64), 1, u64::from(byte))?;
    }
    Ok(dst.0)
}

/// Slot 0 is the number of bytes that are equal.
fn compare(call: &mut Call<'_>, limit: u64, fold: fn(u8) -> u8) -> Answer {
    let (a, b) = (call.ptr(0), call.ptr(1));
    while call.state.slots[0] < limit {
        let at = call.state.slots[0];
        let x = fold(call.load(a.plus(at), 1)? as u8);
        let y = fold(call.load(b.plus(at), 1)? as u8);
        if x != y || x == 0 {
            return Ok(int(i32::from(x) - i32::from(y)));
        }
        call.state.slots[0] += 1;
        call.commit();
    }
    Ok(0)
}

/// What a search gives that finds nothing.
enum Missing {
    Null,
    End,
}

/// `strchr`. Slot 0 is the number of bytes looked at.
fn find(call: &mut Call<'_>, missing: Missing) -> Answer {
    let (string, wanted) = (call.ptr(0), call.arg(1) & 0xff);
    loop {
        let at = string.plus(call.state.slots[0]);
        let byte = call.load(at, 1)?;
        match (byte == wanted, byte, &missing) {
            (true, ..) | (_, 0, Missing::End) => return Ok(at.0),
            (_, 0, Missing::Null) => return Ok(0),
            _ => {}
        }
        call.state.slots[0] += 1;
        call.commit();
    }
}

/// `strrchr`. Slot 0 is the number of bytes looked at, slot 1 the last place found.
fn find_last(call: &mut Call<'_>) -> Answer {
    let (string, wanted) = (call.ptr(0), call.arg(1) & 0xff);
    loop {
        let at = string.plus(call.state.slots[0]);
        let byte = call.load(at, 1)?;
        if byte == wanted {
            call.state.slots[1] = at.0;
        }
        if byte == 0 {
            return Ok(call.state.slots[1]);
        }
        call.state.slots[0] += 1;
        call.commit();
    }
}

/// `memchr`; without a length it is `rawmemchr`. Slot 0 is the number of bytes looked at.
fn find_byte(call: &mut Call<'_>) -> Answer {
    let (start, wanted) = (call.ptr(0), call.arg(1) & 0xff);
    let length = call.state.args.get(2).copied().unwrap_or(u64::MAX);
    while call.state.slots[0] < length {
        let at = start.plus(call.state.slots[0]);
        if call.load(at, 1)? == wanted {
            return Ok(at.0);
        }
        call.state.slots[0] += 1;
        call.commit();
    }
    Ok(0)
}

fn find_string(call: &mut Call<'_>) -> Answer {
    let string = call.ptr(0);
    let wanted = call.read_string(call.ptr(1), u64::MAX)?;
    if wanted.is_empty() {
        return Ok(string.0);
    }
    let mut seen = Vec::new();
    loop {
        match call.load(string.plus(seen.len() as u64), 1)? as u8 {
            0 => return Ok(0),
            byte => seen.push(byte),
        }
        if seen.ends_with(&wanted) {
            return Ok(string.plus((seen.len() - wanted.len()) as u64).0);
        }
    }
}

/// How many bytes from `start` on are in the set (or, with `inside` false, are not); the end of the string ends both.
fn span_from(call: &mut Call<'_>, start: Addr, set: &[u8], inside: bool) -> Answer<(u64, u8)> {
    let mut length = 0;
    loop {
        let byte = call.load(start.plus(length), 1)? as u8;
        if byte == 0 || set.contains(&byte) != inside {
            return Ok((length, byte));
        }
        length += 1;
    }
}

fn span(call: &mut Call<'_>, inside: bool) -> Answer {
    let set = call.read_string(call.ptr(1), u64::MAX)?;
    Ok(span_from(call, call.ptr(0), &set, inside)?.0)
}

fn find_any(call: &mut Call<'_>) -> Answer {
    let (string, set) = (call.ptr(0), call.read_string(call.ptr(1), u64::MAX)?);
    let (length, byte) = span_from(call, string, &set, false)?;
    Ok(if byte == 0 { 0 } else { string.plus(length).0 })
}

/// The next token from `start` on: where it starts (null if there is none), and where to go on.
fn token(call: &mut Call<'_>, start: Addr, set: &[u8]) -> Answer<(Addr, Addr)> {
    let (skipped, byte) = span_from(call, start, set, true)?;
    let token = start.plus(skipped);
    if byte == 0 {
        return Ok((Addr(0), token));
    }
    let (length, byte) = span_from(call, token, set, false)?;
    let end = token.plus(length);
    if byte == 0 {
        return Ok((token, end));
    }
    call.store(end, 1, 0)?;
    Ok((token, end.plus(1)))
}

fn strtok_r(call: &mut Call<'_>) -> Answer {
    let (string, place) = (call.ptr(0), call.ptr(2));
    let set = call.read_string(call.ptr(1), u64::MAX)?;
    let start = if string.0 == 0 { Addr(call.load(place, 8)?) } else { string };
    if start.0 == 0 {
        return Ok(0);
    }
    let (token, next) = token(call, start, &set)?;
    call.store(place, 8, next.0)?;
    Ok(token.0)
}

fn strtok(call: &mut Call<'_>) -> Answer {
    let string = call.ptr(0);
    let set = call.read_string(call.ptr(1), u64::MAX)?;
    let start = if string.0 == 0 { Addr(call.fact(STRTOK.0, STRTOK.1)?) } else { string };
    if start.0 == 0 {
        return Ok(0);
    }
    let (token, next) = token(call, start, &set)?;
    call.set_fact(STRTOK.0, STRTOK.1, next.0)?;
    Ok(token.0)
}

fn strsep(call: &mut Call<'_>) -> Answer {
    let place = call.ptr(0);
    let set = call.read_string(call.ptr(1), u64::MAX)?;
    let start = call.load(place, 8)?;
    if start == 0 {
        return Ok(0);
    }
    let (length, byte) = span_from(call, Addr(start), &set, false)?;
    let end = Addr(start).plus(length);
    if byte != 0 {
        call.store(end, 1, 0)?;
    }
    call.store(place, 8, if byte == 0 { 0 } else { end.plus(1).0 })?;
    Ok(start)
}

fn duplicate(call: &mut Call<'_>, limit: u64) -> Answer {
    let mut text = call.read_string(call.ptr(0), limit)?;
    text.push(0);
    let copy = alloc::allocate(call, text.len() as u64, false)?;
    if copy != 0 {
        call.write_bytes(Addr(copy), &text)?;
    }
    Ok(copy)
}

#[cfg(test)]
mod tests {
    use crate::models::testing::Fake;
    use crate::{AccessKind, Addr, Op, ViolationKind};

    #[test]
    fn lengths_and_comparisons() {
        let mut host = Fake::new();
        let [abc, abd, upper, empty] = ["abc", "abd", "ABC", ""].map(|text| host.string(text));
        assert_eq!(host.call("strlen", &[abc]), 3);
        assert_eq!(host.call("strlen", &[empty]), 0);
        assert_eq!(host.call("strnlen", &[abc, 2]), 2);
        assert!(host.int("strcmp", &[abc, abd]) < 0);
        assert!(host.int("strcmp", &[abd, abc]) > 0);
        assert_eq!(host.int("strcmp", &[abc, abc]), 0);
        assert_eq!(host.int("strncmp", &[abc, abd, 2]), 0);
        assert!(host.int("strcmp", &[abc, empty]) > 0);
        assert_eq!(host.int("strcasecmp", &[abc, upper]), 0);
    }

    #[test]
    fn searches() {
        let mut host = Fake::new();
        let [text, lo, missing, set] = ["hello world", "lo w", "xyz", "ow "].map(|text| host.string(text));
        assert_eq!(host.call("strchr", &[text, u64::from(b'o')]), text + 4);
        assert_eq!(host.call("strchr", &[text, 0]), text + 11);
        assert_eq!(host.call("strchr", &[text, u64::from(b'q')]), 0);
        assert_eq!(host.call("strrchr", &[text, u64::from(b'o')]), text + 7);
        assert_eq!(host.call("strchrnul", &[text, u64::from(b'q')]), text + 11);
        assert_eq!(host.call("memchr", &[text, u64::from(b'w'), 6]), 0);
        assert_eq!(host.call("memchr", &[text, u64::from(b'w'), 7]), text + 6);
        assert_eq!(host.call("strstr", &[text, lo]), text + 3);
        assert_eq!(host.call("strstr", &[text, missing]), 0);
        assert_eq!(host.call("strcspn", &[text, set]), 4);
        assert_eq!(host.call("strspn", &[text, text]), 11);
        assert_eq!(host.call("strpbrk", &[text, set]), text + 4);
    }

    #[test]
    fn copies_end_where_they_should() {
        let mut host = Fake::new();
        let buffer = host.heap(8).0;
        let [ab, cd, long] = ["ab", "cd", "12345678"].map(|text| host.string(text));
        assert_eq!(host.call("strcpy", &[buffer, ab]), buffer);
        assert_eq!(host.call("strcat", &[buffer, cd]), buffer);
        assert_eq!(host.text_at(buffer), "abcd");
        assert_eq!(host.call("strncat", &[buffer, long, 2]), buffer);
        assert_eq!(host.text_at(buffer), "abcd12");
        assert_eq!(host.call("stpcpy", &[buffer, cd]), buffer + 2);
        host.call("strncpy", &[buffer, ab, 8]);
        assert_eq!(host.load(Addr(buffer), 8), u64::from(b'a') | u64::from(b'b') << 8);
        assert_eq!(host.violation("strcpy", &[buffer, long]).0, ViolationKind::OutOfBounds);
        assert_eq!(host.violation("__strcpy_chk", &[buffer, ab, 2]).0, ViolationKind::OutOfBounds);
        let copy = host.call("strdup", &[long]);
        assert_eq!(host.text_at(copy), "12345678");
        let copy = host.call("strndup", &[long, 3]);
        assert_eq!(host.text_at(copy), "123");
    }

    #[test]
    fn tokens() {
        for name in ["strtok_r", "strtok"] {
            let mut host = Fake::new();
            let source = host.string(",a,,bc;");
            let text = host.heap(8).0;
            let place = host.heap(8).0;
            host.call("strcpy", &[text, source]);
            let set = host.string(",;");
            let mut tokens = Vec::new();
            let mut token = host.call(name, &[text, set, place]);
            while token != 0 {
                tokens.push(host.text_at(token));
                token = host.call(name, &[0, set, place]);
            }
            assert_eq!(tokens, ["a", "bc"]);
            assert_eq!(host.call(name, &[0, set, place]), 0);
        }
    }

    #[test]
    fn bytes_behind_the_end_of_a_visible_string_are_left_alone() {
        let mut host = Fake::with_threads();
        let text = host.global(8);
        host.store(text, 2, u64::from(b'x'));
        assert_eq!(host.call("strlen", &[text.0]), 1);
        let loads: Vec<_> = host
            .ops
            .iter()
            .map(|op| match op {
                Op::Access(access) => (access.addr.0 - text.0, access.size, access.kind),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(loads, [(0, 1, AccessKind::Load), (1, 1, AccessKind::Load)]);
    }
}
