/** Our command line on a pseudo-terminal, which Python's standard library makes: keys are typed when a question is shown. */
import { execFile, spawnSync } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { cliFile } from "../../fleet/our-master.ts";
import { repositoryRoot } from "../../root.ts";

/** `halted`: a path; processes that name it stand still from then on, until the terminal has echoed an interrupt. */
export type Step = readonly [awaited: string, keys: string, halted?: string];
export type TerminalResult = {
  /** Everything that the terminal showed, with plain line ends. */
  readonly shown: string;
  readonly isOver: boolean;
  readonly exitCode: number | null;
  /** Seconds from the last keys to the end. */
  readonly ended: number | null;
  readonly echo: boolean;
  readonly isTyped: boolean;
};

/** Of one command, generous: what hangs, hangs for ever. */
const deadlineSeconds = 30;
export const keys = { interrupt: "\u0003", end: "\u0004", enter: "\n" } as const;

/** Why the tests of terminals cannot run here; false where they can, and with CI=true, where they must. */
export const noTerminal: string | false =
  process.env.CI === "true" || spawnSync("python3", ["-c", "import pty"]).status === 0
    ? false
    : "there is no python3 to make a terminal";

export async function onTerminal(
  args: readonly string[],
  steps: readonly Step[],
  environment: NodeJS.ProcessEnv = {},
): Promise<TerminalResult> {
  const plan = { argv: [process.execPath, cliFile, ...args], steps, deadline: deadlineSeconds };
  const driver = join(repositoryRoot, "test/cli/terminal/on_terminal.py");
  const env = { ...process.env, TERM: "xterm", ...environment };
  const options = { timeout: 2 * deadlineSeconds * 1_000, env };
  const { stdout } = await promisify(execFile)("python3", [driver, JSON.stringify(plan)], options);
  return JSON.parse(stdout) as TerminalResult;
}
