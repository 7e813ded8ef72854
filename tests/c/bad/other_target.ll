; RUN: check
; EXPECT: error powerpc
target datalayout = "E-m:e-p:32:32-i64:64-n32"
target triple = "powerpc-unknown-linux-gnu"

define i32 @main() {
entry:
  ret i32 0
}
