//! No input makes the reader panic, and none that it accepts breaks the rules of the representation.
//!
//! Text is cut off at every position, and changed at random: bytes flipped, removed and doubled, pieces moved, lines
//! exchanged. The text comes from this crate's dialect files, which hold every kind of syntax in little space.

mod common;

use common::{assert_verified, directory};
use selvedge_llvm::parse_str;
use std::panic::catch_unwind;

fn texts() -> Vec<(String, String)> {
    let mut texts: Vec<(String, String)> = std::fs::read_dir(directory().join("dialects"))
        .expect("the directory is there")
        .map(|entry| entry.expect("the directory can be read").path())
        .map(|path| {
            let text = std::fs::read_to_string(&path).expect("the file can be read");
            (path.display().to_string(), text)
        })
        .collect();
    texts.sort();
    texts
}

/// Reads a text; what is accepted must keep the rules.
fn feed(what: &str, text: &str) -> bool {
    match catch_unwind(|| parse_str("text", text)) {
        Ok(Ok(module)) => {
            assert_verified(&module, what);
            true
        }
        Ok(Err(error)) => {
            assert!(!error.to_string().is_empty());
            false
        }
        Err(_) => panic!("{what}: the reader panicked on:\n{text}"),
    }
}

#[test]
fn a_text_cut_off_anywhere_is_no_panic() {
    for (file, text) in texts() {
        for end in (0..text.len()).filter(|&end| text.is_char_boundary(end)) {
            feed(&format!("{file} cut at {end}"), &text[..end]);
        }
    }
}

/// Xorshift: the same sequence on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound.max(1) as u64) as usize
    }
}

fn mutate(text: &mut Vec<u8>, random: &mut Random) {
    let at = random.below(text.len());
    match random.below(6) {
        0 => text[at] = random.below(128) as u8,
        1 => text[at] ^= 1 << random.below(7),
        2 => {
            text.remove(at);
        }
        3 => text.insert(at, text[at]),
        4 => {
            let from = random.below(text.len());
            let end = (from + random.below(40)).min(text.len());
            let piece = text[from..end].to_vec();
            text.splice(at..at, piece);
        }
        _ => {
            let mut lines: Vec<Vec<u8>> = text.split(|&b| b == b'\n').map(<[u8]>::to_vec).collect();
            let (a, b) = (random.below(lines.len()), random.below(lines.len()));
            lines[a] = lines[b].clone();
            *text = lines.join(&b'\n');
        }
    }
}

#[test]
fn a_damaged_text_is_no_panic() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let (mut accepted, mut rejected) = (0, 0);
    for (file, original) in texts() {
        for round in 0..1000 {
            let mut text = original.clone().into_bytes();
            for _ in 0..=random.below(3) {
                mutate(&mut text, &mut random);
            }
            let Ok(text) = String::from_utf8(text) else {
                continue;
            };
            if feed(&format!("{file} round {round}"), &text) {
                accepted += 1;
            } else {
                rejected += 1;
            }
        }
    }
    // Both must happen, or the changes are too weak or too strong to say anything.
    assert!(accepted > 100 && rejected > 1000, "{accepted} accepted, {rejected} rejected");
}

#[test]
fn deep_nesting_is_refused_not_followed() {
    let deep =
        |open: &str, inner: &str, close: &str| format!("{}{inner}{}", open.repeat(100_000), close.repeat(100_000));
    let texts = [
        format!("@x = external global {}", deep("[1 x ", "i8", "]")),
        format!("@x = external global {}", deep("{ ", "i8", " }")),
        format!("@x = global {}", deep("{ ", "i8", " }")),
        format!("!0 = {}", deep("!{", "null", "}")),
        format!("@x = global ptr {}", deep("bitcast (ptr ", "null", " to ptr)")),
        format!("@x = external global void {}", "()".repeat(100_000)),
        format!("!0 = !DIA({})", deep("a: !DIA(", "b: 1", ")")),
    ];
    for text in texts {
        assert!(!feed("deep text", &text));
    }
}

#[test]
fn a_long_chain_of_types_is_no_stack_overflow() {
    let mut text = String::new();
    for n in 0..20_000 {
        text.push_str(&format!("%t{n} = type {{ i32, %t{} }}\n", n + 1));
    }
    text.push_str("%t20000 = type { i8 }\n@x = global %t0 zeroinitializer\n");
    text.push_str("define void @f(ptr %p) {\n  %v = load %t0, ptr %p\n  ret void\n}\n");
    assert!(feed("a chain of types", &text));
}

#[test]
fn types_that_multiply_are_no_explosion() {
    let mut text = String::new();
    for n in 0..60 {
        text.push_str(&format!("%t{n} = type {{ %t{}, %t{} }}\n", n + 1, n + 1));
    }
    text.push_str("%t60 = type { i8 }\n@x = global %t0 zeroinitializer\n");
    text.push_str("define void @f(ptr %p) {\n  %v = load %t0, ptr %p\n  ret void\n}\n");
    feed("types that multiply", &text);
}

#[test]
fn a_type_that_contains_itself_is_an_error() {
    for text in [
        "%a = type { %a }\n@x = global %a zeroinitializer\n",
        "%a = type { [2 x %b] }\n%b = type { i32, %a }\n@x = external global %a\n",
    ] {
        let error = parse_str("t", text).expect_err("it is not a type");
        assert!(error.to_string().contains("contains itself"), "{error}");
    }
}

#[test]
fn absurd_sizes_are_no_allocation() {
    let text = "@x = global [18446744073709551615 x i64] zeroinitializer\n\
                @y = global { [9223372036854775807 x i8], i32 } { [9223372036854775807 x i8] zeroinitializer, i32 5 }\n";
    feed("absurd sizes", text);
    let text = "define void @f() {\n  %a = alloca [1152921504606846976 x i64]\n  ret void\n}\n";
    assert!(feed("an absurd stack variable", text));
}
