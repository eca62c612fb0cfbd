#!/usr/bin/env python3
"""Types what `lode init` of an installation says, for both languages: init_test.py PREFIX COMPILER"""

import json
import os
import subprocess
import sys
import tempfile


def main(prefix, compiler):
    environment = os.environ | {"CXX": compiler, "LODE_DRIVER": "emulator"}
    for options in [], ["--c"]:
        with tempfile.TemporaryDirectory() as folder:
            said = subprocess.run([f"{prefix}/bin/lode", "init", "--json", "my app", *options],
                                  cwd=folder, stdout=subprocess.PIPE, check=True).stdout
            commands = " && ".join(json.loads(said)["next"])
            ran = subprocess.run(commands, shell=True, cwd=folder, env=environment, text=True,
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
        right = ran.returncode == 0 and ran.stdout.endswith(": 1000 elements, 0 wrong\n")
        print(commands if right else f"{commands}\nends with {ran.returncode}:\n{ran.stdout}")
        if not right:
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
