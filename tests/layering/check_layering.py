#!/usr/bin/env python3
"""Checks which component includes which, by reading the include lines, and the namespaces' names.

All components share one include root, so the compiler lets a sideways include pass; this doesn't.
Prints one line "file:line: rule" per violation; exits with 1 if there are any.

    check_layering.py [repository root]
"""

import pathlib
import re
import sys

# The components that each component may include besides itself.
COMPONENTS = {
    "base": set(),
    "jit": {"base"},
    "runtime": {"base", "jit"},
    "emulator": {"base"},
    "c": {"base", "jit", "runtime"},
    "kernels": {"base", "jit", "runtime"},  # Its public headers; kernels_src has the bodies.
}
# The other folders of its component that a folder may include. A file belongs to the deepest folder
# named here; files in unnamed folders may include everything of their component. "jit" has the
# files of jit that are in none of its folders.
FOLDERS = {
    "base/os": set(),
    "emulator/memory": set(),
    "emulator/devices": set(),
    "emulator/isa": {"emulator/memory"},
    "emulator/decode": {"emulator/isa", "emulator/memory"},
    "emulator/exec": {"emulator/decode", "emulator/isa", "emulator/memory"},
    "emulator/debug": {"emulator/exec", "emulator/decode", "emulator/isa", "emulator/memory"},
    "emulator/driver": {"emulator/debug", "emulator/exec", "emulator/decode", "emulator/devices",
                        "emulator/isa", "emulator/memory"},
    "emulator/toolkit": {"emulator/decode", "emulator/driver"},
    "jit": {"jit/files", "jit/llvm", "jit/nvrtc", "jit/nvvm", "jit/pch", "jit/request", "jit/worker"},
    "jit/cache": {"jit", "jit/files", "jit/headers", "jit/nvrtc", "jit/pch", "jit/remote",
                  "jit/request", "jit/store", "jit/worker"},
    "jit/files": set(),
    "jit/request": {"jit/files"},
    "jit/nvrtc": {"jit/files", "jit/request"},
    "jit/llvm": {"jit/files", "jit/nvrtc", "jit/nvvm", "jit/request"},
    "jit/nvvm": {"jit/files", "jit/nvrtc", "jit/request"},
    "jit/pch": {"jit/files", "jit/headers", "jit/nvrtc", "jit/request", "jit/store"},
    "jit/worker": {"jit/files", "jit/nvrtc", "jit/pch", "jit/request"},
    "jit/store": {"jit/files", "jit/request"},
    "jit/remote": {"jit/request", "jit/store"},
    "jit/headers": {"jit/files", "jit/request", "jit/store"},
    "runtime/driver": set(),
    "runtime/state": {"runtime/driver"},
    "runtime/memory": {"runtime/driver", "runtime/state"},
    "runtime/graph": {"runtime/driver", "runtime/memory", "runtime/state"},
    "runtime/texture": {"runtime/driver", "runtime/memory", "runtime/state"},
}
# What only the seam to the operating system (base/os) includes, whose headers have none of it.
OS_HEADER = re.compile(r"^(sys|linux|asm|arpa|net|netinet)/|^(dirent|dlfcn|elf|execinfo|fcntl|fts|ftw|glob|"
                       r"grp|io|langinfo|link|malloc|netdb|poll|process|pthread|pwd|sched|semaphore|spawn|"
                       r"syslog|termios|ucontext|unistd|utime|windows|winsock2)\.h$|^c?signal(\.h)?$")
SEAM = re.compile(r"^(base|jit|runtime|emulator|c)/|^include/")
# Exceptions: jit/nvrtc/linux replaces functions of the C library in NVRTC's ELF file. In the
# emulator's toolkit, redirect is called by Linux's loader and has no libraries, and original.hpp
# asks that loader for what a stand-in has replaced. The tools may include everything.
OS_BODIES = re.compile(r"^base/os/linux/|^jit/nvrtc/linux/|^jit/shims/|"
                       r"^emulator/toolkit/(redirect/.*|original\.hpp)$")
