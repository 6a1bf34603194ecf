/** Configurations in directories of a test's own, and `saltworks cluster` on them. */
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after } from "node:test";
import { dispatch } from "../../src/cli/dispatch.ts";
import { TestHost } from "./test-host.ts";

export const place = mkdtempSync(join(tmpdir(), "saltworks-cluster-"));
after(() => rmSync(place, { recursive: true }));
let count = 0;

/** A configuration directory with this main file. */
export function confDir(config: object = {}): string {
  count += 1;
  const directory = join(place, `${count}`);
  mkdirSync(directory);
  const base = { id: "m1", interface: "127.0.0.1", root_dir: directory, pki_dir: join(directory, "pki") };
  writeFileSync(join(directory, "master"), JSON.stringify({ ...base, cachedir: join(directory, "cache"), ...config }));
  return directory;
}

export async function cluster(directory: string, words: readonly string[], input = "") {
  const host = new TestHost(input);
  const exitCode = await dispatch(["cluster", ...words, "-c", directory], host);
  return { exitCode, out: host.out, err: host.err, questions: host.questions };
}

export const isRoot = process.getuid?.() === 0;
/** As a user who is bound by the modes of files. */
export async function asStranger<T>(run: () => Promise<T>): Promise<T> {
  if (!isRoot) return await run();
  chmodSync(place, 0o755);
  process.seteuid?.(65_534);
  try {
    return await run();
  } finally {
    process.seteuid?.(0);
  }
}
export const fileIn = (directory: string) => join(directory, "master.d", "cluster.conf");
export const secretFileIn = (directory: string) => join(directory, "cluster.secret");
export const secretIn = (directory: string) => readFileSync(secretFileIn(directory), "utf8").trim();
export const peers = "127.0.0.2:1,127.0.0.3:1";
export const secret = "a-secret-of-more-than-16-characters";
