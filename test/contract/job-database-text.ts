/** The contract of databases of jobs: every text, byte and value goes in and comes out, whatever it looks like. */
import assert from "node:assert/strict";
import { it } from "node:test";
import { decode } from "../../src/wire/msgpack.ts";
import { plain } from "../plain.ts";
import type { DatabaseContext } from "./job-database-context.ts";
import { jid, published, returned } from "./job-rows.ts";

const page = { limit: 1_000, bytesMax: 100_000_000 };
const largeBytes = 5 * 1024 * 1024;

/** Each is a job id, a minion id, a function, a user and a value in turn. */
const hostile: readonly string[] = [
  "'); DROP TABLE jids; --",
  "' OR '1'='1",
  "'; DELETE FROM salt_returns WHERE ''='",
  'a"b\\c`d',
  "\\",
  "\\'; SELECT 1; --",
  "$1 $$ :jid ? %s %(jid)s {0}",
  "\r\n*1\r\n$8\r\nFLUSHALL\r\n",
  "a:b:c",
  "* ? [a-z] % _",
  "{a,b}",
  "null",
  " leading and trailing ",
  "__proto__",
  "Gr\u00fc\u00dfe \u2028 \u{1f9c2}",
];

export function databaseTextContract(context: DatabaseContext): void {
  const { write, storedValue, counts, database } = context;

  it("takes every text for a text, in every place", async () => {
    const rows = hostile.flatMap((text) => [
      published(text, text, { user: text, tgt: [text], arg: [text, { [text]: text }] }),
      returned(text, { [text]: text }, { fun: text, fun_args: [text], user: text, success: text }, text),
      returned(text, text),
    ]);
    assert.deepEqual(await write(rows), { jobs: hostile.length, returns: 2 * hostile.length, present: 0 });
    assert.deepEqual(await counts(), { job: hostile.length, return: 2 * hostile.length });
    for (const text of hostile) {
      assert.deepEqual(await storedValue(text, text), Object.fromEntries([[text, text]]), text);
      assert.equal(await storedValue(text), text);
      const load = await database().reader.request(text);
      assert.equal((plain(decode(load ?? new Uint8Array())) as { user: string }).user, text);
      const { returns } = await database().reader.returns(text, page);
      assert.deepEqual(
        returns.map(({ minionId }) => minionId),
        [text],
      );
    }
    const { returns } = await database().reader.returns(jid, { ...page, of: hostile });
    assert.equal(returns.length, hostile.length);
    assert.deepEqual(await write(rows, true), { jobs: 0, returns: 0, present: rows.length });
  });

  it("finds nothing under a text that only looks like a condition", async () => {
    await write([published(jid), returned("a", 1)]);
    for (const text of [...hostile, `${jid} `, "", "\0", `${jid}\0`]) {
      assert.equal(await database().reader.request(text), undefined, text);
      assert.equal(await database().reader.returnOf(jid, text), undefined, text);
      assert.deepEqual(await database().reader.returns(text, page), { returns: [], hasMore: false }, text);
    }
  });

  databaseValuesContract(context);
}

function databaseValuesContract({ write, storedValue, database, traits }: DatabaseContext): void {
  it("keeps characters of four bytes, control characters and zero bytes in values", async () => {
    const text = "\u{1f9c2} \u001f \u007f \u2028 \ufffd \\u0000 \\\\u0000";
    await write([
      returned("plain", text),
      returned("zero", { "key\0": ["a\0b", "\0"] }),
      returned("\u{1f9c2}", text, { fun: "\u{1f9c2}".repeat(60) }),
    ]);
    assert.equal(await storedValue("plain"), text);
    assert.deepEqual(await storedValue("zero"), {
      [`key${traits.nul}`]: [`a${traits.nul}b`, traits.nul],
    });
    assert.equal(await storedValue("\u{1f9c2}"), text);
  });

  it("keeps a return with bytes that are not text, as text", async () => {
    await write([returned("bytes", Buffer.from([0x53, 0xff])), returned("word", Buffer.from("word"))]);
    assert.equal(await storedValue("bytes"), "S\ufffd");
    assert.equal(await storedValue("word"), "word");
  });

  it("keeps returns of 5 MB", async () => {
    const large = "x'\\\u{1f9c2}".repeat(largeBytes / 7);
    await write([returned("large", large), returned("small", 1), returned("lines", "y\n".repeat(largeBytes / 2))]);
    assert.equal(await storedValue("large"), large);
    const { returns, hasMore } = await database().reader.returns(jid, { limit: 10, bytesMax: largeBytes });
    assert.deepEqual(
      returns.map(({ minionId }) => minionId),
      ["large"],
    );
    assert.ok(hasMore);
  });

  it("keeps jobs of several functions, values of every kind, and ids that differ only in case", async () => {
    const value = [1, -2.5, null, true, { nested: { "10": [] } }, 12345678901234567890n, ""];
    const functions = ["test.ping", "x".repeat(60)];
    await write([
      published(jid, functions),
      returned("web", value, { fun: functions, fun_args: [[], ["a"]] }),
      returned("WEB", { "test.ping": true }),
      returned("none", null, { success: null }),
    ]);
    assert.deepEqual(await storedValue("web"), value);
    assert.deepEqual(await storedValue("WEB"), { "test.ping": true });
    assert.equal(await storedValue("none"), null);
    const load = await database().reader.request(jid);
    assert.deepEqual((plain(decode(load ?? new Uint8Array())) as { fun: unknown }).fun, functions);
  });
}