# The folders of the system whose files only these bodies know.
OS_FOLDER = re.compile(r'"/(proc|sys|dev|etc)/')
# Folders that may include only public headers, and nothing of each other.
OUTSIDERS = {"tools", "samples", "bench", "kernels_src"}
# Exceptions: the tools use base's helpers (files, try macros) and inspect the cache's files;
# benchmarks measure parts of the components.
PRIVATE_COMPONENTS_OF = {"tools": {"base", "jit"},
                         "bench": {"base", "c", "jit", "kernels", "runtime", "emulator"}}

CUDA_HEADER = re.compile(r"^(cu[A-Z_a-z0-9]*|driver_types|cuda[A-Za-z0-9_]*|nvrtc|nvJitLink)\.h$|^(cuda|crt)/")
INCLUDE = re.compile(r'^\s*#\s*include\s*(?:<([^>]+)>|"([^"]+)")')
# Third-party libraries: prefix of the include, CMake package, prefix of the targets, and name in
# the list of requirements in docs/embedding.md.
LIBRARIES = [
    ("fmt/", "fmt", "fmt::", "{fmt}"),
    ("tl/", "tl-expected", "tl::", "tl::expected"),
    ("openssl/", "OpenSSL", "OpenSSL::", "OpenSSL"),
    ("zstd", "zstd", "zstd::", "zstd"),
    ("nlohmann/", "nlohmann_json", "nlohmann_json::", "nlohmann/json"),
    ("CLI/", "CLI11", "CLI11::", "CLI11"),
]
# Libraries of headers alone: the component itself finds them, and hosts don't need them.
HEADERS_ALONE = {"nlohmann_json"}
# Optional header-only libraries: included if present (__has_include), or of a benchmark's program
# that the build leaves out. With their names in THIRD_PARTY.md.
OPTIONAL_HEADERS = {"nvtx3/nvToolsExt.h": "NVTX", "jitify2.hpp": "Jitify", "curl/curl.h": "libcurl",
                    "hiredis/hiredis.h": "hiredis", "xbyak/xbyak.h": "Xbyak", "installed.h": None}
# Headers of the compiler and the C library. Every other header with an extension or a folder must
# be in LIBRARIES, so that a new dependency can't slip in.
SYSTEM_HEADER = re.compile(r"^(sys|linux|asm|cxxabi|bits)/|^(assert|cpuid|cxxabi|ctype|dirent|dlfcn|"
                           r"elf|errno|fcntl|float|immintrin|limits|link|locale|malloc|math|poll|pthread|sched|"
                           r"signal|spawn|stdbool|stddef|stdint|stdio|stdlib|string|time|unistd|"
                           r"cxxabi|x86intrin)\.h$")
KERNEL_CODE = re.compile(r"^(jit/shims|kernels_src|samples|tools/lode/template)/")  # For NVRTC or other builds.
C_HEADER = "lode/lode.h"  # The public header of the component c.
KERNELS = "lode/kernels.hpp"  # All of the library lode::kernels, which hosts link besides.
UNWRAP = "lode/base/unwrap.hpp"  # Opt-in because it throws; lode.hpp doesn't include it.
PLAIN_NAMESPACE = re.compile(r"^\s*(?:inline )?namespace lode(?:::\w+)* \{")
UNMARKED = re.compile(
    r"^\s*(?!.*\[\[nodiscard\]\])(?:(?:static|friend|inline|constexpr|virtual)\s+)*"
    r"(?:Result<.*>|Status)\s+\w+\("
)


def includes_of(path):
    """Yields (line number, name) of each include line."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if match:
            yield number, match.group(1) or match.group(2)


def component_of(name):
    """Returns an include's component and whether it is public; (None, False) for other headers."""
    parts = name.split("/")
    if name == C_HEADER:
        return "c", True
    if parts[0] == "lode":
        return (parts[1], True) if len(parts) == 3 else ("lode", True)
    if len(parts) > 1 and (parts[0] in COMPONENTS or parts[0] in OUTSIDERS):
        return parts[0], False
    return None, False


