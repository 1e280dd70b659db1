"""Messages as the protocol has them, and others: the server answers by the protocol's errors, and goes on."""
import json
import os
import subprocess
import tempfile
import urllib.parse

from client import Client, uri

PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND, INVALID_PARAMS = -32700, -32600, -32601, -32602
NOT_INITIALIZED, CANCELLED = -32002, -32800
TESTS = []


def test(function):
    TESTS.append(function)
    return function


def expect(value, wanted):
    assert value == wanted, f"{value!r} and not {wanted!r}"


def code(answer):
    return answer.get("error", {}).get("code")


@test
def a_session(tl):
    client = Client(tl)
    assert client.capabilities["textDocumentSync"] == {"openClose": True, "change": 2}, client.capabilities
    expect(client.end(), 0)


@test
def exit_without_shutdown(tl):
    client = Client(tl)
    client.notify("exit")
    expect(client.process.wait(60), 1)


@test
def the_editor_is_gone(tl):
    client = Client(tl)
    client.process.stdin.close()
    expect(client.process.wait(60), 1)


@test
def before_initialize(tl):
    client = Client(tl, initialize=False)
    expect(code(client.call("textDocument/hover", {})), NOT_INITIALIZED)
    client.notify("textDocument/didOpen", textDocument={"uri": "file:///a.tl", "version": 1, "text": "let"})
    expect(code(client.call("initialize", {"capabilities": {}})), None)
    expect(code(client.call("initialize", {"capabilities": {}})), INVALID_REQUEST)
    expect(client.diagnostics, {})
    expect(client.end(), 0)


@test
def after_shutdown(tl):
    client = Client(tl)
    client.request("shutdown")
    expect(code(client.call("textDocument/formatting", {})), INVALID_REQUEST)
    expect(code(client.call("shutdown", {})), INVALID_REQUEST)
    client.notify("exit")
    expect(client.process.wait(60), 0)


@test
def what_is_unknown(tl):
    client = Client(tl)
    expect(code(client.call("textDocument/colourOfTheSky", {})), METHOD_NOT_FOUND)
    expect(code(client.call("$/unknown", {})), METHOD_NOT_FOUND)
    for method in ("$/setTrace", "$/cancelRequest", "window/workDoneProgress/cancel", "workspace/didChangeConfiguration", "textDocument/didSave"):
        client.notify(method, value="off", id=99)
    client.send({"jsonrpc": "2.0", "id": 77, "result": None})  # an answer to what was never asked
    expect(client.end(), 0)


