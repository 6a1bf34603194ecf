/** A fleet for tests of batch jobs: it gets all publishes, and the test decides its answers. */
import { EventEmitter, once } from "node:events";
import type { FollowOptions } from "../../../src/master/jobs/followed.ts";
import type { Job, Published } from "../../../src/master/publish/publisher.ts";
import type { BatchEntry } from "../../../src/wire/batch-options.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import { TextList } from "../../../src/wire/text-list.ts";
import type { Encodable } from "../../../src/wire/values.ts";

const eventTimeoutMs = 30_000;

export class Fleet {
  readonly ids: readonly string[];
  readonly published: { readonly jid: string; readonly job: Job }[] = [];
  readonly followed = new Map<string, FollowOptions>();
  readonly recorded = new Map<string, Job>();
  readonly fired: { readonly tag: string; readonly data: ReadonlyMap<string, unknown> }[] = [];
  readonly #events = new EventEmitter();
  readonly #returned = new Map<string, Set<string>>();
  stored = new Map<string, ReadonlyMap<string, number>>();
  /** Functions that all minions answer at once. */
  answers: { readonly [fun: string]: Encodable } = { "test.ping": true };
  absent = new Set<string>();
  /** Publishes of other functions than the ping that fail after the tracker follows them. */
  failing = 0;
  untilWritten: () => Promise<boolean> = async () => true;
  #lastJid = 20260101000000000000n;

  constructor(ids: readonly string[]) {
    this.ids = ids;
  }

  newJid(): string {
    this.#lastJid += 1n;
    return String(this.#lastJid);
  }

  async publish(job: Job, onAccepted?: (published: Published) => void): Promise<Published | undefined> {
    const ids = typeof job.target === "string" ? this.ids : job.target.filter((id) => this.ids.includes(id));
    if (ids.length === 0) return undefined;
    const jid = job.jid ?? this.newJid();
    const published = { jid, minions: TextList.of(ids), missing: [] };
    onAccepted?.(published);
    if (this.failing > 0 && job.fun !== "test.ping") {
      this.failing -= 1;
      this.#events.emit("any");
      // An error of a worker; its code does not cross the threads.
      throw new Error("a write failed: No space left on device");
    }
    this.published.push({ jid, job });
    const answer = this.answers[String(job.fun)];
    if (answer !== undefined)
      setImmediate(() => {
        for (const id of ids) if (!this.absent.has(id)) this.answer(jid, id, 0, answer);
        if (ids.some((id) => this.absent.has(id))) this.giveUp(jid);
      });
    this.#events.emit("any");
    return published;
  }

  async untilFollowed(jid: string): Promise<FollowOptions> {
    for (;;) {
      const options = this.followed.get(jid);
      if (options !== undefined) return options;
      await this.#next();
    }
  }

  /** Called when something was published, followed or reported. */
  async #next(): Promise<void> {
    const abort = new AbortController();
    const timer = setTimeout(() => abort.abort(), eventTimeoutMs);
    await once(this.#events, "any", { signal: abort.signal });
    clearTimeout(timer);
  }

  follow(options: FollowOptions): void {
    this.#events.emit("any");
    const former = this.followed.get(options.jid);
    this.followed.set(options.jid, options);
    this.#returned.set(options.jid, new Set());
    former?.onDone([], new Map());
    if (options.minions.count === 0) options.onDone([], new Map());
  }

  answer(jid: string, id: string, retcode = 0, value: Encodable = true): void {
    const options = this.followed.get(jid);
    options?.onReturn?.(id, () => encode({ return: value, retcode }, "bin"));
    const returned = this.#returned.get(jid)?.add(id);
    if (options !== undefined && returned?.size === options.minions.count) options.onDone([...returned], new Map());
  }

  /** The tracker has asked which minions still run it, and got no answer. */
  giveUp(jid: string): void {
    const options = this.followed.get(jid);
    const returned = this.#returned.get(jid) ?? new Set();
    const silent = (options?.minions.texts() ?? []).filter((id) => !returned.has(id));
    options?.onDone([...returned], new Map(silent.map((id) => [id, "No response"])));
  }

  fire(tag: string, data: ReadonlyMap<string, unknown>): void {
    this.fired.push({ tag, data });
    this.#events.emit("any");
  }

  /** Resolves with all entries of this kind once there are `count` of them. */
  async told<Kind extends BatchEntry["kind"]>(kind: Kind, count = 1): Promise<Extract<BatchEntry, { kind: Kind }>[]> {
    for (;;) {
      const found = this.fired
        .filter(({ tag }) => tag.endsWith(`/${kind}`))
        .map(({ data }) => Object.fromEntries(data));
      if (found.length >= count) return found as unknown as Extract<BatchEntry, { kind: Kind }>[];
      await this.#next();
    }
  }

  async untilPublished(fun: string, count = 1): Promise<{ readonly jid: string; readonly job: Job }[]> {
    for (;;) {
      const found = this.published.filter(({ job }) => job.fun === fun);
      if (found.length >= count) return found;
      await this.#next();
    }
  }
}
