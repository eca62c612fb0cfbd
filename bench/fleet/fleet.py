#!/usr/bin/env python3
"""Measures the remote cache: 64 processes as 8 machines, against nginx and redis-server.

    fleet.py build/…/bench/lode_bench_fleet [--delays 0,1,20] [--kernels N] [--save FIGURES]

Starts the servers on free ports of the loopback interface; a proxy in this program adds the delay,
half of it in each direction. A round trip is one request of the same size that this program makes
itself, through the same proxy. Prints tables in Markdown, the last two of them model.py's for 10,000
nodes; ends with 1 if a goal is missed. --save keeps what model.py needs.
"""

import argparse
import asyncio
import json
import os
import pathlib
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import model

MACHINES = 8
PROCESSES = 8


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def receive(connection, count):
    """That many bytes at least."""
    data = bytearray()
    while len(data) < count:
        piece = connection.recv(1 << 20)
        if not piece:
            sys.exit("a server closes its connection")
        data += piece
    return data


class Probe:
    """A connection of this program that reads one blob, to compare with."""

    def __init__(self, kind, port, size):
        self.connection = socket.create_connection(("127.0.0.1", port))
        self.connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        blob = os.urandom(size)
        if kind == "nginx":
            put = (b"PUT /probe%d HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n"
                   % (size, size)) + blob
            self.request = b"GET /probe%d HTTP/1.1\r\nHost: x\r\n\r\n" % size
        else:
            name = b"probe%d" % size
            put = b"*3\r\n$3\r\nSET\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n" % (len(name), name, size,
                                                                          blob)
            self.request = b"*2\r\n$3\r\nGET\r\n$%d\r\n%s\r\n" % (len(name), name)
        self.connection.sendall(put)
        time.sleep(0.1)
        self.connection.recv(1 << 20)
        # All answers have the same size.
        self.connection.sendall(self.request)
        time.sleep(0.3)
        self.answer = len(receive(self.connection, size))

    def trip(self):
        """The median of a request's milliseconds."""
        times = []
        for _ in range(50):
            start = time.monotonic()
            self.connection.sendall(self.request)
            receive(self.connection, self.answer)
            times.append(time.monotonic() - start)
        return statistics.median(times) * 1e3

    def rate(self):
        """Requests a second that the server answers, 64 sent at once."""
        start = time.monotonic()
        count = 0
        while (passed := time.monotonic() - start) < 1:
            self.connection.sendall(self.request * 64)
            receive(self.connection, 64 * self.answer)
            count += 64
        return count / passed


def requests_of(server):
    """The requests that a server has had."""
    if server.scheme == "http":
        return len((server.folder / "access.log").read_text().splitlines())
    with socket.create_connection(("127.0.0.1", server.port)) as connection:
        connection.sendall(b"INFO stats\r\n")
        text = connection.recv(1 << 16).decode()
    return int(text.split("total_commands_processed:")[1].split()[0])


def wait_for(port):
    for _ in range(1000):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.01)
    sys.exit(f"nothing listens on port {port}")


