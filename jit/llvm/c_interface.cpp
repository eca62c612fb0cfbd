#include "jit/llvm/c_interface.hpp"

namespace LODE_NAMESPACE::llvm {

std::string Table::load(const SharedLibrary& library) {
    SymbolBinder symbols(library);
    // The newest function of LLVM 14, the oldest version whose interface is enough.
    void (*of_14)() = nullptr;
    symbols.required(of_14, "LLVMAddMetadataToInst");
    symbols.required(add_target_info, "LLVMInitializeNVPTXTargetInfo");
    symbols.required(add_target, "LLVMInitializeNVPTXTarget");
    symbols.required(add_target_code, "LLVMInitializeNVPTXTargetMC");
    symbols.required(add_target_printer, "LLVMInitializeNVPTXAsmPrinter");
    symbols.required(on_fatal_error, "LLVMInstallFatalErrorHandler");
    symbols.required(parse_options, "LLVMParseCommandLineOptions");
    symbols.optional(version, "LLVMGetVersion");
    symbols.required(create_context, "LLVMContextCreate");
    symbols.required(dispose_context, "LLVMContextDispose");
    symbols.required(on_diagnosis, "LLVMContextSetDiagnosticHandler");
    symbols.required(severity, "LLVMGetDiagInfoSeverity");
    symbols.required(description, "LLVMGetDiagInfoDescription");
    symbols.required(dispose_message, "LLVMDisposeMessage");
    symbols.required(create_buffer, "LLVMCreateMemoryBufferWithMemoryRange");
    symbols.required(buffer_start, "LLVMGetBufferStart");
    symbols.required(buffer_size, "LLVMGetBufferSize");
    symbols.required(dispose_buffer, "LLVMDisposeMemoryBuffer");
    symbols.required(parse, "LLVMParseIRInContext");
    symbols.required(dispose_module, "LLVMDisposeModule");
    symbols.required(verify, "LLVMVerifyModule");
    symbols.required(triple, "LLVMGetTarget");
    symbols.required(set_triple, "LLVMSetTarget");
    symbols.required(set_layout, "LLVMSetModuleDataLayout");
    symbols.required(get_flag, "LLVMGetModuleFlag");
    symbols.required(add_flag, "LLVMAddModuleFlag");
    symbols.required(strip_debug, "LLVMStripModuleDebugInfo");
    symbols.required(link, "LLVMLinkModules2");
    symbols.required(first_function, "LLVMGetFirstFunction");
    symbols.required(next_function, "LLVMGetNextFunction");
    symbols.required(named_function, "LLVMGetNamedFunction");
    symbols.required(value_name, "LLVMGetValueName2");
    symbols.required(is_declaration, "LLVMIsDeclaration");
    symbols.required(set_linkage, "LLVMSetLinkage");
    symbols.required(int32, "LLVMInt32TypeInContext");
    symbols.required(constant, "LLVMConstInt");
    symbols.required(as_metadata, "LLVMValueAsMetadata");
    symbols.required(create_attribute, "LLVMCreateStringAttribute");
    symbols.required(add_attribute, "LLVMAddAttributeAtIndex");
    symbols.required(find_target, "LLVMGetTargetFromTriple");
    symbols.required(create_machine, "LLVMCreateTargetMachine");
    symbols.required(dispose_machine, "LLVMDisposeTargetMachine");
    symbols.required(create_layout, "LLVMCreateTargetDataLayout");
    symbols.required(dispose_layout, "LLVMDisposeTargetData");
    symbols.required(create_pass_options, "LLVMCreatePassBuilderOptions");
    symbols.required(dispose_pass_options, "LLVMDisposePassBuilderOptions");
    symbols.required(run_passes, "LLVMRunPasses");
    symbols.required(failure_message, "LLVMGetErrorMessage");
    symbols.required(dispose_failure_message, "LLVMDisposeErrorMessage");
    symbols.required(emit, "LLVMTargetMachineEmitToMemoryBuffer");
    return symbols.missing();
}

}  // namespace LODE_NAMESPACE::llvm
