// The client of editors/vscode, over a VS Code made of its classes' names: client.js SERVER.js. Each provider is asked once, and gives what the
// server said in VS Code's terms.
"use strict";
const Module = require("module");
const path = require("path");
const assert = require("assert");

const noted = { providers: {}, commands: {}, diagnostics: new Map(), errors: [], output: "", listeners: {} };
const made = (name, ...fields) => ({ [name]: class { constructor(...values) { fields.forEach((field, i) => { this[field] = values[i]; }); } } })[name];
const disposable = { dispose() {} };
const document = { languageId: "tl", version: 1, uri: { toString: () => "file:///x.tl" }, text: "let é = 1\n", getText() { return this.text; } };
let command = [process.execPath, process.argv[2]];
const vscode = {
  Position: made("Position", "line", "character"), Range: made("Range", "start", "end"), Location: made("Location", "uri", "range"),
  MarkdownString: made("MarkdownString", "value"), TextEdit: made("TextEdit", "range", "newText"), Hover: made("Hover", "contents", "range"),
  Diagnostic: made("Diagnostic", "range", "message", "severity"), CompletionItem: made("CompletionItem", "label", "kind"),
  CompletionList: made("CompletionList", "items", "isIncomplete"), SnippetString: made("SnippetString", "value"),
  DocumentSymbol: made("DocumentSymbol", "name", "detail", "kind", "range", "selectionRange"), SignatureHelp: made("SignatureHelp"),
  SignatureInformation: made("SignatureInformation", "label", "documentation"), ParameterInformation: made("ParameterInformation", "label"),
  InlayHint: made("InlayHint", "position", "label", "kind"), CodeAction: made("CodeAction", "title", "kind"), CodeActionKind: made("CodeActionKind", "value"),
  CodeLens: made("CodeLens", "range", "command"), FoldingRange: made("FoldingRange", "start", "end", "kind"),
  DocumentHighlight: made("DocumentHighlight", "range", "kind"), SymbolInformation: made("SymbolInformation", "name", "kind", "container", "location"),
  SemanticTokens: made("SemanticTokens", "data"), SemanticTokensLegend: made("SemanticTokensLegend", "types", "modifiers"),
  DiagnosticRelatedInformation: made("DiagnosticRelatedInformation", "location", "message"),
  WorkspaceEdit: class { constructor() { this.all = []; } set(uri, edits) { this.all.push([uri.text, edits]); } },
  EventEmitter: class { constructor() { this.event = () => disposable; } fire() { noted.refreshed = true; } },
  Uri: { parse: (text) => ({ text, toString: () => text }) },
  languages: new Proxy({}, { get: (_, name) => (...values) => {
    if (name === "createDiagnosticCollection") return { set: (uri, all) => noted.diagnostics.set(uri.text, all), delete: (uri) => noted.diagnostics.delete(uri.toString()), dispose() {} };
    noted.providers[name.replace(/^register|Provider$/g, "")] = name.includes("WorkspaceSymbol") ? values[0] : values[1];
    return disposable;
  } }),
  workspace: {
    workspaceFolders: undefined, textDocuments: [document], getConfiguration: () => ({ get: () => command }), applyEdit: async () => true,
    ...Object.fromEntries(["Open", "Change", "Save", "Close"].map((what) => [`onDid${what}TextDocument`, (f) => { noted.listeners[what] = f; return disposable; }]))
  },
  window: {
    createOutputChannel: () => ({ append: (text) => { noted.output += text; }, appendLine: (text) => { noted.output += text + "\n"; }, show: () => {} }),
    showErrorMessage: (text) => noted.errors.push(text), showInformationMessage() {}
  },
  commands: { registerCommand: (name, f) => { noted.commands[name] = f; return disposable; } }
};
const load = Module._load;
Module._load = (name, ...more) => (name === "vscode" ? vscode : load(name, ...more));
const extension = require(path.join(__dirname, "../../editors/vscode/extension.js"));

const later = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
const asked = () => noted.output.split("\n").filter((line) => line.startsWith("{")).map((line) => JSON.parse(line));
// The last message of a method; the server's output comes beside its answers, later on a busy machine.
const message = async (method) => {
  for (let i = 0; i < 200; ++i) {
    const found = asked().filter((sent) => sent.method === method).at(-1);
    if (found) return found;
    await later(50);
  }
  return {};
};
let passed = 0;
const same = (found, expected) => { assert.deepStrictEqual(JSON.parse(JSON.stringify(found)), expected); ++passed; };