class Server:
    """A program on a port of its own, ended with the object."""

    def __init__(self, folder, kind):
        self.port = free_port()
        self.folder = folder
        folder.mkdir(parents=True)
        if kind == "nginx":
            config = folder / "nginx.conf"
            config.write_text(f"""daemon off; master_process off; pid {folder}/pid;
error_log {folder}/error.log; events {{ worker_connections 1024; }}
http {{ access_log {folder}/access.log; client_max_body_size 100m; keepalive_requests 1000000; tcp_nodelay on;
client_body_temp_path {folder}/b; proxy_temp_path {folder}/p; fastcgi_temp_path {folder}/f;
uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
server {{ listen 127.0.0.1:{self.port}; root {folder}/data;
location / {{ dav_methods PUT DELETE; create_full_put_path on; }} }} }}
""")
            words = ["nginx", "-p", folder, "-c", config, "-e", folder / "error.log"]
            self.scheme = "http"
        else:
            words = ["redis-server", "--port", str(self.port), "--bind", "127.0.0.1", "--save", "",
                     "--appendonly", "no", "--dir", folder]
            self.scheme = "redis"
        path = os.environ["PATH"] + ":/usr/sbin"
        self.process = subprocess.Popen([shutil.which(words[0], path=path), *map(str, words[1:])],
                                        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        wait_for(self.port)

    def end(self):
        self.process.kill()
        self.process.wait()


class Proxy:
    """Forwards connections, and each piece of data after half of a delay."""

    def __init__(self, port, delay_ms):
        self.port = free_port()
        self.target = port
        self.half = delay_ms / 2000
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        wait_for(self.port)

    def run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(asyncio.start_server(self.serve, "127.0.0.1", self.port))
        self.loop.run_forever()

    async def serve(self, reader, writer):
        back, forth = await asyncio.open_connection("127.0.0.1", self.target)
        for stream in (writer, forth):
            stream.get_extra_info("socket").setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.loop.create_task(self.pump(reader, forth))
        self.loop.create_task(self.pump(back, writer))

    async def pump(self, source, sink):
        try:
            while data := await source.read(1 << 20):
                self.loop.call_later(self.half, sink.write, data)
        except ConnectionError:
            pass
        self.loop.call_later(self.half, sink.close)

    def end(self):
        self.loop.call_soon_threadsafe(self.stop)
        self.thread.join()

    def stop(self):
        for task in asyncio.all_tasks(self.loop):
            task.cancel()
        self.loop.call_soon(self.loop.stop)


class Bench:
    def __init__(self, client, scratch):
        self.client = client
        self.scratch = scratch
        self.number = 0

    def folder(self):
        self.number += 1
        return self.scratch / f"machine{self.number}"

    def start(self, folder, url, *words):
        environment = {**os.environ, "LODE_CACHE_DIR": str(folder)}
        environment.pop("LODE_CACHE_REMOTE", None)
        if url:
            environment["LODE_CACHE_REMOTE"] = url
        return subprocess.Popen([self.client, *map(str, words)], env=environment,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def run(self, folder, url, *words):
        return self.result(self.start(folder, url, *words))

    @staticmethod
    def result(process):
        out, errors = process.communicate()
        if process.returncode != 0:
            sys.exit(errors)
        return json.loads(out)

    def compile_once(self, url, kernels):
        """Compilations by 64 processes, and the seconds until all have every kernel."""
        folders = [self.folder() for _ in range(MACHINES)]
        start = time.monotonic()
        processes = [self.start(folders[i % MACHINES], url, "small", 0, kernels, i)
                     for i in range(MACHINES * PROCESSES)]
        results = [self.result(process) for process in processes]
        return sum(r["compilations"] for r in results), time.monotonic() - start

    def hits(self, url, mode, count):
        """The median of remote hits after the first, which opens the connection; bytes of one."""
        self.run(self.folder(), url, mode, 5000, count)
        result = self.run(self.folder(), url, mode, 5000, count)
        tiers = {tier for _, tier, _ in result["rows"]}
        if tiers != {"remote"}:
            sys.exit(f"not all are remote hits: {tiers}")
        return (statistics.median(ms for _, _, ms in result["rows"][1:]),
                result["remote_bytes_read"] // count)

    def local(self, url, rounds):
        """The median of disk hits."""
        folder = self.folder()
        self.run(folder, url, "small", 0, 50)
        times = []
        for _ in range(rounds):
            result = self.run(folder, url, "small", 0, 50)
            times += [ms for _, tier, ms in result["rows"] if tier == "disk"]
        return times


def faulty(kind):
    """A port whose server hangs, sends garbage, or isn't there."""
    port = free_port()
    if kind == "dead":
        return port
    listener = socket.create_server(("127.0.0.1", port))

    def answer(connection):
        try:
            while connection.recv(65536):
                if kind == "corrupt":
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 7\r\n\r\ngarbage")
        except OSError:
            pass

    def serve():
        while True:
            connection, _ = listener.accept()
            threading.Thread(target=answer, args=(connection,), daemon=True).start()

    threading.Thread(target=serve, daemon=True).start()
    return port


class Goals:
    """Rows of measured value against goal."""

    def __init__(self):
        self.missed = 0
        self.rows = []

    def add(self, what, value, goal, unit=""):
        passes = value <= goal
        self.missed += not passes
        self.rows.append(f"| {what} | {value:.3g}{unit} | ≤ {goal:.3g}{unit} | "
                         f"{'pass' if passes else 'FAIL'} |")

    def print(self):
        print("\n| What | Measured | Goal | |\n| --- | --- | --- | --- |")
        print("\n".join(self.rows), flush=True)


def measure_server(bench, kind, delay, kernels, goals, figures):
    server = Server(bench.folder(), kind)
    proxy = Proxy(server.port, delay) if delay else None
    port = proxy.port if proxy else server.port
    url = f"{server.scheme}://127.0.0.1:{port}"
    compilations, seconds = bench.compile_once(url, kernels)
    small, small_bytes = bench.hits(url, "small", 20)
    header, header_bytes = bench.hits(url, "header", 10)
    cub, cub_bytes = bench.hits(url, "cub", 4)
    probe = Probe(kind, port, small_bytes)
    trip = probe.trip()
    cub_trips = trip + Probe(kind, port, cub_bytes).trip()
    print(f"| {kind} | {delay:g} ms | {compilations / kernels:.2f} | {seconds:.1f} | {trip:.2f} ms "
          f"| {small:.2f} ms | {header:.2f} ms | {cub:.2f} ms |", flush=True)
    name = f"{kind}, {delay:g} ms"
    goals.add(f"{name}: compilations of each kernel", compilations / kernels,
              1 if kind == "redis" else MACHINES)
    goals.add(f"{name}: hit of a small kernel, 1 round trip + 0.5 ms", small, trip + 0.5, " ms")
    goals.add(f"{name}: hit of a CUB kernel, 2 round trips + 2 ms", cub, cub_trips + 2, " ms")
    if not delay:
        for mode, count, size, hit in (("header", 10, header_bytes, header),
                                       ("cub", 4, cub_bytes, cub)):
            before = requests_of(server)
            bench.run(bench.folder(), url, mode, 5000, count)
            fetched = requests_of(server) - before
            figures[mode][kind] = {
                "requests_per_kernel": fetched / count, "bytes_per_kernel": size,
                "requests_per_second": Probe(kind, server.port, size).rate(), "hit_ms": hit}
    if proxy:
        proxy.end()
    server.end()


def measure_local(bench, goals):
    server = Server(bench.folder(), "nginx")
    url = f"http://127.0.0.1:{server.port}"
    without, with_remote = [], []
    for _ in range(5):  # In turns, so that both see the same machine.
        without += bench.local("", 4)
        with_remote += bench.local(url, 4)
    server.end()
    a, b = statistics.median(without), statistics.median(with_remote)
    print(f"\nlocal hit (disk): {a:.4f} ms without a remote, {b:.4f} ms with one")
    goals.add("local hit: with a remote / without", b / a, 1.01)


def measure_faults(bench, goals):
    bench.run(bench.folder(), "", "small", 0, 1)
    base = min(bench.run(bench.folder(), "", "forbid", 0, 20)["all_ms"] for _ in range(3))
    for kind in ("dead", "hanging", "corrupt"):
        url = f"http://127.0.0.1:{faulty(kind)}"
        costs = [bench.run(bench.folder(), url, "forbid", 0, 20)["all_ms"] - base for _ in range(5)]
        print(f"{kind} remote: {statistics.median(costs):.0f} ms once a process "
              f"(at most {max(costs):.0f} of 5)")
        goals.add(f"{kind} remote, once a process", statistics.median(costs), 250, " ms")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("client")
    parser.add_argument("--delays", default="0,1,20")
    parser.add_argument("--kernels", type=int, default=20)
    parser.add_argument("--save", metavar="FIGURES")
    arguments = parser.parse_args()
    goals = Goals()
    figures = {}
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(arguments.client, pathlib.Path(scratch))
        for mode in ("header", "cub"):
            alone = bench.run(bench.folder(), "", mode, 0, 4)
            figures[mode] = {"compile_ms": statistics.median(ms for _, _, ms in alone["rows"])}
        print("| Server | Added delay | Compilations of each kernel by 8 machines | Seconds for all "
              "| Round trip | Hit, small | Hit with a header | Hit, CUB |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
        for kind in ("nginx", "redis"):
            # The first delay is none, for the model.
            for delay in sorted({0.0, *map(float, arguments.delays.split(","))}):
                measure_server(bench, kind, delay, arguments.kernels, goals, figures)
        measure_local(bench, goals)
        measure_faults(bench, goals)
    goals.print()
    if arguments.save:
        pathlib.Path(arguments.save).write_text(json.dumps(figures, indent=1) + "\n")
    print()
    print(model.tables(figures, model.DEFAULTS))
    sys.exit(1 if goals.missed else 0)


if __name__ == "__main__":
    main()
