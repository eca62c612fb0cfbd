#!/usr/bin/env python3
"""Measures the remote cache: 64 processes as 8 machines, against nginx and redis-server.

    fleet.py build/…/bench/lode_bench_fleet [--delays 0,1,20] [--kernels N]

Starts the servers on free ports of the loopback interface; a proxy in this program adds the delay,
half of it in each direction. Prints a table in Markdown for docs/performance.md.
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

MACHINES = 8
PROCESSES = 8


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


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
        folder.mkdir(parents=True)
        if kind == "nginx":
            config = folder / "nginx.conf"
            config.write_text(f"""daemon off; master_process off; pid {folder}/pid;
error_log {folder}/error.log; events {{ worker_connections 1024; }}
http {{ access_log off; client_max_body_size 100m; keepalive_requests 1000000; tcp_nodelay on;
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
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()


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
        """The median of remote hits after the first, which opens the connection."""
        self.run(self.folder(), url, mode, 5000, count)
        result = self.run(self.folder(), url, mode, 5000, count)
        tiers = {tier for _, tier, _ in result["rows"]}
        if tiers != {"remote"}:
            sys.exit(f"not all are remote hits: {tiers}")
        return statistics.median(ms for _, _, ms in result["rows"][1:])

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


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("client")
    parser.add_argument("--delays", default="0,1,20")
    parser.add_argument("--kernels", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        bench = Bench(arguments.client, pathlib.Path(scratch))
        # What a process does before its first request, and a first compilation of each machine.
        print("| Server | Added delay | Compilations of each kernel by 8 machines | Seconds for all "
              "| Hit, small | Hit with a header | Hit, CUB |")
        print("| --- | --- | --- | --- | --- | --- | --- |")
        for kind in ("nginx", "redis"):
            for delay in map(float, arguments.delays.split(",")):
                server = Server(bench.folder(), kind)
                proxy = Proxy(server.port, delay) if delay else None
                url = f"{server.scheme}://127.0.0.1:{proxy.port if proxy else server.port}"
                compilations, seconds = bench.compile_once(url, arguments.kernels)
                small = bench.hits(url, "small", 20)
                header = bench.hits(url, "header", 10)
                cub = bench.hits(url, "cub", 4)
                print(f"| {kind} | {delay:g} ms | {compilations / arguments.kernels:.2f} | "
                      f"{seconds:.1f} | {small:.2f} ms | {header:.2f} ms | {cub:.2f} ms |",
                      flush=True)
                if proxy:
                    proxy.end()
                server.end()
        server = Server(bench.folder(), "nginx")
        url = f"http://127.0.0.1:{server.port}"
        without, with_remote = [], []
        for _ in range(5):  # In turns, so that both see the same machine.
            without += bench.local("", 4)
            with_remote += bench.local(url, 4)
        server.end()
        a, b = statistics.median(without), statistics.median(with_remote)
        print(f"\nlocal hit (disk): {a:.4f} ms without a remote, {b:.4f} ms with one: "
              f"ratio {b / a:.3f}")
        bench.run(bench.folder(), "", "small", 0, 1)
        base = min(bench.run(bench.folder(), "", "forbid", 0, 20)["all_ms"] for _ in range(3))
        for kind in ("dead", "hanging", "corrupt"):
            url = f"http://127.0.0.1:{faulty(kind)}"
            costs = [bench.run(bench.folder(), url, "forbid", 0, 20)["all_ms"] - base
                     for _ in range(5)]
            print(f"{kind} remote: {statistics.median(costs):.0f} ms once a process "
                  f"(at most {max(costs):.0f} of 5)")


if __name__ == "__main__":
    main()
