/** What is asked of Salt's keys in Redis. Jobs have no order there, so a search reads the names of all keys. */
import type { JidOf, Returned, SqlQueries, StoredBody, StoredJob } from "../sql/reader.ts";
import { loadKey, loadPrefix, returnsKey, returnsPrefix } from "./keys.ts";
import type { RedisSession } from "./session.ts";

/** Keys that one SCAN looks at. Redis serves no one else meanwhile. */
const keysAtOnce = 1_000;
/** Newest jobs that are remembered of one look at all keys, so that the next page of a search needs no further look. */
const rememberedMax = 20_000;

/** What the keys of Salt's hold of its tables. */
const keyed: readonly (readonly [JidOf["table"], string])[] = [
  ["jids", loadPrefix],
  ["salt_returns", returnsPrefix],
];

/** The newest jobs of a look at all keys, newest first. `isWhole`: there are no older ones. */
type Look = { readonly from: string; readonly jids: readonly string[]; readonly isWhole: boolean };

/** The first jobs behind `after`, sorted. `isWhole`: there are no later ones. */
type Walk = { readonly after: string; readonly jids: readonly string[]; readonly isWhole: boolean };

/** @returns undefined if the walk does not have the whole page */
function pageOf({ after: from, jids, isWhole }: Walk, after: string, limit: number): readonly string[] | undefined {
  if (after < from) return undefined;
  let [low, high] = [0, jids.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((jids[middle] ?? "") <= after) low = middle + 1;
    else high = middle;
  }
  const page = jids.slice(low, low + limit);
  return page.length === limit || isWhole ? page : undefined;
}

export class RedisQueries implements SqlQueries {
  readonly #session: RedisSession;
  #look: Look | undefined;
  readonly #walks = new Map<JidOf["table"], Walk>();

  constructor(session: RedisSession) {
    this.#session = session;
  }

  async jobs(jid: string): Promise<readonly StoredJob[]> {
    const load = await this.#session.run((client) => client.get(loadKey(jid)));
    return load === null ? [] : [{ jid, load }];
  }

  async bodies(jid: string, ids: readonly string[]): Promise<readonly StoredBody[]> {
    if (ids.length === 0) return [];
    const found = await this.#session.run((client) => client.hmGet(returnsKey(jid), ids));
    return ids.flatMap((id, index) => {
      const body = found[index] ?? null;
      return body === null ? [] : [{ jid, id, body }];
    });
  }

  async returned(jid: string): Promise<readonly Returned[]> {
    const ids = await this.#session.run((client) => client.hKeys(returnsKey(jid)));
    return ids.map((id) => ({ jid, id }));
  }

  /** A job that has expired meanwhile makes a page no shorter, because a short page is the last one. */
  async jobsBelow(below: string, from: string, limit: number): Promise<readonly StoredJob[]> {
    const jobs: StoredJob[] = [];
    for (let next = below; jobs.length < limit; ) {
      const jids = await this.#jidsBelow(next, from, limit - jobs.length);
      jobs.push(...(await this.#loads(jids)));
      const last = jids.at(-1);
      if (last === undefined) break;
      next = last;
    }
    return jobs;
  }

  async jobsAround(after: string, limit: number): Promise<readonly StoredJob[]> {
    const found = new Set<string>();
    await this.#eachJid(loadPrefix, (jid) => {
      if ((jid < "0" || jid > after) && found.size < limit) found.add(jid);
    });
    return await this.#loads([...found]);
  }

  /** Ordered by UTF-16 units. One look at all keys serves `rememberedMax` jobs. */
  async jidsAfter(after: string, limit: number): Promise<readonly JidOf[]> {
    const found: JidOf[] = [];
    for (const [table, prefix] of keyed) {
      const known = this.#walks.get(table);
      let page = after === "" || known === undefined ? undefined : pageOf(known, after, limit);
      if (page === undefined) {
        const walk = await this.#walkFrom(prefix, after);
        this.#walks.set(table, walk);
        page = pageOf(walk, after, limit) ?? walk.jids;
      }
      found.push(...page.map((jid) => ({ table, jid })));
    }
    return found.sort((a, b) => (a.jid < b.jid ? -1 : a.jid > b.jid ? 1 : 0));
  }

  async #walkFrom(prefix: string, after: string): Promise<Walk> {
    let jids = new Set<string>();
    let isWhole = true;
    const first = () => [...jids].sort().slice(0, rememberedMax);
    await this.#eachJid(prefix, (jid) => {
      if (jid > after) jids.add(jid);
      if (jids.size < 2 * rememberedMax) return;
      jids = new Set(first());
      isWhole = false;
    });
    if (jids.size > rememberedMax) isWhole = false;
    return { after, jids: first(), isWhole };
  }

  /** Redis does not know it without a look at all keys. */
  async jobCount(): Promise<undefined> {
    return undefined;
  }

  async #jidsBelow(below: string, from: string, limit: number): Promise<readonly string[]> {
    const known = this.#look?.from === from ? this.#look : undefined;
    const at = known?.jids.indexOf(below) ?? -1;
    const rest = at < 0 ? [] : (known?.jids.slice(at + 1, at + 1 + limit) ?? []);
    if (rest.length > 0 || (at >= 0 && known?.isWhole === true)) return rest;
    this.#look = await this.#lookBelow(below, from);
    return this.#look.jids.slice(0, limit);
  }

  async #lookBelow(below: string, from: string): Promise<Look> {
    let jids = new Set<string>();
    let isWhole = true;
    const newest = () => [...jids].sort().reverse();
    await this.#eachJid(loadPrefix, (jid) => {
      if (jid < below && jid >= from) jids.add(jid);
      if (jids.size < 2 * rememberedMax) return;
      jids = new Set(newest().slice(0, rememberedMax));
      isWhole = false;
    });
    if (jids.size > rememberedMax) isWhole = false;
    return { from, jids: newest().slice(0, rememberedMax), isWhole };
  }

  /** Redis may name a key more than once. */
  async #eachJid(prefix: string, take: (jid: string) => void): Promise<void> {
    for (let cursor = "0"; ; ) {
      const asked = { MATCH: `${prefix}*`, COUNT: keysAtOnce };
      const found = await this.#session.run((client) => client.scan(cursor, asked));
      for (const key of found.keys) take(key.slice(prefix.length));
      cursor = found.cursor;
      if (cursor === "0") return;
    }
  }

  async #loads(jids: readonly string[]): Promise<readonly StoredJob[]> {
    if (jids.length === 0) return [];
    const loads = await this.#session.run((client) => client.mGet(jids.map(loadKey)));
    return jids.flatMap((jid, index) => {
      const load = loads[index] ?? null;
      return load === null ? [] : [{ jid, load }];
    });
  }
}
