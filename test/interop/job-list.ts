/**
 * The jobs of every pairing of master and minion. Each runs through an operator's command line; its output and the return that the
 * master stored are both compared with the expected answer of the minion's machine.
 */
import assert from "node:assert/strict";
import { hostname } from "node:os";
import type { Datum } from "../../src/target/facts.ts";
import type { JobShown, Operator } from "./operator.ts";
import type { TestBed } from "./test-bed.ts";

/** A master's record of one return; `value` is decoded, and bytes stay bytes. */
export type StoredReturn = {
  readonly value: unknown;
  readonly retcode: number | undefined;
  readonly success: boolean | undefined;
};

/** One minion of a pairing, the operator, and a function that reads the stored return. */
export type Pairing = {
  readonly bed: TestBed;
  readonly operator: Operator;
  readonly minionId: string;
  readonly readStored: (jid: string, minionId: string) => Promise<StoredReturn>;
  /** Whether the operator's program shows the whole of a return that was too large for the event bus. */
  readonly showsTrimmed: boolean;
};

const largeBytes = 5_000_000;
const unicode = "grüße, 你好, 🧂 ‑ ñ";

type Job = {
  readonly name: string;
  readonly words: readonly string[];
  readonly code: number;
  readonly check: (stored: unknown, shown: JobShown, pairing: Pairing) => void;
};

const jobs: readonly Job[] = [
  { name: "test.ping", words: ["test.ping"], code: 0, check: (stored) => assert.equal(stored, true) },
  {
    name: "cmd.run 'df -h'",
    words: ["cmd.run", "df -h"],
    code: 0,
    check: (stored) =>
      assert.match(String(stored), /^Filesystem\s+Size\s+Used\s+Avail\s+Use%\s+Mounted on\n(.+\n)*.+ \/(\n|$)/),
  },
  {
    name: "grains.items",
    words: ["grains.items"],
    code: 0,
    check: (stored, _shown, { minionId }) => {
      assert.ok(stored instanceof Map);
      const grain = (name: string): Datum | undefined => (stored as Map<string, Datum>).get(name);
      assert.equal(grain("id"), minionId);
      assert.equal(grain("kernel"), "Linux");
      assert.equal(grain("nodename"), hostname());
      for (const name of ["os", "os_family", "ipv4", "cpuarch", "num_cpus", "mem_total", "saltversion", "fqdn"]) {
        assert.notEqual(grain(name), undefined, name);
      }
    },
  },
  {
    name: "a failing command",
    words: ["cmd.run_all", "echo out; echo err >&2; exit 3", "python_shell=True"],
    code: 1,
    check: (stored) => {
      assert.ok(stored instanceof Map);
      assert.equal(stored.get("retcode"), 3);
      assert.equal(stored.get("stdout"), "out");
      assert.equal(stored.get("stderr"), "err");
    },
  },
  {
    name: "an unknown function",
    words: ["test.nosuch"],
    code: 1,
    check: (stored) => assert.equal(stored, "'test.nosuch' is not available."),
  },
  {
    name: "an output of 5 MB",
    words: ["cmd.run", `head -c ${largeBytes} /dev/zero | tr '\\0' x`, "python_shell=True"],
    code: 0,
    check: (stored, shown, { showsTrimmed }) => {
      const length = typeof stored === "string" ? stored.length : -1;
      assert.ok(
        stored === "x".repeat(largeBytes),
        `stored ${length} of ${largeBytes} characters: ${String(stored).slice(0, 40)}`,
      );
      if (showsTrimmed) assert.equal(shown.value, "VALUE_TRIMMED");
    },
  },
  {
    name: "unicode",
    words: ["cmd.run", `printf '%s' '${unicode}'`],
    code: 0,
    check: (stored) => assert.equal(stored, unicode),
  },
  {
    name: "binary output of a command",
    // Not UTF-8: Salt's cmd module replaces each such byte by the replacement character.
    words: ["cmd.run", "printf 'a\\377\\376\\000b'"],
    code: 0,
    check: (stored) => assert.equal(stored, "a\ufffd\ufffd\0b"),
  },
];

/** One test for each job. */
export function testJobs(title: string, open: () => Pairing, bed: TestBed): void {
  for (const job of jobs) {
    bed.it(`${title}: ${job.name}`, async () => {
      const pairing = open();
      const shown = await pairing.operator.job(pairing.minionId, job.words);
      assert.equal(shown.code, job.code, `exit code; ${shown.stderr}`);
      const stored = await pairing.readStored(shown.jid, pairing.minionId);
      job.check(stored.value, shown, pairing);
      assert.equal(stored.retcode !== 0, job.code !== 0, `stored retcode ${stored.retcode}`);
      if (shown.value !== "VALUE_TRIMMED") assert.deepEqual(shown.value, asJson(stored.value), "shown as stored");
    });
  }
}

/** A stored value in the form of Salt's JSON outputter. */
export function asJson(value: unknown): unknown {
  if (value instanceof Map) return Object.fromEntries(Array.from(value, ([key, item]) => [String(key), asJson(item)]));
  if (Array.isArray(value)) return value.map(asJson);
  if (value instanceof Uint8Array) return pythonBytes(value);
  if (typeof value === "object" && value !== null && "value" in value) return value.value;
  return typeof value === "bigint" ? Number(value) : value;
}

/** Bytes in the form of Python's `repr`, which the JSON outputter uses for them. */
function pythonBytes(bytes: Uint8Array): string {
  const known = new Map([
    [9, "\\t"],
    [10, "\\n"],
    [13, "\\r"],
    [39, "\\'"],
    [92, "\\\\"],
  ]);
  const text = Array.from(bytes, (byte) => {
    const printable = byte >= 32 && byte < 127 ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, "0")}`;
    return known.get(byte) ?? printable;
  });
  return `b'${text.join("")}'`;
}
