; RUN: check
; EXPECT: error truncated.ll
; A file that ends in the middle of a function.
define i32 @main() {
entry:
  %x = add i32 1,
