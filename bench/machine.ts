/** Where a number was measured: what every bench prints beside it. */
import { spawnSync } from "node:child_process";
import { availableParallelism, cpus } from "node:os";
import { dirname } from "node:path";
import { fileURLToPath } from "node:url";

export type Machine = {
  readonly node: string;
  readonly cpu: string;
  readonly cores: number;
  /** `+` after it: the tree had changes. */
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

function commit(): string {
  const cwd = dirname(fileURLToPath(import.meta.url));
  const git = (...args: string[]): string => spawnSync("git", args, { cwd, encoding: "utf8" }).stdout?.trim() ?? "";
  const hash = git("rev-parse", "--short", "HEAD");
  if (hash === "") return "unknown";
  return git("status", "--porcelain") === "" ? hash : `${hash}+`;
}
