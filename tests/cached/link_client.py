"""Calls nvJitLink as any program does: makes the links of a file of JSON, in order, in one process.

    link_client.py LIBRARY LINKS ANSWERS

A link has "options" and "inputs", each a type, bytes in hexadecimal and a name; an answer has every
result code and every byte that nvJitLink gives, in hexadecimal.
"""

import ctypes
import json
import os
import sys

LOGS = ("ErrorLog", "InfoLog")
OUTPUTS = (*LOGS, "LinkedCubin", "LinkedPtx", "LinkedLTOIR")


def output(linker, handle, name):
    size = ctypes.c_size_t(77)
    code = getattr(linker, f"nvJitLinkGet{name}Size")(handle, ctypes.byref(size))
    room = ctypes.create_string_buffer(b"\x5a" * (size.value + 16))
    got = getattr(linker, f"nvJitLinkGet{name}")(handle, room)
    return [code, size.value, got, room.raw.hex()]


def answer_to(linker, link):
    handle = ctypes.c_void_p()
    options = (ctypes.c_char_p * max(len(link["options"]), 1))(
        *[option.encode() for option in link["options"]])
    created = linker.nvJitLinkCreate(ctypes.byref(handle), len(link["options"]), options)
    if created != 0:
        return {"created": created}
    answer = {"added": [], "completed": []}
    inputs = [(kind, bytes.fromhex(text), None if name is None else name.encode())
              for kind, text, name in link["inputs"]]  # nvJitLink keeps pointers to the names.
    for kind, data, name in inputs:
        answer["added"].append(linker.nvJitLinkAddData(handle, kind, data,
                                                       ctypes.c_size_t(len(data)), name))
        if link["peeks"]:
            for log in LOGS:
                answer[f"{log} {len(answer['added'])}"] = output(linker, handle, log)
        if answer["added"][-1] != 0 and not link["goes_on"]:
            break
    if link["file"]:
        answer["file"] = linker.nvJitLinkAddFile(handle, link["file"][0],
                                                 link["file"][1].encode())
    if link["goes_on"] or not any(answer["added"]):
        answer["completed"] = [linker.nvJitLinkComplete(handle) for _ in range(link["times"])]
        for name in OUTPUTS:
            if hasattr(linker, f"nvJitLinkGet{name}Size"):
                answer[name] = output(linker, handle, name)
    else:
        for name in LOGS:
            answer[name] = output(linker, handle, name)
    answer["destroyed"] = linker.nvJitLinkDestroy(ctypes.byref(handle))
    return answer


def main():
    library, links, answers = sys.argv[1:]
    linker = ctypes.CDLL(library)
    with open(links, encoding="utf-8") as file:
        todo = json.load(file)
    made = []
    for link in todo:
        os.chdir(link["folder"])
        made.append(answer_to(linker, link))
    with open(answers, "w", encoding="utf-8") as file:
        json.dump(made, file)


if __name__ == "__main__":
    main()
