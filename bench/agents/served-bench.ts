/** One bench that an agent serves: starts processes of its storm on this machine and relays their messages. */
import { SaltworksError } from "../../src/errors.ts";
import type { StormHost, StormLink } from "../fleet/storm/host.ts";
import type { FromAgent, ToAgent } from "./messages.ts";

/** Processes that a bench may have on one host at a time. */
const processesMax = 256;

export class ServedBench {
  readonly #host: StormHost;
  readonly #send: (message: FromAgent) => void;
  readonly #links = new Map<number, StormLink>();

  constructor(host: StormHost, send: (message: FromAgent) => void) {
    this.#host = host;
    this.#send = send;
  }

  /** @throws SaltworksError WIRE_MALFORMED for a message that no bench sends here */
  obey(message: ToAgent): void {
    switch (message.kind) {
      case "clock":
        this.#send({ kind: "clock", nowMs: Date.now() });
        return;
      case "start":
        this.#start(message);
        return;
      case "to":
        this.#links.get(message.process)?.send(message.message);
        return;
      case "kill":
        this.#links.get(message.process)?.kill();
        return;
      default:
        throw new SaltworksError("WIRE_MALFORMED", "a message that no bench sends here");
    }
  }

  /** Resolves when all processes have ended. */
  async end(): Promise<void> {
    const links = [...this.#links.values()];
    for (const link of links) link.kill();
    await Promise.all(links.map(({ hasEnded }) => hasEnded));
  }

  #start({ process, need }: Extract<ToAgent, { kind: "start" }>): void {
    const fault = (error: Error) => this.#send({ kind: "fault", process, message: error.message });
    try {
      if (this.#links.has(process) || this.#links.size >= processesMax) {
        throw new SaltworksError("QUEUE_FULL", `an agent takes at most ${processesMax} processes, each with a number`);
      }
      const onMessage = (message: Extract<FromAgent, { kind: "from" }>["message"]) =>
        this.#send({ kind: "from", process, message });
      const link = this.#host.start(need, { onMessage, onFault: fault });
      this.#links.set(process, link);
      void link.hasEnded.then(() => {
        this.#links.delete(process);
        this.#send({ kind: "ended", process });
      });
    } catch (error) {
      fault(error as Error);
      this.#send({ kind: "ended", process });
    }
  }
}
