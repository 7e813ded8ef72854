; RUN: check
; EXPECT: error not_utf8.ll
define i32 @main() {
entry:
  ret i32 ÿþ
}
