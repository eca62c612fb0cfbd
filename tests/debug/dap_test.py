#!/usr/bin/env python3
"""Sessions of an editor with `lode debug --dap`: dap_test.py LODE"""
import base64
import os
import struct
import sys
import tempfile

from dap import KERNELS, Client, line_of

LODE = sys.argv[1]
VALUES = [LODE, "run", KERNELS, "values", "--debug", "--grid", "2", "--block", "64", "--shared",
          "256", "--", "f32[128]:iota", "f32[128]", "100"]


def expect(got, wanted, what=""):
    assert got == wanted, f"{what}: {got!r} instead of {wanted!r}"


def stops_at_lines_and_shows_values():
    client = Client(LODE)
    client.launch(*VALUES, lines=(KERNELS, {"line": line_of("the call"), "condition": "i == 67"}))
    changed = client.wait("breakpoint")["breakpoint"]
    expect((changed["verified"], changed["line"]), (True, line_of("the call")))
    stop = client.wait("stopped")
    expect(stop["reason"], "breakpoint")
    thread = stop["threadId"]
    frame = client.frames(thread)[0]
    expect((frame["name"], frame["line"], frame["source"]["path"]),
           ("values", line_of("the call"), KERNELS))
    for expression, wanted in {
            "i": "67", "n": "100", "in[2]": "2", "*in": "0", "is_odd": "<optimized out>",
            "((float*)tile)[3] + 0.5": "67.5",
            "(int)((float*)tile)[threadIdx.x] == i": "true", "scale": "2",
            "dynamic[3]": "-67", "item.low": "3", "item.high": "4", "item.id": "67",
            "item.mode": "Mode::slow (0)", "item.weights[1][2]": "16.75", "ns::table[1]": "2",
            "threadIdx.x": "3", "blockIdx": "{x = 1, y = 0, z = 0}", "gridDim.x * blockDim.x": "128",
            "(n - 1) / 2 << 1 | 1": "99", "-i % 10": "-7", "!i || n > 3": "true",
            "*&n": "This value has no address: it is in a register.",
            "tile[256]": "256 isn't an index of unsigned char[256].", "n / 0": "The expression divides by zero.",
            "nobody": "There is no 'nobody' here.", "n +": "The expression ends too early.",
            "item.none": "Item has no member 'none'.",
            "in[1000000]": None}.items():
        got = client.value(expression, thread)
        if wanted is None:
            assert got.startswith("Nothing can be read at 0x"), got
        else:
            expect(got, wanted, expression)
    local = client.variables(frame["id"], "Locals")
    expect(local["item"]["value"], "{Base = {id = 67}, low = 3, high = 4, mode = Mode::slow (0), "
           "weights = {{0, 0, 0}, {0, 0, 16.75}}}")
    expect(local["n"]["type"], "int")
    expect(local["in"]["type"], "const float*")
    memory = client.variables(frame["id"], "Memory")
    elements = client.request("variables",
                              variablesReference=memory["dynamic"]["variablesReference"])["variables"]
    expect([one["value"] for one in elements[:2]], ["192", "255"])  # The bytes of -64.
    assert "%tid" not in client.variables(frame["id"], "Registers")
    memory = client.request("readMemory", memoryReference=memory["tile"]["memoryReference"], count=8)
    expect(struct.unpack("<2f", base64.b64decode(memory["data"])), (64.0, 65.0))
    expect(client.end(), 0)


def steps():
    client = Client(LODE)
    call = line_of("the call")
    client.launch(*VALUES, lines=(KERNELS, {"line": call}))
    thread = client.wait("stopped")["threadId"]
    client.request("setBreakpoints", source={"path": KERNELS}, breakpoints=[])
    expect(client.resume("stepIn", thread)["reason"], "step")
    frames = client.frames(thread)
    expect([one["name"] for one in frames], ["twice<float>", "values"])
    expect(frames[1]["line"], call)
    expect(client.value("value", thread), "0")
    client.resume("stepOut", thread)
    expect(client.line(thread), call)
    lines = []
    for _ in range(6):
        client.resume("next", thread)
        lines.append(client.line(thread))
    loop = line_of("the loop")
    expect(lines, [loop - 1, loop, loop - 1, loop, loop - 1, loop])
    expect(client.value("k", thread), "2")
    before = client.frames(thread)[0]["instructionPointerReference"]
    client.resume("next", thread, granularity="instruction")
    assert client.frames(thread)[0]["instructionPointerReference"] != before
    expect(client.end(), 0)


def goes_back():
    client = Client(LODE)
    loop = line_of("the loop")
    client.launch(*VALUES, lines=(KERNELS, {"line": loop, "condition": "i == 67"}))
    thread = client.wait("stopped")["threadId"]
    seen = []
    for _ in range(4):  # Every line of the loop, with the values there.
        seen.append((client.line(thread), client.value("value", thread), client.value("k", thread)))
        client.resume("next", thread)
    for wanted in reversed(seen):
        client.resume("stepBack", thread)
        expect((client.line(thread), client.value("value", thread), client.value("k", thread)),
               wanted)
    # Lane 67 was in the loop once only so far: the launch begins again.
    stop = client.resume("reverseContinue", thread)
    expect(client.value("blockIdx.x"), "0")
    expect(client.value("counter"), "40")
    thread = client.resume("continue", stop["threadId"])["threadId"]
    expect((client.line(thread), client.value("i", thread)), (loop, "67"))
    client.resume("continue", thread)
    expect(client.value("k", thread), "1")
    client.resume("reverseContinue", thread)
    expect((client.line(thread), client.value("k", thread)), (loop, "0"))
    before = client.frames(thread)[0]["instructionPointerReference"]
    client.resume("next", thread, granularity="instruction")
    client.resume("stepBack", thread, granularity="instruction")
    expect(client.frames(thread)[0]["instructionPointerReference"], before)
    expect(client.end(), 0)


