; What clang 14 writes: typed pointers, debug intrinsics as calls, constant expressions everywhere.
source_filename = "typed.c"
target datalayout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-f80:128-n8:16:32:64-S128"
target triple = "x86_64-pc-linux-gnu"

%struct.node = type { i32, %struct.node*, i32 (i32, i8*)* }
%"class.std::pair" = type <{ i32, [4 x i8], i8* }>
%0 = type { i8, [3 x i16] }
%opaque = type opaque

$comdat_fn = comdat any

@head = dso_local global %struct.node* null, align 8, !dbg !0
@table = internal unnamed_addr constant [2 x i32 (i32, i8*)*] [i32 (i32, i8*)* @work, i32 (i32, i8*)* bitcast (i32 (...)* @old to i32 (i32, i8*)*)], align 16
@.str = private unnamed_addr constant [6 x i8] c"a\22b\5C\0A\00", align 1
@text = dso_local global i8* getelementptr inbounds ([6 x i8], [6 x i8]* @.str, i32 0, i32 2), align 8
@mixed = global { i8, i32, <{ i16, i64 }> } { i8 -1, i32 7, <{ i16, i64 }> <{ i16 2, i64 ptrtoint (i8** @text to i64) }> }, align 8
@vec = global <4 x float> <float 1.000000e+00, float 0x3FB99999A0000000, float undef, float -0.000000e+00>
@tls = thread_local(initialexec) global i32 3, align 4
@ext = external global %opaque
@weak = extern_weak global i32
@com = common dso_local global [3 x %0] zeroinitializer, section ".bss.x", align 2
@al = alias i8*, i8** @text
@fal = weak alias i32 (i32, i8*), i32 (i32, i8*)* @work
@0 = private constant i128 -170141183460469231731687303715884105728
@num = global i8* inttoptr (i64 add (i64 ptrtoint ([6 x i8]* @.str to i64), i64 1) to i8*)
@llvm.used = appending global [1 x i8*] [i8* bitcast (i32* @tls to i8*)], section "llvm.metadata"

; Function Attrs: noinline nounwind uwtable
define dso_local i32 @work(i32 noundef %n, i8* nocapture noundef readonly %data) #0 comdat($comdat_fn) !dbg !8 {
entry:
  %n.addr = alloca i32, align 4
  %list = alloca [1 x %struct.node], align 16
  store i32 %n, i32* %n.addr, align 4
  call void @llvm.dbg.declare(metadata i32* %n.addr, metadata !12, metadata !DIExpression()), !dbg !13
  call void @llvm.dbg.value(metadata i8* %data, metadata !14, metadata !DIExpression()), !dbg !13
  %0 = load i32, i32* %n.addr, align 4, !dbg !15
  %1 = load %struct.node*, %struct.node** @head, align 8, !dbg !15
  %next = getelementptr inbounds %struct.node, %struct.node* %1, i32 0, i32 1, !dbg !15
  %2 = load %struct.node*, %struct.node** %next, align 8, !dbg !15
  %val = getelementptr inbounds %struct.node, %struct.node* %2, i32 0, i32 0, !dbg !15
  store i32 %0, i32* %val, align 4, !dbg !15
  %fp = getelementptr inbounds %struct.node, %struct.node* %2, i64 0, i32 2
  %f = load i32 (i32, i8*)*, i32 (i32, i8*)** %fp, align 8
  %r = call i32 %f(i32 noundef %0, i8* noundef %data) #3, !dbg !15
  %v = call i32 (i8*, ...) @printf(i8* getelementptr inbounds ([6 x i8], [6 x i8]* @.str, i64 0, i64 0), i32 %r, double 2.5)
  %old = call i32 bitcast (i32 (...)* @old to i32 (i32)*)(i32 4)
  %t = load i32, i32* @tls, align 4
  %x = cmpxchg i32* @tls, i32 %t, i32 5 acq_rel monotonic, align 4
  %ok = extractvalue { i32, i1 } %x, 1
  br i1 %ok, label %then, label %"else branch", !prof !16

then:                                             ; preds = %entry
  %rmw = atomicrmw add i32* @tls, i32 1 seq_cst, align 4
  br label %end

"else branch":                                    ; preds = %entry
  switch i32 %old, label %end [
    i32 1, label %then2
    i32 -2, label %end
  ]

then2:                                            ; preds = %"else branch"
  %big = load i96, i96* bitcast ({ i8, i32, <{ i16, i64 }> }* @mixed to i96*), align 4
  %cut = trunc i96 %big to i8
  %ext = zext i8 %cut to i32
  br label %end

