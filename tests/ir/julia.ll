; Partial sums of a line's values: Julia 1.5's code_llvm of the function below, without the wrapper
; for its own runtime, with CUDA's target and the kernel's name, as GPUCompiler makes them.
;
;   thread() = ccall("llvm.nvvm.read.ptx.sreg.tid.x", llvmcall, Int32, ())
;   block() = ccall("llvm.nvvm.read.ptx.sreg.ctaid.x", llvmcall, Int32, ())
;   width() = ccall("llvm.nvvm.read.ptx.sreg.ntid.x", llvmcall, Int32, ())
;   struct Line
;       slope::Float32
;       offset::Float32
;   end
;   value(line, x) = muladd(line.slope, x, line.offset)
;   function lines(to::Ptr{Float32}, from::Ptr{Float32}, slope::Float32, offset::Float32, count::Int32)
;       i = block() * width() + thread() + one(Int32)
;       i <= count || return nothing
;       line = Line(slope, offset)
;       sum = 0.0f0
;       for k in Int32(1):i
;           sum += value(line, unsafe_load(from, k))
;       end
;       unsafe_store!(to, ifelse(isodd(i), sum, abs(sum)), i)
;       return nothing
;   end

target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"

define void @lines(i64, i64, float, float, i32) !dbg !5 {
top:
  %5 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x(), !dbg !7
  %6 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x(), !dbg !10
  %7 = mul i32 %6, %5, !dbg !12
  %8 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x(), !dbg !15
  %9 = add i32 %8, 1, !dbg !17
  %10 = add i32 %9, %7, !dbg !17
  %11 = icmp sgt i32 %10, %4, !dbg !22
  br i1 %11, label %L49, label %L9, !dbg !24
L9:
  %12 = icmp sgt i32 %10, 0, !dbg !25
  br i1 %12, label %L21.preheader, label %L39, !dbg !35
L21.preheader:
  %13 = inttoptr i64 %1 to float*, !dbg !36
  %14 = zext i32 %10 to i64, !dbg !39
  br label %L21, !dbg !39
L21:
  %indvars.iv = phi i64 [ 1, %L21.preheader ], [ %indvars.iv.next, %L21 ]
  %value_phi3 = phi float [ 0.000000e+00, %L21.preheader ], [ %20, %L21 ]
  %15 = add nsw i64 %indvars.iv, -1, !dbg !40
  %16 = getelementptr inbounds float, float* %13, i64 %15, !dbg !40
  %17 = load float, float* %16, align 1, !dbg !40, !tbaa !41
  %18 = fmul contract float %17, %2, !dbg !45
  %19 = fadd contract float %18, %3, !dbg !45
  %20 = fadd float %value_phi3, %19, !dbg !50
  %21 = icmp eq i64 %indvars.iv, %14, !dbg !52
  %indvars.iv.next = add nuw nsw i64 %indvars.iv, 1, !dbg !55
  br i1 %21, label %L39, label %L21, !dbg !39
L39:
  %value_phi9 = phi float [ 0.000000e+00, %L9 ], [ %20, %L21 ]
  %22 = and i32 %10, 1, !dbg !57
  %23 = icmp eq i32 %22, 0, !dbg !57
  %24 = call float @llvm.fabs.f32(float %value_phi9), !dbg !63
  %25 = select i1 %23, float %24, float %value_phi9, !dbg !62
  %26 = sext i32 %10 to i64, !dbg !65
  %27 = add nsw i64 %26, -1, !dbg !70
  %28 = inttoptr i64 %0 to float*, !dbg !70
  %29 = getelementptr inbounds float, float* %28, i64 %27, !dbg !70
  store float %25, float* %29, align 1, !dbg !70, !tbaa !41
  ret void, !dbg !72
L49:
  ret void, !dbg !24
}

declare float @llvm.fabs.f32(float)
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()

