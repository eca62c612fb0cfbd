#!/usr/bin/env python3
"""Plants violations in small trees; check_layering.py must find each of them and nothing else."""

import graphlib
import pathlib
import re
import tempfile
import unittest

import check_layering


class Layering(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.root = pathlib.Path(self.folder.name)
        # A small tree without violations.
        self.write("include/lode/lode.hpp", "#include <lode/base/a.hpp>\n#include <lode/jit/b.hpp>\n")
        self.write("include/lode/base/a.hpp", "#include <string>\n[[nodiscard]] Status open(int);\n")
        self.write("include/lode/base/unwrap.hpp", "#include <lode/base/a.hpp>\n")
        self.write("include/lode/jit/b.hpp", "#include <lode/base/a.hpp>\n")
        self.write("base/a.cpp", '#include "base/private.hpp"\n#include <lode/base/a.hpp>\n')
        self.write("base/private.hpp", "#include <cerrno>\n")
        self.write("base/os/linux/file.cpp", "#include <fcntl.h>\n#include <sys/stat.h>\n")
        self.write("jit/b.cpp", '#include "base/private.hpp"\n#include <nvrtc.h>\n#include <lode/jit/b.hpp>\n')
        self.write("runtime/c.cpp", '#include <cuda.h>\n#include <lode/jit/b.hpp>\n#include "base/private.hpp"\n')
        self.write("emulator/driver/d.cpp", '#include <cuda.h>\n#include "base/private.hpp"\n')
        self.write("tools/lode/main.cpp", '#include <lode/lode.hpp>\n#include "base/private.hpp"\n')
        self.write("samples/s/main.cpp", "#include <lode/lode.hpp>\n#include <cuda_runtime.h>\n")

        self.write("base/digest.cpp", "#include <openssl/sha.h>\n")
        self.write("base/CMakeLists.txt", "lode_add_component(NAME base PRIVATE OpenSSL::Crypto)\n")
        self.write("tools/lode/json.cpp", "#include <nlohmann/json.hpp>\n")
        self.write("tools/CMakeLists.txt", "find_package(nlohmann_json REQUIRED)\n"
                                           "target_link_libraries(x nlohmann_json::nlohmann_json)\n")
        self.write("CMakeLists.txt", "lode_depends(OpenSSL COMPONENTS Crypto)\n")
        self.write("docs/embedding.md", "It takes OpenSSL.\n")
        self.write("THIRD_PARTY.md", "| Software | Licence |\n| --- | --- |\n| OpenSSL | Apache-2.0 |\n"
                                     "| [nlohmann/json](https://a) | MIT |\n| [NVTX](https://b) | own |\n")

    def tearDown(self):
        self.folder.cleanup()

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def assert_found(self, name, text, place, rule):
        """Checks that `text` in file `name` gives one violation, at `place`, mentioning `rule`."""
        self.write(name, text)
        violations = check_layering.check(self.root)
        self.assertEqual(len(violations), 1, violations)
        self.assertTrue(violations[0].startswith(place + ": "), violations[0])
        self.assertIn(rule, violations[0])

    def test_good_tree_passes(self):
        self.assertEqual(check_layering.check(self.root), [])

    def test_only_the_seam_includes_headers_of_the_system(self):
        self.write("emulator/toolkit/redirect/redirect.cpp", "#include <link.h>\n")
        self.write("tools/worker/main.cpp", "#include <unistd.h>\n")
        self.write("jit/nvrtc/linux/hooks.cpp", "#include <dlfcn.h>\n#include <csignal>\n")
        self.assert_found("jit/x.cpp", "#include <string>\n#include <unistd.h>\n", "jit/x.cpp:2",
                          "belongs to the operating system")

    def test_the_emulator_uses_the_seam(self):
        self.assert_found("emulator/memory/x.cpp", "#include <sys/mman.h>\n", "emulator/memory/x.cpp:1",
                          "belongs to the operating system")

    def test_only_the_seam_knows_the_folders_of_the_system(self):
        self.write("base/os/linux/process.cpp", 'read("/proc/self/maps");\n')
        self.write("jit/x.cpp", "// A link below /proc.\n")
        self.assert_found("jit/y.cpp", '\nfmt::format("/proc/self/fd/{}", file);\n', "jit/y.cpp:2",
                          "/proc belongs to the operating system")

    def test_headers_of_the_seam_are_portable(self):
        self.assert_found("base/os/file.hpp", "#include <sys/stat.h>\n", "base/os/file.hpp:1",
                          "belongs to the operating system")

    def test_bodies_of_the_seam_are_private(self):
        self.write("base/os/linux/attributes.hpp", "#include <sys/stat.h>\n")
        self.assert_found("jit/x.cpp", '#include "base/os/linux/attributes.hpp"\n', "jit/x.cpp:1",
                          "private header")

    def test_seam_includes_nothing_above_it(self):
        self.assert_found("base/os/file.hpp", '#include "base/private.hpp"\n', "base/os/file.hpp:1",
                          "base/os includes")

    def test_namespace_carries_the_version(self):
        self.write("jit/good.cpp", "namespace LODE_NAMESPACE::cache {\n}\n")
        self.write("emulator/driver/own.cpp", "namespace lode::emulator {\n}\n")
        self.assert_found("jit/x.cpp", "\nnamespace lode::cache {\n", "jit/x.cpp:2",
                          "isn't opened as LODE_NAMESPACE")

    def test_base_includes_nobody(self):
        self.assert_found("base/x.cpp", "\n#include <lode/jit/b.hpp>\n", "base/x.cpp:2",
                          "base may include no other component")

    def test_jit_does_not_include_runtime(self):
        self.assert_found("jit/x.cpp", '  #  include "runtime/table.hpp"\n', "jit/x.cpp:1",
                          "jit may include base")

    def test_a_component_does_not_include_the_umbrella(self):
        self.assert_found("runtime/x.cpp", "#include <lode/lode.hpp>\n", "runtime/x.cpp:1",
                          "runtime may include base and jit")

    def test_emulator_includes_base_only(self):
        self.assert_found("emulator/x.cpp", '#include "jit/nvrtc/table.hpp"\n', "emulator/x.cpp:1",
                          "emulator may include base")

    def test_nobody_includes_the_emulator(self):
        self.assert_found("runtime/x.cpp", '#include "emulator/exec/machine.hpp"\n',
                          "runtime/x.cpp:1", "runtime may include base and jit")

    def test_tools_see_public_headers(self):
        self.assert_found("tools/x.cpp", '#include "runtime/table.hpp"\n', "tools/x.cpp:1",
                          "public headers only")

    def test_samples_see_public_headers(self):
        self.assert_found("samples/x.cpp", '#include "base/private.hpp"\n', "samples/x.cpp:1",
                          "public headers only")

    def test_folders_of_a_component_keep_their_order(self):
        for file, header, rule in (
                ("emulator/decode/x.cpp", "emulator/exec/machine.hpp",
                 "emulator/isa and emulator/memory"),
                ("emulator/isa/x.hpp", "emulator/decode/code.hpp", "may include emulator/memory"),
                ("emulator/exec/x.cpp", "emulator/devices/profiles.hpp",
                 "emulator/decode and emulator/isa and emulator/memory"),
                ("emulator/memory/x.cpp", "emulator/isa/op.hpp", "no other folder"),
                ("emulator/devices/x.cpp", "emulator/memory/memory.hpp", "no other folder"),
                ("emulator/driver/x.cpp", "emulator/x.hpp", "emulator/decode and emulator/devices and emulator/exec"),
                ("jit/files/x.cpp", "jit/nvrtc/table.hpp", "no other folder"),
                ("jit/nvrtc/x.cpp", "jit/store/tier.hpp", "may include jit/files"),
                ("jit/store/x.cpp", "jit/headers/manifest.hpp", "may include jit/files"),
                ("jit/headers/x.cpp", "jit/cache/lookup.hpp", "jit/files and jit/request and jit/store"),
                ("jit/worker/x.cpp", "jit/cache/backend.hpp", "jit/files and jit/nvrtc and jit/pch and jit/request"),
                ("jit/remote/x.hpp", "jit/cache/storage.hpp", "may include jit/request and jit/store"),
                ("jit/request/x.hpp", "jit/nvrtc/table.hpp", "may include jit/files"),
                ("runtime/state/x.hpp", "runtime/memory/pool.hpp", "may include runtime/driver"),
                ("jit/x.cpp", "jit/cache/backend.hpp", "jit/llvm and jit/nvrtc and jit/nvvm and jit/pch and jit/request and jit/worker"),
                ("jit/x.hpp", "jit/remote/remote_tier.hpp", "jit/llvm and jit/nvrtc and jit/nvvm and jit/pch and jit/request and jit/worker"),
                ("jit/x.cpp", "jit/store/key.hpp", "jit/llvm and jit/nvrtc and jit/nvvm and jit/pch and jit/request and jit/worker"),
                ("jit/store/x.cpp", "jit/remote/breaker.hpp", "may include jit/files")):
            with self.subTest(file=file, header=header):
                self.assert_found(file, f'#include "{header}"\n', f"{file}:1", rule)
                (self.root / file).unlink()

    def test_folders_have_no_circle(self):
        graphlib.TopologicalSorter(check_layering.FOLDERS).prepare()

    def test_the_document_has_the_table(self):
        rows = "".join(f"| {folder} | {', '.join(sorted(o.split('/')[-1] for o in others)) or 'nothing'} |\n"
                       for folder, others in check_layering.FOLDERS.items())
        self.write("docs/dev/architecture.md", rows)
        self.assertEqual(check_layering.check(self.root), [])
        self.assert_found("docs/dev/architecture.md", rows.replace("| jit/request | files |", "| jit/request | nothing |"),
                          "docs/dev/architecture.md:1", "the row of jit/request isn't 'files'")

    def test_folders_include_what_they_may(self):
        self.write("emulator/driver/x.cpp", '#include "emulator/exec/machine.hpp"\n')
        self.write("jit/cache/lookup.cpp", '#include "jit/headers/manifest.hpp"\n'
                                           '#include "jit/remote/remote_tier.hpp"\n'
                                           '#include "jit/request/source_files.hpp"\n')
        self.write("jit/compile.cpp", '#include "jit/pch/prefix.hpp"\n#include "jit/diagnostics.hpp"\n')
        self.write("jit/nvrtc/x.cpp", '#include "jit/request/flags.hpp"\n')
        self.assertEqual(check_layering.check(self.root), [])

    def test_private_headers_stand_in_quotes_and_public_ones_in_angle_brackets(self):
        self.assert_found("jit/x.cpp", "#include <base/private.hpp>\n", "jit/x.cpp:1",
                          "is included in angle brackets")
        self.assert_found("jit/x.cpp", '#include "lode/base/a.hpp"\n', "jit/x.cpp:1",
                          "is included in quotes")

    def test_public_headers_include_no_private_header(self):
        self.assert_found("include/lode/jit/b.hpp", '#include "base/private.hpp"\n',
                          "include/lode/jit/b.hpp:1", "private header base/private.hpp")

    def test_public_headers_go_one_way(self):
        self.assert_found("include/lode/base/a.hpp", "#include <lode/jit/b.hpp>\n",
                          "include/lode/base/a.hpp:1", "base may include no other component")

    def test_public_headers_include_no_cuda(self):
        for header in ("cuda.h", "cudaTypedefs.h", "cuda_runtime_api.h", "nvrtc.h", "nvJitLink.h",
                       "cuda/std/span", "crt/host_defines.h", "cublas_v2.h"):
            with self.subTest(header=header):
                self.assert_found("include/lode/jit/b.hpp", f"#include <{header}>\n",
                                  "include/lode/jit/b.hpp:1", "hosts build without")

    def test_the_umbrella_of_the_kernels_is_complete(self):
        self.write("include/lode/kernels.hpp", "#include <lode/kernels/a.hpp>\n")
        self.write("include/lode/kernels/a.hpp", "#include <lode/jit/b.hpp>\n")
        self.assertEqual(check_layering.check(self.root), [])
        self.assert_found("include/lode/kernels/new.hpp", "", "include/lode/kernels.hpp:1",
                          "kernels.hpp doesn't include the public header lode/kernels/new.hpp")

    def test_the_umbrella_is_complete(self):
        self.assert_found("include/lode/jit/new.hpp", "", "include/lode/lode.hpp:1",
                          "lode/jit/new.hpp")

    def test_forward_declarations_are_of_defined_classes(self):
        self.write("include/lode/lode.hpp", "#include <lode/base/a.hpp>\n#include <lode/fwd.hpp>\n"
                                            "#include <lode/jit/b.hpp>\n")
        self.write("include/lode/jit/b.hpp", "class B {\n};\n")
        self.assert_found("include/lode/fwd.hpp", "class B;\nstruct B;\n", "include/lode/fwd.hpp:2",
                          "struct B")

    def test_an_unknown_public_folder_is_refused(self):
        self.write("include/lode/lode.hpp", "#include <lode/base/a.hpp>\n#include <lode/jit/b.hpp>\n"
                                            "#include <lode/attic/x.hpp>\n")
        self.assert_found("include/lode/attic/x.hpp", "", "include/lode/attic/x.hpp:1",
                          "isn't a component")

    def test_unmarked_results_are_found(self):
        self.assert_found("jit/b.hpp", "\nstatic Result<std::vector<int>> all();\n", "jit/b.hpp:2",
                          "[[nodiscard]]")

    def test_a_component_links_the_libraries_that_it_includes(self):
        self.write("jit/CMakeLists.txt", "lode_add_component(NAME jit PRIVATE fmt::fmt) # OpenSSL::Crypto\n")
        self.assert_found("jit/x.cpp", "#include <openssl/evp.h>\n", "jit/x.cpp:1",
                          "doesn't link the OpenSSL:: target")

    def test_a_host_finds_and_reads_of_the_libraries_of_components(self):
        self.write("jit/CMakeLists.txt", "lode_add_component(NAME jit PRIVATE zstd::libzstd_shared)\n")
        self.write("jit/x.cpp", "#include <zstd.h>\n")
        violations = check_layering.check(self.root)
        self.assertEqual(len(violations), 3, violations)
        self.assertIn("no lode_depends(zstd)", violations[0])
        self.assertIn("embedding.md doesn't name zstd", violations[1])
        self.assertIn("THIRD_PARTY.md doesn't name zstd", violations[2])

    def test_notices_name_what_is_included_if_it_is_there(self):
        self.assert_found("emulator/exec/x.cpp", "#include <xbyak/xbyak.h>\n", "emulator/exec/x.cpp:1",
                          "THIRD_PARTY.md doesn't name Xbyak")
        self.write("emulator/exec/x.cpp", "")
        self.write("THIRD_PARTY.md", "OpenSSL and nlohmann/json, but not in the table\n")
        self.assertEqual(len(check_layering.check(self.root)), 2)

    def test_a_component_finds_a_library_of_headers_alone_itself(self):
        self.write("jit/CMakeLists.txt", "lode_add_component(NAME jit PRIVATE nlohmann_json::nlohmann_json)\n")
        self.write("docs/embedding.md", "It takes OpenSSL and nlohmann/json.\n")
        self.assert_found("jit/x.cpp", "#include <nlohmann/json.hpp>\n", "jit/x.cpp:1",
                          "doesn't find the package nlohmann_json")
        self.write("jit/CMakeLists.txt", "find_package(nlohmann_json REQUIRED)\n"
                                         "lode_add_component(NAME jit PRIVATE nlohmann_json::nlohmann_json)\n")
        self.assertEqual(check_layering.check(self.root), [])

    def test_an_outsider_finds_its_own_libraries(self):
        self.write("bench/CMakeLists.txt", "target_link_libraries(x nlohmann_json::nlohmann_json)\n")
        self.assert_found("bench/x.cpp", "#include <nlohmann/json.hpp>\n", "bench/x.cpp:1",
                          "doesn't find the package nlohmann_json")

    def test_an_unknown_library_is_refused(self):
        for header in ("boost/asio.hpp", "lz4.h", "absl/strings/str_cat.h"):
            with self.subTest(header=header):
                self.assert_found("jit/x.cpp", f"#include <{header}>\n", "jit/x.cpp:1",
                                  "doesn't belong to any library")

    def test_a_dependency_that_nobody_includes_is_refused(self):
        self.assert_found("CMakeLists.txt", "lode_depends(OpenSSL COMPONENTS Crypto)\nlode_depends(zstd)\n",
                          "CMakeLists.txt:1", "what no component includes")


def rows_below(document, heading):
    """Returns the cells of the rows of the table whose first column has this heading."""
    lines = iter(document.splitlines())
    for line in lines:
        if line.startswith(f"| {heading} |"):
            break
    next(lines)
    rows = []
    for line in lines:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return rows


def names_of(cell):
    """Splits "a, b" into names; "nothing" and "nothing of lode" name nothing."""
    return set() if cell.startswith("nothing") else set(re.split(r",\s*", cell))


class Document(unittest.TestCase):
    """docs/dev/architecture.md states the rules that check_layering.py enforces."""

    def setUp(self):
        root = pathlib.Path(__file__).resolve().parents[2]
        self.document = (root / "docs/dev/architecture.md").read_text(encoding="utf-8")

    def test_components(self):
        stated = {component: includes
                  for component, _, includes in rows_below(self.document, "Component")}
        lent = check_layering.PRIVATE_COMPONENTS_OF
        for component, may in check_layering.COMPONENTS.items():
            self.assertEqual(names_of(stated.pop(component)), may, component)
        every = set(check_layering.COMPONENTS)
        for component in check_layering.OUTSIDERS:
            private = lent.get(component, set())
            expected = ("any" if private == every else
                        "public headers" if not private else
                        f"public headers; private ones of {' and '.join(sorted(private))}")
            self.assertEqual(stated.pop(component), expected, component)
        self.assertEqual(stated, {})

    def test_folders(self):
        stated = {}
        for folders, includes in rows_below(self.document, "Folder"):
            for folder in folders.split(", "):
                component = folder.split("/")[0]
                stated[folder] = {component if name == component else f"{component}/{name}"
                                  for name in names_of(includes)}
        self.assertEqual(stated, check_layering.FOLDERS)


if __name__ == "__main__":
    unittest.main()
