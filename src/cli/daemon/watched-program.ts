/**
 * A program that this daemon starts, starts again when it ends, and ends with itself. The program's standard input is a pipe: it closes when this
 * process ends, also by `kill -9`, and the program ends then.
 */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import type { Logger } from "pino";
import { watchedRestartMs, watchedSteadyMs, watchedStopMs } from "../../limits.ts";

/** Marks the program in its environment: it ends with its standard input. */
const mark = "SALTWORKS_WATCHED";

/** A program and its arguments. */
export type Command = { readonly command: string; readonly args: readonly string[] };

export type WatchedOptions = {
  readonly name: string;
  readonly command: string;
  readonly args: readonly string[];
  readonly log: Logger;
  /** The program's directory; this daemon's by default. */
  readonly cwd?: string;
  /** What its environment has beside this daemon's. */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Whether the program has a session of its own: Ctrl-C on a terminal then reaches this daemon only, which ends the program in its order. For a program
   * that does not end with its standard input; see `endingWithParent`.
   */
  readonly hasOwnSession?: boolean;
  /** Waits between two starts, milliseconds: doubled while the program ends soon. Tests use smaller ones. */
  readonly restartMs?: { readonly first: number; readonly longest: number };
  /** Called before each start, which waits for it. What it throws goes to the log, and the program is started all the same. */
  readonly beforeStart?: () => Promise<void>;
  /** Called after each start. */
  readonly onStart?: (pid: number) => void;
};

export class WatchedProgram {
  /** Starts after the first one. */
  restarts = 0;
  readonly #options: WatchedOptions;
  #child: ChildProcess | undefined;
  #timer: NodeJS.Timeout | undefined;
  #delayMs: number;
  #isStopping = false;

  constructor(options: WatchedOptions) {
    this.#options = options;
    this.#delayMs = this.#waits.first;
  }

  start(): void {
    const { name, log, beforeStart } = this.#options;
    if (beforeStart === undefined) {
      this.#spawn();
      return;
    }
    void beforeStart()
      .catch((err: unknown) => log.error({ err }, `${name} may not come up`))
      .then(() => this.#spawn());
  }

  #spawn(): void {
    if (this.#isStopping) return;
    const { name, command, args, log, cwd, onStart, environment, hasOwnSession: detached = false } = this.#options;
    const startedMs = performance.now();
    const env = { ...process.env, ...environment, [mark]: "1" };
    // Output that the program's log does not take goes to this daemon's.
    const child = spawn(command, [...args], { stdio: ["pipe", "inherit", "inherit"], env, cwd, detached });
    this.#child = child;
    child.stdin?.on("error", () => undefined);
    child.once("spawn", () => {
      log.info({ process: child.pid, restarts: this.restarts }, `started ${name}`);
      onStart?.(child.pid ?? 0);
    });
    let isOver = false;
    const ended = (why: { readonly code?: number | null; readonly signal?: string | null; readonly err?: Error }) => {
      if (isOver) return;
      isOver = true;
      this.#child = undefined;
      if (!this.#isStopping) this.#startAgain(performance.now() - startedMs, why);
    };
    child.once("error", (err) => ended({ err }));
    child.once("exit", (code, signal) => ended({ code, signal }));
  }

  /** Resolves when the program has ended: it gets `watchedStopMs`, and is killed then. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    clearTimeout(this.#timer);
    await this.endOnce();
  }

  /** As `stop`, and the program is started again. */
  async endOnce(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    await new Promise<void>((resolve) => {
      const killer = setTimeout(() => child.kill("SIGKILL"), watchedStopMs);
      child.once("exit", () => {
        clearTimeout(killer);
        resolve();
      });
      child.kill("SIGTERM");
    });
  }

  get #waits(): { readonly first: number; readonly longest: number } {
    return this.#options.restartMs ?? watchedRestartMs;
  }

  #startAgain(aliveMs: number, why: object): void {
    const { name, log } = this.#options;
    if (aliveMs >= watchedSteadyMs) this.#delayMs = this.#waits.first;
    const delayMs = this.#delayMs;
    this.#delayMs = Math.min(delayMs * 2, this.#waits.longest);
    log.error({ ...why, delayMs, restarts: this.restarts }, `${name} has ended and is started again`);
    this.#timer = setTimeout(() => {
      this.restarts += 1;
      this.start();
    }, delayMs);
  }
}

/**
 * The command that gives a program TERM when this process ends, also by `kill -9`, for a program that is not ours. It has the program's process id. On a
 * system whose `setpriv` cannot do it, the program stays.
 */
export async function endingWithParent(command: string, args: readonly string[]): Promise<Command> {
  return (await behind("setpriv", ["--pdeathsig", "TERM"], { command, args })) ?? { command, args };
}

/**
 * The command that ends a program, which is not ours, once it asks for more than `bytes` of memory for data, mapped files not counted (RLIMIT_DATA). It
 * has the program's process id.
 *
 * @returns undefined on a system whose `prlimit` cannot do it
 */
export function boundedInMemory(program: Command, bytes: number): Promise<Command | undefined> {
  return behind("prlimit", [`--data=${bytes}`], program);
}

/** A program that `tool` replaces itself with. @returns undefined if the tool is missing or cannot do it */
async function behind(
  tool: string,
  words: readonly string[],
  { command, args }: Command,
): Promise<Command | undefined> {
  const canDo = await new Promise<boolean>((resolve) => {
    execFile(tool, [...words, "true"], { timeout: watchedStopMs }, (error) => resolve(error === null));
  });
  return canDo ? { command: tool, args: [...words, command, ...args] } : undefined;
}

/** Ends this process in order when the daemon that watches it has ended. Without effect for a program that none watches. @returns whether one does */
export function endWithWatcher(environment: Record<string, string | undefined>): boolean {
  if (environment[mark] !== "1") return false;
  delete environment[mark];
  process.stdin.once("close", () => process.kill(process.pid, "SIGTERM"));
  process.stdin.resume();
  return true;
}
