/** Members for tests of the sequence of jobs: each has a connection of its own, and keeps what it takes and sends. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ReceivedJob, SharedJob } from "../../../src/cluster/jobs/record.ts";
import { JobStream } from "../../../src/cluster/jobs/stream.ts";
import { TextList } from "../../../src/wire/text-list.ts";
import type { NatsServer } from "../nats.ts";

const deadlineMs = 60_000;
const lookMs = 2;

export function sharedJob(jid: string, more: Partial<SharedJob> = {}): SharedJob {
  return {
    ...{ kind: "job", jid, isChosenId: false, target: "*", targetKind: "glob", delimiter: ":" },
    fields: new Map([
      ["fun", "test.ping"],
      ["jid", jid],
    ]),
    minions: TextList.of(["web1", "web2"]),
    missing: [],
    load: Uint8Array.of(0x80),
    isReturnless: false,
    ...more,
  };
}

export class JobMember {
  readonly taken: ReceivedJob[] = [];
  readonly sent: ReceivedJob[] = [];
  readonly texts: string[] = [];
  /** Added to the wall clock. */
  aheadMs = 0;
  /** Called before a job is sent. */
  onSend: (job: ReceivedJob) => Promise<void> | void = () => undefined;
  /** Resolves when a job is stored that could not be. */
  untilStored: (job: ReceivedJob) => Promise<void> | undefined = () => undefined;
  readonly #server: NatsServer;
  readonly #name: string;
  readonly #directory = mkdtempSync(join(tmpdir(), "saltworks-jobs-"));
  #stream: JobStream | undefined;

  constructor(server: NatsServer, name: string) {
    this.#server = server;
    this.#name = name;
  }

  get stream(): JobStream {
    assert.ok(this.#stream, "the member is not started");
    return this.#stream;
  }

  async start(clusterId = "test"): Promise<void> {
    const note = (_: unknown, text?: string) => this.texts.push(text ?? "");
    this.#stream = await JobStream.open({
      servers: "the test's server",
      connection: await this.#server.connect(),
      ...{ clusterId, member: this.#name, replicas: 1 },
      placeFile: join(this.#directory, "place"),
      waitMs: deadlineMs,
      logger: { warn: note, error: note },
      now: () => Date.now() + this.aheadMs,
      take: async (job) => {
        this.taken.push(job);
        const send = async (isFresh: boolean) => {
          await this.onSend(job);
          if (isFresh) this.sent.push(job);
        };
        return { send, stored: this.untilStored(job) };
      },
    });
  }

  async stop(): Promise<void> {
    await this.#stream?.close();
    this.#stream = undefined;
  }

  async append(jid: string = randomUUID(), more: Partial<SharedJob> = {}): Promise<void> {
    await this.stream.append(sharedJob(jid, more));
  }

  async untilTaken(count: number): Promise<void> {
    await until(`${this.#name} takes ${count}`, () => this.stream.counters.taken >= count);
  }

  async remove(): Promise<void> {
    await this.stop();
    rmSync(this.#directory, { recursive: true, force: true });
  }
}

export async function until(what: string, isSo: () => boolean): Promise<void> {
  const endMs = performance.now() + deadlineMs;
  while (!isSo()) {
    assert.ok(performance.now() < endMs, `not in time: ${what}`);
    await delay(lookMs);
  }
}