end:                                              ; preds = %then2, %"else branch", %"else branch", %then
  %p = phi i32 [ %rmw, %then ], [ 0, %"else branch" ], [ 0, %"else branch" ], [ %ext, %then2 ]
  %ci = select i1 icmp eq (i32 (i32, i8*)* @work, i32 (i32, i8*)* null), i32 1, i32 %p
  ret i32 %ci, !dbg !17
}

define void ()* @chooser() {
  ret void ()* @nothing
}

define internal void @nothing() {
  ret void
}

define void @by_value(%struct.node* noalias sret(%struct.node) align 8 %out, %"class.std::pair"* byval(%"class.std::pair") align 8 %in) {
  %1 = bitcast %struct.node* %out to i8*
  %2 = bitcast %"class.std::pair"* %in to i8*
  call void @llvm.memcpy.p0i8.p0i8.i64(i8* align 8 %1, i8* align 8 %2, i64 16, i1 false)
  ret void
}

declare i32 @old(...)
declare i32 @printf(i8* nocapture noundef readonly, ...) #1
declare void @llvm.dbg.declare(metadata, metadata, metadata) #2
declare void @llvm.dbg.value(metadata, metadata, metadata) #2
declare void @llvm.memcpy.p0i8.p0i8.i64(i8* noalias nocapture writeonly, i8* noalias nocapture readonly, i64, i1 immarg) #2

attributes #0 = { noinline nounwind uwtable "frame-pointer"="all" "min-legal-vector-width"="0" "no-trapping-math"="true" "stack-protector-buffer-size"="8" "target-cpu"="x86-64" "target-features"="+cx8,+fxsr" "tune-cpu"="generic" }
attributes #1 = { "frame-pointer"="all" }
attributes #2 = { argmemonly nofree nosync nounwind speculatable willreturn }
attributes #3 = { nounwind }

!llvm.dbg.cu = !{!2}
!llvm.module.flags = !{!5, !6}
!llvm.ident = !{!7}

!0 = !DIGlobalVariableExpression(var: !1, expr: !DIExpression())
!1 = distinct !DIGlobalVariable(name: "head", scope: !2, file: !3, line: 3, type: !18, isLocal: false, isDefinition: true)
!2 = distinct !DICompileUnit(language: DW_LANG_C99, file: !3, producer: "clang", isOptimized: false, runtimeVersion: 0, emissionKind: FullDebug, globals: !4, splitDebugInlining: false, nameTableKind: None)
!3 = !DIFile(filename: "typed.c", directory: "/src", checksumkind: CSK_MD5, checksum: "00")
!4 = !{!0}
!5 = !{i32 2, !"Debug Info Version", i32 3}
!6 = !{i32 7, !"PIC Level", i32 2}
!7 = !{!"clang version 14.0.6"}
!8 = distinct !DISubprogram(name: "work", scope: !3, file: !3, line: 5, type: !9, scopeLine: 5, flags: DIFlagPrototyped | DIFlagAllCallsDescribed, spFlags: DISPFlagDefinition, unit: !2, retainedNodes: !11)
!9 = !DISubroutineType(types: !10)
!10 = !{!19, !19, null}
!11 = !{}
!12 = !DILocalVariable(name: "n", arg: 1, scope: !8, file: !3, line: 5, type: !19)
!13 = !DILocation(line: 5, column: 14, scope: !8)
!14 = !DILocalVariable(name: "data", arg: 2, scope: !8, file: !3, line: 5, type: !18)
!15 = !DILocation(line: 6, column: 3, scope: !20)
!16 = !{!"branch_weights", i32 1, i32 2000}
!17 = !DILocation(line: 9, column: 3, scope: !8, inlinedAt: !13)
!18 = !DIDerivedType(tag: DW_TAG_pointer_type, baseType: !21, size: 64)
!19 = !DIBasicType(name: "int", size: 32, encoding: DW_ATE_signed)
!20 = distinct !DILexicalBlock(scope: !8, file: !3, line: 6, column: 1)
!21 = distinct !DICompositeType(tag: DW_TAG_structure_type, name: "node", file: !3, line: 1, size: 192, elements: !22)
!22 = !{!23, !24}
!23 = !DIDerivedType(tag: DW_TAG_member, name: "val", scope: !21, file: !3, line: 1, baseType: !19, size: 32)
!24 = !DIDerivedType(tag: DW_TAG_member, name: "next", scope: !21, file: !3, line: 1, baseType: !18, size: 64, offset: 64)
