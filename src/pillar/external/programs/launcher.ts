/**
 * Starts commands from a small process of their own instead of from the master (launcher-process.ts). One launcher serves a thread; it starts at
 * the first command, and again at the next one after it was lost.
 */
import { type ChildProcess, fork } from "node:child_process";
import { launcherGraceMs } from "../../../limits.ts";
import { type Ended, type ProgramPlace, type RunLimits, type SourceCommand, unstarted } from "./run-program.ts";

export type Launch = {
  readonly number: number;
  readonly command: SourceCommand;
  readonly place: ProgramPlace;
  readonly limits: RunLimits;
};
export type Launched = { readonly number: number; readonly ended: Ended };

const program = new URL("./launcher-process.js", import.meta.url);

export class CommandLauncher {
  #child: ChildProcess | undefined;
  #number = 0;
  /** By number: takes the command's end. */
  readonly #running = new Map<number, (ended: Ended) => void>();

  /** Never rejects: a launcher that is lost, or that does not answer in time, fails its commands. */
  run(command: SourceCommand, place: ProgramPlace, limits: RunLimits): Promise<Ended> {
    this.#number += 1;
    const number = this.#number;
    return new Promise((resolve) => {
      const timer = setTimeout(
        () => this.#lose(this.#child),
        Math.max(0, limits.remainingMs) + launcherGraceMs,
      ).unref();
      const end = (ended: Ended) => {
        clearTimeout(timer);
        this.#running.delete(number);
        // Between commands neither the launcher nor its channel keeps this thread alive.
        if (this.#running.size === 0) this.#child?.channel?.unref();
        resolve(ended);
      };
      this.#running.set(number, end);
      try {
        this.#send({ number, command, place, limits });
      } catch (error) {
        end(unstarted(error as Error));
      }
    });
  }

  /** The process id; undefined while none runs. */
  get processId(): number | undefined {
    return this.#child?.pid;
  }

  #send(launch: Launch): void {
    this.#child ??= this.#start();
    const child = this.#child;
    child.channel?.ref();
    child.send(launch, (error) => {
      if (error !== null) this.#lose(child);
    });
  }

  #start(): ChildProcess {
    const child = fork(program, {
      cwd: "/",
      env: {},
      execArgv: [],
      stdio: ["ignore", "ignore", "ignore", "ipc"],
      serialization: "advanced",
      detached: true,
    });
    child.on("message", ({ number, ended }: Launched) => this.#running.get(number)?.(ended));
    for (const sign of ["error", "disconnect", "exit"]) child.once(sign, () => this.#lose(child));
    // The launcher ends when the channel closes, so also when this thread ends.
    child.unref();
    return child;
  }

  #lose(child: ChildProcess | undefined): void {
    if (child === undefined || child !== this.#child) return;
    this.#child = undefined;
    child.kill("SIGKILL");
    const fault = "the process that starts commands was lost";
    for (const end of [...this.#running.values()]) end({ ending: "failed", outcome: { fault, isFatal: true } });
  }
}
