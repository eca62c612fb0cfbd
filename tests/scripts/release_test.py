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

    def run(self, *command, **settings):
        return subprocess.run(command, cwd=self.folder, env={**os.environ, **SETTINGS, **settings}, text=True,
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
        text = re.sub(r"^## .*?(?=^## \[0\.1\.0\])", f"## [Unreleased]\n\n{section}\n",
                      self.read("CHANGELOG.md"), flags=re.MULTILINE | re.DOTALL)
        (self.folder / "CHANGELOG.md").write_text(text, encoding="utf-8")
        self.git("commit", "--quiet", "--all", "--allow-empty", "--message", "Write")

    def refuses(self, version, why, **settings):
        before = self.git("rev-parse", "HEAD")
        done = self.run("scripts/release", version, **settings)
        assert done.returncode == 1 and why in done.stdout, f"{version}: {done.stdout}"
        assert self.git("rev-parse", "HEAD") == before

    def releases(self, version, following):
        """Releases the version, and leaves the tree at its commit."""
        done = self.run("scripts/release", version)
        assert done.returncode == 0, done.stdout
        assert self.version() == [int(n) for n in following.split(".")]
        dated = rf"## \[{version}\] - \d{{4}}-\d\d-\d\d\n\n### A"
        assert re.search(rf"## \[Unreleased\]\n\n{dated}", self.read("CHANGELOG.md"))
        assert self.git("status", "--porcelain") == ""
        self.git("checkout", "--quiet", "--detach", f"v{version}")
        assert self.version() == [int(n) for n in version.split(".")]
        assert re.search(dated, self.read("CHANGELOG.md"))
        assert "[Unreleased]" not in self.read("CHANGELOG.md")

    def naming(self, version):
        """The lines of documents and builds that have this version's names."""
        names = NAMES.format(re.escape(version), version.replace(".", "_"))
        return self.run("git", "grep", "-nIP", names, "--", ":!CHANGELOG.md", ":!docs/dev",
                        ":!docs/report").stdout


def check(repository):
    major, minor, patch = repository.version()
    now, nxt, third = (f"{major}.{minor + step}" for step in range(3))
    repository.write_unreleased("")
    repository.refuses(f"{now}.{patch}", "lists nothing under [Unreleased]")
    repository.write_unreleased(f"### Added\n\n- An entry.\n\n## [{now}.{patch}]\n\n- One.\n")
    repository.refuses(f"{now}.{patch}", f"has a section of {now}.{patch} already.")
    repository.write_unreleased("### Added\n\n- An entry.\n")
    repository.refuses("1.0", "'1.0' isn't a version")
    repository.refuses("0.0.9", f"0.0.9 is older than the sources, {now}.{patch}.")
    (repository.folder / "README.md").write_text("changed", encoding="utf-8")
    repository.refuses(f"{now}.{patch}", "changes that aren't committed")
    repository.git("checkout", "--", ".")

    named = len(repository.naming(now).splitlines())
    assert named >= 20, f"Only {named} lines name version {now}."
    repository.releases(f"{now}.{patch}", f"{nxt}.0" if patch == 0 else f"{now}.{patch + 1}")
    assert len(repository.naming(now).splitlines()) == named
    repository.refuses(f"{now}.{patch}", f"The tag v{now}.{patch} exists already.")
    repository.refuses(f"{nxt}.0", "lists nothing under [Unreleased]")

    repository.write_unreleased("### Added\n\n- Another.\n")
    repository.releases(f"{nxt}.0", f"{third}.0")
    assert repository.naming(now) == "", repository.naming(now)
    assert len(repository.naming(nxt).splitlines()) == named

    repository.write_unreleased("### Breaking\n\n- All.\n")
    repository.refuses(f"{nxt}.1", f"would have the ABI of {nxt}.0.")
    repository.write_unreleased("### Added\n\n- A third.\n")
    repository.releases(f"{nxt}.1", f"{nxt}.2")
    assert len(repository.naming(nxt).splitlines()) == named
    assert f"lode_cuda-{nxt}.1-" in repository.read("docs/ci.md")
    assert f"lode::v{major}_{minor + 1}_1" in repository.read("docs/embedding.md")

    # A step that fails changes nothing.
    repository.write_unreleased("### Added\n\n- A fourth.\n")
    (repository.folder / "scripts/artefacts").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    repository.git("commit", "--quiet", "--all", "--message", "Fail")
    repository.refuses(f"{nxt}.2", "The version is as it was.", LODE_RELEASE_ARTEFACTS="ON")
    assert repository.git("status", "--porcelain") == "" == repository.git("tag", "--list", f"v{nxt}.2")
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
