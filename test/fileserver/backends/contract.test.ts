/** A second backend needs only the contract: `roots` and one in memory pass the same suite. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { AskPythonFiles } from "../../../src/fileserver/backends/contract/settings.ts";
import { PythonBackend } from "../../../src/fileserver/backends/python/backend.ts";
import { openFileBackends } from "../../../src/fileserver/backends/registry.ts";
import type { Value } from "../../../src/wire/values.ts";
import { fileBackendContract, type OpenedBackend, type Tree } from "../../contract/file-backend.ts";
import { openFiles } from "../open-files.ts";
import { MemoryBackend } from "./memory-backend.ts";

/** Writes or removes files below a folder for each environment. */
function writerIn(folder: string): OpenedBackend["put"] {
  return (environment, name, content) => {
    const path = join(folder, environment, name);
    mkdirSync(dirname(path), { recursive: true });
    if (content === undefined) rmSync(path);
    else writeFileSync(path, content);
  };
}

function openRoots(tree: Tree): OpenedBackend {
  const { folder, settings, remove } = openFiles();
  const put = writerIn(folder);
  for (const [environment, files] of Object.entries(tree))
    for (const [name, content] of Object.entries(files)) put(environment, name, content);
  const [backend] = openFileBackends(settings);
  if (backend === undefined) throw new Error("roots must be configured");
  return { backend, hashType: settings.hashType, put, remove };
}

fileBackendContract("roots", openRoots);

fileBackendContract("in memory", (tree) => {
  const backend = new MemoryBackend("memory", tree);
  const put = backend.put.bind(backend);
  return { backend, hashType: "sha256", put, remove: () => undefined };
});

/** Python answers from memory; its files are on this machine or not. */
function openPython(tree: Tree, isLocal: boolean): OpenedBackend {
  const folder = mkdtempSync(join(tmpdir(), "sw-python-files-"));
  const memory = new MemoryBackend("memory", tree);
  const write = writerIn(folder);
  const put: OpenedBackend["put"] = (environment, name, content) => {
    memory.put(environment, name, content);
    write(environment, name, content);
  };
  for (const [environment, files] of Object.entries(tree))
    for (const [name, content] of Object.entries(files)) put(environment, name, content);
  const askPython: AskPythonFiles = async ({ action, saltenv = "", path = "", loc = 0 }) => {
    if (action === "envs") return [...memory.environments()];
    if (action === "update") return null;
    if (action === "lists") {
      await memory.clearLists(undefined);
      const lists = await memory.lists(saltenv);
      return new Map<Value, Value>([
        ["files", [...(lists?.files ?? [])]],
        ["dirs", [...(lists?.dirs ?? [])]],
      ]);
    }
    const found = await memory.find({ name: path, environment: saltenv, rootIndex: undefined });
    if (found === undefined) return null;
    if (action === "hash") return await found.hash();
    if (action === "read") return await found.read(loc, 1_000);
    const place = isLocal ? join(folder, saltenv, path) : found.path;
    return new Map<Value, Value>([
      ["path", place],
      ["rel", path],
      ["is_local", isLocal],
    ]);
  };
  const backend = new PythonBackend("python", { askPython, hashType: "sha256", listAgeMs: 60_000 });
  return { backend, hashType: "sha256", put, remove: () => rmSync(folder, { recursive: true }) };
}

fileBackendContract("in Python, with files on this machine", (tree) => openPython(tree, true));
fileBackendContract("in Python, with files elsewhere", (tree) => openPython(tree, false));
