// A client of `tl lsp` over VS Code's own interface, without packages: messages over the server's standard streams, and a provider
// for each thing that the server says it can do.
"use strict";
const vscode = require("vscode");
const { spawn } = require("child_process");

const LANGUAGE = { language: "tl" };
const lensesChanged = new vscode.EventEmitter();
const LATENCY = 50; // ms that a change waits for the next one

// ---- messages: JSON-RPC behind a header with the length

class Connection {
  constructor(command, onNotification, onEnd) {
    this.pending = new Map();
    this.next = 1;
    this.buffer = Buffer.alloc(0);
    this.onNotification = onNotification;
    this.process = spawn(command[0], command.slice(1), { stdio: ["pipe", "pipe", "pipe"] });
    this.process.stdout.on("data", (data) => this.take(data));
    this.process.stderr.on("data", (data) => output().append(data.toString()));
    this.process.stdin.on("error", () => {}); // `exit` says it
    this.process.on("error", (error) => this.end(onEnd, error.message));
    this.process.on("exit", (code, signal) => this.end(onEnd, signal ? `signal ${signal}` : `exit code ${code}`));
  }

  end(onEnd, why) {
    if (this.ended) return;
    this.ended = true;
    for (const { reject } of this.pending.values()) reject(new Error(why));
    this.pending.clear();
    onEnd(why);
  }

  take(data) {
    this.buffer = Buffer.concat([this.buffer, data]);
    for (;;) {
      const head = this.buffer.indexOf("\r\n\r\n");
      if (head < 0) return;
      const length = /content-length: *(\d+)/i.exec(this.buffer.toString("ascii", 0, head));
      const begin = head + 4;
      const end = begin + (length ? Number(length[1]) : 0);
      if (this.buffer.length < end) return;
      const body = this.buffer.toString("utf8", begin, end);
      this.buffer = this.buffer.subarray(end);
      if (length) this.receive(JSON.parse(body));
    }
  }

  receive(message) {
    if (message.method === undefined) {
      const asked = this.pending.get(message.id);
      this.pending.delete(message.id);
      if (!asked) return;
      if (message.error) asked.reject(new Error(message.error.message));
      else asked.resolve(message.result);
    } else if (message.id === undefined) {
      this.onNotification(message.method, message.params);
    } else {
      this.answer(message);
    }
  }

  // What a server may ask of its client.
  async answer(message) {
    let result = null;
    if (message.method === "workspace/applyEdit") result = { applied: await vscode.workspace.applyEdit(toEdit(message.params.edit)) };
    if (message.method === "workspace/codeLens/refresh") lensesChanged.fire();
    if (message.method === "workspace/configuration") result = message.params.items.map(() => null);
    this.send({ id: message.id, result });
  }

  send(message) {
    if (this.ended) return;
    const body = Buffer.from(JSON.stringify({ jsonrpc: "2.0", ...message }));
    this.process.stdin.write(`Content-Length: ${body.length}\r\n\r\n`);
    this.process.stdin.write(body);
  }

  notify(method, params) {
    this.send({ method, params });
  }

  // The answer; null where the question was cancelled or fails.
  async ask(method, params, token) {
    const id = this.next++;
    const answer = new Promise((resolve, reject) => this.pending.set(id, { resolve, reject }));
    const cancelled = token && token.onCancellationRequested(() => this.notify("$/cancelRequest", { id }));
    this.send({ id, method, params });
    if (this.ended) this.pending.delete(id);
    try {
      return this.ended ? null : await answer;
    } catch (error) {
      if (!token || !token.isCancellationRequested) output().appendLine(`${method}: ${error.message}`);
      return null;
    } finally {
      if (cancelled) cancelled.dispose();
    }
  }
}

// ---- the protocol's values as VS Code's, and back

const toPosition = (p) => new vscode.Position(p.line, p.character);
const toRange = (r) => new vscode.Range(toPosition(r.start), toPosition(r.end));
const toUri = (text) => vscode.Uri.parse(text);
const toLocation = (l) => new vscode.Location(toUri(l.targetUri || l.uri), toRange(l.targetSelectionRange || l.range));
const toMarkdown = (m) => new vscode.MarkdownString(typeof m === "string" ? m : m.value);
const toTextEdit = (e) => new vscode.TextEdit(toRange(e.range), e.newText);
const fromPosition = (p) => ({ line: p.line, character: p.character });
const fromRange = (r) => ({ start: fromPosition(r.start), end: fromPosition(r.end) });
const list = (x) => (x === null || x === undefined ? [] : Array.isArray(x) ? x : [x]);

