//! Splitting of objects.

use super::*;

#[test]
fn a_struct_is_split_into_its_members() {
    becomes(
        sroa::run,
        r#"func @f(p: ptr) -> i32 {
        bb0:
          s = alloca 24 align 8 "s"
          memset s, 0, 24
          next = ptradd s, offset 8
          store ptr p, next
          len = ptradd s, 4 * 4
          v = load i32 len
          ret v
        }"#,
        r#"func @f(v0 "p": ptr) -> i32 {
        bb0:
          v5: ptr = alloca 8 align 8 "s+8"
          v6: ptr = alloca 4 align 8 "s+16"
          store ptr null, v5
          store i32 0, v6
          store ptr v0, v5
          v4 "v": i32 = load i32 v6
          ret v4
        }"#,
    );
}

#[test]
fn members_that_overlap_stay_together() {
    becomes(
        sroa::run,
        r#"func @f(p: i32) -> i16 {
        bb0:
          u = alloca 16 align 8 "u"
          store i32 p, u
          high = ptradd u, offset 2
          v = load i16 high
          other = ptradd u, offset 12
          store i8 1, other
          ret v
        }"#,
        r#"func @f(v0 "p": i32) -> i16 {
        bb0:
          v5: ptr = alloca 4 align 8 "u+0"
          v6: ptr = alloca 1 align 4 "u+12"
          store i32 v0, v5
          v7: ptr = ptradd v5, offset 2
          v3 "v": i16 = load i16 v7
          store i8 1, v6
          ret v3
        }"#,
    );
}

#[test]
fn a_fill_that_covers_part_of_a_member_prevents_splitting() {
    let text = "func @f() -> i32 {\nbb0:\n s = alloca 8 align 4\n memset s, 0, 6\n b = ptradd s, offset 4\n \
                v = load i32 b\n ret v\n}";
    stays(sroa::run, text);
}

#[test]
fn a_fill_of_bytes_that_are_read_in_different_ways_prevents_splitting() {
    let text = "func @f() -> i32 {\nbb0:\n s = alloca 8 align 4\n memset s, 0, 8\n v = load i32 s\n w = load i16 s\n \
                b = ptradd s, offset 4\n x = load i32 b\n ret v\n}";
    stays(sroa::run, text);
}
