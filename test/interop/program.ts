/** Programs under test as child processes: keeps their output, waits for a line, ends them by process id. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { withoutNodeVariables } from "../../src/cli/daemon/node-environment.ts";

/** Characters of output to keep of one program: enough for the last minutes of a debug log. */
const outputLengthMax = 1024 * 1024;
const stopTimeoutMs = 15_000;
/** Timeout of a command line. */
export const commandTimeoutMs = 120_000;

export type Ended = { readonly code: number | null; readonly stdout: Buffer; readonly stderr: string };

/** UTF-8, so that output does not depend on the user that runs the tests; no proxy and no colour. */
export function environment(extra: NodeJS.ProcessEnv = {}): NodeJS.ProcessEnv {
  const { FORCE_COLOR: _color, NODE_TEST_CONTEXT: _context, ...inherited } = withoutNodeVariables(process.env);
  return { ...inherited, LANG: "C.UTF-8", LC_ALL: "C.UTF-8", PYTHONWARNINGS: "ignore", ...extra };
}

/** Runs a command to its end. An exit code never rejects. */
export async function runCommand(
  command: string,
  args: readonly string[],
  options: { stdin?: string; timeoutMs?: number; env?: NodeJS.ProcessEnv } = {},
): Promise<Ended> {
  const child = spawn(command, args, { env: environment(options.env), stdio: "pipe" });
  const timer = setTimeout(() => child.kill("SIGKILL"), options.timeoutMs ?? commandTimeoutMs);
  const stdout: Buffer[] = [];
  const stderr: Buffer[] = [];
  child.stdout.on("data", (chunk: Buffer) => stdout.push(chunk));
  child.stderr.on("data", (chunk: Buffer) => stderr.push(chunk));
  child.stdin.end(options.stdin ?? "");
  const [code, signal] = (await once(child, "close")) as [number | null, string | null];
  clearTimeout(timer);
  const note = signal === null ? "" : `\n(ended by ${signal})`;
  return { code, stdout: Buffer.concat(stdout), stderr: Buffer.concat(stderr).toString() + note };
}

const running = new Set<Program>();

/**
 * Ends the programs with this process: they have process groups of their own, which no signal of the terminal reaches. The listeners stay, because a
 * second signal would end this process before it has ended the programs.
 */
process.on("exit", () => {
  for (const program of running) program.killNow();
});
for (const signal of ["SIGTERM", "SIGINT", "SIGHUP"] as const) process.on(signal, () => process.exit(1));

export class Program {
  readonly name: string;
  readonly #child: ChildProcess;
  readonly #exit: Promise<number | null>;
  readonly #listeners = new Set<() => void>();
  #output = "";
  #printedLength = 0;
  #hasEnded = false;

  constructor(name: string, command: string, args: readonly string[], env?: NodeJS.ProcessEnv) {
    this.name = name;
    running.add(this);
    // A process group of its own: Salt's daemons start children, which are ended with the group.
    this.#child = spawn(command, args, { env: environment(env), stdio: ["ignore", "pipe", "pipe"], detached: true });
    this.#child.stdout?.on("data", (chunk: Buffer) => this.#keep(chunk));
    this.#child.stderr?.on("data", (chunk: Buffer) => this.#keep(chunk));
    this.#exit = new Promise((resolve) => {
      this.#child.once("error", (error) => {
        this.#keep(Buffer.from(`${error.message}\n`));
        this.#ended();
        resolve(null);
      });
      this.#child.once("exit", (code) => {
        this.#ended();
        resolve(code);
      });
    });
  }

  get output(): string {
    return this.#output;
  }

  /** Characters printed so far, kept or not: a mark for `outputSince`. */
  get printedLength(): number {
    return this.#printedLength;
  }

  /** The kept part of the output after the mark. */
  outputSince(printedLength: number): string {
    const newLength = this.#printedLength - printedLength;
    return newLength === 0 ? "" : this.#output.slice(-newLength);
  }

  get pid(): number {
    return this.#child.pid ?? -1;
  }

  /** Resolves with the first line that `pattern` matches. */
  async untilLine(pattern: RegExp, timeoutMs: number): Promise<string> {
    const deadline = AbortSignal.timeout(timeoutMs);
    for (;;) {
      const line = this.#output.split("\n").find((text) => pattern.test(text));
      if (line !== undefined) return line;
      if (this.#hasEnded) throw new Error(`${this.name} ended before it printed ${pattern}`);
      if (deadline.aborted) throw new Error(`${this.name} did not print ${pattern} within ${timeoutMs} ms`);
      await this.#untilChange(deadline);
    }
  }

  /** Sends TERM to the program, and KILL to its group if it does not end; resolves with the exit code. */
  async stop(): Promise<number | null> {
    if (!this.#hasEnded) this.#child.kill("SIGTERM");
    const inTime = new AbortController();
    await Promise.race([this.#exit, delay(stopTimeoutMs, undefined, { signal: inTime.signal }).catch(() => undefined)]);
    inTime.abort();
    this.#killGroup();
    return this.#exit;
  }

  /** Sends KILL to the program and its children. */
  async kill(): Promise<void> {
    this.#killGroup();
    await this.#exit;
  }

  /** As `kill`, without waiting. */
  killNow(): void {
    this.#killGroup();
  }

  #killGroup(): void {
    running.delete(this);
    if (this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, "SIGKILL");
    } catch (error) {
      // The program has ended already.
      if (!(error instanceof Error && "code" in error && error.code === "ESRCH")) throw error;
    }
  }

  #untilChange(signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        this.#listeners.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      this.#listeners.add(done);
      signal.addEventListener("abort", done);
    });
  }

  #keep(chunk: Buffer): void {
    const text = chunk.toString();
    this.#printedLength += text.length;
    this.#output = (this.#output + text).slice(-outputLengthMax);
    for (const listener of [...this.#listeners]) listener();
  }

  #ended(): void {
    this.#hasEnded = true;
    for (const listener of [...this.#listeners]) listener();
  }
}
