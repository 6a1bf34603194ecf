/** One member for tests: a store of minions' data, as one worker has it, and a replica of it on a connection of its own. */
import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { ShareAsk } from "../../../src/cluster/minions/local.ts";
import { MinionReplica } from "../../../src/cluster/minions/replica.ts";
import { type MinionData, openMinionData } from "../../../src/store/minions/data.ts";
import { sharedMinions } from "../../../src/store/minions/shared-minions.ts";
import { secretBoxWith } from "../../../src/store/secrets/sealed.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import type { Encodable } from "../../../src/wire/values.ts";
import { MinionFacts } from "../../../src/workers/state/facts.ts";
import { type ShareSite, shareMinions } from "../../../src/workers/state/share-minions.ts";
import type { NatsClients, NatsServer } from "../nats.ts";

const deadlineMs = 30_000;
const lookMs = 5;

export const packed = (value: Encodable): Uint8Array => encode(value, "bin");

export class TestMember {
  readonly accepted = new Set<string>();
  readonly warnings: string[] = [];
  readonly #server: NatsServer;
  readonly #path: string;
  readonly #stream: string;
  readonly #key: Buffer;
  /** How many of the next messages are written without an acknowledgement. */
  unacknowledged = 0;
  /** Of the messages that its release writes and reads. */
  version = 1;
  onUnacknowledged: () => void = () => undefined;
  #clients: NatsClients | undefined;
  #site: ShareSite | undefined;
  #facts: MinionFacts | undefined;
  #shared: MinionData | undefined;
  #replica: MinionReplica | undefined;

  constructor(server: NatsServer, stream: string, path: string, key = Buffer.alloc(32, 7)) {
    this.#server = server;
    this.#stream = stream;
    this.#path = path;
    this.#key = key;
  }

  get replica(): MinionReplica {
    assert.ok(this.#replica, "the member is not started");
    return this.#replica;
  }

  /** What minions and operators write here goes to the others. */
  get store(): MinionData {
    assert.ok(this.#shared, "the member's store is closed");
    return this.#shared;
  }

  get facts(): MinionFacts {
    assert.ok(this.#facts, "the member's store is closed");
    return this.#facts;
  }

  openStore(): void {
    const minions = openMinionData({ path: this.#path, isShared: true });
    const { marks } = minions;
    assert.ok(marks);
    this.#shared = sharedMinions(minions, marks);
    this.#facts = new MinionFacts(this.#shared, () => undefined);
    const owner = { facts: this.#facts, owns: () => true, isAccepted: (id: string) => this.accepted.has(id) };
    this.#site = { owner, minions, marks };
  }

  /** `consumers`: as a server has them that was down a moment ago. */
  async start(consumersOf = (clients: NatsClients) => clients.jetstream.consumers): Promise<void> {
    if (this.#site === undefined) this.openStore();
    this.#clients ??= await this.#server.connect();
    const { manager, jetstream } = this.#clients;
    const consumers = consumersOf(this.#clients);
    const publish: typeof jetstream.publish = async (...message) => {
      const acknowledgement = await jetstream.publish(...message);
      if (this.unacknowledged === 0) return acknowledgement;
      this.unacknowledged -= 1;
      this.onUnacknowledged();
      throw new Error("no acknowledgement came");
    };
    this.#replica = new MinionReplica({
      clients: { manager, jetstream: { publish, consumers } },
      stream: { name: this.#stream, prefix: `${this.#stream}.minions`, replicas: 1 },
      box: secretBoxWith(this.#key),
      local: {
        slotCount: 1,
        slotOf: () => 0,
        ask: async <Result>(_: number, ask: ShareAsk) => {
          assert.ok(this.#site);
          return structuredClone(await shareMinions(this.#site, structuredClone(ask))) as Result;
        },
      },
      isAccepted: (id) => this.accepted.has(id),
      version: this.version,
      logger: {
        info: () => undefined,
        warn: (_: unknown, text?: string) => void this.warnings.push(text ?? String(_)),
      },
    });
  }

  /** Stops, as at the end of a program. */
  async stop(): Promise<void> {
    await this.#replica?.close();
    await this.#shared?.close();
    this.#replica = undefined;
    this.#shared = undefined;
    this.#site = undefined;
  }

  mine(id: string): string | undefined {
    return hex(this.store.getMine(id));
  }

  grains(id: string): string | undefined {
    return hex(this.facts.stored(id)?.grains);
  }

  async until(what: string, isDone: () => boolean): Promise<void> {
    const endMs = performance.now() + deadlineMs;
    while (!isDone()) {
      assert.ok(performance.now() < endMs, `not in time: ${what}; ${JSON.stringify(this.warnings.slice(-5))}`);
      await delay(lookMs);
    }
  }

  untilMine(id: string, value: Encodable | undefined): Promise<void> {
    const wanted = value === undefined ? undefined : hex(packed(value));
    return this.until(`the mine of ${id}`, () => this.mine(id) === wanted);
  }

  untilGrains(id: string, value: Encodable | undefined): Promise<void> {
    const wanted = value === undefined ? undefined : hex(packed(value));
    return this.until(`the grains of ${id}`, () => this.grains(id) === wanted);
  }

  untilSent(): Promise<void> {
    return this.until("all is sent", () => this.replica.isCaughtUp && this.#site?.marks.unsentCount === 0);
  }
}

function hex(bytes: Uint8Array | undefined): string | undefined {
  return bytes === undefined ? undefined : Buffer.from(bytes).toString("hex");
}