function toEdit(edit) {
  const result = new vscode.WorkspaceEdit();
  for (const [uri, edits] of Object.entries(edit.changes || {})) result.set(toUri(uri), edits.map(toTextEdit));
  for (const change of edit.documentChanges || [])
    if (change.edits) result.set(toUri(change.textDocument.uri), change.edits.map(toTextEdit));
  return result;
}

function toDiagnostic(d) {
  const result = new vscode.Diagnostic(toRange(d.range), d.message, (d.severity || 1) - 1);
  result.source = d.source;
  result.code = d.code;
  result.tags = d.tags;
  result.relatedInformation = list(d.relatedInformation).map(
    (r) => new vscode.DiagnosticRelatedInformation(toLocation(r.location), r.message));
  result.original = d; // goes back with the question for actions
  return result;
}

function toCompletion(item) {
  const result = new vscode.CompletionItem(item.label, item.kind === undefined ? undefined : item.kind - 1);
  result.detail = item.detail;
  result.sortText = item.sortText;
  result.filterText = item.filterText;
  if (item.documentation) result.documentation = toMarkdown(item.documentation);
  const text = item.textEdit ? item.textEdit.newText : item.insertText;
  if (text !== undefined) result.insertText = item.insertTextFormat === 2 ? new vscode.SnippetString(text) : text;
  if (item.textEdit) result.range = toRange(item.textEdit.range || item.textEdit.replace);
  if (item.additionalTextEdits) result.additionalTextEdits = item.additionalTextEdits.map(toTextEdit);
  return result;
}

function toSymbol(s) {
  const result = new vscode.DocumentSymbol(s.name, s.detail || "", s.kind - 1, toRange(s.range), toRange(s.selectionRange));
  result.children = list(s.children).map(toSymbol);
  return result;
}

function toSignatures(help) {
  const result = new vscode.SignatureHelp();
  result.activeSignature = help.activeSignature || 0;
  result.activeParameter = help.activeParameter || 0;
  result.signatures = help.signatures.map((s) => {
    const signature = new vscode.SignatureInformation(s.label, s.documentation && toMarkdown(s.documentation));
    signature.parameters = list(s.parameters).map(
      (p) => new vscode.ParameterInformation(p.label, p.documentation && toMarkdown(p.documentation)));
    return signature;
  });
  return result;
}

function toHint(h) {
  const label = Array.isArray(h.label) ? h.label.map((part) => part.value).join("") : h.label;
  const hint = new vscode.InlayHint(toPosition(h.position), label, h.kind);
  hint.paddingLeft = h.paddingLeft;
  hint.paddingRight = h.paddingRight;
  if (h.tooltip) hint.tooltip = toMarkdown(h.tooltip);
  if (h.textEdits) hint.textEdits = h.textEdits.map(toTextEdit);
  return hint;
}

function toAction(a) {
  const action = new vscode.CodeAction(a.title, a.kind ? new vscode.CodeActionKind(a.kind) : undefined);
  if (a.edit) action.edit = toEdit(a.edit);
  if (a.command) action.command = toCommand(a.command);
  action.isPreferred = a.isPreferred;
  return action;
}

// Commands of the server go back to it.
function toCommand(c) {
  return { title: c.title, command: "tl.execute", arguments: [c.command, c.arguments] };
}

// ---- the client

class Client {
  constructor() {
    this.command = vscode.workspace.getConfiguration("tl").get("command") || ["tl", "lsp"];
    this.disposables = [];
    this.timers = new Map(); // of documents whose changes wait
    this.diagnostics = vscode.languages.createDiagnosticCollection("tl");
    this.disposables.push(this.diagnostics);
    this.connection = new Connection(this.command, (method, params) => this.notified(method, params), (why) => this.ended(why));
    this.started = this.start();
  }

  async start() {
    const folders = (vscode.workspace.workspaceFolders || []).map((f) => ({ uri: f.uri.toString(), name: f.name }));
    const capabilities = {
      workspace: { codeLens: { refreshSupport: true } },
      textDocument: {
        synchronization: {}, publishDiagnostics: { relatedInformation: true, tagSupport: { valueSet: [1, 2] } },
        hover: { contentFormat: ["markdown"] }, documentSymbol: { hierarchicalDocumentSymbolSupport: true },
        completion: { completionItem: { snippetSupport: true, documentationFormat: ["markdown"] } },
        signatureHelp: { signatureInformation: { documentationFormat: ["markdown"], parameterInformation: { labelOffsetSupport: true } } },
        codeAction: { codeActionLiteralSupport: { codeActionKind: { valueSet: ["quickfix", "refactor"] } } },
        rename: { prepareSupport: true }, inlayHint: {}, codeLens: {}, foldingRange: {}, formatting: {}, references: {}, definition: {},
        semanticTokens: { requests: { full: true }, tokenTypes: [], tokenModifiers: [], formats: ["relative"] }
      },
      workspace: { applyEdit: true, workspaceFolders: true },
      general: { positionEncodings: ["utf-16"] }
    };
    const answer = await this.connection.ask("initialize", {
      processId: process.pid, clientInfo: { name: "vscode-tl" }, capabilities, rootUri: folders.length ? folders[0].uri : null,
      workspaceFolders: folders.length ? folders : null
    });
    if (!answer) return;
    this.connection.notify("initialized", {});
    this.follow();
    this.provide(answer.capabilities);
  }

