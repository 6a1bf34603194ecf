/**
 * An agent: lends this machine to a bench on another one, which proves that it has the same secret. It serves one bench at a time, relays only, and ends
 * what it started when the bench goes.
 */
import type { AddressInfo, DropArgument } from "node:net";
import { cpus, hostname } from "node:os";
import { createServer, type Server, type TLSSocket } from "node:tls";
import { SaltworksError } from "../../src/errors.ts";
import type { StormHost } from "../fleet/storm/host.ts";
import { type Address, addressText } from "./addresses.ts";
import { type Beats, beatsDefault, Channel } from "./channel.ts";
import { type AgentFacts, type FromAgent, protocolVersion, type ToAgent } from "./messages.ts";
import { refusalText, serverSecurity } from "./secured.ts";
import { ServedBench } from "./served-bench.ts";

export type AgentLimits = Beats & {
  /** For a client to prove that it has the secret. */
  readonly handshakeMs: number;
  /** For it to say its version after that. */
  readonly helloMs: number;
};

/** Longer than a bench waits for an agent, because a bench also does work between runs that holds up its event loop. */
const silentBeatsMax = 30;
const limitsDefault: AgentLimits = { ...beatsDefault, silentMax: silentBeatsMax, handshakeMs: 5_000, helloMs: 5_000 };
/** Connections at a time: the bench's, and the ones that are still to be refused. */
const connectionsMax = 16;
/** Lines about refused clients in `refusalSpanMs`. Over it they are counted, and their number is told before the next line, or at the end. */
const refusalLinesMax = 20;
const refusalSpanMs = 60_000;

export type AgentOptions = {
  readonly address: Address;
  readonly key: Buffer;
  readonly version: string;
  readonly host: StormHost;
  /** Gets a line for the operator when a bench comes, goes or is refused. */
  readonly tell: (line: string) => void;
  readonly limits?: Partial<AgentLimits>;
};

type Guest = { readonly from: string; readonly channel: Channel<ToAgent, FromAgent>; readonly bench: ServedBench };

export class Agent {
  readonly #options: AgentOptions;
  readonly #limits: AgentLimits;
  readonly #server: Server;
  #guest: Guest | undefined;
  #refusals = { sinceMs: Number.NEGATIVE_INFINITY, told: 0, untold: 0 };
  /** Resolves when the last guest's processes have ended. */
  #cleared: Promise<void> = Promise.resolve();