def sources_in(folder):
    if folder.is_dir():
        for path in sorted(folder.rglob("*")):
            if path.suffix in {".hpp", ".cpp", ".h", ".def", ".inc"}:
                yield path


def check_public_header(path, component, report):
    for number, name in includes_of(path):
        target, public = component_of(name)
        if CUDA_HEADER.search(name):
            report(number, f"a public header includes the CUDA header {name}: hosts build without "
                           "a toolkit")
        elif target is not None and not public:
            report(number, f"a public header includes the private header {name}")
        elif (target is not None and component != "lode"
              and target not in COMPONENTS[component] | {component}):
            report(number, f"a public header of {component} includes {name}: {component} may include "
                           f"{allowed(COMPONENTS[component])}")


def folder_of(name):
    """Returns the deepest folder in FOLDERS that contains a file, or None."""
    parts = name.split("/")
    for count in range(len(parts) - 1, 0, -1):
        if "/".join(parts[:count]) in FOLDERS:
            return "/".join(parts[:count])
    return None


def check_folder(path, folder, report):
    """Checks that a file of a folder in FOLDERS includes only what the folder may."""
    component = folder.split("/")[0]
    for number, name in includes_of(path):
        if name.split("/")[0] != component:
            continue
        target = folder_of(name)
        if target != folder and target not in FOLDERS[folder]:
            others = " and ".join(sorted(FOLDERS[folder])) or "no other folder of it"
            report(number, f"{folder} includes {name}: it may include {others}")


def check_table(root, report_at):
    """Checks that docs/dev/architecture.md has a row for each folder, with what it may include."""
    page = root / "docs/dev/architecture.md"
    rows = dict(re.findall(r"^\| (\w+(?:/\w+)?) \| ([\w, ]+) \|$", page.read_text(encoding="utf-8"),
                           re.MULTILINE)) if page.exists() else None
    for folder, others in FOLDERS.items() if rows is not None else ():
        component = folder.split("/")[0]
        row = ", ".join(sorted(other.removeprefix(component + "/") for other in others)) or "nothing"
        if rows.get(folder) != row:
            report_at(page, 1, f"the row of {folder} isn't '{row}'")