  notified(method, params) {
    if (method === "textDocument/publishDiagnostics") this.diagnostics.set(toUri(params.uri), params.diagnostics.map(toDiagnostic));
    if (method === "window/logMessage") output().appendLine(params.message);
    if (method === "window/showMessage") vscode.window.showInformationMessage(params.message);
  }

  ended(why) {
    if (this.stopping) return;
    output().appendLine(`${this.command.join(" ")}: ${why}`);
    vscode.window.showErrorMessage(`The language server of tl has ended (${why}). The setting tl.command says how it is started: ${this.command.join(" ")}`);
  }

  // ---- documents

  follow() {
    const { connection } = this;
    const open = (document) =>
      document.languageId === "tl" && connection.notify("textDocument/didOpen", {
        textDocument: { uri: document.uri.toString(), languageId: "tl", version: document.version, text: document.getText() } });
    vscode.workspace.textDocuments.forEach(open);
    this.disposables.push(
      vscode.workspace.onDidOpenTextDocument(open),
      vscode.workspace.onDidChangeTextDocument(({ document }) => document.languageId === "tl" && this.changed(document)),
      vscode.workspace.onDidSaveTextDocument((document) => {
        if (document.languageId !== "tl") return;
        this.flush(document);
        connection.notify("textDocument/didSave", { textDocument: { uri: document.uri.toString() } });
      }),
      vscode.workspace.onDidCloseTextDocument((document) => {
        if (document.languageId !== "tl") return;
        this.flush(document);
        connection.notify("textDocument/didClose", { textDocument: { uri: document.uri.toString() } });
        this.diagnostics.delete(document.uri);
      }));
  }

  changed(document) {
    const uri = document.uri.toString();
    clearTimeout(this.timers.get(uri));
    this.timers.set(uri, setTimeout(() => this.flush(document), LATENCY));
  }

  // What waits goes before any question about the document.
  flush(document) {
    const uri = document.uri.toString();
    if (!this.timers.has(uri)) return;
    clearTimeout(this.timers.get(uri));
    this.timers.delete(uri);
    this.connection.notify("textDocument/didChange", {
      textDocument: { uri, version: document.version }, contentChanges: [{ text: document.getText() }] });
  }

  ask(method, document, token, more = {}) {
    this.flush(document);
    return this.connection.ask(method, { textDocument: { uri: document.uri.toString() }, ...more }, token);
  }

  at(method, document, position, token, more = {}) {
    return this.ask(method, document, token, { position: fromPosition(position), ...more });
  }

  // ---- what the server can do

