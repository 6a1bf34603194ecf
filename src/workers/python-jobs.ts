/** A returner in the site's own Python as a database of jobs: it gets a copy of the job cache, and answers what the local store has no longer. */
import type { MasterConfig } from "../config/load.ts";
import type { Expired, JobDatabase, WriteOptions, Written } from "../databases/contract/database.ts";
import type { Row } from "../databases/contract/rows.ts";
import { pythonPlace } from "../databases/registry.ts";
import { hasCode, SaltworksError } from "../errors.ts";
import { databaseStatementMs, pythonJobsWriteMs } from "../limits.ts";
import type { SidecarSettings } from "../sidecar/contract.ts";
import { Sidecar } from "../sidecar/sidecar.ts";
import type { Value, ValueMap } from "../wire/values.ts";
import { type AskReturner, PythonJobReader } from "./python-job-reader.ts";

/** What became of the rows that Python tried. Places are those in the question. */
type Tried = {
  readonly done: readonly number[];
  /** Of the done ones: rows that the returner had already. */
  readonly present: readonly number[];
  /** Failed twice, while the returner took others. */
  readonly refused: readonly (readonly [number, string])[];
  /** Why no row was taken. */
  readonly failure: string | undefined;
};

export class PythonJobs implements JobDatabase {
  readonly name: string;
  readonly place: string;
  readonly reader: PythonJobReader;
  readonly #sidecar: Sidecar;
  readonly #ask: AskReturner;
  /** Rows of writes that failed as a whole. They are not written again when the write is repeated. At most those of one write for each part of the feed. */
  readonly #done = new Map<string, { readonly wasPresent: boolean }>();
  /** Rows that the returner does not take, and why, until the caller has been told of each alone. */
  readonly #refused = new Map<string, string>();

  constructor(name: string, place: string, sidecar: Sidecar) {
    this.name = name;
    this.place = place;
    this.#sidecar = sidecar;
    this.#ask = (action, members) => this.#asked(action, members);
    this.reader = new PythonJobReader(this.#ask);
  }

  async check(): Promise<void> {
    await this.#ask("check", {});
  }

  /** Python says of each row whether it was written, because a returner writes them one by one. */
  async write(rows: readonly Row[], { mayBePresent }: WriteOptions): Promise<Written> {
    const keyed = rows.map((row) => ({ row, key: keyOf(row) }));
    for (let left = this.#undecided(keyed); left.length > 0; left = this.#undecided(left)) {
      const packed = left.map(({ row: { kind, jid, body } }) => ({ kind, jid, body }));
      const asked = { rows: packed, may_be_present: mayBePresent, seconds: pythonJobsWriteMs / 1_000 };
      const tried = triedOf(await this.#ask("write", asked));
      for (const place of tried.done)
        this.#done.set(left[place]?.key ?? "", { wasPresent: tried.present.includes(place) });
      for (const [place, why] of tried.refused) this.#refused.set(left[place]?.key ?? "", why);
      if (tried.done.length === 0) throw failed(`${this.place}: ${tried.failure ?? "no row was taken"}`);
    }
    const [refused] = keyed.filter(({ key }) => this.#refused.has(key));
    if (refused !== undefined) {
      const why = this.#refused.get(refused.key) ?? "";
      if (keyed.length === 1) this.#refused.delete(refused.key);
      throw new SaltworksError("DATABASE_REFUSED", `${this.place}: ${why}`);
    }
    return this.#counted(keyed);
  }

  #counted(rows: readonly { readonly row: Row; readonly key: string }[]): Written {
    const written = { jobs: 0, returns: 0, present: 0 };
    for (const { row, key } of rows) {
      if (this.#done.get(key)?.wasPresent === true) written.present += 1;
      else written[row.kind === "job" ? "jobs" : "returns"] += 1;
    }
    for (const { key } of rows) this.#done.delete(key);
    return written;
  }

  /** Salt's own way: the returner knows what is old. It does not say how many rows left. */
  async expire(): Promise<Expired> {
    await this.#ask("clean", {});
    return { jobs: 0, returns: 0, events: 0, next: undefined };
  }

  async createSchema(): Promise<readonly string[]> {
    throw failed(`${this.place}: a returner in Python makes its own tables`);
  }

  async close(): Promise<void> {
    this.#sidecar.close();
  }

  #undecided<Keyed extends { readonly key: string }>(rows: readonly Keyed[]): readonly Keyed[] {
    return rows.filter(({ key }) => !this.#done.has(key) && !this.#refused.has(key));
  }

  async #asked(action: string, members: Readonly<Record<string, unknown>>): Promise<Value> {
    try {
      const request = { kind: "job_cache", name: this.name, action, ...members };
      return (await this.#sidecar.ask(request, databaseStatementMs)).value;
    } catch (error) {
      const { message, detail } = error as SaltworksError;
      if (hasCode(error, "FUNCTION_FAILED"))
        throw failed(`${this.place}: ${String(detail.className)}: ${message}`, { cause: error });
      // Python ended, or was killed at its deadline: some rows may have been written.
      const isCut = hasCode(error, "SIDECAR_TIMEOUT") || hasCode(error, "SIDECAR_FAILED");
      throw failed(`${this.place}: ${message}`, { isCut, cause: error });
    }
  }
}

/** Starts nothing yet. `complain` gets what Python writes to its standard error. */
export function openPythonJobs(
  config: MasterConfig,
  environment: SidecarSettings["environment"],
  name: string,
  complain: (text: string) => void,
): PythonJobs {
  return new PythonJobs(name, pythonPlace(config, name), new Sidecar(config, environment, complain));
}

function failed(message: string, o: { readonly isCut?: boolean; readonly cause?: unknown } = {}): SaltworksError {
  return new SaltworksError("DATABASE_FAILED", message, { isCut: o.isCut ?? false }, { cause: o.cause });
}

function keyOf(row: Row): string {
  return [row.kind, row.jid, row.kind === "return" ? row.minionId : "", row.body.byteLength].join("\0");
}

function triedOf(value: Value): Tried {
  const map: ValueMap = value instanceof Map ? value : new Map();
  const listOf = (name: string): readonly Value[] => {
    const list = map.get(name);
    return Array.isArray(list) ? list : [];
  };
  const failure = map.get("failure");
  return {
    done: listOf("done").map(Number),
    present: listOf("present").map(Number),
    refused: listOf("refused").map((pair) => {
      const [place, why] = pair as readonly Value[];
      return [Number(place), String(why)] as const;
    }),
    failure: typeof failure === "string" ? failure : undefined,
  };
}