def check_quotes(path, report):
    """Checks that private headers are included in quotes, public ones in angle brackets."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = INCLUDE.match(line)
        if not match:
            continue
        angled, quoted = match.groups()
        if angled and angled.split("/")[0] in {*COMPONENTS, *OUTSIDERS} and "/" in angled:
            report(number, f"the private header {angled} is included in angle brackets")
        if quoted and quoted.startswith("lode/"):
            report(number, f"the public header {quoted} is included in quotes")


def check_component_body(path, component, report):
    for number, name in includes_of(path):
        target, _ = component_of(name)
        if target is not None and target not in COMPONENTS[component] | {component}:
            report(number, f"{component} includes {name}: {component} may include "
                           f"{allowed(COMPONENTS[component])}")


def check_outsider(path, component, report):
    lent = PRIVATE_COMPONENTS_OF.get(component, set()) | {component}
    for number, name in includes_of(path):
        target, public = component_of(name)
        if target is not None and not public and target not in lent:
            report(number, f"{component} includes the private header {name}: {component} may include "
                           "public headers only")


def allowed(components):
    return " and ".join(sorted(components)) if components else "no other component"


def check_umbrella(root, report_at):
    """Checks that lode.hpp includes every public header but unwrap.hpp; kernels.hpp, its own."""
    for whole in ("lode/lode.hpp", KERNELS):
        umbrella = root / "include" / whole
        if not umbrella.exists():
            continue
        included = {name for _, name in includes_of(umbrella)}
        for path in sources_in(root / "include/lode"):
            name = path.relative_to(root / "include").as_posix()
            is_kernels = name.startswith("lode/kernels")
            if path != umbrella and name not in included and is_kernels == (whole == KERNELS) \
                    and name not in {UNWRAP, C_HEADER}:
                report_at(umbrella, 1, f"{umbrella.name} doesn't include the public header {name}")


def check_declarations(root, report_at):
    """Checks that fwd.hpp declares only classes that another public header defines."""
    forward = root / "include/lode/fwd.hpp"
    if not forward.exists():
        return
    headers = "\n".join(path.read_text(encoding="utf-8")
                        for path in sources_in(root / "include/lode"))
    for number, line in enumerate(forward.read_text(encoding="utf-8").splitlines(), 1):
        match = re.match(r"(?:class|struct) \w+(?=;)", line)
        if match and not re.search(rf"^{match.group()} (?:: .*)?{{", headers, re.MULTILINE):
            report_at(forward, number, f"fwd.hpp declares {match.group()}, which no public header "
                                       "defines")


def library_of(name):
    """Returns the row of LIBRARIES that an include belongs to, or None."""
    return next((row for row in LIBRARIES if name.startswith(row[0])), None)


def cmake_text(root, folder):
    """Returns the text of a folder's CMake files; of the root's own file for an empty name."""
    base = root / folder
    files = sorted(base.rglob("CMakeLists.txt")) if folder else [base / "CMakeLists.txt"]
    lines = [line.split("#")[0] for file in files if file.exists()
             for line in file.read_text(encoding="utf-8").splitlines()]
    return "\n".join(lines)


def check_libraries(root, report_at):
    """Checks that included libraries are linked, found by hosts and named in docs/embedding.md."""
    page = root / "docs/embedding.md"
    told = page.read_text(encoding="utf-8") if page.exists() else ""
    depends = set(re.findall(r"lode_depends(?:_publicly)?\((\S+?)[\s)]",
                             "\n".join(cmake_text(root, folder) for folder in ["", *COMPONENTS])))
    used = set()
    # Libraries that public headers include come with lode's own targets.
    public = {library_of(name)[1] for path in sources_in(root / "include/lode")
              for _, name in includes_of(path) if library_of(name)}
    folders = [(component, folder) for component in COMPONENTS
               for folder in (component, f"include/lode/{component}")]
    folders += [(outsider, outsider) for outsider in sorted(OUTSIDERS)]
    for owner, folder in folders:
        links = cmake_text(root, owner)
        for path in sources_in(root / folder):
            if KERNEL_CODE.match(path.relative_to(root).as_posix()):
                continue
            for number, name in includes_of(path):
                if component_of(name)[0] is not None or CUDA_HEADER.search(name):
                    continue
                if name in OPTIONAL_HEADERS:
                    continue
                library = library_of(name)
                if library is None:
                    own = any((place / name).exists()
                              for place in (root, root / "kernels_src", path.parent))
                    if ("/" in name or "." in name) and not own and not SYSTEM_HEADER.match(name):
                        report_at(path, number, f"{name} doesn't belong to any library that "
                                                "check_layering.py knows")
                    continue
                _, package, target, title = library
                if owner not in COMPONENTS and package in public:
                    continue
                if target not in links:
                    report_at(path, number, f"{owner} includes {name} but doesn't link the {target} "
                                            "target")
                if owner not in COMPONENTS or package in HEADERS_ALONE:
                    if package not in depends and f"find_package({package}" not in links:
                        report_at(path, number, f"{owner} includes {name} but doesn't find the package "
                                                f"{package}")
                    if owner not in COMPONENTS:
                        continue
                used.add(package)
                if package not in depends | HEADERS_ALONE:
                    report_at(path, number, f"{owner} includes {name}, but no "
                                            f"lode_depends({package}) makes hosts find it")
                if title not in told:
                    report_at(path, number, f"{owner} includes {name}, but {page.name} doesn't name "
                                            f"{title}")
    for _, package, _, _ in LIBRARIES:
        if package in depends - used:
            report_at(root / "CMakeLists.txt", 1, f"lode_depends({package}) makes hosts find what no "
                                                  "component includes")


def check_notices(root, report_at):
    """Checks that THIRD_PARTY.md names, in its table, every library that binaries contain or open."""
    notices = root / "THIRD_PARTY.md"
    rows = notices.read_text(encoding="utf-8").splitlines() if notices.exists() else []
    named = " ".join(row.split("|")[1] for row in rows if row.startswith("| "))
    for folder in ["include", *COMPONENTS, "tools"]:
        for path in sources_in(root / folder):
            for number, name in includes_of(path):
                title = OPTIONAL_HEADERS.get(name) or (library_of(name) or [None])[-1]
                if title and title not in named:
                    report_at(path, number, f"THIRD_PARTY.md doesn't name {title}")


def os_violations(root, folder):
    """Yields (path, line number, rule) of the operating system's headers and folders above base/os."""
    for path in sources_in(root / folder):
        name = path.relative_to(root).as_posix()
        if SEAM.match(name) and not OS_BODIES.match(name):
            for number, header in includes_of(path):
                if OS_HEADER.search(header):
                    yield path, number, f"{header} belongs to the operating system: base/os offers it"
                elif re.match(r"base/os/linux/", header):
                    yield path, number, f"{header} is a private header of base/os"
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                if match := OS_FOLDER.search(line):
                    yield path, number, (f"/{match.group(1)} belongs to the operating system: base/os "
                                         "offers what is in it")


