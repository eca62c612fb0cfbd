#!/usr/bin/env python3
"""A cache server with the checks that bazel-remote makes by default, for tests.

    validating_server.py PORT

Follows server/http.go, utils/validate and cache/disk of bazel-remote 2.6 (commit ead2079), and is
stricter where lode has no reason to send something. Its decoder of ActionResult is independent of
lode's.

Names end with ac/ or cas/ and 64 hexadecimal digits, after any prefix. A PUT has a length and no
encoding but zstd. Actions: parsed on PUT (non-empty relative paths in UTF-8, digests of 64
hexadecimal digits, sizes from 0, no other field) and stored with execution_metadata added; on GET,
every file without contents must be in the CAS with its size, or the action is not found. Contents:
must have the SHA-256 of their name, and are sent where the client accepts zstd as a stream in chunks
without a length that begins with a skippable frame. Other methods are refused with 405. Prints
"METHOD kind status [zstd]" for each request.
"""

import hashlib
import http.server
import re
import shutil
import subprocess
import sys
import threading

NAME = re.compile(r"^/?(?:.*/)?(ac|cas)/([a-f0-9]{64})$")
HEX = re.compile(r"^[a-f0-9]{64}$")
VARINT, FIXED64, DELIMITED, FIXED32 = 0, 1, 2, 5
LARGEST_INT64 = (1 << 63) - 1
SKIPPABLE_FRAME = b"\x50\x2a\x4d\x18\x04\x00\x00\x00size"
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
            if value >= 1 << 64:
                raise ValueError("varint is too large")
            return value, at
        if shift > 63:
            raise ValueError("varint is too long")


def fields(data):
    """The fields of a message: number, wire type, value."""
    at = 0
    while at < len(data):
        tag, at = varint(data, at)
        if not 0 < tag >> 3 < 1 << 29:
            raise ValueError(f"field number {tag >> 3}")
        kind = tag & 7
        if kind == VARINT:
            value, at = varint(data, at)
        else:
            if kind == DELIMITED:
                size, at = varint(data, at)
            elif kind in (FIXED32, FIXED64):
                size = 4 if kind == FIXED32 else 8
            else:
                raise ValueError(f"wire type {kind}")
            if at + size > len(data):
                raise ValueError("field is too long")
            value, at = data[at:at + size], at + size
        yield tag >> 3, kind, value


def known_fields(message, kinds):
    """The fields of a message that has only these: a dictionary from number to values."""
    found = {number: [] for number in kinds}
    for number, kind, value in fields(message):
        if kinds.get(number) != kind:
            raise ValueError(f"field {number} of wire type {kind}")
        found[number].append(value)
    for number, values in found.items():
        if len(values) > 1:
            raise ValueError(f"field {number} occurs twice")
    return {number: values[0] for number, values in found.items() if values}


def digest_of(message):
    digest = known_fields(message, {1: DELIMITED, 2: VARINT})
    hash_text, size = digest.get(1, b"").decode("ascii"), digest.get(2, 0)
    if not HEX.match(hash_text) or size > LARGEST_INT64:
        raise ValueError(f"digest {hash_text} {size}")
    return hash_text, size


def output_files(action, added=()):
    files = []
    for number, kind, value in fields(action):
        if number in added:
            continue
        if number != 2 or kind != DELIMITED:
            raise ValueError(f"field {number} of wire type {kind}")
        file = known_fields(value, {1: DELIMITED, 2: DELIMITED, 5: DELIMITED})
        path, contents = file.get(1, b"").decode("utf-8"), file.get(5, b"")
        if not path or path.startswith("/") or 2 not in file:
            raise ValueError(f"file {path!r}")
        digest = digest_of(file[2])
        # bazel-remote doesn't look into inlined contents; clients do.
        if contents and digest != (hashlib.sha256(contents).hexdigest(), len(contents)):
            raise ValueError(f"contents of {path!r}")
        files.append((digest, contents))
    return files


def with_worker(action, worker):
    """The action with execution_metadata { worker }."""
    metadata = b"\x0a" + bytes([len(worker)]) + worker
    return action + b"\x4a" + bytes([len(metadata)]) + metadata


def zstd(data, *options):
    return subprocess.run(["zstd", "-c", *options], input=data, stdout=subprocess.PIPE,
                          check=True).stdout


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def answer(self, status, body=b""):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.note(status)

    def answer_compressed(self, body):
        self.send_response(200)
        self.send_header("Content-Encoding", "zstd")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        packed = SKIPPABLE_FRAME + zstd(body)
        for at in range(0, len(packed), 4096):
            chunk = packed[at:at + 4096]
            self.wfile.write(f"{len(chunk):x}\r\n".encode() + chunk + b"\r\n")
        self.wfile.write(b"0\r\n\r\n")
        self.note(200, "zstd")

    def note(self, status, encoding=""):
        kind = self.path.split("/")[-2] if self.path.count("/") > 1 else "?"
        print(self.command, kind, status, encoding, flush=True)

    def has_files(self, action):
        return all(contents or len(store["cas"].get(digest, b"")) == size
                   for (digest, size), contents in output_files(action, added=(9,)))

    def do_GET(self):
        name = NAME.match(self.path)
        if name is None:
            return self.answer(400)
        kind, digest = name.groups()
        with lock:
            body = store[kind].get(digest)
            if body is not None and kind == "ac" and not self.has_files(body):
                body = None
        if body is None:
            return self.answer(404, b"Not found\n")
        if kind == "cas" and "zstd" in self.headers.get("Accept-Encoding", "") and shutil.which(
                "zstd") and self.command == "GET":
            return self.answer_compressed(body)
        return self.answer(200, body)

    do_HEAD = do_GET

    def do_PUT(self):
        name = NAME.match(self.path)
        length = self.headers["Content-Length"]
        if name is None or length is None or not length.isdigit():
            self.close_connection = True
            return self.answer(400, b"PUT without Content-Length, or a wrong name")
        body = self.rfile.read(int(length))
        kind, digest = name.groups()
        encoding = self.headers.get("Content-Encoding", "identity")
        try:
            if encoding not in ("identity", "zstd"):
                raise ValueError(f"encoding {encoding}")
            if encoding == "zstd":
                body = zstd(body, "-d")
            if not body:
                raise ValueError("empty")
            if kind == "ac":
                output_files(body)
                body = with_worker(body, f"127.0.0.1:{self.client_address[1]}".encode())
        except (ValueError, IndexError, subprocess.CalledProcessError) as error:
            return self.answer(400, str(error).encode())
        if kind == "cas" and hashlib.sha256(body).hexdigest() != digest:
            return self.answer(500, b"checksums don't match")
        with lock:
            store[kind][digest] = body
        return self.answer(200)

    def do_DELETE(self):
        return self.answer(405, b"Method 'DELETE' not supported.")

    def log_message(self, *arguments):
        pass


if __name__ == "__main__":
    http.server.ThreadingHTTPServer(("127.0.0.1", int(sys.argv[1])), Handler).serve_forever()
