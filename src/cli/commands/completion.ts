/** `saltworks completion`: prints the script for a shell, and the candidates that the script asks for. */

import { SaltworksError } from "../../errors.ts";
import { type Completion, complete } from "../completion/candidates.ts";
import { machineNames } from "../completion/names.ts";
import { completionScripts } from "../completion/scripts.ts";
import type { Host } from "../host/host.ts";
import { shells } from "../options/own-options.ts";
import { understand } from "../start/command-line.ts";

/** @returns the exit code */
export function runCompletion(argv: readonly string[], host: Host): Promise<number> {
  const [what, dashes, ...words] = argv;
  if (what === "words" && dashes === "--") {
    host.write(linesOf(complete(words, machineNames)));
    return Promise.resolve(0);
  }
  const { positionals } = understand("completion", argv, host);
  const shell = shells.find((name) => name === positionals[0]);
  if (shell === undefined) {
    const given = positionals[0] === undefined ? "no shell is named" : `there is no completion for '${positionals[0]}'`;
    throw new SaltworksError("USAGE", `${given}; give one of ${shells.join(", ")}`);
  }
  host.write(completionScripts[shell]);
  return Promise.resolve(0);
}

function linesOf(completion: Completion): string {
  if (typeof completion === "string") return `:${completion}\n`;
  return completion.map(({ word, about }) => `${word}\t${about}\n`).join("");
}
