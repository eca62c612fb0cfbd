#!/usr/bin/env python3
"""A cache server with the checks that bazel-remote makes by default, for tests.

    validating_server.py PORT

Its decoder of ActionResult is independent of lode's. Actions: parsed on PUT (non-empty relative
paths, digests of 64 hexadecimal digits, sizes from 0) and stored with execution_metadata added; on
GET, every file without contents must be in the CAS, or the action is not found. Contents: must have
the SHA-256 of their name, and are sent compressed where the client accepts zstd and the zstd program
is installed. Prints "METHOD kind status [zstd]" for each request.
"""

import hashlib
import http.server
import re
import shutil
import subprocess
import sys
import threading

HEX = re.compile(r"^[a-f0-9]{64}$")
store = {"ac": {}, "cas": {}}
lock = threading.Lock()


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at
        if shift > 63:
            raise ValueError("varint is too long")


def fields(data):
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        kind = tag & 7
        if kind == 0:
            value, at = varint(data, at)
        elif kind == 2:
            size, at = varint(data, at)
            if at + size > len(data):
                raise ValueError("field is too long")
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {kind}")
        yield tag >> 3, value


def output_files(action):
    files = []
    for number, value in fields(action):
        if number != 2:
            continue
        file = {"contents": b"", "path": "", "digest": None}
        for part, content in fields(value):
            if part == 1:
                file["path"] = content.decode("utf-8")
            elif part == 2:
                digest = dict(fields(content))
                file["digest"] = (digest.get(1, b"").decode(), digest.get(2, 0))
            elif part == 5:
                file["contents"] = content
        if not file["path"] or file["path"].startswith("/"):
            raise ValueError(f"path {file['path']!r}")
        if file["digest"] is None or not HEX.match(file["digest"][0]):
            raise ValueError(f"digest {file['digest']}")
        files.append(file)
    return files


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b"", encoding=None):
        self.send_response(status)
        if encoding:
            self.send_header("Content-Encoding", encoding)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        kind = self.path.split("/")[-2] if self.path.count("/") > 1 else "?"
        print(self.command, kind, status, encoding or "", flush=True)

    def name(self):
        match = re.match(r"^/(ac|cas)/([a-f0-9]{64})$", self.path)
        return match.groups() if match else None

    def do_GET(self):
        name = self.name()
        if name is None:
            return self.answer(400)
        kind, digest = name
        with lock:
            body = store[kind].get(digest)
            if body is not None and kind == "ac":
                for file in output_files(body):
                    blob = store["cas"].get(file["digest"][0])
                    if not file["contents"] and (blob is None or len(blob) != file["digest"][1]):
                        body = None
                        break
        if body is None:
            return self.answer(404, b"Not found")
        if kind == "cas" and "zstd" in self.headers.get("Accept-Encoding", "") and shutil.which(
                "zstd"):
            packed = subprocess.run(["zstd", "-c"], input=body, stdout=subprocess.PIPE, check=True)
            return self.answer(200, packed.stdout, "zstd")
        return self.answer(200, body)

    def do_PUT(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        name = self.name()
        if name is None:
            return self.answer(400)
        kind, digest = name
        try:
            if kind == "ac":
                output_files(body)
                worker = b"127.0.0.1"
                body += b"\x4a" + bytes([len(worker) + 2]) + b"\x0a" + bytes([len(worker)]) + worker
            elif hashlib.sha256(body).hexdigest() != digest:
                raise ValueError("hash")
        except (ValueError, IndexError) as error:
            return self.answer(400, str(error).encode())
        with lock:
            store[kind][digest] = body
        return self.answer(200)

    def log_message(self, *arguments):
        pass


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
