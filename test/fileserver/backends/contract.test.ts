/** A second backend needs only the contract: `roots` and one in memory pass the same suite. */
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { openFileBackends } from "../../../src/fileserver/backends/registry.ts";
import { fileBackendContract, type OpenedBackend, type Tree } from "../../contract/file-backend.ts";
import { openFiles } from "../open-files.ts";
import { MemoryBackend } from "./memory-backend.ts";

function openRoots(tree: Tree): OpenedBackend {
  const { folder, settings, remove } = openFiles();
  const put = (environment: string, name: string, content: string | undefined): void => {
    const path = join(folder, environment, name);
    mkdirSync(dirname(path), { recursive: true });
    if (content === undefined) rmSync(path);
    else writeFileSync(path, content);
  };
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