  private constructor(options: AgentOptions) {
    this.#options = options;
    this.#limits = { ...limitsDefault, ...options.limits };
    this.#server = createServer({ ...serverSecurity(options.key), handshakeTimeout: this.#limits.handshakeMs });
    this.#server.maxConnections = connectionsMax;
    this.#server.on("secureConnection", (socket) => this.#greet(socket));
    this.#server.on("tlsClientError", (error, socket) => {
      this.#tellRefused(peerOf(socket), refusalText(error));
      socket.destroy();
    });
    this.#server.on("drop", (drop) => {
      this.#tellRefused(peerOf(drop ?? {}), `${connectionsMax} connections are open`);
    });
  }

  /** @throws SaltworksError PORT_UNUSABLE */
  static async open(options: AgentOptions): Promise<Agent> {
    const agent = new Agent(options);
    await new Promise<void>((resolve, reject) => {
      agent.#server.once("error", (error: NodeJS.ErrnoException) => {
        const place = addressText(options.address);
        reject(new SaltworksError("PORT_UNUSABLE", `the agent cannot listen on ${place}: ${error.code}`));
      });
      agent.#server.listen(options.address.port, options.address.host, resolve);
    });
    return agent;
  }

  /** Where it listens, with the port that the system chose for port 0. */
  get address(): Address {
    return { host: this.#options.address.host, port: (this.#server.address() as AddressInfo).port };
  }

  /** Ends the bench that is served, too. */
  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#guest?.channel.end("the agent was stopped");
    await Promise.all([this.#cleared, closed]);
    this.#tellUntold();
  }

  #tellRefused(from: string, why: string): void {
    const nowMs = performance.now();
    if (nowMs - this.#refusals.sinceMs >= refusalSpanMs) {
      this.#tellUntold();
      this.#refusals = { sinceMs: nowMs, told: 0, untold: 0 };
    }
    if (this.#refusals.told >= refusalLinesMax) this.#refusals.untold += 1;
    else {
      this.#refusals.told += 1;
      this.#options.tell(`refused ${from}: ${why}`);
    }
  }

  #tellUntold(): void {
    const { untold } = this.#refusals;
    if (untold > 0) this.#options.tell(`refused ${untold} more`);
  }

  #greet(socket: TLSSocket): void {
    const from = peerOf(socket);
    const channel = new Channel<ToAgent, FromAgent>(socket, this.#limits);
    const timer = setTimeout(() => channel.end("it did not say hello in time"), this.#limits.helloMs);
    channel.onEnd = (why) => {
      clearTimeout(timer);
      this.#tellRefused(from, why);
    };
    channel.onMessage = (message) => {
      clearTimeout(timer);
      channel.onMessage = () => channel.end("it did not wait for the answer to its hello");
      // The processes of a bench that has just gone are given their time to end.
      void this.#cleared
        .then(() => this.#decide(from, channel, message))
        .catch((error: unknown) => channel.end(`it sent ${(error as Error).message}`));
    };
  }

  #decide(from: string, channel: Channel<ToAgent, FromAgent>, message: ToAgent): void {
    // It may have gone while the processes of the bench before it ended.
    if (channel.hasEnded) return;
    const why = this.#faultOf(message);
    if (why !== undefined) {
      channel.send({ kind: "refused", why });
      channel.end(why, { isPolite: true });
      return;
    }
    this.#serve(from, channel);
  }

  #faultOf(message: ToAgent): string | undefined {
    const { version } = this.#options;
    if (message?.kind !== "hello") return "it did not say hello";
    if (message.version !== version || message.protocol !== protocolVersion) {
      const [theirs, ours] = [versionText(message), versionText({ version, protocol: protocolVersion })];
      return `the bench is Saltworks ${theirs}, this agent ${ours}: they must be the same`;
    }
    return this.#guest && `this agent serves another bench, from ${this.#guest.from}`;
  }

  #serve(from: string, channel: Channel<ToAgent, FromAgent>): void {
    const bench = new ServedBench(this.#options.host, (message) => channel.send(message));
    this.#guest = { from, channel, bench };
    channel.trust();
    channel.onEnd = (why) => {
      this.#options.tell(`the bench from ${from} ended: ${why}`);
      this.#cleared = bench.end().then(() => {
        this.#guest = undefined;
      });
    };
    channel.onMessage = (message) => {
      try {
        if (message.kind === "leave") {
          // The connection ends after the processes, so that the next bench finds the agent free.
          void bench.end().then(() => channel.end("it was done", { isPolite: true }));
          return;
        }
        bench.obey(message);
      } catch (error) {
        channel.end(`it sent ${(error as Error).message}`);
      }
    };
    this.#options.tell(`serves the bench from ${from}`);
    channel.send({ kind: "welcome", facts: this.#facts() });
  }

  #facts(): AgentFacts {
    const { cores, descriptorsMax } = this.#options.host;
    const cpu = cpus()[0]?.model.trim() ?? "unknown";
    return { hostName: hostname(), cores, cpu, node: process.version, descriptorsMax };
  }
}

function versionText({ version, protocol }: { readonly version: string; readonly protocol: number }): string {
  return `${String(version).slice(0, 40)} (protocol ${Number(protocol)})`;
}

function peerOf({ remoteAddress, remotePort }: Pick<TLSSocket, "remoteAddress" | "remotePort"> | DropArgument): string {
  return remoteAddress === undefined ? "a client" : addressText({ host: remoteAddress, port: remotePort ?? 0 });
}
