/** The way of a thread that serves files to backends in Python: Python processes of its own, and an update of theirs each minute. */
import type { MasterConfig } from "../config/load.ts";
import { type AskPythonFiles, pythonBackendsOf } from "../fileserver/backends/contract/settings.ts";
import type { FileServer } from "../fileserver/file-server.ts";
import { sidecarFilesMs, sidecarUpdateEveryMs, sidecarUpdateMs } from "../limits.ts";
import { Sidecar } from "../sidecar/sidecar.ts";
import { Complaints } from "./complaints.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Starts nothing yet. @returns undefined for a configuration without such backends */
export function pythonFilesOf(
  config: MasterConfig,
  environment: Environment,
  complaints = new Complaints(),
): AskPythonFiles | undefined {
  if (pythonBackendsOf(config).length === 0) return undefined;
  const sidecar = new Sidecar(config, environment, (text) => complaints.add(text));
  return async (question) => {
    const timeoutMs = question.action === "update" ? sidecarUpdateMs : sidecarFilesMs;
    return (await sidecar.ask({ kind: "files", ...question }, timeoutMs)).value;
  };
}

/** Lets the backends in Python fetch now, and again a while after each time that they have. */
export function updatePython(config: MasterConfig, server: Pick<FileServer, "update">, complaints: Complaints): void {
  const names = pythonBackendsOf(config);
  if (names.length === 0) return;
  const update = async () => {
    for (const { failure } of (await server.update(names)).values()) if (failure !== undefined) complaints.add(failure);
    setTimeout(() => void update(), sidecarUpdateEveryMs).unref();
  };
  void update();
}
