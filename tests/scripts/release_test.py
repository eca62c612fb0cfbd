#!/usr/bin/env python3
"""Makes releases of a copy of the repository, without building: release_test.py REPOSITORY

Ends with 77 where the repository isn't a clone.
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

SETTINGS = {"GIT_CONFIG_GLOBAL": "/dev/null", "LODE_RELEASE_TESTS": "OFF",
            "LODE_RELEASE_ARTEFACTS": "OFF",
            **{f"GIT_{role}_{what}": "test@localhost" for role in ("AUTHOR", "COMMITTER")
               for what in ("NAME", "EMAIL")}}
# How files name lode's version as of now.
NAMES = (r'\blode {0}\b|\blode@{0}\.|\bversion\("{0}\.|\bliblode(\.so\.)?{0}\b|lode_cuda-{0}\.'
         r'|\blode::v{1}\b|find_package\(lode {0}')


class Repository:
    def __init__(self, original, folder):
        self.folder = folder
        names = subprocess.run(["git", "ls-files", "-z"], cwd=original, stdout=subprocess.PIPE,
                               text=True, check=True).stdout.rstrip("\0").split("\0")
        for name in names:
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            if (original / name).is_file():
                shutil.copy(original / name, folder / name)
        self.git("init", "--quiet")
        self.git("add", "--all", "--force")
        self.git("commit", "--quiet", "--message", "All")

    def run(self, *command):
        return subprocess.run(command, cwd=self.folder, env={**os.environ, **SETTINGS}, text=True,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)

    def git(self, *arguments):
        done = self.run("git", *arguments)
        assert done.returncode == 0, done.stdout
        return done.stdout

    def read(self, name):
        return (self.folder / name).read_text(encoding="utf-8")

    def version(self):
        header = self.read("include/lode/base/api.hpp")
        return [int(n) for n in re.search(r"VERSION_NUMBERS (\d+), (\d+), (\d+)\n", header).groups()]

    def write_unreleased(self, section):
        """Commits a changelog with this as its only text for the next version."""
        text = re.sub(r"(## \[Unreleased\]\n).*?(?=^## )", rf"\1\n{section}\n",
                      self.read("CHANGELOG.md"), flags=re.MULTILINE | re.DOTALL)
        (self.folder / "CHANGELOG.md").write_text(text, encoding="utf-8")
        self.git("commit", "--quiet", "--all", "--allow-empty", "--message", "Write")

    def refuses(self, version, why):
        before = self.git("rev-parse", "HEAD")
        done = self.run("scripts/release", version)
        assert done.returncode == 1 and why in done.stdout, f"{version}: {done.stdout}"
        assert self.git("rev-parse", "HEAD") == before

    def releases(self, version):
        done = self.run("scripts/release", version)
        assert done.returncode == 0, done.stdout
        assert self.version() == [int(n) for n in version.split(".")]
        assert self.git("status", "--porcelain") == ""
        assert self.git("rev-parse", "HEAD") == self.git("rev-parse", f"v{version}^{{commit}}")
        assert re.search(rf"## \[Unreleased\]\n\n## \[{version}\] - \d{{4}}-\d\d-\d\d\n\n### A",
                         self.read("CHANGELOG.md"))

    def naming(self, version):
        """The lines of documents and builds that have this version's names."""
        names = NAMES.format(re.escape(version), version.replace(".", "_"))
        return self.run("git", "grep", "-nIP", names, "--", ":!CHANGELOG.md", ":!docs/dev",
                        ":!docs/report").stdout


def check(repository):
    major, minor, patch = repository.version()
    old, following = f"{major}.{minor}", f"{major}.{minor + 1}"
    repository.write_unreleased("")
    repository.refuses(f"{following}.0", "lists nothing under [Unreleased]")
    repository.write_unreleased("### Breaking\n\n- All.\n")
    repository.refuses(f"{old}.{patch + 1}", f"would have the ABI of {old}.{patch}.")
    repository.write_unreleased("### Added\n\n- An entry.\n")
    repository.refuses("1.0", "'1.0' isn't a version")
    repository.refuses(f"{old}.{patch}", f"{old}.{patch} isn't newer than {old}.{patch}.")
    repository.refuses("0.0.9", "0.0.9 isn't newer than")
    repository.git("tag", f"v{following}.0")
    repository.refuses(f"{following}.0", f"The tag v{following}.0 exists already.")
    repository.git("tag", "--delete", f"v{following}.0")
    (repository.folder / "README.md").write_text("changed", encoding="utf-8")
    repository.refuses(f"{following}.0", "changes that aren't committed")
    repository.git("checkout", "--", ".")

    named = len(repository.naming(old).splitlines())
    assert named >= 20, f"Only {named} lines name version {old}."
    repository.releases(f"{following}.0")
    assert repository.naming(old) == "", repository.naming(old)
    assert len(repository.naming(following).splitlines()) == named

    repository.write_unreleased("### Added\n\n- Another.\n")
    repository.releases(f"{following}.1")
    assert len(repository.naming(following).splitlines()) == named
    assert f"lode_cuda-{following}.1-" in repository.read("docs/ci.md")
    assert f"lode::v{major}_{minor + 1}_1" in repository.read("docs/embedding.md")
    print(f"{named} lines name the version, and each names the next one after its release.")


def main():
    original = pathlib.Path(sys.argv[1])
    if subprocess.call(["git", "-C", original, "rev-parse", "HEAD"], stdout=subprocess.DEVNULL,
                       stderr=subprocess.DEVNULL):
        print(f"{original} isn't a clone.")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        check(Repository(original, pathlib.Path(folder)))


if __name__ == "__main__":
    main()
