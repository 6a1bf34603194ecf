/**
 * Real Salt releases in Python virtual environments: found under SALTWORKS_SALT_VENVS (default `.salt-venvs` in the repository).
 * With CI=true, missing ones are installed with pip from the machine's package index.
 */
import { existsSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { repositoryRoot } from "../root.ts";
import { runCommand } from "./program.ts";

/** The oldest supported minor release, the next one, and the newest. */
export const testedReleases = ["3006", "3007", "3008"] as const;
export type ReleaseName = (typeof testedReleases)[number];

const installTimeoutMs = 600_000;

export type SaltRelease = {
  readonly name: ReleaseName;
  /** As printed by `salt --version`, such as `3007.15`. */
  readonly version: string;
  /** Path of `salt`, `salt-master`, `salt-minion`, `salt-key`, `salt-run`, `salt-call` or `python`. */
  program(name: string): string;
};

/** Programs of the tests that run Salt's. */
export const programsFolder = join(repositoryRoot, "test/interop/programs");

/**
 * The command and first words that start one of Salt's daemons. It spends half of the CPU time that the daemon's own file would: see `own_folders.py`.
 */
export function daemonWords(
  release: SaltRelease,
  daemon: "salt-master" | "salt-minion",
): readonly [command: string, ...words: string[]] {
  return [release.program("python"), join(programsFolder, daemon)];
}

export function venvsFolder(): string {
  return process.env.SALTWORKS_SALT_VENVS ?? join(repositoryRoot, ".salt-venvs");
}

/** The release; undefined if it is not installed or does not start. */
export async function findRelease(name: ReleaseName): Promise<SaltRelease | undefined> {
  const program = (tool: string) => join(venvsFolder(), name, "bin", tool);
  if (!existsSync(program("salt"))) return undefined;
  const answer = await runCommand(program("salt"), ["--version"]);
  const version = /^salt (\S+)/.exec(answer.stdout.toString())?.[1];
  return answer.code === 0 && version?.startsWith(name) ? { name, version, program } : undefined;
}

export async function installRelease(name: ReleaseName, report: (line: string) => void): Promise<SaltRelease> {
  const found = await findRelease(name);
  if (found !== undefined) return found;
  const folder = join(venvsFolder(), name);
  mkdirSync(venvsFolder(), { recursive: true });
  report(`installing Salt ${name} into ${folder}`);
  await mustRun("python3", ["-m", "venv", folder]);
  await mustRun(join(folder, "bin", "pip"), ["install", "--quiet", `salt==${name}.*`]);
  const installed = await findRelease(name);
  if (installed === undefined) throw new Error(`Salt ${name} does not start in ${folder}`);
  return installed;
}

async function mustRun(command: string, args: string[]): Promise<void> {
  const ended = await runCommand(command, args, { timeoutMs: installTimeoutMs });
  if (ended.code !== 0) throw new Error(`${command} ${args.join(" ")}: exit code ${ended.code}\n${ended.stderr}`);
}

export type Releases = { readonly all: readonly SaltRelease[]; readonly skip: string | false };

/** All tested releases, or the reason why their tests are skipped. With CI=true they are never skipped. */
export async function openReleases(): Promise<Releases> {
  const all: SaltRelease[] = [];
  for (const name of testedReleases) {
    const isRequired = process.env.CI === "true";
    const release = isRequired ? await installRelease(name, () => undefined) : await findRelease(name);
    if (release === undefined) {
      const skip = `Salt ${name} is not installed under ${venvsFolder()} (see CONTRIBUTING.md, "Real Salt")`;
      return { all, skip };
    }
    all.push(release);
  }
  return { all, skip: false };
}
