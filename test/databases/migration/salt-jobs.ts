/** Jobs in the layout of a Salt master, made for tests of migrations. */
import { createHash } from "node:crypto";
import { mkdirSync, utimesSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { jidAt } from "../../../src/wire/jid.ts";
import { encode } from "../../../src/wire/msgpack.ts";
import type { Encodable } from "../../../src/wire/values.ts";

export type SaltJob = {
  readonly jid: string;
  readonly returns: Readonly<Record<string, Encodable>>;
  readonly arg?: readonly Encodable[];
  /** A list of a lower master. */
  readonly syndic?: readonly string[];
  readonly end?: string;
  readonly isNoCache?: boolean;
  readonly hasLoad?: boolean;
  /** When the returns came. */
  readonly atMs?: number;
};

const hashType = "sha256";

/** The directory of a job, as Salt names it. */
export function saltJobDirectory(cachedir: string, jid: string): string {
  const hash = createHash(hashType).update(jid).digest("hex");
  return join(cachedir, "jobs", hash.slice(0, 2), hash.slice(2));
}

export function writeSaltJob(cachedir: string, job: SaltJob): string {
  const directory = saltJobDirectory(cachedir, job.jid);
  mkdirSync(directory, { recursive: true });
  writeFileSync(join(directory, "jid"), job.jid);
  const minions = Object.keys(job.returns);
  if (job.hasLoad !== false) {
    const load = { jid: job.jid, fun: "test.arg", arg: job.arg ?? ["x"], tgt: "*", tgt_type: "glob", user: "root" };
    writeFileSync(join(directory, ".load.p"), encode(load, "bin"));
    writeFileSync(join(directory, ".minions.p"), encode(minions, "bin"));
  }
  if (job.syndic !== undefined) writeFileSync(join(directory, ".minions.lower.p"), encode([...job.syndic], "bin"));
  if (job.end !== undefined) writeFileSync(join(directory, "endtime"), job.end);
  if (job.isNoCache === true) writeFileSync(join(directory, "nocache"), "");
  for (const [minionId, value] of Object.entries(job.returns)) {
    const folder = join(directory, minionId);
    mkdirSync(folder);
    const file = join(folder, "return.p");
    writeFileSync(file, encode({ return: value, retcode: 0, success: true }, "bin"));
    if (job.atMs !== undefined) utimesSync(file, job.atMs / 1_000, job.atMs / 1_000);
  }
  return directory;
}

/** `count` jobs of `minions` returns each, the last one a minute ago. */
export function writeSaltJobs(cachedir: string, count: number, minions: number): SaltJob[] {
  const firstMs = Date.now() - 60_000 - count * 1_000;
  return Array.from({ length: count }, (_, index) => {
    const ids = Array.from({ length: minions }, (_, at) => `web${at}`);
    const job: SaltJob = {
      jid: jidAt(firstMs + index * 1_000, index % 1_000),
      returns: Object.fromEntries(ids.map((id) => [id, `grüße ${index} \u{1f9c2} of ${id}`])),
      atMs: firstMs + index * 1_000 + 500,
    };
    writeSaltJob(cachedir, job);
    return job;
  });
}
