/** The pool's handle of one job process: sends it messages, passes on its answers, reports its end. */
import { type ChildProcess, fork } from "node:child_process";
import type { MinionConfig } from "../../config/schema.ts";
import { SaltworksError } from "../../errors.ts";
import { decode, encode } from "../../wire/msgpack.ts";
import type { Encodable, Value } from "../../wire/values.ts";
import type { Host } from "../functions/host.ts";
import type { GrainsChange } from "../functions/module-contract.ts";
import type { Environment } from "../modules/machine/environment.ts";
import type { Ask, FromJobProcess, LogLevel, ToJobProcess } from "./messages.ts";

export type JobProcessOptions = {
  readonly entry: string;
  readonly config: MinionConfig;
  /** Variables that commands inherit. */
  readonly environment: Environment;
  readonly extrasUrl: string | undefined;
  readonly host: Host;
  readonly onReady: () => void;
  /** `bytes`: size of the packed result. */
  readonly onReturned: (result: Value, bytes: number) => void;
  /** The process takes the next job. */
  readonly onDone: () => void;
  /** The process has ended, by itself or killed. */
  readonly onExit: (code: number | null, signal: NodeJS.Signals | null) => void;
  readonly onLog: (level: LogLevel, text: string) => void;
};

/** A word on the command line: `ps` shows it, and functions/job-records.ts recognises our processes by it. */
const commandLineMark = "saltworks-job";

export class JobProcess {
  readonly #child: ChildProcess;
  readonly #options: JobProcessOptions;
  /** Resolves when the process is gone. */
  readonly ended: Promise<void>;
  /** Version of the facts that the process was last sent. */
  factsVersion = -1;

  constructor(options: JobProcessOptions) {
    this.#options = options;
    this.#child = fork(options.entry, [commandLineMark], {
      serialization: "advanced",
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#child.on("message", (message: FromJobProcess) => this.#receive(message));
    this.ended = new Promise((resolve) => {
      const end = (code: number | null, signal: NodeJS.Signals | null) => {
        options.onExit(code, signal);
        resolve();
      };
      this.#child.once("exit", end);
      this.#child.on("error", (error) => {
        options.onLog("error", `a job process: ${error.message}`);
        // A process that did not start does not emit "exit".
        if (this.#child.pid === undefined) end(1, null);
      });
    });
    const { config, environment, extrasUrl } = options;
    this.send({ kind: "start", config, environment, extrasUrl });
  }

  /** Undefined if the process could not be started. */
  get pid(): number | undefined {
    return this.#child.pid;
  }

  send(message: ToJobProcess): void {
    // Drops messages to a process that has ended: `onExit` reports the end.
    if (this.#child.connected) this.#child.send(message, () => undefined);
  }

  /** Ends an idle process. */
  release(): void {
    if (this.#child.connected) this.#child.disconnect();
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  #receive(message: FromJobProcess): void {
    switch (message.kind) {
      case "ready":
        this.#options.onReady();
        break;
      case "returned":
        this.#options.onReturned(decode(message.result), message.result.length);
        break;
      case "done":
        if (message.result !== undefined) this.#options.onReturned(decode(message.result), message.result.length);
        this.#options.onDone();
        break;
      case "log":
        this.#options.onLog(message.level, message.text);
        break;
      case "ask":
        void this.#answer(message.number, message.ask);
        break;
      default: {
        const never: never = message;
        throw never;
      }
    }
  }

  async #answer(number: number, ask: Ask): Promise<void> {
    try {
      const value = await askHost(this.#options.host, ask);
      this.send({ kind: "answer", number, value: encode(value, "bin") });
    } catch (error) {
      const code = error instanceof SaltworksError ? error.code : "FUNCTION_FAILED";
      const message = error instanceof Error ? error.message : String(error);
      this.send({ kind: "refusal", number, code, message });
    }
  }
}

async function askHost(host: Host, ask: Ask): Promise<Encodable> {
  const data = decode(ask.data);
  switch (ask.call) {
    case "fireMaster":
      return await host.fireMaster(ask.tag, data);
    case "fireMinion":
      await host.fireMinion(ask.tag, data);
      return null;
    case "masterRequest":
      return await host.masterRequest(membersOf(data));
    case "compilePillar":
      return await host.compilePillar(membersOf(data));
    case "setGrains":
      await host.setGrains(grainsChangeOf(membersOf(data)));
      return null;
    default: {
      const never: never = ask;
      throw never;
    }
  }
}

function grainsChangeOf({ set, removed }: { readonly [key: string]: Value }): GrainsChange {
  if (!(set instanceof Map) || !Array.isArray(removed))
    throw new SaltworksError("WIRE_MALFORMED", "a change of grains from a job process that is not one");
  return { set, removed };
}

function membersOf(data: Value): { readonly [key: string]: Value } {
  if (!(data instanceof Map))
    throw new SaltworksError("WIRE_MALFORMED", "a question of a job process that is not a map");
  return Object.fromEntries(Array.from(data, ([key, value]) => [String(key), value]));
}
