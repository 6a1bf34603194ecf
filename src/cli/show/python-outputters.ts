/** Outputters of the site's own in Python, for `--out` names that are not built here: the operator's own Salt renders the value. */
import type { MasterConfig, MinionConfig } from "../../config/schema.ts";
import { hasCode, SaltworksError } from "../../errors.ts";
import { sidecarStartTimeoutMs } from "../../limits.ts";
import { askBlocking, type BlockingLine } from "../../sidecar/blocking.ts";
import { openPythonThread } from "../../sidecar/own-thread.ts";
import type { Value } from "../../wire/values.ts";
import type { OutputOptions } from "../outputters/render.ts";

/** @returns the text; undefined if Salt has no outputter of this name, or there is no Salt. @throws SaltworksError FUNCTION_FAILED */
export type RenderInPython = (name: string, value: Value, options: OutputOptions) => string | undefined;

/** Starts Python at the first name that is not built here. @returns undefined for a minion, and if the configuration forbids Python */
export function outputtersInPython(
  config: object,
  environment: Readonly<Record<string, string | undefined>>,
): RenderInPython | undefined {
  if (!isMasters(config) || config.salt_python === false) return undefined;
  let line: BlockingLine | undefined;
  const missing = new Set<string>();
  return (name, value, { colour, indent, states }) => {
    if (missing.has(name)) return undefined;
    line ??= openPythonThread(config, environment).line;
    const opts = {
      color: colour,
      output: name,
      ...(typeof indent === "number" && { output_indent: indent }),
      ...(states?.output !== undefined && { state_output: states.output }),
      ...(states?.isVerbose !== undefined && { state_verbose: states.isVerbose }),
    };
    try {
      const text = askBlocking(line, { kind: "output", name, value, opts }, sidecarStartTimeoutMs);
      if (typeof text === "string") return text;
    } catch (error) {
      const isAbsent = hasCode(error, "SIDECAR_MISSING") || hasCode(error, "SIDECAR_FAILED");
      if (!isAbsent)
        throw error instanceof SaltworksError ? error : new SaltworksError("FUNCTION_FAILED", String(error));
    }
    missing.add(name);
    return undefined;
  };
}

function isMasters(config: object | MasterConfig | MinionConfig): config is MasterConfig {
  return "salt_python" in config;
}
