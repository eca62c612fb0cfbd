"""A client of the Debug Adapter Protocol that runs `lode debug --dap`."""
import json
import os
import subprocess
import threading
import time


class Client:
    def __init__(self, lode, *options):
        self.process = subprocess.Popen([lode, "debug", "--dap", *options], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.sequence = 0
        self.events = []
        self.output = ""
        # A debugger that hangs must not hang the tests.
        self.guard = threading.Timer(120, self.process.kill)
        self.guard.daemon = True
        self.guard.start()

    def read(self):
        size = None
        while True:
            line = self.process.stdout.readline().decode().strip()
            if line.startswith("Content-Length:"):
                size = int(line.split(":")[1])
            elif not line:
                break
        if size is None:
            raise EOFError("the adapter has ended")
        message = json.loads(self.process.stdout.read(size))
        if message["type"] == "event" and message["event"] == "output":
            self.output += message["body"]["output"]
        return message

    def try_request(self, command, **arguments):
        self.sequence += 1
        body = json.dumps({"seq": self.sequence, "type": "request", "command": command,
                           "arguments": arguments}).encode()
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()
        while True:
            message = self.read()
            if message["type"] == "response" and message["request_seq"] == self.sequence:
                return message
            self.events.append(message)

    def request(self, command, **arguments):
        response = self.try_request(command, **arguments)
        assert response["success"], response
        return response.get("body", {})

    def wait(self, name):
        while True:
            for at, event in enumerate(self.events):
                if event["event"] == name:
                    return self.events.pop(at)["body"]
            message = self.read()
            self.events.append(message)

    def launch(self, *command, lines=(), functions=(), filters=("findings",)):
        """`lines` are breakpoints of one file: (path, {"line": …}…)."""
        capabilities = self.request("initialize", adapterID="lode")
        assert capabilities["supportsConfigurationDoneRequest"]
        self.wait("initialized")
        self.request("launch", program=command[0], args=list(command[1:]))
        if lines:
            path, *places = lines
            self.request("setBreakpoints", source={"path": path}, breakpoints=places)
        self.request("setFunctionBreakpoints", breakpoints=[{"name": one} for one in functions])
        self.request("setExceptionBreakpoints", filters=list(filters))
        self.request("configurationDone")

    def resume(self, command="continue", thread=1, **arguments):
        self.request(command, threadId=thread, **arguments)
        return self.wait("stopped")

    def frames(self, thread):
        return self.request("stackTrace", threadId=thread)["stackFrames"]

    def line(self, thread):
        return self.frames(thread)[0]["line"]

    def value(self, expression, thread=None):
        arguments = {"expression": expression}
        if thread is not None:
            arguments["frameId"] = self.frames(thread)[0]["id"]
        response = self.try_request("evaluate", **arguments)
        return response["body"]["result"] if response["success"] else response["message"]

    def variables(self, frame, scope):
        for one in self.request("scopes", frameId=frame)["scopes"]:
            if one["name"] == scope:
                found = self.request("variables", variablesReference=one["variablesReference"])
                return {each["name"]: each for each in found["variables"]}
        raise KeyError(scope)

    def end(self):
        """Lets the program end; its exit code."""
        self.request("setBreakpoints", source={"path": KERNELS}, breakpoints=[])
        self.request("setFunctionBreakpoints", breakpoints=[])
        self.request("setDataBreakpoints", breakpoints=[])
        self.try_request("continue", threadId=1)
        code = self.wait("exited")["exitCode"]
        self.wait("terminated")
        self.try_request("disconnect")
        self.process.wait(timeout=10)
        self.guard.cancel()
        return code


KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "kernels.cu")


def line_of(words, path=KERNELS):
    """The line that ends with a comment."""
    with open(path) as file:
        for number, text in enumerate(file, 1):
            if text.rstrip().endswith("// " + words):
                return number
    raise KeyError(words)
