; RUN: check
; EXPECT: error corrupt.ll
define i32 @main() {
entry:
  %x = frobnicate i32 1, 2 ; HERE
  ret i32 %x
}
