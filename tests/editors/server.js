// A language server that answers each question with one value of every kind, for the test of the client of VS Code. Notes what it is told
// and asked as lines on standard error; `crash` as its argument: it ends with the first question about a document.
"use strict";
const range = { start: { line: 0, character: 4 }, end: { line: 0, character: 5 } };
const uri = "file:///x.tl";
const edit = { range, newText: "y" };
const answers = {
  initialize: { capabilities: {
    textDocumentSync: 1, hoverProvider: true, definitionProvider: true, referencesProvider: true, documentHighlightProvider: true,
    renameProvider: { prepareProvider: true }, documentSymbolProvider: true, workspaceSymbolProvider: true, foldingRangeProvider: true,
    completionProvider: { triggerCharacters: ["."] }, signatureHelpProvider: { triggerCharacters: ["("] }, inlayHintProvider: true,
    semanticTokensProvider: { legend: { tokenTypes: ["function"], tokenModifiers: [] }, full: true }, codeActionProvider: true,
    codeLensProvider: {}, documentFormattingProvider: true, executeCommandProvider: { commands: ["run"] } } },
  "textDocument/hover": { contents: { kind: "markdown", value: "**é: f32[n]**" }, range },
  "textDocument/completion": { isIncomplete: true, items: [{ label: "softmax", kind: 3, detail: "d", documentation: "t", textEdit: edit }] },
  "textDocument/signatureHelp": { signatures: [{ label: "f(x, y)", parameters: [{ label: [2, 3] }, { label: [5, 6] }] }], activeParameter: 1 },
  "textDocument/definition": { uri, range },
  "textDocument/references": [{ uri, range }, { uri, range }],
  "textDocument/documentHighlight": [{ range, kind: 2 }],
  "textDocument/prepareRename": range,
  "textDocument/rename": { changes: { [uri]: [edit] } },
  "textDocument/documentSymbol": [{ name: "f", kind: 12, range, selectionRange: range, children: [{ name: "x", kind: 13, range, selectionRange: range }] }],
  "workspace/symbol": [{ name: "f", kind: 12, location: { uri, range } }],
  "textDocument/foldingRange": [{ startLine: 0, endLine: 3, kind: "region" }],
  "textDocument/formatting": [edit],
  "textDocument/inlayHint": [{ position: range.end, label: [{ value: ": f32" }, { value: "[n]" }], kind: 1, paddingLeft: true }],
  "textDocument/codeAction": [{ title: "mend", kind: "quickfix", edit: { documentChanges: [{ textDocument: { uri }, edits: [edit] }] } }],
  "textDocument/codeLens": [{ range, command: { title: "run", command: "run", arguments: [1] } }],
  "textDocument/semanticTokens/full": { data: [0, 4, 1, 0, 0] },
  "workspace/executeCommand": { ran: true },
  shutdown: null
};

function send(message) {
  const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
  const all = Buffer.concat([Buffer.from(`Content-Length: ${body.length}\r\n\r\n`), body]);
  process.stdout.write(all.subarray(0, 30)); // in pieces that end within characters
  process.stdout.write(all.subarray(30));
}

let buffer = Buffer.alloc(0);
process.stdin.on("data", (data) => {
  buffer = Buffer.concat([buffer, data]);
  for (;;) {
    const head = buffer.indexOf("\r\n\r\n");
    if (head < 0) return;
    const end = head + 4 + Number(/Content-Length: (\d+)/.exec(buffer.toString("ascii", 0, head))[1]);
    if (buffer.length < end) return;
    const message = JSON.parse(buffer.toString("utf8", head + 4, end));
    buffer = buffer.subarray(end);
    process.stderr.write(JSON.stringify({ method: message.method, params: message.params }) + "\n");
    if (message.method === "exit") process.exit(0);
    if (process.argv[2] === "crash" && /^textDocument.hover/.test(message.method)) process.exit(3);
    if (message.method === "textDocument/didOpen")
      send({ method: "textDocument/publishDiagnostics", params: { uri, diagnostics: [{ range, message: "wrong", severity: 2, code: "UnusedName", source: "tl", tags: [1] }] } });
    if (message.id !== undefined && message.method in answers) send({ id: message.id, result: answers[message.method] });
    else if (message.id !== undefined) send({ id: message.id, error: { code: -32601, message: "no such method" } });
  }
});
