"""Calls NVRTC as any program does: makes the calls of a file of JSON, in order, in one process.

    client.py LIBRARY CALLS ANSWERS

A call has "source", "name", "headers", "options" and "names"; an answer has every result code and
every byte that NVRTC gives, in hexadecimal.
"""

import ctypes
import json
import os
import sys

OUTPUTS = ("ProgramLog", "PTX", "CUBIN", "LTOIR", "OptiXIR", "NVVM", "TileIR")


def texts(values):
    return (ctypes.c_char_p * max(len(values), 1))(*[value.encode() for value in values])


def answer_to(nvrtc, call):
    program = ctypes.c_void_p()
    names, headers = zip(*call["headers"]) if call["headers"] else ((), ())
    name = None if call["name"] is None else call["name"].encode()
    made = nvrtc.nvrtcCreateProgram(ctypes.byref(program), call["source"].encode(), name,
                                    len(headers), texts(headers), texts(names))
    if made != 0:
        return {"created": made}
    answer = {"added": [nvrtc.nvrtcAddNameExpression(program, name.encode())
                        for name in call["names"]]}
    for _ in range(call.get("times", 1)):
        answer["result"] = nvrtc.nvrtcCompileProgram(program, len(call["options"]),
                                                     texts(call["options"]))
    for output in OUTPUTS:
        size = ctypes.c_size_t(77)
        if not hasattr(nvrtc, f"nvrtcGet{output}Size"):
            continue
        code = getattr(nvrtc, f"nvrtcGet{output}Size")(program, ctypes.byref(size))
        room = ctypes.create_string_buffer(b"\x5a" * (size.value + 16))
        got = getattr(nvrtc, f"nvrtcGet{output}")(program, room)
        answer[output] = [code, size.value, got, room.raw.hex()]
    for name in [*call["names"], "never_added"]:
        lowered = ctypes.c_char_p(b"untouched")
        code = nvrtc.nvrtcGetLoweredName(program, name.encode(), ctypes.byref(lowered))
        answer["lowered " + name] = [code, (lowered.value or b"null").decode()]
    answer["late name"] = nvrtc.nvrtcAddNameExpression(program, b"late")
    if hasattr(nvrtc, "nvrtcGetPCHCreateStatus"):
        answer["pch"] = nvrtc.nvrtcGetPCHCreateStatus(program)
    answer["destroyed"] = nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    return answer


def main():
    library, calls, answers = sys.argv[1:]
    nvrtc = ctypes.CDLL(library)
    with open(calls, encoding="utf-8") as file:
        todo = json.load(file)
    made = []
    for call in todo:
        os.chdir(call["folder"])
        made.append(answer_to(nvrtc, call))
    with open(answers, "w", encoding="utf-8") as file:
        json.dump(made, file)


if __name__ == "__main__":
    main()
