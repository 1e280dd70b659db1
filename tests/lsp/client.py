"""A client of `tl lsp`, as small as it can be: frames, requests, what the server says by itself."""
import json
import os
import pathlib
import select
import subprocess
import time
import urllib.parse

PATIENCE = 60  # seconds for an answer


def uri(path):
    return "file://" + urllib.parse.quote(str(path))


class Client:
    def __init__(self, tl, folder=None, encodings=None, initialize=True, refresh=False):
        self.process = subprocess.Popen([tl, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.buffer = b""
        self.last_id = 0
        self.versions = {}
        self.diagnostics = {}  # by URI: parameters of the last notification
        self.asked = []  # requests of the server
        if initialize:
            self.folder = folder and uri(folder)
            general = {"positionEncodings": encodings} if encodings else {}
            wants = {"general": general, "workspace": {"codeLens": {"refreshSupport": refresh}}}
            self.capabilities = self.request("initialize", processId=None, rootUri=self.folder, capabilities=wants)["capabilities"]
            self.notify("initialized")

    def send_bytes(self, data):
        self.process.stdin.write(data)
        self.process.stdin.flush()

    def send(self, message):
        body = json.dumps(message, ensure_ascii=False).encode()
        self.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))

    def receive(self, patience=PATIENCE):
        """The next message, or None where none comes."""
        end = time.monotonic() + patience
        while True:
            head, blank, rest = self.buffer.partition(b"\r\n\r\n")
            if blank:
                length = int(head.split(b":")[1])
                if len(rest) >= length:
                    self.buffer = rest[length:]
                    return json.loads(rest[:length])
            if not select.select([self.process.stdout], [], [], max(0, end - time.monotonic()))[0]:
                return None
            data = self.process.stdout.read()
            if data == b"":
                raise EOFError(f"tl lsp has ended: {self.process.wait()}, {self.process.stderr.read().decode()}")
            self.buffer += data or b""

    def take(self, message):
        """Keeps what the server says by itself."""
        if message.get("method") == "textDocument/publishDiagnostics":
            self.diagnostics[message["params"]["uri"]] = message["params"]
        elif "method" in message:
            self.asked.append(message)

    def call(self, method, params):
        """The whole answer."""
        self.last_id += 1
        self.send({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params})
        return self.answer(self.last_id)

    def answer(self, wanted):
        while True:
            message = self.receive()
            if message is None:
                raise TimeoutError("no answer")
            if "method" in message or message.get("id") != wanted:
                self.take(message)
            else:
                return message

    def request(self, method, **params):
        answer = self.call(method, params)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        return answer["result"]

    def notify(self, method, **params):
        self.send({"jsonrpc": "2.0", "method": method, "params": params})

    def open(self, path, text):
        self.versions[path] = 1
        self.notify("textDocument/didOpen", textDocument={"uri": uri(path), "languageId": "tl", "version": 1, "text": text})

    def change(self, path, *changes):
        self.versions[path] += 1
        self.notify("textDocument/didChange", textDocument={"uri": uri(path), "version": self.versions[path]}, contentChanges=list(changes))

    def close(self, path):
        self.notify("textDocument/didClose", textDocument={"uri": uri(path)})

    def published(self, path):
        """What the server says of this version of a document."""
        while self.diagnostics.get(uri(path), {}).get("version") != self.versions[path]:
            message = self.receive()
            if message is None:
                raise TimeoutError(f"no diagnostics of {path}")
            self.take(message)
        return self.diagnostics[uri(path)]["diagnostics"]

    def end(self):
        """Ends the session; the exit code."""
        self.request("shutdown")
        self.notify("exit")
        self.process.stdin.close()
        return self.process.wait(PATIENCE)


def file_of(address):
    return pathlib.Path(urllib.parse.unquote(address.removeprefix("file://")))
