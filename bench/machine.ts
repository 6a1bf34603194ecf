/** The machine of a measurement: every bench prints it beside its figures. */
import { spawnSync } from "node:child_process";
import { availableParallelism, cpus, loadavg, release, totalmem } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";
import { readOwnPackage } from "../src/config/host/program.ts";
import type { MachineFingerprint } from "./results/schema.ts";

export type Machine = {
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  /** A `+` at the end: the tree had changes. */
  readonly commit: string;
};

export function thisMachine(): Machine {
  return {
    node: process.version,
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    commit: commit(),
  };
}

/** The facts that two comparable results must share. Call it when a run begins, because of the load average. */
export function machineFingerprint(): MachineFingerprint {
  const { node, cpu, cores } = thisMachine();
  const [loadAverage = 0] = loadavg();
  return { node, cpu, cores, memoryBytes: totalmem(), kernel: release(), loadAverage };
}

/** The version and commit of the measuring program. */
export function thisTool(): { version: string; commit: string } {
  return { version: readOwnPackage().version, commit: commit() };
}

function commit(): string {
  const cwd = dirname(fileURLToPath(import.meta.url));
  const git = (...args: string[]): string => spawnSync("git", args, { cwd, encoding: "utf8" }).stdout?.trim() ?? "";
  const hash = git("rev-parse", "--short", "HEAD");
  if (hash === "") return "unknown";
  return git("status", "--porcelain") === "" ? hash : `${hash}+`;
}
