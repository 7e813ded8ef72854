; RUN: check
; EXPECT: error wrong_type.ll
define i32 @main() {
entry:
  %x = add i64 1, 2
  ret i32 %x ; HERE
}
