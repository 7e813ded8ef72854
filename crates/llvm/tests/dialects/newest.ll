; Syntax that came with LLVM 15 to 22: opaque pointers, debug records, new flags, attributes and intrinsics.
source_filename = "new.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128"
target triple = "x86_64-unknown-linux-gnu"

%struct.s = type { i32, [4 x ptr] }

@g = dso_local local_unnamed_addr global %struct.s zeroinitializer, align 8, !dbg !0
@c = constant ptr getelementptr inbounds nuw (i8, ptr @g, i64 16), code_model "small"
@r = constant ptr getelementptr inbounds inrange(-16, 16) ({ [4 x ptr] }, ptr @v, i32 0, i32 0, i32 2)
@v = constant { [4 x ptr] } { [4 x ptr] [ptr null, ptr @g, ptr @f, ptr dso_local_equivalent @f] }, no_sanitize_address
@t = internal thread_local global i32 0, align 4
@sp = global <4 x i32> splat (i32 7)
@wide = global i256 -1

define dso_local range(i32 0, 10) i32 @f(ptr noundef captures(none) initializes((0, 4)) dead_on_unwind writable %p, i32 noundef range(i32 -5, 5) %n, i64 %m, float nofpclass(nan inf) %x) local_unnamed_addr #0 !dbg !5 {
entry:
  %buf = alloca [8 x i8], align 1, !DIAssignID !20
    #dbg_declare(ptr %buf, !9, !DIExpression(), !10)
    #dbg_value(i32 %n, !11, !DIExpression(DW_OP_plus_uconst, 1, DW_OP_stack_value), !10)
    #dbg_value(!DIArgList(i32 %n, i64 %m), !11, !DIExpression(DW_OP_LLVM_arg, 0), !10)
    #dbg_assign(i1 undef, !9, !DIExpression(), !20, ptr %buf, !DIExpression(), !10)
    #dbg_label(!21, !10)
    #dbg_value(ptr poison, !11, !DIExpression(), !10)
  call void @llvm.lifetime.start.p0(ptr nonnull %buf) #4, !dbg !10
  %a = getelementptr inbounds nuw %struct.s, ptr %p, i64 0, i32 1, i64 2
  %b = getelementptr nusw nuw i8, ptr %p, i64 %m
  %c = icmp samesign ult i32 %n, 4
  %d = trunc nuw nsw i64 %m to i32
  %e = zext nneg i32 %d to i64
  %f1 = uitofp nneg i32 %d to float
  %g1 = or disjoint i32 %n, 8
  %h = fadd reassoc nnan contract float %x, %f1
  %i = fcmp fast olt float %h, 1.000000e+00
  %j = select nnan i1 %i, float %h, float 2.000000e+00
  %k = call range(i32 0, 33) i32 @llvm.ctpop.i32(i32 %n)
  %l = call i8 @llvm.scmp.i8.i32(i32 %n, i32 %k)
  %t1 = call align 4 ptr @llvm.threadlocal.address.p0(ptr align 4 @t)
  %ld = load atomic i32, ptr %t1 syncscope("singlethread") monotonic, align 4
  %up = atomicrmw uinc_wrap ptr %t1, i32 9 syncscope("agent") acq_rel, align 4
  %fm = atomicrmw fmax ptr %t1, float %j seq_cst, align 4
  %mx = call i32 @llvm.smax.i32(i32 %k, i32 %n)
  %ab = call i128 @llvm.abs.i128(i128 -5, i1 true)
  %red = call i32 @llvm.vector.reduce.add.v4i32(<4 x i32> splat (i32 3))
  %ve = extractelement <4 x i32> <i32 1, i32 2, i32 3, i32 poison>, i64 %m
  %fr = freeze i32 %ve
  %cl = call i1 @llvm.is.fpclass.f32(float %x, i32 519)
  %mk = call ptr @llvm.ptrmask.p0.i64(ptr %p, i64 -16)
  call void @llvm.assume(i1 true) [ "align"(ptr %p, i64 16), "nonnull"(ptr %b) ]
  call void asm sideeffect "", "=*m,*m,~{memory}"(ptr elementtype(i32) %t1, ptr elementtype(i32) %t1) #4
  %pt = ptrtoaddr ptr %p to i64
  %sv = call ptr @llvm.stacksave.p0()
  call void @llvm.stackrestore.p0(ptr %sv)
  call void @llvm.memset.inline.p0.i64(ptr %buf, i8 0, i64 8, i1 false)
  %tail = tail call fastcc i32 @callee(i32 %red, ptr %mk), !dbg !12
  switch i8 %l, label %sw [ i8 0, label %other ]

sw:
  callbr void asm sideeffect "", "!i"() to label %other [label %gone]

gone:
  unreachable

other:
  %ph = phi nsz float [ %j, %entry ], [ 0.000000e+00, %sw ]
  call void @llvm.lifetime.end.p0(ptr nonnull %buf)
  ret i32 %tail
}