def check_namespace(path, report):
    """Checks that a component's namespaces carry the version: docs/dev/decisions/0008."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if PLAIN_NAMESPACE.match(line):
            report(number, "the namespace lode isn't opened as LODE_NAMESPACE")


def check_nodiscard(path, report):
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if UNMARKED.match(line):
            report(number, "a function that returns Result or Status isn't [[nodiscard]]")


def check(root):
    """Returns all violations under `root` as strings "file:line: rule"."""
    violations = []

    def report_at(path, number, rule):
        violations.append(f"{path.relative_to(root).as_posix()}:{number}: {rule}")

    for path in sources_in(root / "include/lode"):
        parts = path.relative_to(root / "include/lode").parts
        component = parts[0] if len(parts) > 1 else "c" if parts == ("lode.h",) else "lode"
        if component != "lode" and component not in COMPONENTS:
            report_at(path, 1, f"{component} isn't a component with public headers")
            continue
        check_public_header(path, component, lambda n, rule, path=path: report_at(path, n, rule))
    for component in COMPONENTS:
        for path in sources_in(root / component):
            check_component_body(path, component, lambda n, rule, path=path: report_at(path, n, rule))
    for folder in FOLDERS:
        for path in sources_in(root / folder):
            if folder_of(path.relative_to(root).as_posix()) == folder:
                check_folder(path, folder, lambda n, rule, path=path: report_at(path, n, rule))
    for folder in ["include", *COMPONENTS, *sorted(OUTSIDERS)]:
        for path in sources_in(root / folder):
            if not KERNEL_CODE.match(path.relative_to(root).as_posix()):
                check_quotes(path, lambda n, rule, path=path: report_at(path, n, rule))
    for component in sorted(OUTSIDERS):
        for path in sources_in(root / component):
            check_outsider(path, component, lambda n, rule, path=path: report_at(path, n, rule))
    for folder in ["include", *COMPONENTS]:
        for path, number, rule in os_violations(root, folder):
            report_at(path, number, rule)
        for path in sources_in(root / folder):
            if folder != "emulator":  # A library of its own, which exports nothing of C++.
                check_namespace(path, lambda n, rule, path=path: report_at(path, n, rule))
            if path.suffix == ".hpp":
                check_nodiscard(path, lambda n, rule, path=path: report_at(path, n, rule))
    check_umbrella(root, report_at)
    check_declarations(root, report_at)
    check_libraries(root, report_at)
    check_notices(root, report_at)
    check_table(root, report_at)
    return violations


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    if not (root / "include/lode").is_dir():
        print(f"{root} has no include/lode: it isn't lode's repository.", file=sys.stderr)
        return 2
    violations = check(root)
    print("\n".join(violations) if violations else "Every include follows the component rules.")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
