/** Runs orchestrations for the API, the reactor and other orchestrations, each in a process of its own: it holds up no thread of the master. */
import { type ChildProcess, fork } from "node:child_process";
import { fileURLToPath } from "node:url";
import type { MasterConfig } from "../../config/load.ts";
import { SaltworksError } from "../../errors.ts";
import { orchestrationMs, orchestrationsMax } from "../../limits.ts";
import type { RunnerCaller } from "../../runners/contract/contract.ts";
import type { OrchestrationAnswer, OrchestrationCall } from "../../runners/contract/orchestration.ts";
import { encode } from "../../wire/msgpack.ts";
import type { Value, ValueMap } from "../../wire/values.ts";

const entry = fileURLToPath(new URL("../../cli/orchestrate/process.js", import.meta.url));
/** A word on the command line, which `ps` shows. */
const commandLineMark = "saltworks-orchestration";

export type OrchestrationsOptions = { readonly config: MasterConfig; readonly entry?: string };

export class Orchestrations {
  readonly #options: OrchestrationsOptions;
  readonly #running = new Set<ChildProcess>();
  #refused = 0;
  #isClosed = false;

  constructor(options: OrchestrationsOptions) {
    this.#options = options;
  }

  get counts(): { readonly running: number; readonly refused: number } {
    return { running: this.#running.size, refused: this.#refused };
  }

  /** @throws SaltworksError QUEUE_FULL, CHANNEL_CLOSED, TASK_TIMEOUT, WORKER_LOST */
  async run(fun: string, args: Value[], kwargs: ValueMap, caller: RunnerCaller): Promise<OrchestrationAnswer> {
    if (this.#isClosed) throw stopping();
    if (this.#running.size >= orchestrationsMax) {
      this.#refused += 1;
      throw new SaltworksError("QUEUE_FULL", `${orchestrationsMax} orchestrations are running`);
    }
    const { config, entry: program = entry } = this.#options;
    const child = fork(program, [commandLineMark], {
      serialization: "advanced",
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#running.add(child);
    const overdue = setTimeout(() => child.kill("SIGKILL"), orchestrationMs);
    const isByEvent = caller.isByEvent === true;
    const call: OrchestrationCall = {
      ...{ config, fun, jid: caller.jid, user: caller.user, isByEvent },
      args: encode(args, "bin"),
      kwargs: encode(kwargs, "bin"),
    };
    try {
      return await answerOf(child, call, () => this.#isClosed);
    } finally {
      clearTimeout(overdue);
      this.#running.delete(child);
      child.kill("SIGKILL");
    }
  }

  /** Ends all orchestrations. Jobs that they have published go on. */
  close(): void {
    this.#isClosed = true;
    for (const child of this.#running) child.kill("SIGKILL");
  }
}

function stopping(): SaltworksError {
  return new SaltworksError("CHANNEL_CLOSED", "the master is shutting down");
}

function answerOf(child: ChildProcess, call: OrchestrationCall, isClosed: () => boolean): Promise<OrchestrationAnswer> {
  return new Promise((resolve, reject) => {
    child.once("message", (answer) => resolve(answer as OrchestrationAnswer));
    child.on("error", (error) =>
      reject(new SaltworksError("WORKER_LOST", "the process did not start", {}, { cause: error })),
    );
    child.once("exit", (code, signal) => {
      const text = `the process of the orchestration ended with ${signal ?? `code ${code}`}`;
      reject(isClosed() ? stopping() : new SaltworksError("WORKER_LOST", text));
    });
    child.send(call);
  });
}
