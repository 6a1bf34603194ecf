/** Reads jobs and returns through a returner in the site's own Python. A returner gives all returns of a job at once, so Python hands them on in pages. */
import type { DatabaseReader } from "../databases/contract/database.ts";
import { hasFacts, type JobQuery, readJobFacts } from "../store/jobs/facts.ts";
import { FilledPage } from "../store/jobs/filled-page.ts";
import type { LoadRecord, ReturnPage, ReturnsFound } from "../store/jobs/job-cache.ts";
import { encode } from "../wire/msgpack.ts";
import type { Value, ValueMap } from "../wire/values.ts";

/** Asks the returner for one thing. @throws SaltworksError DATABASE_FAILED with what Python said */
export type AskReturner = (action: string, members: Readonly<Record<string, unknown>>) => Promise<Value>;

/** Jobs that a search reads at a time. */
const searchPage = 200;

export class PythonJobReader implements DatabaseReader {
  readonly #ask: AskReturner;

  constructor(ask: AskReturner) {
    this.#ask = ask;
  }

  async job(jid: string): Promise<LoadRecord | undefined> {
    const load = await this.#load(jid);
    if (load === undefined) return undefined;
    const minions = load.get("Minions");
    return { jid, load: encode(load, "bin"), minions: Array.isArray(minions) ? minions.map(String) : [] };
  }

  async request(jid: string): Promise<Uint8Array | undefined> {
    const load = await this.#load(jid);
    return load === undefined ? undefined : encode(load, "bin");
  }

  async returns(jid: string, page: ReturnPage): Promise<ReturnsFound> {
    const filled = new FilledPage(page);
    for (let { after } = page; ; ) {
      const found = await this.#ask("returns", { jid, after: after ?? null, of: page.of ?? null });
      const read = found instanceof Map ? found : new Map<Value, Value>();
      const list = read.get("returns");
      for (const pair of Array.isArray(list) ? list : []) {
        if (filled.isFull) return { returns: filled.returns, hasMore: true };
        const [id, value] = pair as [string, Value];
        filled.add({ minionId: id, body: bodyOf(value) });
        after = id;
      }
      if (read.get("has_more") !== true) return { returns: filled.returns, hasMore: false };
    }
  }

  async returnOf(jid: string, minionId: string): Promise<Uint8Array | undefined> {
    const { returns } = await this.returns(jid, {
      after: undefined,
      limit: 1,
      bytesMax: Number.POSITIVE_INFINITY,
      of: [minionId],
    });
    return returns[0]?.body;
  }

  /** Returners keep it, but have no function that reads it. */
  async endTime(): Promise<string | undefined> {
    return undefined;
  }

  async find(query: JobQuery): Promise<string[]> {
    const found: string[] = [];
    const isPlain = [query.functions, query.targets, query.users, query.metadata, query.exceptFunction].every(
      (filter) => filter === undefined,
    );
    for (let { before } = query; found.length < query.limit; ) {
      const range = { before: before ?? null, from: query.from ?? null, until: query.until ?? null };
      const limit = isPlain ? query.limit - found.length : searchPage;
      const jids = await this.#jids({ ...range, after: null, limit });
      const loads = isPlain ? undefined : await this.#ask("loads", { jids });
      for (const jid of jids) {
        const load = loads instanceof Map ? loads.get(jid) : undefined;
        const isFound = isPlain || (load instanceof Map && hasFacts(readJobFacts(encode(load, "bin")), query));
        if (isFound && found.length < query.limit) found.push(jid);
      }
      before = jids.at(-1);
      if (before === undefined || jids.length < limit) break;
    }
    return found;
  }

  async jids({ after = "", limit }: { readonly after: string | undefined; readonly limit: number }): Promise<string[]> {
    return await this.#jids({ before: null, from: null, until: null, after, limit });
  }

  async jobCount(): Promise<undefined> {
    return undefined;
  }

  async #load(jid: string): Promise<ValueMap | undefined> {
    const loads = await this.#ask("loads", { jids: [jid] });
    const load = loads instanceof Map ? loads.get(jid) : undefined;
    return load instanceof Map && load.size > 0 ? load : undefined;
  }

  async #jids(range: Readonly<Record<string, string | number | null>>): Promise<string[]> {
    const jids = await this.#ask("jids", range);
    return Array.isArray(jids) ? jids.map(String) : [];
  }
}

/** Returners give a map with `return`, some the value alone. */
function bodyOf(value: Value): Uint8Array {
  const isWhole = value instanceof Map && value.has("return");
  return encode(isWhole ? value : new Map<Value, Value>([["return", value]]), "bin");
}
