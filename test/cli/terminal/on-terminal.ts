/** Our command line on a pseudo-terminal of Python's standard library. Keys are typed when a question is shown. */
import { execFile, spawnSync } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { cliFile } from "../../fleet/our-master.ts";
import { repositoryRoot } from "../../root.ts";

/** `halted`: a path. From then on, processes whose command line names it are stopped until the terminal has echoed an interrupt. */
export type Step = readonly [awaited: string, keys: string, halted?: string];
export type TerminalResult = {
  /** The whole output on the terminal, with plain line ends. */
  readonly shown: string;
  readonly isOver: boolean;
  readonly exitCode: number | null;
  /** Seconds from the last keys to the end of the command. */
  readonly ended: number | null;
  readonly echo: boolean;
  readonly isTyped: boolean;
};

/** Timeout of one command, far above its usual time. */
const deadlineSeconds = 30;
export const keys = { interrupt: "\u0003", end: "\u0004", enter: "\n" } as const;

/** The reason why tests of terminals cannot run here; false if they can, or if CI=true requires them. */
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