define internal fastcc noundef i32 @callee(i32 noundef returned %a, ptr nofree readnone captures(address, read_provenance) %b) unnamed_addr #1 {
  %1 = cmpxchg weak volatile ptr @g, i32 0, i32 %a syncscope("singlethread") release monotonic, align 4
  %2 = extractvalue { i32, i1 } %1, 0
  store <2 x i32> zeroinitializer, ptr @g, align 4
  %3 = load volatile <2 x i32>, ptr @g
  %4 = shufflevector <2 x i32> %3, <2 x i32> poison, <4 x i32> <i32 1, i32 0, i32 poison, i32 1>
  %5 = bitcast <4 x i32> %4 to i128
  %6 = lshr i128 %5, 33
  %7 = trunc i128 %6 to i32
  %8 = insertelement <4 x i32> %4, i32 %7, i32 %2
  %9 = fneg fast <4 x float> zeroinitializer
  ret i32 %7
}

declare void @llvm.lifetime.start.p0(ptr captures(none))
declare void @llvm.lifetime.end.p0(ptr captures(none))
declare i32 @llvm.ctpop.i32(i32) #2
declare i8 @llvm.scmp.i8.i32(i32, i32)
declare nonnull ptr @llvm.threadlocal.address.p0(ptr nonnull)
declare i32 @llvm.smax.i32(i32, i32)
declare i128 @llvm.abs.i128(i128, i1 immarg)
declare i32 @llvm.vector.reduce.add.v4i32(<4 x i32>)
declare i1 @llvm.is.fpclass.f32(float, i32 immarg)
declare ptr @llvm.ptrmask.p0.i64(ptr, i64)
declare void @llvm.assume(i1 noundef)
declare ptr @llvm.stacksave.p0()
declare void @llvm.stackrestore.p0(ptr)
declare void @llvm.memset.inline.p0.i64(ptr writeonly captures(none), i8, i64, i1 immarg)
declare !dbg !13 noalias ptr @alloc(i64 noundef, ptr dead_on_return) allockind("alloc,uninitialized") allocsize(0) memory(inaccessiblemem: readwrite, errnomem: write) "alloc-family"="malloc"

attributes #0 = { mustprogress nofree norecurse nosync nounwind willreturn memory(readwrite, argmem: write, target_mem0: none) uwtable(sync) vscale_range(1,16) "no-trapping-math"="true" "probe-stack"="inline-asm" }
attributes #1 = { noinline optnone optdebug sanitize_realtime nocreateundeforpoison }
attributes #2 = { nocallback nocreateundeforpoison nofree nosync nounwind speculatable willreturn memory(none) }
attributes #4 = { nounwind }

!llvm.dbg.cu = !{!2}
!0 = !DIGlobalVariableExpression(var: !1, expr: !DIExpression())
!1 = distinct !DIGlobalVariable(name: "g", scope: !2, file: !3, line: 1, type: !4, isLocal: false, isDefinition: true, align: 64)
!2 = distinct !DICompileUnit(language: DW_LANG_C11, sourceLanguageName: DW_LNAME_C, file: !3, producer: "clang", isOptimized: true, emissionKind: FullDebug)
!3 = !DIFile(filename: "new.c", directory: "/src", checksumkind: CSK_MD5, checksum: "00", source: "int x;\0A")
!4 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed, num_extra_inhabitants: 3)
!5 = distinct !DISubprogram(name: "f", scope: !3, file: !3, line: 2, type: !6, scopeLine: 2, flags: DIFlagPrototyped, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, keyInstructions: true)
!6 = !DISubroutineType(cc: DW_CC_nocall, types: !7)
!7 = !{!4, !8}
!8 = !DIDerivedType(tag: DW_TAG_LLVM_ptrauth_type, baseType: !4, ptrAuthKey: 2, ptrAuthIsAddressDiscriminated: true)
!9 = !DILocalVariable(name: "buf", scope: !5, file: !3, line: 3, type: !14)
!10 = !DILocation(line: 3, column: 5, scope: !5, atomGroup: 1, atomRank: 2)
!11 = !DILocalVariable(name: "n", arg: 2, scope: !5, file: !3, line: 2, type: !4, annotations: !16)
!12 = !DILocation(line: 4, scope: !17, inlinedAt: !10, isImplicitCode: true)
!13 = !DISubprogram(name: "alloc", scope: !3, file: !3, line: 9, type: !6, spFlags: DISPFlagOptimized)
!14 = !DICompositeType(tag: DW_TAG_array_type, baseType: !4, size: 64, elements: !15)
!15 = !{!DISubrange(count: 8, lowerBound: 0)}
!16 = !{!{!"btf_decl_tag", !"x"}, i64 5, ptr @g, null, float 1.000000e+00}
!17 = distinct !DILexicalBlockFile(scope: !5, file: !3, discriminator: 2)
!18 = !DIEnumerator(name: "max", value: 18446744073709551615, isUnsigned: true)
!19 = !DITemplateValueParameter(type: !4, value: i32 5)
!20 = distinct !DIAssignID()
!21 = !DILabel(scope: !5, name: "again", file: !3, line: 4, column: 1, isArtificial: false, coroSuspendIdx: 1)
!22 = distinct !{!22, !23}
!23 = !{!"llvm.loop.mustprogress"}
^0 = module: (path: "new.o", hash: (0, 0, 0, 0, 0))
