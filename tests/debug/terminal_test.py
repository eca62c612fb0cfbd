#!/usr/bin/env python3
"""A session of a user with `lode debug` at a terminal: terminal_test.py LODE"""
import re
import subprocess
import sys

from dap import KERNELS, line_of

CALL, INSIDE = line_of("the call"), line_of("in twice") - 1
SESSION = f"""\
(lode) break kernels.cu:{CALL} if i == 66
Breakpoint 1 at kernels.cu:{CALL} if i == 66
(lode) print i
No process uses the software device yet.
(lode) next
The program hasn't started; 'run' does it.
(lode) run
Breakpoint. block (1,0,0) thread (2,0,0), with 31 others
values at kernels.cu:{CALL}
{CALL}\t    float value = twice(tile[threadIdx.x]) * scale;  // the call
(lode) print item
{{Base = {{id = 66}}, low = 2, high = 3, mode = Mode::slow (0), weights = {{{{0, 0, 0}}, {{0, 0, 16.5}}}}}}
(lode) step
twice<float> at kernels.cu:{INSIDE}
{INSIDE}\t    T sum = value + value;
(lode) backtrace
*#0 twice<float> at kernels.cu:{INSIDE}
 #1 values at kernels.cu:{CALL}
(lode) up
values at kernels.cu:{CALL}
{CALL}\t    float value = twice(tile[threadIdx.x]) * scale;  // the call
(lode) print i
66
(lode) finish
values at kernels.cu:{CALL}
{CALL}\t    float value = twice(tile[threadIdx.x]) * scale;  // the call
(lode) thread (3,0,0)
block (1,0,0) thread (3,0,0), with 31 others
values at kernels.cu:{CALL}
{CALL}\t    float value = twice(tile[threadIdx.x]) * scale;  // the call
(lode) print is_odd || threadIdx.x == 3
An operand is <optimized out>.
(lode) watch ns::table[1]
Watching ns::table[1]
(lode) watch i
'i' isn't in memory.
(lode) delete
(lode) break nowhere
Breakpoint 1 at nowhere
(lode) frob
'frob' isn't a command; 'help' lists them.
(lode) info threads
* block (1,0,0) thread (3,0,0), with 31 others
  block (1,0,0) thread (32,0,0), with 31 others
"""
commands = re.findall(r"^\(lode\) (.*)$", SESSION, re.MULTILINE)
done = subprocess.run(
    [sys.argv[1], "debug", "--", sys.argv[1], "run", KERNELS, "values", "--debug", "--grid", "2",
     "--block", "64", "--shared", "256", "--", "f32[128]:iota", "f32[128]", "100"],
    input="\n".join(commands) + "\n", capture_output=True, text=True, timeout=120)
got, wanted = done.stdout.splitlines(), SESSION.splitlines()
for number, line in enumerate(wanted):
    if number >= len(got) or got[number] != line:
        sys.exit(f"line {number + 1} of the session is\n  {got[number:number + 3]}\ninstead of\n"
                 f"  {line!r}\n{done.stderr}")
for line, command, code, words in [
        ("quit", "true", 0, ""),
        ("run", "true", 0, "No process has used the software device."),
        ("run", "false", 1, "The program has ended with exit code 1."),
        ("run", "/nonexistent/program", 127, "")]:
    other = subprocess.run([sys.argv[1], "debug", "--", command], input=line + "\n",
                           capture_output=True, text=True, timeout=60)
    if other.returncode != code or words not in other.stdout:
        sys.exit(f"{command} with {line!r} ended with {other.returncode}:\n{other.stdout}")
    if line == "quit" and "ended" in other.stdout:
        sys.exit(f"A program that didn't start has ended:\n{other.stdout}")
if done.returncode != 0 or "The program has ended with exit code 0." not in done.stdout:
    sys.exit(f"exit code {done.returncode}:\n{done.stdout}\n{done.stderr}")
print(f"{len(commands)} commands had {len(wanted)} lines of answers")
