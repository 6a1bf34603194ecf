import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { unifiedDiff } from "../../../src/python/difflib.ts";
import type { JobRequest } from "../../../src/runners/contract/contract.ts";
import { decode } from "../../../src/wire/msgpack.ts";
import type { Value, ValueMap } from "../../../src/wire/values.ts";
import { callRunner, runnerContext } from "../calling.ts";
import { masterAccess } from "../master-access.ts";

const names = { from: "a", to: "b" };

describe("a line diff", () => {
  it("prints what difflib prints without context", () => {
    assert.equal(unifiedDiff("es1", "es2", names), "--- a\n+++ b\n@@ -1 +1 @@\n-es1\n+es2\n");
    assert.equal(unifiedDiff("same\n", "same\n", names), "");
    // Python: difflib.unified_diff("1 2 3 4 5".split(), "1 x y 3 5 6".split(), n=0)
    const expected = "--- a\n+++ b\n@@ -2 +2,2 @@\n-2\n+x\n+y\n@@ -4 +4,0 @@\n-4\n@@ -5,0 +6 @@\n+6\n";
    assert.equal(unifiedDiff("1\n2\n3\n4\n5\n", "1\nx\ny\n3\n5\n6\n", names), expected);
    assert.equal(unifiedDiff("", "one\ntwo", names), "--- a\n+++ b\n@@ -0,0 +1,2 @@\n+one\n+two\n");
  });
});

describe("runner survey", () => {
  const requests: JobRequest[] = [];
  const fired: [string, ValueMap][] = [];
  const returns = new Map<string, Value>([
    ["web1", "two"],
    ["es2", "one"],
    ["es1", "one"],
    ["db1", true],
  ]);
  const master = masterAccess({
    runJob: async (request) => {
      requests.push(request);
      return { jid: "j", minions: [...returns.keys()], returns, silent: {} };
    },
    fire: async ({ tag, data }) => void fired.push([tag, decode(data) as ValueMap]),
  });
  const context = runnerContext({ master });

  it("pools minions by their answer, large pools first, and asks with compound targets", async () => {
    const pools = await callRunner(context, "survey.hash", ["es* or G@a:b", "cmd.run", "id"], { runas: "ann" });
    assert.deepEqual(pools, [
      { pool: ["es1", "es2"], result: "one" },
      { pool: ["db1"], result: "True" },
      { pool: ["web1"], result: "two" },
    ]);
    assert.equal(requests.at(-1)?.targetKind, "compound");
    assert.equal(requests.at(-1)?.target, "es* or G@a:b");
    const keywords = new Map<unknown, unknown>([
      ["__kwarg__", true],
      ["runas", "ann"],
    ]);
    assert.deepEqual(requests.at(-1)?.arg, ["id", keywords]);
  });

  it("shows small pools first on request, and does not pass its own keywords to the function", async () => {
    const pools = await callRunner(context, "survey.hash", [".*", "test.ping"], {
      survey_sort: "up",
      tgt_type: "pcre",
    });
    assert.deepEqual((pools as { pool: string[] }[]).at(-1)?.pool, ["es1", "es2"]);
    assert.equal(requests.at(-1)?.targetKind, "pcre");
    assert.deepEqual(requests.at(-1)?.arg, []);
  });

  it("prints how the other pools differ from the first", async () => {
    fired.length = 0;
    await callRunner(context, "survey.diff", ["*", "test.x"]);
    const printed = fired.map(([, data]) => data.get("text")).join("");
    assert.ok(fired.every(([tag]) => tag === "saltworks/run/20260101000000000000/print"));
    assert.ok(
      printed.startsWith(
        "minion pool :\n------------\n['es1', 'es2']\npool size :\n----------\n    2\npool result :\n",
      ),
    );
    assert.match(
      printed,
      /differences from "es1" results :\n-{31}\n--- es1\n\+\+\+ web1\n@@ -1 \+1 @@\n-one\n\+two\n\n/,
    );
  });

  it("needs a target and a function", async () => {
    await assert.rejects(callRunner(context, "survey.hash", ["*"]), { code: "FUNCTION_ARGUMENTS" });
  });
});