def groups_of_lanes():
    client = Client(LODE)
    client.launch(*VALUES, lines=(KERNELS, {"line": line_of("odd lanes")}))
    thread = client.wait("stopped")["threadId"]
    expect(thread, 2)
    names = [one["name"] for one in client.request("threads")["threads"]]
    assert "block (0,0,0) thread (1,0,0), with 15 others" in names, names
    expect(client.value("i", thread), "1")
    client.request("evaluate", expression="thread (31,0,0)", context="repl")
    expect(client.wait("stopped")["threadId"], 32)
    expect(client.value("i"), "31")
    expect(client.value("thread (99,0,0)"),
           "The block has no thread '(99,0,0)' that still runs.")
    expect(client.end(), 0)


def functions_hits_messages_and_watches():
    client = Client(LODE)
    loop = line_of("the loop")
    client.launch(*VALUES, lines=(KERNELS, {"line": loop, "hitCondition": "5"},
                                  {"line": line_of("the end"), "condition": "i == 3",
                                   "logMessage": "i is {i}, mode {item.mode}"}),
                  functions=["twice"])
    thread = client.wait("stopped")["threadId"]
    expect(client.frames(thread)[0]["name"], "twice<float>")
    client.request("setFunctionBreakpoints", breakpoints=[])
    thread = client.resume(thread=thread)["threadId"]
    # Three hits are the first warp's.
    expect((client.value("k", thread), client.value("i", thread)), ("1", "32"))
    info = client.request("dataBreakpointInfo", name="ns::table[2]",
                          frameId=client.frames(thread)[0]["id"])
    assert info["dataId"], info
    info = client.request("dataBreakpointInfo", name="counter",
                          frameId=client.frames(thread)[0]["id"])
    client.request("setBreakpoints", source={"path": KERNELS}, breakpoints=[
        {"line": line_of("the end"), "condition": "i == 3",
         "logMessage": "i is {i}, mode {item.mode}"}])
    client.request("setDataBreakpoints", breakpoints=[{"dataId": info["dataId"]}])
    stop = client.resume(thread=thread)
    expect((stop["reason"], stop["text"]), ("data breakpoint", "counter has changed"))
    expect(client.value("blockIdx.x"), "1")
    assert 65 <= int(client.value("counter")) < 96
    client.request("setDataBreakpoints", breakpoints=[])
    client.try_request("continue", threadId=1)
    client.wait("exited")
    assert "i is 3, mode Mode::fast (5)" in client.output, client.output
    client.process.wait(timeout=10)


def findings_and_launches():
    client = Client(LODE)
    client.launch(LODE, "run", KERNELS, "broken", "--debug", "--grid", "1", "--block", "32", "--",
                  "i32[8]", filters=("findings", "launches"))
    expect(client.wait("stopped")["reason"], "entry")
    stop = client.resume()
    expect(stop["reason"], "exception")
    assert "past the end" in stop["text"], stop
    expect(client.line(stop["threadId"]), line_of("the fault"))
    expect(client.value("threadIdx.x"), "0")
    assert client.end() != 0
    assert "past the end" in client.output, client.output


def code_without_debug_information():
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "plain.cu")
        with open(source, "w") as file:
            file.write("__device__ int triple(int x) {\n"
                       "    return x * 3 + clock() % 1;\n"
                       "}\n"
                       'extern "C" __global__ void plain(int* out) {\n'
                       "    int i = threadIdx.x;\n"
                       "    out[i] = triple(i);\n"
                       "}\n")
        client = Client(LODE)
        client.launch(LODE, "run", source, "plain", "--line-info", "--grid", "1", "--block", "32",
                      "--", "i32[32]", lines=(source, {"line": 2}))
        thread = client.wait("stopped")["threadId"]
        frames = client.frames(thread)
        expect([(one["name"], one["line"]) for one in frames], [("triple", 2), ("plain", 6)])
        frame = frames[0]
        client.resume("stepOut", thread)
        expect(client.line(thread), 6)
        frame = client.frames(thread)[0]
        registers = client.variables(frame["id"], "Registers")
        assert any(name.startswith("%r") for name in registers), registers
        expect(client.variables(frame["id"], "Locals"), {})
        client.request("setBreakpoints", source={"path": source}, breakpoints=[])
        expect(client.end(), 0)


TESTS = [stops_at_lines_and_shows_values, steps, goes_back, groups_of_lanes,
         functions_hits_messages_and_watches, findings_and_launches,
         code_without_debug_information]
wanted = sys.argv[2:]
for test in TESTS:
    if wanted and test.__name__ not in wanted:
        continue
    test()
    print("passed:", test.__name__.replace("_", " "))
