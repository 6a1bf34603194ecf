/** The processes of a demo. Each is this program with other arguments and ends with the demo. */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync } from "node:fs";
import { demoStopTimeoutMs } from "../../limits.ts";
import { withoutNodeVariables } from "../daemon/node-environment.ts";

type Child = { readonly name: string; readonly process: ChildProcess; readonly errorFile: string; ended: boolean };

export class Children {
  readonly #children: Child[] = [];
  readonly #onExit = (): void => this.#killAll();
  #onDeath: (name: string, said: string) => void = () => undefined;
  #isStopping = false;

  constructor() {
    // The children end with this process, even after an uncaught error.
    process.once("exit", this.#onExit);
  }

  /** Calls `listener` with the last lines of standard error of a child that ends by itself. */
  onDeath(listener: (name: string, said: string) => void): void {
    this.#onDeath = listener;
  }

  /** Starts a child in its own process group: Ctrl-C reaches only this process, which then stops the children in order. */
  start(name: string, args: readonly string[], errorFile: string): void {
    const errors = openSync(errorFile, "a");
    const main = process.argv[1] ?? "";
    const started = spawn(process.execPath, [...process.execArgv, main, ...args], {
      stdio: ["ignore", errors, errors],
      env: withoutNodeVariables(process.env),
      detached: true,
    });
    closeSync(errors);
    const child: Child = { name, process: started, errorFile, ended: false };
    const onEnd = (_: unknown, signal?: NodeJS.Signals | null): void => {
      if (child.ended) return;
      child.ended = true;
      // Ctrl-C reaches a process that has not left the group of this one yet. This one hears of it, too.
      if (signal === "SIGINT") return;
      if (!this.#isStopping) this.#onDeath(name, readFileSync(errorFile, "utf8").trim());
    };
    started.once("exit", onEnd);
    started.once("error", onEnd);
    this.#children.push(child);
  }

  /** Stops all children, the last started first, and kills any child that does not end in time. */
  async stop(): Promise<void> {
    this.#isStopping = true;
    const alive = this.#children.filter((child) => !child.ended).reverse();
    const ends = alive.map((child) => new Promise<void>((resolve) => child.process.once("exit", () => resolve())));
    for (const child of alive) child.process.kill("SIGTERM");
    const deadline = setTimeout(() => this.#killAll(), demoStopTimeoutMs);
    await Promise.all(ends);
    clearTimeout(deadline);
    process.off("exit", this.#onExit);
  }

  #killAll(): void {
    for (const child of this.#children) if (!child.ended) child.process.kill("SIGKILL");
  }
}
