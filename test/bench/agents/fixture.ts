/** An agent within this process, on a free port, whose host starts no processes but answers as one. */
import { Agent, type AgentLimits } from "../../../bench/agents/agent.ts";
import { RemoteHost } from "../../../bench/agents/remote-host.ts";
import type { LinkEvents, StormHost } from "../../../bench/fleet/storm/host.ts";
import type { ToStormProcess } from "../../../bench/fleet/storm/messages.ts";

export const key = Buffer.alloc(32, 1);
export const otherKey = Buffer.alloc(32, 2);
export const version = "1.2.3";

/** Remembers what its processes were told. */
export class FakeHost implements StormHost {
  readonly facts = undefined;
  readonly cores = 3;
  readonly descriptorsMax = 1_024;
  readonly clock = { offsetMs: 0, uncertaintyMs: 0, roundTripMs: 0 };
  readonly told: ToStormProcess[] = [];
  running = 0;
  events: LinkEvents | undefined;

  measureClock(): Promise<void> {
    return Promise.resolve();
  }

  start(_need: unknown, events: LinkEvents) {
    this.running += 1;
    this.events = events;
    let onEnded = (): void => {};
    const hasEnded = new Promise<void>((resolve) => {
      onEnded = resolve;
    });
    const kill = (): void => {
      this.running -= 1;
      onEnded();
    };
    const send = (message: ToStormProcess): void => {
      this.told.push(message);
      events.onMessage({ kind: "done" });
    };
    return { processId: undefined, hasEnded, send, kill };
  }
}

export class AgentSite {
  readonly agent: Agent;
  readonly host: FakeHost;
  readonly #lines: string[];
  readonly #onLine: Set<() => void>;

  private constructor(agent: Agent, host: FakeHost, lines: string[], onLine: Set<() => void>) {
    this.agent = agent;
    this.host = host;
    this.#lines = lines;
    this.#onLine = onLine;
  }

  static async open(limits: Partial<AgentLimits> = {}): Promise<AgentSite> {
    const lines: string[] = [];
    const onLine = new Set<() => void>();
    const host = new FakeHost();
    const tell = (line: string): void => {
      lines.push(line);
      for (const listener of onLine) listener();
    };
    const agent = await Agent.open({ address: { host: "127.0.0.1", port: 0 }, key, version, host, tell, limits });
    return new AgentSite(agent, host, lines, onLine);
  }

  get lines(): readonly string[] {
    return this.#lines;
  }

  /** Resolves to the first line that matches, also to one that came before. */
  async line(pattern: RegExp): Promise<string> {
    for (;;) {
      const found = this.#lines.find((line) => pattern.test(line));
      if (found !== undefined) return found;
      await new Promise<void>((resolve) => {
        const listener = (): void => {
          this.#onLine.delete(listener);
          resolve();
        };
        this.#onLine.add(listener);
      });
    }
  }

  connect(more: { key?: Buffer; version?: string } = {}): Promise<RemoteHost> {
    return RemoteHost.open({ address: this.agent.address, key, version, ...more });
  }
}
