/** Runner functions that are not built here: which of them the operator's own Salt has, and how they are used. */
import type { MasterConfig } from "../../config/schema.ts";
import { hasCode } from "../../errors.ts";
import { sidecarStartTimeoutMs } from "../../limits.ts";
import { askBlocking } from "../../sidecar/blocking.ts";
import { openPythonThread } from "../../sidecar/own-thread.ts";
import type { Value } from "../../wire/values.ts";
import type { Host } from "../host/host.ts";

type Asked = { readonly kind: string; readonly [member: string]: unknown };

/** @returns undefined without a Python that has Salt */
function askPython(config: MasterConfig, host: Host, asked: Asked): Value | undefined {
  if (config.salt_python === false) return undefined;
  const { line, close } = openPythonThread(config, host.environment);
  try {
    return askBlocking(line, asked, sidecarStartTimeoutMs);
  } catch (error) {
    if (hasCode(error, "SIDECAR_MISSING") || hasCode(error, "SIDECAR_FAILED")) return undefined;
    throw error;
  } finally {
    close();
  }
}

/** Documentation by name. Empty without a Python that has Salt. */
export function pythonRunnerDocs(config: MasterConfig, host: Host): ReadonlyMap<string, string> {
  const docs = askPython(config, host, { kind: "documentation", caller: "runner" });
  return new Map(docs instanceof Map ? [...docs].map(([name, doc]) => [String(name), String(doc)]) : []);
}

/** Whether Salt has the function; undefined if there is no Python to ask. */
export function hasPythonRunner(config: MasterConfig, host: Host, name: string): boolean | undefined {
  const found = askPython(config, host, { kind: "find", names: { runner: [name] } });
  const names = found instanceof Map ? found.get("runner") : undefined;
  return found === undefined ? undefined : Array.isArray(names) && names.includes(name);
}
