/** This machine as a host of a storm's processes: children that speak over Node's own channel. */
import { spawn } from "node:child_process";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { SaltworksError } from "../../../src/errors.ts";
import { type DescriptorNeed, descriptorLimits, withDescriptors } from "../descriptors.ts";
import type { LinkEvents, StormHost, StormLink } from "./host.ts";
import type { FromStormProcess } from "./messages.ts";

export function localHost(): StormHost {
  return {
    facts: undefined,
    cores: availableParallelism(),
    descriptorsMax: descriptorLimits().hard,
    clock: { offsetMs: 0, uncertaintyMs: 0, roundTripMs: 0 },
    measureClock: () => Promise.resolve(),
    start: startProcess,
  };
}

/** @throws SaltworksError QUEUE_FULL if there are too few descriptors */
function startProcess(need: DescriptorNeed, { onMessage, onFault }: LinkEvents): StormLink {
  const script = fileURLToPath(new URL("process.js", import.meta.url));
  const { file, args } = withDescriptors(need, [process.execPath, "--enable-source-maps", script]);
  const child = spawn(file, args, { stdio: ["ignore", "inherit", "inherit", "ipc"], serialization: "advanced" });
  child.on("message", (message: FromStormProcess) => onMessage(message));
  child.on("error", onFault);
  child.once("exit", (code, signal) => {
    onFault(new SaltworksError("FUNCTION_FAILED", `a process of the storm ended: ${code ?? signal}`));
  });
  return {
    processId: child.pid,
    hasEnded: new Promise((resolve) => child.once("close", () => resolve())),
    send: (message) => {
      if (child.connected) child.send(message);
    },
    kill: () => child.kill("SIGKILL"),
  };
}
