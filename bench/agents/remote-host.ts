/** A machine with an agent as a host of a storm's processes. */
import { connect, type TLSSocket } from "node:tls";
import { type ErrorCode, SaltworksError } from "../../src/errors.ts";
import type { DescriptorNeed } from "../fleet/descriptors.ts";
import type { HostFacts, LinkEvents, StormHost, StormLink } from "../fleet/storm/host.ts";
import { type Address, addressText } from "./addresses.ts";
import { type Beats, Channel } from "./channel.ts";
import { type Clock, measureClock } from "./clock.ts";
import { type FromAgent, protocolVersion, type ToAgent } from "./messages.ts";
import { clientSecurity, unreachableText } from "./secured.ts";

const connectTimeoutMs = 10_000;
/** For the answer to the hello: an agent first ends the processes of the bench before. */
const welcomeTimeoutMs = 10_000;
const clockTimeoutMs = 5_000;
/** Processes of all hosts begin a run at one time. A tenth of the lead that they get. */
const clockUncertaintyMsMax = 10;
/** For an agent to end its processes. */
const leaveTimeoutMs = 5_000;

export type AgentConnection = {
  readonly address: Address;
  readonly key: Buffer;
  readonly version: string;
  readonly beats?: Beats;
  readonly signal?: AbortSignal;
};

type Waiting = { readonly resolve: (message: FromAgent) => void; readonly reject: (error: Error) => void };
type Remote = { readonly events: LinkEvents; readonly onEnded: () => void };

export class RemoteHost implements StormHost {
  /** Called once, if the agent is lost before `close`. */
  onLost: (error: Error) => void = () => {};
  facts: HostFacts = { host: "", address: "", cpu: "", node: "" };
  cores = 0;
  descriptorsMax = 0;
  clock: Clock = { offsetMs: 0, uncertaintyMs: 0, roundTripMs: 0 };
  readonly #address: Address;
  readonly #channel: Channel<FromAgent, ToAgent>;
  readonly #processes = new Map<number, Remote>();
  readonly #hasClosed: Promise<void>;
  #started = 0;
  /** The answer that is awaited: one at a time. */
  #waiting: Waiting | undefined;
  #lost: Error | undefined;
  #isClosing = false;