!nvvm.annotations = !{!73}
!llvm.module.flags = !{!0, !1}
!llvm.dbg.cu = !{!2}
!0 = !{i32 2, !"Dwarf Version", i32 4}
!1 = !{i32 1, !"Debug Info Version", i32 3}
!2 = distinct !DICompileUnit(language: DW_LANG_Julia, file: !3, producer: "julia", isOptimized: true, runtimeVersion: 0, emissionKind: FullDebug, enums: !4, nameTableKind: GNU)
!3 = !DIFile(filename: "lines.jl", directory: ".")
!4 = !{}
!5 = distinct !DISubprogram(name: "lines", linkageName: "lines", scope: null, file: !3, line: 10, type: !6, scopeLine: 10, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!6 = !DISubroutineType(types: !4)
!7 = !DILocation(line: 3, scope: !8, inlinedAt: !9)
!8 = distinct !DISubprogram(name: "block;", linkageName: "block", scope: !3, file: !3, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!9 = !DILocation(line: 11, scope: !5)
!10 = !DILocation(line: 4, scope: !11, inlinedAt: !9)
!11 = distinct !DISubprogram(name: "width;", linkageName: "width", scope: !3, file: !3, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!12 = !DILocation(line: 87, scope: !13, inlinedAt: !9)
!13 = distinct !DISubprogram(name: "*;", linkageName: "*", scope: !14, file: !14, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!14 = !DIFile(filename: "int.jl", directory: ".")
!15 = !DILocation(line: 2, scope: !16, inlinedAt: !9)
!16 = distinct !DISubprogram(name: "thread;", linkageName: "thread", scope: !3, file: !3, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!17 = !DILocation(line: 86, scope: !18, inlinedAt: !19)
!18 = distinct !DISubprogram(name: "+;", linkageName: "+", scope: !14, file: !14, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!19 = !DILocation(line: 538, scope: !20, inlinedAt: !9)
!20 = distinct !DISubprogram(name: "+;", linkageName: "+", scope: !21, file: !21, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!21 = !DIFile(filename: "operators.jl", directory: ".")
!22 = !DILocation(line: 441, scope: !23, inlinedAt: !24)
!23 = distinct !DISubprogram(name: "<=;", linkageName: "<=", scope: !14, file: !14, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!24 = !DILocation(line: 12, scope: !5)
!25 = !DILocation(line: 441, scope: !23, inlinedAt: !26)
!26 = !DILocation(line: 350, scope: !27, inlinedAt: !28)
!27 = distinct !DISubprogram(name: ">=;", linkageName: ">=", scope: !21, file: !21, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!28 = !DILocation(line: 285, scope: !29, inlinedAt: !31)
!29 = distinct !DISubprogram(name: "unitrange_last;", linkageName: "unitrange_last", scope: !30, file: !30, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!30 = !DIFile(filename: "range.jl", directory: ".")
!31 = !DILocation(line: 280, scope: !32, inlinedAt: !33)
!32 = distinct !DISubprogram(name: "UnitRange;", linkageName: "UnitRange", scope: !30, file: !30, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!33 = !DILocation(line: 5, scope: !34, inlinedAt: !35)
!34 = distinct !DISubprogram(name: "Colon;", linkageName: "Colon", scope: !30, file: !30, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!35 = !DILocation(line: 15, scope: !5)
!36 = !DILocation(line: 0, scope: !37, inlinedAt: !39)
!37 = distinct !DISubprogram(name: "unsafe_load;", linkageName: "unsafe_load", scope: !38, file: !38, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!38 = !DIFile(filename: "pointer.jl", directory: ".")
!39 = !DILocation(line: 16, scope: !5)
!40 = !DILocation(line: 105, scope: !37, inlinedAt: !39)
!41 = !{!42, !42, i64 0}
!42 = !{!"jtbaa_data", !43, i64 0}
!43 = !{!"jtbaa", !44, i64 0}
!44 = !{!"jtbaa"}
!45 = !DILocation(line: 409, scope: !46, inlinedAt: !48)
!46 = distinct !DISubprogram(name: "muladd;", linkageName: "muladd", scope: !47, file: !47, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!47 = !DIFile(filename: "float.jl", directory: ".")
!48 = !DILocation(line: 9, scope: !49, inlinedAt: !39)
!49 = distinct !DISubprogram(name: "value;", linkageName: "value", scope: !3, file: !3, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!50 = !DILocation(line: 400, scope: !51, inlinedAt: !39)
!51 = distinct !DISubprogram(name: "+;", linkageName: "+", scope: !47, file: !47, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!52 = !DILocation(line: 398, scope: !53, inlinedAt: !55)
!53 = distinct !DISubprogram(name: "==;", linkageName: "==", scope: !54, file: !54, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!54 = !DIFile(filename: "promotion.jl", directory: ".")
!55 = !DILocation(line: 624, scope: !56, inlinedAt: !39)
!56 = distinct !DISubprogram(name: "iterate;", linkageName: "iterate", scope: !30, file: !30, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!57 = !DILocation(line: 398, scope: !53, inlinedAt: !58)
!58 = !DILocation(line: 202, scope: !59, inlinedAt: !60)
!59 = distinct !DISubprogram(name: "!=;", linkageName: "!=", scope: !21, file: !21, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!60 = !DILocation(line: 108, scope: !61, inlinedAt: !62)
!61 = distinct !DISubprogram(name: "isodd;", linkageName: "isodd", scope: !14, file: !14, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!62 = !DILocation(line: 18, scope: !5)
!63 = !DILocation(line: 527, scope: !64, inlinedAt: !62)
!64 = distinct !DISubprogram(name: "abs;", linkageName: "abs", scope: !47, file: !47, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!65 = !DILocation(line: 627, scope: !66, inlinedAt: !68)
!66 = distinct !DISubprogram(name: "toInt64;", linkageName: "toInt64", scope: !67, file: !67, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!67 = !DIFile(filename: "boot.jl", directory: ".")
!68 = !DILocation(line: 708, scope: !69, inlinedAt: !70)
!69 = distinct !DISubprogram(name: "Int64;", linkageName: "Int64", scope: !67, file: !67, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!70 = !DILocation(line: 118, scope: !71, inlinedAt: !62)
!71 = distinct !DISubprogram(name: "unsafe_store!;", linkageName: "unsafe_store!", scope: !38, file: !38, type: !6, spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !2, retainedNodes: !4)
!72 = !DILocation(line: 19, scope: !5)
!73 = !{void (i64, i64, float, float, i32)* @lines, !"kernel", i32 1}
