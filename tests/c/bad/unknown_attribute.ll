; RUN: check
; EXPECT: error frobnicated
; An attribute that is not known could change the meaning.
define i32 @main() frobnicated { ; HERE
entry:
  ret i32 0
}