  private constructor(address: Address, socket: TLSSocket, beats: Beats | undefined) {
    this.#address = address;
    this.#channel = new Channel(socket, beats);
    this.#channel.trust();
    this.#channel.onMessage = (message) => this.#hear(message);
    this.#hasClosed = new Promise((resolve) => {
      this.#channel.onEnd = (why) => {
        this.#lose(why);
        resolve();
      };
    });
  }

  /** @throws SaltworksError MASTER_UNREACHABLE, AUTH_FAILED or REQUEST_REFUSED, each naming the agent; TASK_TIMEOUT as `measureClock` */
  static async open(options: AgentConnection): Promise<RemoteHost> {
    const socket = await openSocket(options);
    const host = new RemoteHost(options.address, socket, options.beats);
    try {
      await host.#greet(options);
      await host.measureClock();
      return host;
    } catch (error) {
      host.#isClosing = true;
      host.#channel.end("it was refused");
      throw error;
    }
  }

  async measureClock(): Promise<void> {
    const deadlineMs = performance.now() + clockTimeoutMs;
    const clock = await measureClock(async () => {
      const answer = await this.#ask({ kind: "clock" }, Math.max(1, deadlineMs - performance.now()));
      if (answer.kind !== "clock") throw this.#fault("FUNCTION_FAILED", `answered with ${answer.kind}`);
      return answer.nowMs;
    });
    if (clock.uncertaintyMs > clockUncertaintyMsMax) {
      const known = `is known to ${clock.uncertaintyMs.toFixed(1)} ms only, not to ${clockUncertaintyMsMax} ms`;
      throw this.#fault("TASK_TIMEOUT", `is too far: its clock ${known}`);
    }
    this.clock = clock;
  }

  start(need: DescriptorNeed, events: LinkEvents): StormLink {
    this.#started += 1;
    const process = this.#started;
    let onEnded = (): void => {};
    const hasEnded = new Promise<void>((resolve) => {
      onEnded = resolve;
    });
    if (this.#lost === undefined) {
      this.#processes.set(process, { events, onEnded });
      this.#channel.send({ kind: "start", process, need });
    } else {
      onEnded();
      // The caller waits for an answer that cannot come.
      const lost = this.#lost;
      queueMicrotask(() => events.onFault(lost));
    }
    return {
      processId: undefined,
      hasEnded,
      send: (message) => this.#channel.send({ kind: "to", process, message }),
      kill: () => this.#channel.send({ kind: "kill", process }),
    };
  }

  /** Resolves when the agent has ended its processes. */
  async close(): Promise<void> {
    this.#isClosing = true;
    this.#channel.send({ kind: "leave" });
    const timer = setTimeout(() => this.#channel.end("it did not end in time"), leaveTimeoutMs);
    await this.#hasClosed;
    clearTimeout(timer);
  }

  async #greet({ version, address }: AgentConnection): Promise<void> {
    const answer = await this.#ask({ kind: "hello", version, protocol: protocolVersion }, welcomeTimeoutMs);
    if (answer.kind === "refused") throw this.#fault("REQUEST_REFUSED", `refuses: ${answer.why}`);
    if (answer.kind !== "welcome") throw this.#fault("FUNCTION_FAILED", `answered with ${answer.kind}`);
    const { hostName, cpu, node, cores, descriptorsMax } = answer.facts;
    this.facts = { host: hostName, address: addressText(address), cpu, node };
    this.cores = cores;
    this.descriptorsMax = descriptorsMax;
  }

  async #ask(message: ToAgent, timeoutMs: number): Promise<FromAgent> {
    if (this.#lost !== undefined) throw this.#lost;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise<FromAgent>((resolve, reject) => {
        timer = setTimeout(() => reject(this.#fault("TASK_TIMEOUT", "did not answer in time")), timeoutMs);
        this.#waiting = { resolve, reject };
        this.#channel.send(message);
      });
    } finally {
      clearTimeout(timer);
      this.#waiting = undefined;
    }
  }

  #hear(message: FromAgent): void {
    switch (message.kind) {
      case "from":
        this.#processes.get(message.process)?.events.onMessage(message.message);
        return;
      case "fault":
        this.#processes
          .get(message.process)
          ?.events.onFault(this.#fault("FUNCTION_FAILED", `says: ${message.message}`));
        return;
      case "ended":
        this.#processes.get(message.process)?.onEnded();
        this.#processes.delete(message.process);
        return;
      default:
        this.#waiting?.resolve(message);
    }
  }

  #lose(why: string): void {
    const error = this.#fault("CHANNEL_CLOSED", `is lost: ${why}`);
    this.#lost = error;
    this.#waiting?.reject(error);
    for (const { events, onEnded } of this.#processes.values()) {
      events.onFault(error);
      onEnded();
    }
    this.#processes.clear();
    if (!this.#isClosing) this.onLost(error);
  }

  #fault(code: ErrorCode, what: string): SaltworksError {
    return new SaltworksError(code, `the agent ${addressText(this.#address)} ${what}`);
  }
}

function openSocket({ address, key, signal }: AgentConnection): Promise<TLSSocket> {
  const name = `the agent ${addressText(address)}`;
  return new Promise((resolve, reject) => {
    const socket = connect({ ...clientSecurity(key), host: address.host, port: address.port });
    const fail = (error: Error): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      socket.destroy();
      reject(error);
    };
    const onAbort = (): void => fail(signal?.reason);
    const unreachable = (why: string) => new SaltworksError("MASTER_UNREACHABLE", `${name} cannot be used: ${why}`);
    const timer = setTimeout(() => fail(unreachable("no answer in time")), connectTimeoutMs);
    signal?.addEventListener("abort", onAbort, { once: true });
    const onError = (error: NodeJS.ErrnoException): void => fail(unreachable(unreachableText(error)));
    const onClose = (): void => fail(unreachable("it closed the connection"));
    socket.once("error", onError);
    socket.once("close", onClose);
    socket.once("secureConnect", () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", onAbort);
      socket.off("error", onError);
      socket.off("close", onClose);
      resolve(socket);
    });
    if (signal?.aborted === true) onAbort();
  });
}
