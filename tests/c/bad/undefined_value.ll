; RUN: check
; EXPECT: error nowhere
define i32 @main() {
entry:
  ret i32 %nowhere ; HERE
}