async function main() {
  await extension.activate({ subscriptions: [] });
  await later(200);
  const p = noted.providers;
  const at = new vscode.Position(0, 4);
  const range = { start: { line: 0, character: 4 }, end: { line: 0, character: 5 } };
  const edit = { range, newText: "y" };
  const [diagnostic] = noted.diagnostics.get("file:///x.tl");
  same([diagnostic.message, diagnostic.severity, diagnostic.code, diagnostic.tags, diagnostic.range], ["wrong", 1, "UnusedName", [1], range]);

  // a change that waits goes before the question
  document.text = "let é = 2\n";
  document.version = 2;
  noted.listeners.Change({ document });
  same(await p.Hover.provideHover(document, at), { contents: [{ value: "**é: f32[n]**" }], range });
  await message("textDocument/hover");
  const methods = asked().map((message) => message.method);
  same(methods, ["initialize", "initialized", "textDocument/didOpen", "textDocument/didChange", "textDocument/hover"]);
  same(asked()[3].params, { textDocument: { uri: "file:///x.tl", version: 2 }, contentChanges: [{ text: "let é = 2\n" }] });
  same(asked()[4].params, { textDocument: { uri: "file:///x.tl" }, position: { line: 0, character: 4 } });

  const completions = await p.CompletionItem.provideCompletionItems(document, at);
  const [item] = completions.items;
  same([completions.isIncomplete, item.label, item.kind, item.insertText, item.range, item.documentation.value], [true, "softmax", 2, "y", range, "t"]);
  const help = await p.SignatureHelp.provideSignatureHelp(document, at);
  same([help.activeParameter, help.signatures[0].label, help.signatures[0].parameters[1].label], [1, "f(x, y)", [5, 6]]);
  const location = { uri: { text: "file:///x.tl" }, range };
  same(await p.Definition.provideDefinition(document, at), [location]);
  same(await p.Reference.provideReferences(document, at, { includeDeclaration: true }), [location, location]);
  same((await message("textDocument/references")).params.context, { includeDeclaration: true });
  same(await p.DocumentHighlight.provideDocumentHighlights(document, at), [{ range, kind: 1 }]);
  same(await p.Rename.prepareRename(document, at), range);
  same((await p.Rename.provideRenameEdits(document, at, "y")).all, [["file:///x.tl", [edit]]]);
  const [symbol] = await p.DocumentSymbol.provideDocumentSymbols(document);
  same([symbol.name, symbol.kind, symbol.children[0].name], ["f", 11, "x"]);
  same((await p.WorkspaceSymbol.provideWorkspaceSymbols("f"))[0].location, location);
  same(await p.FoldingRange.provideFoldingRanges(document), [{ start: 0, end: 3, kind: 3 }]);
  same(await p.DocumentFormattingEdit.provideDocumentFormattingEdits(document, { tabSize: 2 }), [edit]);
  const [hint] = await p.InlayHints.provideInlayHints(document, range);
  same([hint.label, hint.kind, hint.paddingLeft], [": f32[n]", 1, true]);
  const [action] = await p.CodeActions.provideCodeActions(document, range, { diagnostics: [diagnostic, {}] });
  same([action.title, action.kind.value, action.edit.all], ["mend", "quickfix", [["file:///x.tl", [edit]]]]);
  same((await message("textDocument/codeAction")).params.context.diagnostics[0].message, "wrong");
  const [lens] = await p.CodeLens.provideCodeLenses(document);
  same(lens.command, { title: "run", command: "tl.execute", arguments: ["run", [1]] });
  same(await noted.commands["tl.execute"]("run", [1]), { ran: true });
  same([...(await p.DocumentSemanticTokens.provideDocumentSemanticTokens(document)).data], [0, 4, 1, 0, 0]);

  noted.listeners.Close(document);
  same(noted.diagnostics.size, 0);
  await extension.deactivate();
  await message("exit");
  same(asked().slice(-2).map((message) => message.method), ["shutdown", "exit"]);
  same(noted.errors, []);

  // a server that ends, and one that is not there
  command = [process.execPath, process.argv[2], "crash"];
  await extension.activate({ subscriptions: [] });
  same(await noted.providers.Hover.provideHover(document, at), null);
  same(await noted.providers.Hover.provideHover(document, at), null);
  assert.match(noted.errors[0], /has ended \(exit code 3\)/);
  command = ["/nowhere/tl", "lsp"];
  await noted.commands["tl.restart"]();
  await later(200);
  assert.match(noted.errors[1], /ENOENT.*tl\.command/);
  passed += 2;
  await extension.deactivate();
}

main().then(() => console.log(`${passed} passed, 0 failed`), (error) => {
  console.log(error.stack, "\n" + noted.output);
  console.log(`${passed} passed, 1 failed`);
  process.exit(1);
});
