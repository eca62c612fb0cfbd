; Lines of a file that isn't there, as a compiler of another language writes them.
target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"

define void @twice(float* %x) !dbg !5 {
  %old = load float, float* %x, !dbg !7
  %new = fadd float %old, %old, !dbg !8
  store float %new, float* %x, !dbg !8
  ret void, !dbg !9
}

!nvvm.annotations = !{!0}
!0 = !{void (float*)* @twice, !"kernel", i32 1}
!nvvmir.version = !{!1}
!1 = !{i32 2, i32 0, i32 3, i32 1}
!llvm.module.flags = !{!2}
!2 = !{i32 2, !"Debug Info Version", i32 3}
!llvm.dbg.cu = !{!3}
!3 = distinct !DICompileUnit(language: DW_LANG_C_plus_plus, file: !4, producer: "by hand", isOptimized: true, runtimeVersion: 0, emissionKind: DebugDirectivesOnly)
!4 = !DIFile(filename: "twice.py", directory: "/source")
!5 = distinct !DISubprogram(name: "twice", scope: !4, file: !4, line: 10, type: !6, isLocal: false, isDefinition: true, scopeLine: 10, isOptimized: true, unit: !3)
!6 = !DISubroutineType(types: !{})
!7 = !DILocation(line: 11, column: 3, scope: !5)
!8 = !DILocation(line: 12, column: 3, scope: !5)
!9 = !DILocation(line: 13, column: 3, scope: !5)