@test
def what_is_no_message(tl):
    client = Client(tl)
    for body in (b"", b"{", b"\xff\xfe", b"nonsense", b'{"jsonrpc": "2.0", "id": 1, "method": "shut\xffdown"}'):
        client.send_bytes(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        expect(code(client.receive()), PARSE_ERROR)
    for header in (b"Content-Type: x\r\n\r\n", b"Content-Length: many\r\n\r\n", b"Content-Length: -1\r\n\r\n", b"Content-Length: 99999999999999999999\r\n\r\n"):
        client.send_bytes(header)
        expect(code(client.receive()), PARSE_ERROR)
    for message in ([], 1, None, "text", {}, {"id": 1}, {"id": [1], "method": "shutdown"}, {"id": 1, "method": 5}, [{"id": 1, "method": "shutdown"}]):
        client.send(message)
        expect(code(client.receive()), INVALID_REQUEST)
    expect(client.end(), 0)


@test
def headers_in_any_case(tl):
    client = Client(tl)
    body = b'{"jsonrpc":"2.0","id":"a","method":"no/such"}'
    client.send_bytes(b"content-length:%d\r\nContent-Type: application/vscode-jsonrpc; charset=utf-8\r\n\r\n%s" % (len(body), body))
    expect(client.receive()["id"], "a")
    expect(client.end(), 0)


@test
def parameters_that_do_not_fit(tl):
    client = Client(tl)
    client.open("/tmp/a.tl", "let x = 1\nprint(x)\n")
    position = {"line": 0, "character": 4}
    document = {"uri": uri("/tmp/a.tl")}
    wrong = [
        {},
        {"textDocument": 1},
        {"textDocument": {"uri": 5}, "position": position},
        {"textDocument": {"uri": "file:///not/open.tl"}, "position": position},
        {"textDocument": {"uri": "file:///not/open.tl"}},
        [],
        None,
        "text",
    ]
    for method in sorted(METHODS):
        for params in wrong:
            expect((method, params, code(client.call(method, params))), (method, params, INVALID_PARAMS))
    for position in ({"line": 9, "character": 9}, {"line": 0, "character": 99}, {"line": 4294967295, "character": 4294967295}):
        for method in sorted(METHODS):
            client.call(method, {"textDocument": document, "position": position, "newName": "y", "range": {"start": position, "end": position}, "context": {"diagnostics": []}})
    for changes in (None, 5, [1], [{}], [{"text": 1}], [{"text": "", "range": {}}], [{"text": "", "range": {"start": {"line": "a"}}}]):
        client.notify("textDocument/didChange", textDocument={**document, "version": 2}, contentChanges=changes)
    for method in ("textDocument/didOpen", "textDocument/didChange", "textDocument/didClose"):
        client.notify(method)
        client.notify(method, textDocument={"uri": "file:///not/open.tl", "version": 1}, contentChanges=[{"text": ""}])
    client.versions["/tmp/a.tl"] = 2
    client.change("/tmp/a.tl", {"text": "print(y)"})
    expect([d["code"] for d in client.published("/tmp/a.tl")], ["UnknownName"])
    expect(client.end(), 0)


METHODS = {
    f"textDocument/{name}"
    for name in (
        "hover definition references documentHighlight prepareRename rename documentSymbol foldingRange completion signatureHelp inlayHint semanticTokens/full codeAction codeLens formatting"
    ).split()
}


@test
def a_cancelled_request(tl):
    client = Client(tl)
    messages = [{"jsonrpc": "2.0", "id": "slow", "method": "shutdown"}, {"jsonrpc": "2.0", "id": 5, "method": "no/such"}]
    messages.append({"jsonrpc": "2.0", "method": "$/cancelRequest", "params": {"id": 5}})
    bodies = [json.dumps(message).encode() for message in messages[:0] + messages[1:]]
    client.send_bytes(b"".join(b"Content-Length: %d\r\n\r\n%s" % (len(body), body) for body in bodies))
    assert code(client.receive()) in (CANCELLED, METHOD_NOT_FOUND)
    expect(client.end(), 0)


@test
def documents_of_all_kinds(tl):
    client = Client(tl)
    untitled = "untitled:Untitled-1"
    client.notify("textDocument/didOpen", textDocument={"uri": untitled, "languageId": "tl", "version": 1, "text": "print(y)"})
    client.notify("textDocument/didOpen", textDocument={"uri": untitled, "languageId": "tl", "version": 2, "text": "print(z)"})  # opened twice
    client.notify("textDocument/didOpen", textDocument={"uri": "file:///tmp/with%20blank/%C3%A9.tl", "version": None, "text": "\ufeffprint(1)\r\n"})
    client.notify("textDocument/didOpen", textDocument={"uri": "", "version": 1, "text": "\0\0"})
    client.notify("textDocument/didOpen", textDocument={"uri": "file://", "version": 1, "text": "(" * 100000})
    client.open("/tmp/z.tl", "print(z)")
    while client.diagnostics.get(untitled, {}).get("version") != 2:
        client.take(client.receive())
    expect([d["message"].split("\n")[0] for d in client.diagnostics[untitled]["diagnostics"]], ["there is no name `z` here"])
    client.notify("textDocument/didClose", textDocument={"uri": untitled})
    client.notify("textDocument/didClose", textDocument={"uri": untitled})
    expect(client.end(), 0)
    expect(client.diagnostics[untitled], {"uri": untitled, "diagnostics": []})


@test
def positions_in_each_encoding(tl):
    text = 'print("😀é", y)\n'
    for encodings, column in ((None, 13), (["utf-16"], 13), (["utf-8", "utf-16"], 16), (["utf-32"], 12), (["utf-7"], 13)):
        client = Client(tl, encodings=encodings)
        client.open("/tmp/a.tl", text)
        (diagnostic,) = client.published("/tmp/a.tl")
        expect((encodings, diagnostic["range"]["start"]["character"]), (encodings, column))
        place = {"line": 0, "character": column}
        client.change("/tmp/a.tl", {"range": {"start": place, "end": {"line": 0, "character": column + 1}}, "text": "1"})
        expect(client.published("/tmp/a.tl"), [])
        client.end()


@test
def imports_of_open_documents(tl):
    with tempfile.TemporaryDirectory() as folder:
        main, util = folder + "/main.tl", folder + "/util.tl"
        client = Client(tl, folder)
        client.open(main, 'import "./util.tl" as util\nprint(util.twice(2))\n')
        expect([d["code"] for d in client.published(main)], ["ImportNotFound"])
        client.diagnostics.clear()
        client.open(util, "fn twice(x: i64) -> i64 = 2 * x\n")
        expect(client.published(main), [])
        client.diagnostics.clear()
        client.change(util, {"text": "fn thrice(x: i64) -> i64 = 3 * x\n"})
        expect([d["code"] for d in client.published(main)], ["UnknownName"])
        client.diagnostics.clear()
        client.change(util, {"text": "fn twice(x: i64) -> i64 = y\n"})
        (diagnostic,) = client.published(main)
        expect(diagnostic["range"]["start"], {"line": 0, "character": 7})
        expect(diagnostic["relatedInformation"][0]["location"]["uri"], uri(util))
        expect(client.end(), 0)


@test
def what_only_lowering_says(tl):
    client = Client(tl)
    client.open("/tmp/a.tl", "let a = ones([2]).to(cpu(0))\nlet b = ones([2]).to(cpu(1))\nprint(a + b)\n")
    expect(client.published("/tmp/a.tl"), [])
    client.diagnostics.clear()
    expect([d["code"] for d in client.published("/tmp/a.tl")], ["DeviceMismatch"])
    place = {"line": 2, "character": 6}
    (action,) = client.request("textDocument/codeAction", textDocument={"uri": uri("/tmp/a.tl")}, range={"start": place, "end": place}, context={"diagnostics": []})
    expect(action["title"], "write `b.to(a.device)` in place of `b`")
    expect(client.end(), 0)


@test
def programs_that_run(tl):
    def said(client, method):
        while True:
            for message in client.asked:
                if message["method"] == method:
                    client.asked.remove(message)
                    return message["params"]["message"]
            message = client.receive()
            assert message is not None, f"no {method}"
            client.take(message)

    with tempfile.TemporaryDirectory() as folder:
        client = Client(tl, folder)
        path = f"{folder}/main.tl"
        run = lambda name, *more: client.call("workspace/executeCommand", {"command": name, "arguments": [uri(path), *more]})  # noqa: E731
        text = 'print("begun")\ntest "right" { assert 1 == 1 }\ntest "wrong" { assert 1 == 2 }\n'
        client.open(path, text)
        expect(code(run("tl.run")), -32803)  # not saved
        open(path, "w").write(text)
        expect(run("tl.run")["result"], True)
        expect(said(client, "window/logMessage"), "begun")
        expect(said(client, "window/showMessage"), "tl: done")
        run("tl.test", "right")
        expect(said(client, "window/showMessage"), "tl: done")
        run("tl.test", "wrong")
        expect(said(client, "window/showMessage"), "tl: exit code 1")
        expect(run("tl.stop")["result"], False)
        client.change(path, {"text": text + "\n"})
        expect(code(run("tl.run")), -32803)
        endless = 'print("begun")\nvar i = 0\nwhile i >= 0 { i = (i + 1) % 7 }\n'
        open(path, "w").write(endless)
        client.change(path, {"text": endless})
        client.asked.clear()
        run("tl.run")
        expect(client.request("textDocument/hover", textDocument={"uri": uri(path)}, position={"line": 1, "character": 4})["range"]["start"]["line"], 1)
        expect(run("tl.stop")["result"], True)
        expect(said(client, "window/showMessage"), "tl: stopped")
        run("tl.run")  # the next one ends it
        run("tl.run")
        expect(said(client, "window/showMessage"), "tl: stopped")
        for name, arguments in (("tl.fly", [uri(path)]), ("tl.run", []), ("tl.run", [5]), ("tl.test", [uri(path), 5]), ("tl.run", [uri("/not/open.tl")])):
            expect((name, code(client.call("workspace/executeCommand", {"command": name, "arguments": arguments}))), (name, INVALID_PARAMS))
        expect(code(client.call("workspace/executeCommand", {})), INVALID_PARAMS)
        expect(client.end(), 0)  # and what still runs


@test
def values_of_lines(tl):
    with tempfile.TemporaryDirectory() as folder:
        client = Client(tl, folder, refresh=True)
        path = f"{folder}/main.tl"
        open(f"{folder}/util.tl", "w").write("fn twice(x: i64[n]) = x * 2\n")

        def lens(expression):
            found = client.request("textDocument/codeLens", textDocument={"uri": uri(path)})
            return [one["command"] for one in found if one["command"]["arguments"][1:] == [expression]]

        def value(text, expression):
            client.open(path, text)  # never saved
            (command,) = lens(expression)
            expect((command["title"], command["command"]), ("value", "tl.value"))
            client.asked.clear()
            expect(client.call("workspace/executeCommand", {"command": "tl.value", "arguments": command["arguments"]})["result"], True)
            while not any(message["method"] == "workspace/codeLens/refresh" for message in client.asked):
                message = client.receive()
                assert message is not None, "no refresh"
                client.take(message)
            (command,) = lens(expression)
            client.close(path)
            return command["title"]

        expect(value("let x = [1, 2]\nprint(x)\n#>> x * 2\nassert false\n", "x * 2"), "= [2 4]")
        expect(value('import "./util.tl" as util\nlet é = util.twice([[1, 2], [3, 4]][0])\n#>> é.reshape([2, 1])\n', "é.reshape([2, 1])"), "= [[2] [4]]")
        expect(value("fn f(n: i64) -> i64 {\n  let m = n + 1\n  #>> m\n  m\n}\nfn main() { print(f(1), f(2)) }\n", "m"), "= 3 (the last of 2)")
        expect(value('#>> "two\\nlines"\n', '"two\\nlines"'), "= two lines")
        expect(value("let x = 1\n#>> y\n", "y"), "error[UnknownName]: there is no name `y` here")
        expect(value("fn f() -> i64 {\n  #>> 1\n  2\n}\n", "1"), "not reached: done")
        expect(value("let x = [1, 2]\n#>> x[x[1]]\n", "x[x[1]]").startswith("error["), True)
        client.open(path, "#>> 1\n")
        for arguments in ([uri(path)], [uri(path), "2"], [uri(path), 5], [uri("/not/open.tl"), "1"]):
            expect((arguments, code(client.call("workspace/executeCommand", {"command": "tl.value", "arguments": arguments}))), (arguments, INVALID_PARAMS))
        expect(client.end(), 0)


@test
def plain_text(tl):
    text = "## Twice x.\nfn twice(x: f32) -> f32 = 2.0 * x\nlet y = twice(1.0)\n"
    formats = {"hover": {"contentFormat": ["plaintext"]},
               "completion": {"completionItem": {"documentationFormat": ["plaintext"]}},
               "signatureHelp": {"signatureInformation": {"documentationFormat": ["plaintext"]}}}
    for wanted, kind, begin in ((formats, "plaintext", "fn twice(x: f32) -> f32\nTwice x."), ({}, "markdown", "```tl\nfn twice")):
        client = Client(tl, initialize=False)
        client.request("initialize", processId=None, rootUri=None, capabilities={"textDocument": wanted})
        client.notify("initialized")
        client.open("/a.tl", text)
        at = {"textDocument": {"uri": uri("/a.tl")}, "position": {"line": 2, "character": 9}}
        hover = client.request("textDocument/hover", **at)["contents"]
        expect((hover["kind"], hover["value"].startswith(begin)), (kind, True))
        (item,) = [one for one in client.request("textDocument/completion", **at) if one["label"] == "twice"]
        expect(item["documentation"], {"kind": kind, "value": "Twice x."})
        at["position"]["character"] = 14
        expect(client.request("textDocument/signatureHelp", **at)["signatures"][0]["documentation"], {"kind": kind, "value": "Twice x."})
        expect(client.end(), 0)


@test
def a_file_of_the_library(tl):
    client = Client(tl)
    client.open("/a.tl", "import linalg\nprint(linalg.det([[1.0]]))\n")
    for character, name in ((2, "prelude.tl"), (15, "linalg.tl")):
        at = {"textDocument": {"uri": uri("/a.tl")}, "position": {"line": 1, "character": character}}
        place = client.request("textDocument/definition", **at)
        path = urllib.parse.unquote(place["uri"].removeprefix("file://"))
        expect((os.path.basename(path), os.stat(path).st_mode & 0o222), (name, 0))
        with open(path) as file:
            client.open(path, file.read())
        expect(client.published(path), [])
    at = {"textDocument": {"uri": uri(path)}, "position": place["range"]["start"]}
    assert "determinant" in client.request("textDocument/hover", **at)["contents"]["value"]
    expect(client.end(), 0)


@test
def wrong_command_lines(tl):
    for words, status in ((["--help"], 0), (["--stdio", "--help"], 0), (["file.tl"], 2), (["--port", "1"], 2)):
        run = subprocess.run([tl, "lsp", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL)
        expect((words, run.returncode), (words, status))


def tests(tl):
    return [(f"protocol: {function.__name__.replace('_', ' ')}", lambda function=function: function(tl)) for function in TESTS]