  provide(can) {
    const { languages } = vscode;
    const add = (capability, register) => capability && this.disposables.push(register());
    add(can.hoverProvider, () => languages.registerHoverProvider(LANGUAGE, {
      provideHover: async (document, position, token) => {
        const hover = await this.at("textDocument/hover", document, position, token);
        return hover && new vscode.Hover(list(hover.contents).map(toMarkdown), hover.range && toRange(hover.range));
      }
    }));
    add(can.completionProvider, () => languages.registerCompletionItemProvider(LANGUAGE, {
      provideCompletionItems: async (document, position, token) => {
        const found = await this.at("textDocument/completion", document, position, token);
        return new vscode.CompletionList(list(found && found.items ? found.items : found).map(toCompletion), Boolean(found && found.isIncomplete));
      }
    }, ...list(can.completionProvider.triggerCharacters)));
    add(can.signatureHelpProvider, () => languages.registerSignatureHelpProvider(LANGUAGE, {
      provideSignatureHelp: async (document, position, token) => {
        const help = await this.at("textDocument/signatureHelp", document, position, token);
        return help && toSignatures(help);
      }
    }, ...list(can.signatureHelpProvider.triggerCharacters)));
    add(can.definitionProvider, () => languages.registerDefinitionProvider(LANGUAGE, {
      provideDefinition: async (document, position, token) =>
        list(await this.at("textDocument/definition", document, position, token)).map(toLocation)
    }));
    add(can.referencesProvider, () => languages.registerReferenceProvider(LANGUAGE, {
      provideReferences: async (document, position, context, token) =>
        list(await this.at("textDocument/references", document, position, token, { context })).map(toLocation)
    }));
    add(can.documentHighlightProvider, () => languages.registerDocumentHighlightProvider(LANGUAGE, {
      provideDocumentHighlights: async (document, position, token) =>
        list(await this.at("textDocument/documentHighlight", document, position, token)).map(
          (h) => new vscode.DocumentHighlight(toRange(h.range), (h.kind || 1) - 1))
    }));
    add(can.renameProvider, () => languages.registerRenameProvider(LANGUAGE, {
      prepareRename: async (document, position, token) => {
        const found = await this.at("textDocument/prepareRename", document, position, token);
        if (!found) throw new Error("this cannot be renamed");
        return toRange(found.range || found);
      },
      provideRenameEdits: async (document, position, newName, token) => {
        const edit = await this.at("textDocument/rename", document, position, token, { newName });
        return edit && toEdit(edit);
      }
    }));
    add(can.documentSymbolProvider, () => languages.registerDocumentSymbolProvider(LANGUAGE, {
      provideDocumentSymbols: async (document, token) => list(await this.ask("textDocument/documentSymbol", document, token)).map(toSymbol)
    }));
    add(can.workspaceSymbolProvider, () => languages.registerWorkspaceSymbolProvider({
      provideWorkspaceSymbols: async (query, token) =>
        list(await this.connection.ask("workspace/symbol", { query }, token)).map(
          (s) => new vscode.SymbolInformation(s.name, s.kind - 1, s.containerName || "", toLocation(s.location)))
    }));
    add(can.foldingRangeProvider, () => languages.registerFoldingRangeProvider(LANGUAGE, {
      provideFoldingRanges: async (document, _, token) =>
        list(await this.ask("textDocument/foldingRange", document, token)).map(
          (r) => new vscode.FoldingRange(r.startLine, r.endLine, { comment: 1, imports: 2, region: 3 }[r.kind]))
    }));
    add(can.documentFormattingProvider, () => languages.registerDocumentFormattingEditProvider(LANGUAGE, {
      provideDocumentFormattingEdits: async (document, options, token) =>
        list(await this.ask("textDocument/formatting", document, token, { options })).map(toTextEdit)
    }));
    add(can.inlayHintProvider, () => languages.registerInlayHintsProvider(LANGUAGE, {
      provideInlayHints: async (document, range, token) =>
        list(await this.ask("textDocument/inlayHint", document, token, { range: fromRange(range) })).map(toHint)
    }));
    add(can.codeActionProvider, () => languages.registerCodeActionsProvider(LANGUAGE, {
      provideCodeActions: async (document, range, context, token) => {
        const diagnostics = context.diagnostics.map((d) => d.original).filter(Boolean);
        const found = await this.ask("textDocument/codeAction", document, token, { range: fromRange(range), context: { diagnostics } });
        return list(found).map(toAction);
      }
    }));
    add(can.codeLensProvider, () => languages.registerCodeLensProvider(LANGUAGE, {
      onDidChangeCodeLenses: lensesChanged.event,
      provideCodeLenses: async (document, token) =>
        list(await this.ask("textDocument/codeLens", document, token)).map(
          (l) => new vscode.CodeLens(toRange(l.range), l.command && toCommand(l.command)))
    }));
    add(can.semanticTokensProvider, () => {
      const { tokenTypes, tokenModifiers } = can.semanticTokensProvider.legend;
      return languages.registerDocumentSemanticTokensProvider(LANGUAGE, {
        provideDocumentSemanticTokens: async (document, token) => {
          const found = await this.ask("textDocument/semanticTokens/full", document, token);
          return found && new vscode.SemanticTokens(new Uint32Array(found.data), found.resultId);
        }
      }, new vscode.SemanticTokensLegend(tokenTypes, tokenModifiers));
    });
  }

  async stop() {
    this.stopping = true;
    for (const timer of this.timers.values()) clearTimeout(timer);
    for (const disposable of this.disposables) disposable.dispose();
    if (this.connection.ended) return;
    await this.connection.ask("shutdown", null);
    this.connection.notify("exit");
  }
}

let client, channel;
function output() {
  channel = channel || vscode.window.createOutputChannel("tl");
  return channel;
}

function activate(context) {
  client = new Client();
  context.subscriptions.push(
    vscode.commands.registerCommand("tl.restart", async () => {
      await client.stop();
      client = new Client();
    }),
    vscode.commands.registerCommand("tl.execute", (command, args) => {
      if (command !== "tl.value") output().show(true); // where what it prints appears
      return client.connection.ask("workspace/executeCommand", { command, arguments: args });
    }),
    vscode.commands.registerCommand("tl.stop", () => client.connection.ask("workspace/executeCommand", { command: "tl.stop" })));
  return client.started;
}

function deactivate() {
  return client && client.stop();
}

module.exports = { activate, deactivate };
