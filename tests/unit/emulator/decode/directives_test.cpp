// Directives, declarations and calls: the PTX reader accepts and rejects each of these texts as
// ptxas 13.0 does. tests/ptx_acceptance has more of them, generated from tables.
#include "emulator/exec/machine.hpp"

#include <initializer_list>
#include <string>

#include <doctest/doctest.h>

namespace lode::emulator::exec {
namespace {

/// The module of a text "M: declarations before the kernel ;; H: directives after its parameters ;;
/// B: its body", each part optional, or "W: all after the header".
std::string text_of(std::string_view parts) {
    std::string module;
    std::string heading;
    std::string body = "ret;";
    std::string whole;
    while (!parts.empty()) {
        const std::size_t end = parts.find(" ;; ");
        const std::string part(parts.substr(0, end));
        parts.remove_prefix(end == parts.npos ? parts.size() : end + 4);
        std::string& into = part[0] == 'M'   ? module
                            : part[0] == 'H' ? heading
                            : part[0] == 'B' ? body
                                             : whole;
        into = part.substr(2);
    }
    const std::string start = ".version 9.0\n.target sm_90\n.address_size 64\n";
    if (!whole.empty()) return start + whole + "\n";
    return start + module + "\n.visible .entry k(.param .u64 prm)" + heading +
           "{\n.reg .b32 %r<10>; .reg .u64 %rd<10>; .reg .pred %p<4>; .reg .f32 %f<4>;\n" + body +
           "\nret;\n}\n";
}

LoadStatus status_of(std::string_view parts) {
    Memory memory;
    return Module::load(memory, text_of(parts), 9, 0).status;
}

void takes(std::initializer_list<const char*> texts) {
    for (const char* const text : texts)
        CHECK_MESSAGE(status_of(text) == LoadStatus::ok, text);
}
void refuses(std::initializer_list<const char*> texts) {
    for (const char* const text : texts)
        CHECK_MESSAGE(status_of(text) != LoadStatus::ok, text);
}

}  // namespace

TEST_CASE("ptx: a function has one heading, one linkage and one body") {
    takes({"M: .func f (.param .b32 a[]) { ret; }", "M: .func f () .noreturn { ret; }",
           "M: .func () f () .noreturn { trap; }", "M: .func f () .noreturn { exit; }",
           "M: .extern .func f () .noreturn;", "M: .weak .func f (); .func f () {ret;}",
           "M: .visible .func f (); .func f () {ret;}",
           "M: .func f (); .func f (); .func f () {ret;}",
           "M: .extern .func f (); .extern .func f (); ",
           "M: .func f (.param .align 4 .b32 a); .func f (.param .b32 a) { ret; }",
           "M: .func (.reg .b32 r, .reg .b32 s) f () { ret; }",
           "M: .func f (.reg .b32 a, .param .b32 b) { ret; }", "M: .func f (.reg .b8 a) { ret; }",
           "M: .func f (.param .b8 a) { ret; }", "M: .func f (.reg .v2 .b32 a) { ret; }",
           "M: .func g(); .func f () { call g; ret; } .func g () { ret; }"});
    refuses({"M: .func (.reg .b32 r) f () .noreturn { trap; }",
             "M: .extern .func f (.param .b32 a) { ret; }",
             "M: .func f ();",
             "M: .weak .func f ();",
             "M: .func f () {ret;} .extern .func f ();",
             "M: .func f (.param .u32 a); .func f (.param .s32 a) { ret; }",
             "M: .func f (.param .u32 a); .func f (.param .f32 a) { ret; }",
             "M: .func f (.param .b32 a); .func f (.param .f32 a) { ret; }",
             "M: .func f (.reg .b32 a); .func f (.reg .f32 a) { ret; }",
             "M: .func f (.param .align 4 .b8 a[8]); .func f (.param .align 8 .b8 a[8]) { ret; }",
             "M: .func f (.param .align 8 .b8 a[8]); .func f (.param .align 8 .b8 a[4]) { ret; }",
             "M: .func (.param .b32 r) f (); .func f () { ret; }",
             "M: .func (.param .b32 r) f (); .func (.param .b64 r) f () { ret; }",
             "M: .func (.reg .b32 r) f (); .func (.param .b32 r) f () { ret; }",
             "M: .func (.param .b32 r, .reg .b32 s) f () { ret; }",
             "M: .func f (.reg .b32 a<4>) { ret; }",
             "M: .func f (.param .v2 .b32 a) { ret; }",
             "M: .func f (.param .f16x2 a) { ret; }",
             "M: .func f (.reg .b32 a[4]) { ret; }",
             "M: .func f (.local .b32 a) { ret; }"});
}

TEST_CASE("ptx: all declarations of a name have compatible linkage") {
    takes({"M:  .func f();  .func f() {ret;}", "M: .visible .func f();  .func f() {ret;}",
           "M: .visible .func f(); .visible .func f() {ret;}",
           "M: .weak .func f();  .func f() {ret;}", "M: .weak .func f(); .weak .func f() {ret;}",
           "M:  .global .u32 x; .extern .global .u32 x;",
           "M: .visible .global .u32 x; .extern .global .u32 x;",
           "M: .extern .global .u32 x; .visible .global .u32 x;",
           "M: .extern .global .u32 x; .weak .global .u32 x;",
           "M: .extern .global .u32 x; .common .global .u32 x;"});
    refuses(
        {"M:  .func f(); .visible .func f() {ret;}", "M:  .func f(); .weak .func f() {ret;}",
         "M: .visible .func f(); .weak .func f() {ret;}", "M: .extern .func f();  .func f() {ret;}",
         "M: .extern .func f(); .visible .func f() {ret;}",
         "M: .extern .func f(); .weak .func f() {ret;}",
         "M: .weak .func f(); .visible .func f() {ret;}", "M:  .global .u32 x;  .global .u32 x;",
         "M:  .global .u32 x; .visible .global .u32 x;",
         "M:  .global .u32 x; .weak .global .u32 x;", "M:  .global .u32 x; .common .global .u32 x;",
         "M: .visible .global .u32 x;  .global .u32 x;",
         "M: .visible .global .u32 x; .visible .global .u32 x;",
         "M: .visible .global .u32 x; .weak .global .u32 x;",
         "M: .visible .global .u32 x; .common .global .u32 x;",
         "M: .extern .global .u32 x;  .global .u32 x;",
         "M: .weak .global .u32 x;  .global .u32 x;"});
}

TEST_CASE("ptx: a call's arguments and results match the function") {
    takes({"M: .func f() {ret;} ;; B: call (), f, ();",
           "M: .func f() {ret;} ;; B: C: .calltargets f; call %rd1, C;",
           "M: .func f() {ret;} ;; B: C: .calltargets f, f; call %rd1, C;",
           "M: .func g(.param .b32 a) {ret;} ;; B: .param .b32 q; C: .calltargets g; call %rd1, "
           "(q), C;",
           "M: .extern .func g(); ;; B: C: .calltargets g; call %rd1, C;",
           "B: P: .callprototype _ (); call %rd1, P;",
           "B: P: .callprototype () _ (); call %rd1, P;",
           "B: P: .callprototype (.param .b32 x) _ (.param .b32 y); .param .b32 q; call (q), %rd1, "
           "(q), P;",
           "B: P: .callprototype (.param .b32 x) _ (.param .b32 x); .param .b32 q; call (q), %rd1, "
           "(q), P;",
           "B: P: .callprototype (.reg .b32 _) _ (.reg .b32 _); call (%r1), %rd1, (5), P;",
           "M: .func g(.reg .u32 a) {ret;} ;; B: call g, (-1);",
           "M: .func g(.reg .b128 a) {ret;} ;; B: call g, (5);",
           "M: .func g(.reg .u32 a) {ret;} ;; B: .reg .f16x2 x; call g, (x);",
           "M: .func g(.reg .b16 a) {ret;} ;; B: .reg .f16 x; call g, (x);",
           "M: .func g(.reg .u32 a) {ret;} ;; B: .param .u32 q; call g, (q);",
           "M: .func (.reg .u32 r, .reg .u32 s) g() {mov.u32 r, 5; mov.u32 s, 7; ret;} ;; B: call "
           "(%r1, _), g;"});
    refuses({"M: .func f() {ret;} ;; B: call f, P; P: .callprototype _ ();",
             "M: .func f() {ret;} ;; B: P: .callprototype _ (); call f, P;",
             "M: .func f() {ret;} ;; B: C: .calltargets f; call f, C;",
             "M: .func f() {ret;} ;; B: C: .calltargets f; call %p1, C;",
             "M: .func f() {ret;} .global .u32 x; ;; B: C: .calltargets x; call %rd1, C;",
             "W: .visible .entry k() { .reg .u64 a; call a, C; C: .calltargets g; ret; } .func g() "
             "{ret;}",
             "B: P: .callprototype _ (.local .b32 a);",
             "B: .callprototype _ ();",
             "B: P: .callprototype _ (); P: .callprototype _ ();",
             "B: P: ret; call %rd1, P;",
             "B: { P: .callprototype _ (); } call %rd1, P;",
             "B: P: .callprototype _ (); call !%rd1, P;",
             "B: P: .callprototype _ (); call %rd1, [P];",
             "B: call;",
             "M: .func g(.param .b32 a) {ret;} ;; B: .param .align 4 .b8 q[4]; call g, (q);",
             "M: .func g(.param .b32 a[]) {ret;} ;; B: .param .b8 q[5]; call g, (q);",
             "M: .func g(.param .b32 a[]) {ret;} ;; B: .param .b32 q; call g, (q);",
             "M: .func g(.param .b8 a) {ret;} ;; B: .reg .b16 x; call g, (x);",
             "M: .func g(.reg .u32 a) {ret;} ;; B: call g, (_);",
             "M: .func g(.param .u32 a) {ret;} ;; B: .param .u32 q; call g, (q+4);"});
}

TEST_CASE("ptx: initial values match their variable's type and shape") {
    takes({"M: .global .u32 x = -1;", "M: .global .u8 x = 300;", "M: .global .u8 x = -1;",
           "M: .global .f64 x = 0f3F800000;", "M: .global .b128 x = 5;",
           "M: .global .u32 x[2][2] = {};", "M: .global .u32 x[2][2] = {{1}};",
           "M: .global .u32 x[][2] = {{1,2}, {2}, {4,5}};",
           "M: .global .v2 .f32 x[2] = {{1.0, 2.0},{1.0,2.0}};",
           "M: .global .u32 y; .global .u64 x = y+-4;",
           "M: .global .u32 y; .global .u64 x = generic(y)+4;",
           "M: .global .u32 y; .global .u64 x[2] = {y, generic(y)};",
           "M: .const .u32 y; .const .u64 x = generic(y);", "M: .global .u32 x = WARP_SZ;",
           "M: .global .u32 x = 5 > 3 ? 7 : 9;", "M: .global .u32 x, y[2], z;"});
    refuses({"M: .global .f64 x = 5;",
             "M: .global .f16 x = 0x3c00;",
             "M: .global .u32 x[1] = 1;",
             "M: .global .u32 x = {};",
             "M: .global .u32 x[4] = {1,2,{3}};",
             "M: .global .v2 .f32 x = {1.0};",
             "M: .global .v2 .f32 x[2] = {1.0,2.0,3.0,4.0};",
             "M: .global .u32 y; .global .b32 x = y;",
             "M: .global .u32 y; .global .u16 x = y;",
             "M: .global .u32 y; .global .s8 x = 0xff(y);",
             "M: .global .u32 y; .global .b8 x = 0xF(y);",
             "M: .global .u32 y; .global .b8 x = 255(y);",
             "M: .global .u32 y; .global .b8 x = 0xff(generic(y)+4);",
             "M: .global .u32 y; .global .u64 x = 4+y;",
             "M: .global .u32 y; .global .u64 x = {y};",
             "M: .global .u64 x = f; .func f () {ret;} ",
             "M: .global .u64 x = y; .global .u32 y; ",
             "M: .shared .u32 y; .global .u64 x = y;",
             "M: .shared .u32 y; .global .u32 x = y;",
             "M: .global .pred x;"});
}

TEST_CASE("ptx: the specifiers of a declaration must be in order") {
    takes({"B: .reg .v2 .f64 a;", "B: .reg .f16x2 a;", "B: .reg .b128 a;", "B: .reg .b8 a;",
           "B: .reg .u8 a;", "B: .reg .u32 a<1>;", "B: .reg .u32 a1<2>; .reg .u32 a<20>;",
           "B: .reg .u32 $a;", "B: .reg .u32 %tid;", "B: .reg .u32 add;",
           "M: .global .u32 x; ;; B: .reg .u32 x; mov.u32 x, 5;", "M: .align 4 .global .u32 x; ",
           "M: .visible .const .u32 x; ", "M: .global .surfref x; ", "M: .global .u32 x<0>; ",
           "M: .const .u32 x<4>;"});
    refuses({"B: .reg .bf16x2 a;",
             "B: .reg .f8 a;",
             "B: .reg .e4m3x2 a;",
             "B: .reg .global .u32 p;",
             "B: .reg .u32 a<-1>;",
             "B: .reg .u32 %;",
             "B: .reg .u32 a.b;",
             "B: .reg a;",
             "M: .reg .pred x; ",
             "M: .reg .bf16 x; ",
             "M: .global .tf32 x; ",
             "M: .global .v4 .u64 x; ",
             "M: .global .v2 .align 4 .u32 x; ",
             "M: .global .u32 .u32 x; ",
             "M: .global .v2 .v2 .u32 x; ",
             "M: .global .global .u32 x; ",
             "M: .global .ptr .u32 x; ",
             "M: .visible .local .u32 x; ",
             "M: .global .texref x = {5}; ",
             "M: .global .u32 x[2][0]; "});
}

TEST_CASE("ptx: contradictory directives of a kernel are refused") {
    takes({"H: .maxntid 256 .minnctapersm 2", "H: .reqntid 64 .minnctapersm 2",
           "H: .maxntid 64, 64", "H: .reqntid 65536, 65536", "H: .reqnctapercluster 0",
           "H: .reqnctapercluster 1", "H: .reqnctapercluster 2,2,1", "H: .reqnctapercluster 9",
           "H: .maxclusterrank 8", "H: .maxclusterrank 0", "H: .explicitcluster .maxclusterrank 4",
           "H: .explicitcluster .explicitcluster", "H: .maxclusterrank 2 .maxclusterrank 2",
           "H: .blocksareclusters .reqntid 64 .reqnctapercluster 2",
           "H: .reqntid 64 .reqnctapercluster 2 .blocksareclusters .blocksareclusters",
           "M: .func f() .abi_preserve_control 4 {ret;}"});
    refuses({"H: .maxntid 256 .maxnctapersm 2",
             "H: .maxnreg 0",
             "H: .maxntid 256 .reqntid 64",
             "H: .reqntid 64 .maxntid 256",
             "H: .maxntid 1,2,3,4",
             "H: .maxntid 1,",
             "H: .maxntid",
             "H: .maxntid 64 .reqnctapercluster 2 .blocksareclusters",
             "H: .abi_preserve 4",
             "H: .abi_preserve",
             "M: .func f() .abi_preserve_control 400 {ret;}",
             "M: .func f() .abi_preserve 4 .noreturn {ret;}",
             "M: .func f() .noreturn .noreturn {ret;}",
             "M: .func f() .maxntid 4 {ret;}",
             "M: .func f() .minnctapersm 4 {ret;}",
             "M: .func f() .pragma \"x\"; .noreturn {ret;}",
             "M: .func f() .explicitcluster {ret;}",
             "M: .func f() .maxclusterrank 4 {ret;}",
             "W: .entry k() .maxntid 256 ; .entry k() .maxntid 256 {ret;}",
             "W: .entry k() .maxntid 128 ; .entry k() {ret;}"});
}

TEST_CASE("ptx: pragmas are only accepted where they apply") {
    takes({"B: .pragma \"nounroll\";", "B: .pragma \"nounroll\", \"nounroll\";", "B: .pragma \"\";",
           "B: .pragma \"used_bytes_mask 0x1\";", "B: .pragma \"used_bytes_mask 1\";",
           "B: .pragma \"frequency 4\";", "B: .pragma \"enable_smem_spilling\";",
           "B: .pragma \"unknown\";", "B: .pragma \"retain_local\";", "B: .pragma \"noinline\";",
           "M: .pragma \"nounroll\";", "H: .pragma \"nounroll\"; ", "H: .pragma \"unknown\"; ",
           "H: .pragma \"legacy_bar_warp_wide_behavior\";", "H: .pragma \"x\", \"y\";"});
    refuses({"B: .pragma \"used_bytes_mask\";",
             "B: .pragma \"used_bytes_mask 0x1 2\";",
             "B: .pragma \"frequency\";",
             "B: .pragma \"frequency x\";",
             "B: .pragma nounroll;",
             "B: .pragma 5;",
             "B: .pragma \"nounroll\"",
             "M: .pragma \"unknown\";",
             "M: .pragma \"enable_smem_spilling\";",
             "M: .pragma \"\";",
             "M: .pragma \"nounroll\", \"unknown\";",
             "M: .pragma \"noinline\";",
             "M: .pragma \"legacy_bar_warp_wide_behavior\";",
             "M: .pragma \"legacy_bar_warp_wide_behavior\"; .func f(){ret;}",
             "H: .pragma \"enable_smem_spilling\";",
             "H: .pragma \"frequency 4\";",
             "H: .pragma 5;",
             "H: .pragma \"unknown\" ",
             "M: .func f() .pragma \"unknown\"; {ret;}",
             "M: .func f() .pragma \"nounroll\"; {ret;}"});
}

TEST_CASE("ptx: sections, files and lines") {
    takes({"M: .file 1 \"a.cu\" ;; B: .loc 1 2 3 ret;", "B: .loc 1 2 3\n ret;",
           "M: .file 0 \"a.cu\"",
           "W: .file 1 \"a.cu\"\n .func f() {.loc 1 2 3\n ret;} .visible .entry k() { .loc 1 4 5, "
           "function_name s, inlined_at 1 2 3\n ret; } .section .debug_str { s: .b8 1 }",
           "W: .file 1 \"a.cu\"\n .visible .entry k() { .loc 1 2 3\n .loc 1 4 5, function_name s, "
           "inlined_at 1 2 3\n ret; } .section .debug_str { s: .b8 1 }",
           "W: .visible .entry k () { ret; } .section .debug_str { .b32 0x100000000 }",
           "W: .visible .entry k () { L: ret; } .section .debug_str { .b64 L }",
           "W: .visible .entry k () { ret; } .section .debug_str { .b32 .debug_str }",
           "W: .visible .entry k () { ret; } .section .debug_str { .b32 .nosuch }",
           "W: .visible .entry k () { ret; } .section .debug_str { L: }",
           "W: .visible .entry k () { ret; } .section .debug_str { L: .b8 1 .b32 L+4 }",
           "W: .visible .entry k () { ret; } .section .foo { .b8 1 }",
           "W: .visible .entry k () { ret; } .section .foo_bar { .b8 1 }",
           "W: .section .debug_str { .b8 1 } .visible .entry k () { ret; }",
           "W: .visible .entry k () { ret; } .section .debug_ranges { .b64 1 }",
           "W: .visible .entry k () { ret; } .section .debug_macinfo { .b64 1 }"});
    refuses(
        {"M: .func f() .pragma \"unknown\" {ret;}",
         "M: .file 1 \"a.cu\" ;; B: .loc 1 2 3; ret;",
         "M: .file 1 \"a.cu\", 12, 34;",
         "M: .file 1 \"a.cu\", 12, 34, 5",
         "M: .file 1 \"a.cu\"\n .file 1 \"a.cu\"",
         "B: .loc 1 1 1\n .file 1 \"a.cu\" \n ret;",
         "M: .file 1 \"a.cu\" ;; B: .loc 1 2 3, function_name fun, inlined_at 1 2 3\n ret;",
         "M: .file 1 \"a.cu\" ;; B: .loc 1 2 3\n .loc 1 4 5, function_name fun, inlined_at 1 2 3\n "
         "ret;",
         "M: .file 1 \"a.cu\" ;; B: .loc 1 2 3\n .loc 1 4 5, function_name fun+4, inlined_at 1 2 "
         "3\n ret;",
         "M: .file 1 \"a.cu\" ;; B: .loc 1 2 3\n .loc 1 4 5, inlined_at 1 2 3, function_name x\n "
         "ret;",
         "W: .visible .entry k () { ret; } .section .debug_str { .b8 1, 2, }",
         "W: .visible .entry k () { ret; } .section .debug_str { .b8 256 }",
         "W: .visible .entry k () { ret; } .section .debug_str { .b16 65536 }",
         "W: .visible .entry k () { ret; } .section .debug_str { .f32 1 }",
         "W: .visible .entry k () { ret; } .section .debug_str { .b8 k }",
         "W: .visible .entry k () { ret; } .section .debug_str { .b64 .debug_info, .debug_str }",
         "W: .visible .entry k () { ret; } .section .debug_str { .b8 .debug_str }",
         "W: .visible .entry k () { ret; } .section .debug_str { 1 }",
         "W: .visible .entry k () { ret; } .section foo { .b8 1 }",
         "W: .visible .entry k () { ret; } .section .global { .b8 1 }"});
}

TEST_CASE("ptx: function bodies and the names in them") {
    takes(
        {"W: .visible .entry k (.param .b128 a) { ret; }",
         "W: .visible .entry k (.param .u64 .ptr .global a) { ret; }",
         "W: .visible .entry k (.param .s64 .ptr .global .align 4 a) { ret; }",
         "W: .func f() {ret;} .visible .entry k () { f: ret; }", "W: .visible .entry k { ret; }",
         "W: .visible .entry k () { bra L; L: }",
         "W: .visible .entry k () { L: .loc 1 1 1\n ret; }", "W: .visible .entry k () { }",
         "W: .visible .entry k () { .reg .u32 a; }",
         "W: .visible .entry k () { .param .align 8 .b8 p[8]; ret; }",
         "W: .visible .entry k () { .global .b8 p; ret; }",
         "W: .visible .entry k () { .local .u32 x<3>; .reg .u64 a; mov.u64 a, x2; ret; }",
         "W: .visible .entry k () { .shared .u32 x<3>; .reg .u32 a; ld.shared.u32 a, [x2]; ret; }",
         "W: .visible .entry k () { .local .u32; .param .u32; ret; }",
         "W: .func f() {ret;} .func g(); .visible .entry k() { call g; ret;} .alias g, f;",
         "W: .visible .func f() {ret;} .visible .func g(); .visible .entry k() { call g; ret;} "
         ".alias g, f; "});
    refuses({"W: .entry k (.param .u64 a); .entry k (.param .u32 a) {ret;}",
             "W: .entry k (.param .u64 a) {ret;} .entry k (.param .u64 a); ",
             "W: .visible .entry k (.param .b8 a = 5) { ret; }",
             "W: .visible .entry k (.param .ptr .u64 a) { ret; }",
             "W: .visible .entry k (.param .u64 .ptr .ptr a) { ret; }",
             "W: .visible .entry k (.param .attribute(.grid_constant) .u64 a) { ret; }",
             "W: .visible .entry k (.param .attribute(.managed) .u64 a) { ret; }",
             "W: .visible .entry k (.param .u32 a) { .reg .u32 a; ret; }",
             "W: .visible .entry k (.param .u32 a) { .local .u32 a; ret; }",
             "W: .visible .entry k (.param .u32 a) { a: ret; }",
             "W: .visible .entry k () { .reg .u32 a; .local .u32 a; ret; }",
             "W: .visible .entry k (()) { ret; }",
             "W: .visible .entry (.param .u32 a) k () { ret; }",
             "W: .entry .visible k () { ret; }",
             "W: .visible .entry k () { ; ret; }",
             "W: .visible .entry k () { ret; } \"x\"",
             "W: .visible .entry k () { .section .debug_str {} ret; }",
             "W: .visible .entry k () { .reg .u64 a; ld.global.u64 a, [x]; ret; } .global .u32 x;",
             "W: .visible .func f(.param .b32 a) {ret;} .visible .func g(); .alias g, f; .visible "
             ".entry k() { call g; ret;}",
             "W: .weak .func f() {ret;} .visible .func g(); .alias g, f; .visible .entry k() { "
             "call g; ret;}"});
}

}  // namespace lode::emulator::exec
